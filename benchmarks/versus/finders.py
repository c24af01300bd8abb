"""Methods that are given columns, not groups. Each returns the corrected predictions of the rows to judge on."""

from __future__ import annotations

from typing import Any

import numpy as np

Data = dict[str, np.ndarray]


def frame_of(d: Data, part: str) -> Any:
    """The columns as a pandas frame, categories as text."""
    import pandas as pd

    columns = {}
    for name, categorical, values in zip(d["names"].tolist(), d["categorical"].tolist(), d[f"{part}_x"].T, strict=True):
        columns[name] = [f"v{v:.0f}" for v in values] if categorical else values
    return pd.DataFrame(columns)


def ours_columns(d: Data, tau: float | None) -> np.ndarray:
    """multivalid with `features=`, no group named."""
    import multivalid as mv

    prop = "mean" if tau is None else f"quantile:{tau}"
    names = d["names"].tolist()
    fitted = mv.multicalibrate(d["fit_y"], d["fit_base"], data=frame_of(d, "fit"), groups=[], features=names, property=prop)
    return np.asarray(fitted.predict(d["check_base"], data=frame_of(d, "check")))


def lightgbm_columns(d: Data, tau: float | None) -> np.ndarray:
    """LightGBM trained afresh on the columns and the base, stopped early on a fifth of the rows."""
    from lightgbm import LGBMClassifier, LGBMRegressor, early_stopping

    x, z = (np.column_stack([d[f"{part}_base"], d[f"{part}_x"]]) for part in ("fit", "check"))
    categories = (1 + np.flatnonzero(d["categorical"])).tolist()
    kept = np.random.default_rng(0).random(len(x)) < 0.8
    options: dict[str, Any] = {"n_estimators": 2000, "learning_rate": 0.05, "n_jobs": 1, "verbose": -1}
    model = LGBMClassifier(**options) if tau is None else LGBMRegressor(objective="quantile", alpha=tau, **options)
    model.fit(
        x[kept], d["fit_y"][kept], eval_set=[(x[~kept], d["fit_y"][~kept])], categorical_feature=categories,
        callbacks=[early_stopping(50, verbose=False)],
    )  # fmt: skip
    return np.asarray(model.predict_proba(z)[:, 1] if tau is None else model.predict(z))


def mcgrad_columns(d: Data, tau: float | None) -> np.ndarray:
    """MCGrad with its own features (probabilities only)."""
    from mcgrad import methods

    names, text = d["names"], d["categorical"]
    kinds = {
        "categorical_feature_column_names": names[text].tolist(), "numerical_feature_column_names": names[~text].tolist(),
    }  # fmt: skip
    model = methods.MCGrad()
    fit = frame_of(d, "fit").assign(base=d["fit_base"], y=d["fit_y"])
    model.fit(df_train=fit, prediction_column_name="base", label_column_name="y", **kinds)
    return np.asarray(model.predict(df=frame_of(d, "check").assign(base=d["check_base"]), prediction_column_name="base", **kinds))
