"""The methods: `python methods.py METHOD WORKLOAD.npz TAU OUT.npz` fits, predicts and records CPU seconds. NumPy in, NumPy out."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Data = dict[str, np.ndarray]


def base(d: Data, tau: float | None) -> np.ndarray:
    """The predictions as they came."""
    return d["check_base"]


def ours(d: Data, tau: float | None) -> np.ndarray:
    """multivalid, practical mode."""
    import multivalid as mv

    groups = list(d["fit_groups"].T)
    fitted = mv.multicalibrate(d["fit_y"], d["fit_base"], groups=groups, property="mean" if tau is None else f"quantile:{tau}")
    return np.asarray(fitted.predict(d["check_base"], groups=list(d["check_groups"].T)))


def isotonic(d: Data, tau: float | None) -> np.ndarray:
    """Isotonic regression over everybody (means only)."""
    from sklearn.isotonic import IsotonicRegression

    return np.asarray(IsotonicRegression(out_of_bounds="clip").fit(d["fit_base"], d["fit_y"]).predict(d["check_base"]))


def lightgbm(d: Data, tau: float | None) -> np.ndarray:
    """LightGBM on the base prediction and the groups: log loss with the base as start for means, pinball loss for quantiles."""
    from lightgbm import LGBMClassifier, LGBMRegressor

    x, z = (np.column_stack([d[f"{part}_base"], d[f"{part}_groups"]]) for part in ("fit", "check"))
    options: dict[str, Any] = {"n_estimators": 200, "learning_rate": 0.05, "num_leaves": 15, "n_jobs": 1, "verbose": -1}
    if tau is None:
        return np.asarray(LGBMClassifier(**options).fit(x, d["fit_y"]).predict_proba(z)[:, 1])
    return np.asarray(LGBMRegressor(objective="quantile", alpha=tau, **options).fit(x, d["fit_y"]).predict(z))


def mcgrad(d: Data, tau: float | None) -> np.ndarray:
    """MCGrad with the groups as categorical features (probabilities only)."""
    import pandas as pd
    from mcgrad import methods

    names = [f"group {i}" for i in range(d["fit_groups"].shape[1])]
    frames = [
        pd.DataFrame(d[f"{part}_groups"].astype(str), columns=names).assign(base=d[f"{part}_base"], y=d[f"{part}_y"])
        for part in ("fit", "check")
    ]
    model = methods.MCGrad()
    model.fit(
        df_train=frames[0], prediction_column_name="base", label_column_name="y", categorical_feature_column_names=names,
    )  # fmt: skip
    return np.asarray(model.predict(df=frames[1], prediction_column_name="base", categorical_feature_column_names=names))


def multicalibration(d: Data, tau: float | None) -> np.ndarray:
    """The package `multicalibration`, HKRR (probabilities only)."""
    from multicalibration import MulticalibrationPredictor

    members = [np.flatnonzero(column).tolist() for column in d["fit_groups"].T]
    test = [np.flatnonzero(column).tolist() for column in d["check_groups"].T]
    model = MulticalibrationPredictor("HKRR")
    model.fit(
        d["fit_base"],
        d["fit_y"],
        members,
        {"lambda": 0.1, "alpha": 0.025, "max_iter": 1000, "randomized": False, "use_oracle": False},
    )
    return np.asarray(model.predict(d["check_base"], test))


METHODS: dict[str, Callable[[Data, float | None], np.ndarray]] = {
    one.__name__: one for one in (base, ours, isotonic, lightgbm, mcgrad, multicalibration)
}
MEANS_ONLY = ("isotonic", "mcgrad", "multicalibration")

if __name__ == "__main__":
    name, source, level, target = sys.argv[1:]
    loaded = dict(np.load(source))
    start = time.process_time()
    answer = METHODS[name](loaded, None if level == "none" else float(level))
    np.savez(target, prediction=answer, seconds=time.process_time() - start)
