"""What does a practical fit cost with hundreds and thousands of groups of columns, or of the same groups as boolean arrays?

    python -m benchmarks.many_groups                 # CPU seconds, the first fit in the process after a small one
    python -m benchmarks.many_groups --masks         # the same groups as boolean arrays too, and how far the predictions are apart

Three columns of uneven values, each value with a shift of its own on the log-odds scale. Bars: 1,000 groups of 10⁵ rows in 3 CPU seconds,
3,000 groups of 3·10⁴ rows in 30. Error is the root mean square of prediction less true probability on the fitted rows, before and after.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import pandas as pd

import multivalid as mv

SIZES = {
    "300 groups": (10_000, (200, 60, 40)),
    "1,000 groups": (100_000, (500, 300, 200)),
    "3,000 groups": (30_000, (1000, 1000, 1000)),
}
BARS = {"1,000 groups": 3.0, "3,000 groups": 30.0}


def workload(rows: int, sizes: tuple[int, ...], spread: float, seed: int) -> tuple[pd.DataFrame, Any]:
    """Labels, predictions and columns; and the true probabilities."""
    rng = np.random.default_rng(seed)
    base = rng.normal(-1, 1, rows)
    eta, columns = base.copy(), {}
    for k, size in enumerate(sizes):
        code = np.minimum((size * rng.random(rows) ** 1.3).astype(int), size - 1)
        columns[f"column {k}"] = pd.Categorical.from_codes(code, [f"value {v:04d}" for v in range(size)])
        eta += rng.normal(0, spread, size)[code]
    truth = 1 / (1 + np.exp(-eta))
    return pd.DataFrame({"y": (rng.random(rows) < truth).astype(float), "p": 1 / (1 + np.exp(-base)), **columns}), truth


def timed(call: Any) -> tuple[Any, float]:
    start = time.process_time()
    made = call()
    made.certificate  # noqa: B018 - what is worked out when it is first read belongs to the fit
    return made, time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1])
    parser.add_argument("--spread", type=float, default=0.5, help="standard deviation of the shifts")
    parser.add_argument("--only", nargs="*", choices=[*SIZES], default=[*SIZES])
    parser.add_argument("--masks", action="store_true")
    args = parser.parse_args()
    small, _ = workload(500, (3,), 0.5, 0)
    mv.multicalibrate("y", "p", data=small, groups=["column 0"])  # what is imported late is imported now
    more, rule = (" as masks: CPU s, largest difference |", "---|") if args.masks else ("", "")
    print(f"| groups | rows | seed | CPU s (bar) | error before → after |{more}\n|---|---|---|---|---|{rule}")
    for name in args.only:
        rows, sizes = SIZES[name]
        for seed in args.seeds:
            data, truth = workload(rows, sizes, args.spread, seed)
            columns = [column for column in data if column.startswith("column")]
            fitted, cpu = timed(lambda data=data, columns=columns: mv.multicalibrate("y", "p", data=data, groups=columns))
            final = np.asarray(fitted.predict("p", data=data))
            errors = [float(np.sqrt(np.mean((p - truth) ** 2))) for p in (data["p"], final)]
            line = f"| {name} | {rows:,} | {seed} | {cpu:.2f} ({BARS.get(name, '–')}) | {errors[0]:.4f} → {errors[1]:.4f} |"
            if args.masks:
                masks = np.column_stack(
                    [data[c].cat.codes.to_numpy()[:, None] == np.arange(len(data[c].cat.categories)) for c in columns]
                )
                again, seconds = timed(
                    lambda data=data, masks=masks: mv.multicalibrate(data["y"].to_numpy(), data["p"].to_numpy(), groups=masks)
                )
                other = again.predict(data["p"].to_numpy(), groups=[masks])
                line += f" {seconds:.2f}, {np.abs(other - final).max():.1e} |"
            print(line, flush=True)


if __name__ == "__main__":
    main()
