"""A row of weight 0 is not there, whoever reads it: backtests, searches, metrics, streams, estimators, several columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import multivalid as mv

QUANTILES, CLASSES = mv.Quantiles([0.2, 0.8]), mv.Classes(["a", "b", "c"])


def rows(n: int = 600, seed: int = 3) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    site = rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2])
    y = np.round(rng.gamma(2.0, 1.0, n) + (site == "b"), 1)
    shares = rng.dirichlet([2.0, 1.0, 1.0], n)
    named = {f"share_{k}": shares[:, k] for k in range(3)}
    columns = {"y": y, "kind": rng.choice(["a", "b", "c"], n), "p": 3 + rng.random(n), "q": 6 + rng.random(n), **named}
    return pd.DataFrame(columns | {"w": rng.choice([0.5, 1.0, 3.0], n), "site": site, "age": rng.integers(0, 90, n)})


def haunted() -> pd.DataFrame:
    """The same rows with others of weight 0 among them, which say wild things."""
    data = rows()
    ghosts = data.head(30).assign(y=500.0, p=-40.0, q=900.0, w=0.0, site="nowhere", age=999)
    return pd.concat([ghosts.head(20), data, ghosts.tail(10)], ignore_index=True)


def same(first: Any, second: Any) -> None:
    """Tables of the same numbers and texts, by name."""
    assert list(first) == list(second)
    for name, column in first.items():
        column, other = np.asarray(column), np.asarray(second[name])
        if column.dtype.kind in "USO":
            assert column.tolist() == other.tolist()
        else:
            np.testing.assert_allclose(other, column, rtol=1e-9, atol=1e-12, err_msg=name)


def test_backtests() -> None:
    found = [
        mv.backtest("y", "p", "q", tau=0.9, groups=["site"], data=data, sample_weight="w").table for data in (rows(), haunted())
    ]
    same(*found)


def test_searches() -> None:
    found = [mv.discover("y", "p", data=data, features=["site", "age"], sample_weight="w") for data in (rows(), haunted())]
    assert found[0].groups == found[1].groups
    same(found[0].table, found[1].table)


@pytest.mark.parametrize("name", ["calibration_gap", "calibration_rms", "mean_score"])
def test_metrics(name: str) -> None:
    metric = getattr(mv.metrics, name)
    found = [metric(data["y"], data["p"], sample_weight=data["w"]) for data in (rows(), haunted())]
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12)


@pytest.mark.parametrize("mode", ["practical", "theorem"])
@pytest.mark.parametrize(
    ("target", "label", "columns"),
    [(QUANTILES, "y", ["p", "q"]), (CLASSES, "kind", ["share_0", "share_1", "share_2"])],
    ids=["quantiles", "classes"],
)
def test_several_columns(target: Any, label: str, columns: list[str], mode: str) -> None:
    audits = [
        mv.audit(label, columns, data=data, groups=["site"], property=target, sample_weight="w") for data in (rows(), haunted())
    ]
    same(audits[0].table, audits[1].table)
    options: dict[str, Any] = {"mode": mode, "m": 8} if mode == "theorem" else {}
    fits = [
        mv.multicalibrate(label, columns, data=data, groups=["site"], property=target, sample_weight="w", **options)
        for data in (rows(), haunted())
    ]
    assert fits[0].groups.names == fits[1].groups.names
    made = [fitted.predict(columns, data=rows(50, seed=4)) for fitted in fits]
    np.testing.assert_allclose(made[1], made[0], rtol=1e-9)


def test_groups_that_are_found() -> None:
    fits = [
        mv.multicalibrate("y", "p", data=data, groups=["site"], features=["age"], sample_weight="w", readable=True)
        for data in (rows(3000), pd.concat([haunted().head(20), rows(3000)], ignore_index=True))
    ]
    made = [fitted.predict("p", data=rows(50, seed=4)) for fitted in fits]
    np.testing.assert_allclose(made[1], made[0], rtol=1e-9)


@pytest.mark.parametrize("algorithm", ["sharp", "A", "B"])
def test_streams(algorithm: str) -> None:
    """What a row without weight teaches is nothing: the table and the next answer are those of a learner that never saw it."""
    seen = mv.OnlineMulticalibrator("mean", 1, labels=(0, 1), algorithm=algorithm, seed=1)
    other = mv.OnlineMulticalibrator("mean", 1, labels=(0, 1), algorithm=algorithm, seed=1)
    for y, weight in ((0.2, 1.0), (1.0, 0.0), (0.7, 0.5), (0.0, 0.0)):
        seen.learn_one([True], y, weight)
        if weight:
            other.learn_one([True], y, weight)
    for name in ("rows", "weight"):
        np.testing.assert_array_equal(seen.table()[name], other.table()[name])


def test_estimators() -> None:
    """Rows are split into folds before anything is fitted, so the model is one that needs no fit."""
    from sklearn.base import BaseEstimator, RegressorMixin

    class Given(RegressorMixin, BaseEstimator):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            return self

        def predict(self, X: Any) -> Any:
            return np.asarray(X["p"])

    models = [
        mv.estimators.MulticalibratedRegressor(Given(), groups=["age > 40"]).fit(
            data[["p", "age"]], data["y"], sample_weight=data["w"].to_numpy()
        )
        for data in (rows(), haunted())
    ]
    new = rows(50, seed=4)[["p", "age"]]
    np.testing.assert_allclose(models[1].predict(new), models[0].predict(new), rtol=1e-9)
