"""What a pipeline stops at: a finding ends a command with code 1, after everything was printed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from multivalid.cli.exits import FINDING


def error_above(audit: Any, limit: float | None) -> None:
    """End with code 1 when a group's typical error (rms) is above the limit beyond chance: its lower 95 % limit is."""
    if limit is None:
        return
    for one in audit.coordinates:
        low = np.nan_to_num(one.table["rms_low"])
        worst = int(low.argmax())
        if low[worst] > limit:
            fail(f"the typical error of {one.table['name'][worst]} is at least {low[worst]:.3g}, above --fail-above {limit:g}.")


def any_off(groups: Sequence[str], asked: bool) -> None:
    """End with code 1 when groups are off, if that was asked for."""
    if asked and groups:
        fail(f"{len(groups)} group{' is' if len(groups) == 1 else 's are'} off beyond chance (--fail-if-off).")


def fail(message: str) -> None:
    """Say what was found, and end with code 1."""
    sys.stdout.flush()  # an output that cannot be written is not a finding
    sys.stderr.write(f"multivalid: {message}\n")
    raise SystemExit(FINDING)
