"""Who notices a change in one of twenty groups: `python watches.py METHOD`, rows of the table.

Streams are those of benchmarks/monitor.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import monitor

STREAMS = 200


def ours(world: str) -> tuple[float, float]:
    """`mv.Monitor` over all groups."""
    return monitor.false_alarms(world, STREAMS), float(np.median(monitor.monitor_delays(world, STREAMS)[0]))


def cusum(world: str) -> tuple[float, float]:
    """A CUSUM that knows the group and the change, at a threshold with 5 % false alarms."""
    threshold = float(np.quantile(monitor.peaks(world, 2_000), 0.95))
    return 0.05, float(np.median(list(monitor.cusum_delays(world, threshold, STREAMS))))


def adwin(world: str) -> tuple[float, float]:
    """ADWIN of river on each group's residuals, its level shared among the groups."""
    return monitor.adwin_result(world, STREAMS // 2)


METHODS = {"ours": ours, "cusum": cusum, "adwin": adwin}

if __name__ == "__main__":
    for world in monitor.WORLDS:
        rate, delay = METHODS[sys.argv[1]](world)
        print(f"{world} | {100 * rate:.1f} % | {delay:.0f}")
