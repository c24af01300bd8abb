"""The methods: `python methods.py METHOD WORKLOAD.npz TAU OUT.npz` fits, predicts and records CPU seconds. NumPy in, NumPy out.

Imports are done before the clock starts.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import fans
import finders
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from online_rivals import RIVALS

Data = dict[str, np.ndarray]


def base(d: Data, tau: float | None) -> np.ndarray:
    """The predictions as they came."""
    return d["check_base"]


def ours(d: Data, tau: float | None) -> np.ndarray:
    """multivalid, practical mode."""
    import multivalid as mv

    groups = list(d["fit_groups"].T)
    fitted = mv.multicalibrate(d["fit_y"], d["fit_base"], groups=groups, property="mean" if tau is None else f"quantile:{tau}")
    fitted.certificate  # noqa: B018 - it belongs to the fit
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


def mapie(d: Data, tau: float | None) -> np.ndarray:
    """MAPIE's conditional conformal regressor: the upper end of an interval with 1 − τ on either side, valid for every group.

    Its cutoff is a function of the groups alone, so it is asked once per combination of groups. Where it fails the base is kept.
    """
    from mapie.conditional_conformal_prediction import ConditionalSplitConformalRegressor
    from mapie.conformity_scores import AbsoluteConformityScore
    from sklearn.base import BaseEstimator, RegressorMixin

    assert tau is not None

    class Base(RegressorMixin, BaseEstimator):
        def fit(self, x: np.ndarray, y: np.ndarray) -> Base:
            self.fitted_ = True
            return self

        def predict(self, x: np.ndarray) -> np.ndarray:
            return np.asarray(x)[:, 0]

    x = np.column_stack([d["fit_base"], d["fit_groups"]]).astype(float)
    model = ConditionalSplitConformalRegressor(
        lambda rows: np.column_stack([np.ones(len(rows)), rows[:, 1:]]), Base().fit(x, d["fit_y"]), confidence_level=2 * tau - 1,
        conformity_score=AbsoluteConformityScore(sym=False),
    ).conformalize(x, d["fit_y"])  # fmt: skip
    patterns, which = np.unique(d["check_groups"], axis=0, return_inverse=True)
    shift, failed = np.zeros(len(patterns)), 0
    for i, pattern in enumerate(patterns):
        try:
            shift[i] = model.predict_interval(np.concatenate([[0.0], pattern])[None, :])[1][0, 1, 0]
        except (np.linalg.LinAlgError, ValueError):
            failed += 1
    print(f"mapie: {failed} of {len(patterns)} combinations of groups failed", file=sys.stderr)
    return np.asarray(d["check_base"] + shift[which.ravel()])


def ours_online(d: Data, tau: float | None) -> np.ndarray:
    """multivalid, one outcome after the other."""
    from multivalid.online import OnlineMulticalibrator

    groups = d["check_groups"]
    learner = OnlineMulticalibrator(f"quantile:{tau}", groups.shape[1], **json.loads(str(d["settings"])))
    return np.asarray(learner.replay(groups, d["check_y"], base=d["check_base"]))


def rival(name: str) -> Callable[[Data, float | None], np.ndarray]:
    """A method for one stream without groups, from benchmarks/online_rivals.py."""

    def play(d: Data, tau: float | None) -> np.ndarray:
        assert tau is not None
        return RIVALS[name](d["check_y"], d["check_base"], tau)

    return play


METHODS: dict[str, Callable[[Data, float | None], np.ndarray]] = {
    **{
        one.__name__: one
        for one in (
            base, ours, isotonic, lightgbm, mcgrad, multicalibration, mapie, ours_online, finders.ours_columns, finders.lightgbm_columns,
            finders.mcgrad_columns, fans.ours_fan, fans.ours_singles, fans.lightgbm_fan,
        )
    },
    **{name: rival(name) for name in RIVALS},
}  # fmt: skip
IMPORTS = {
    "ours": "multivalid.fit", "ours_columns": "multivalid.fit", "ours_fan": "multivalid.fit", "ours_singles": "multivalid.fit",
    "lightgbm_columns": "lightgbm", "lightgbm_fan": "lightgbm", "mcgrad_columns": "mcgrad.methods",
    "ours_online": "multivalid.online", "isotonic": "sklearn.isotonic", "lightgbm": "lightgbm",
    "mcgrad": "mcgrad.methods", "multicalibration": "multicalibration", "mapie": "mapie.conditional_conformal_prediction",
}  # fmt: skip

if __name__ == "__main__":
    name, source, tau_text, target = sys.argv[1:]
    loaded = dict(np.load(source))
    import_module(IMPORTS.get(name, "numpy"))
    start = time.process_time()
    made = METHODS[name](loaded, None if tau_text in ("none", "several") else float(tau_text))
    np.savez(target, prediction=made, seconds=time.process_time() - start)
