"""MCGrad on the census workload, on several splits: what the strongest neighbour reaches where our bar was set on one split.

    python benchmarks/decisions/census_mcgrad.py [split …]

Needs `mcgrad`, pandas, pyarrow and scikit-learn, in an environment of its own, and the shared workloads. It gets the categorical columns
that the groups are made of, with its default settings; about a minute of CPU per split.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from mcgrad import methods

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks import shared

W = shared.workloads()


def main(splits: list[int]) -> None:
    """One line per split."""
    print("| split | max_error | mean error | logloss | CPU s |\n|---|---|---|---|---|")
    for split in splits:
        d = W.census(seed=split)
        fit, test = (d[f"frame_{part}"].reset_index(drop=True).assign(base=d[f"base_{part}"]) for part in ("fit", "test"))
        columns = {"prediction_column_name": "base", "categorical_feature_column_names": list(d["frame_fit"].columns)}
        model, start = methods.MCGrad(), time.process_time()
        model.fit(df_train=fit.assign(y=d["y_fit"]), label_column_name="y", **columns)
        seconds = time.process_time() - start
        found = W.mean_quality(np.asarray(model.predict(df=test, **columns)), d["y_test"], d["g_test"])
        numbers = f"{found['max_error']:.2e} | {found['mean_error']:.2e} | {found['logloss']:.4f} | {seconds:.0f}"
        print(f"| {split} | {numbers} |", flush=True)


if __name__ == "__main__":
    main([int(split) for split in sys.argv[1:]] or [7, 1, 2, 3])
