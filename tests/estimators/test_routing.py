"""Weights, folds that keep rows together, and groups that the model never sees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import multivalid as mv
from multivalid.errors import InputError
from multivalid.estimators import MulticalibratedClassifier, MulticalibratedPairRegressor, MulticalibratedRegressor


@pytest.fixture
def routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def people(rows: int = 3000, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray]:
    """What the model may see, what it may not, and an outcome that depends on both."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=rows), "b": rng.normal(size=rows)})
    protected = pd.DataFrame({"site": rng.choice(["north", "south", "west"], rows), "note": "unused"}, index=X.index)
    shift = protected["site"].map({"north": 1.0, "south": -1.0, "west": 0.0}).to_numpy()
    return X, protected, (rng.random(rows) < 1 / (1 + np.exp(-X["a"] - shift))).astype(float)


class Remembers(RegressorMixin, BaseEstimator):
    """A constant that keeps what its `fit` was given."""

    seen: list[dict[str, Any]] = []  # noqa: RUF012 - clones write to one list

    def fit(self, X: Any, y: Any, sample_weight: Any = None, price: Any = None) -> Remembers:
        self.n_features_in_ = np.shape(X)[1]
        self.seen.append({"rows": np.asarray(X)[:, 0], "sample_weight": sample_weight, "price": price})
        self.mean_ = float(np.mean(y))
        return self

    def predict(self, X: Any) -> Any:
        return np.full(np.shape(X)[0], self.mean_)


@pytest.mark.parametrize("name", ["group_data", "sensitive_features"])
@pytest.mark.parametrize("kind", [MulticalibratedClassifier, MulticalibratedRegressor])
def test_the_model_need_not_see_the_groups(kind: Any, name: str) -> None:
    X, protected, y = people()
    model = kind(groups=["site"]).fit(X, y, **{name: protected})
    assert list(model.feature_names_in_) == ["a", "b"]
    told = (
        model.predict_proba(X, **{name: protected})[:, 1]
        if kind is MulticalibratedClassifier
        else model.predict(X, **{name: protected})
    )
    for site, here in protected.groupby("site").groups.items():
        assert abs(told[here].mean() - y[here].mean()) < 0.03, site
    with pytest.raises(InputError, match="site"):
        model.predict(X)


def test_groups_after_preprocessing_that_loses_names() -> None:
    X, protected, y = people()
    model = make_pipeline(StandardScaler(), MulticalibratedClassifier(groups=["site"]))
    model.fit(X, y, multicalibratedclassifier__group_data=protected)
    told = model.predict_proba(X, group_data=protected)[:, 1]
    assert abs(told[protected["site"] == "north"].mean() - y[protected["site"] == "north"].mean()) < 0.03


def test_names_that_preprocessing_keeps_can_be_grouped_by() -> None:
    """With set_output the scaled columns keep their names: groups are of the values that the model sees."""
    X, _, y = people()
    model = make_pipeline(StandardScaler(), MulticalibratedRegressor(groups=["a > 0", "a <= 0"])).set_output(transform="pandas")
    told = model.fit(X, y).predict(X)
    above = (X["a"] > X["a"].mean()).to_numpy()
    assert abs(told[above].mean() - y[above].mean()) < 0.03
    bare = make_pipeline(StandardScaler(), MulticalibratedRegressor(groups=["a > 0"]))
    with pytest.raises(InputError, match="a"):
        bare.fit(X, y)


def test_group_data_of_other_rows_and_both_names_are_refused() -> None:
    X, protected, y = people(200)
    with pytest.raises(InputError, match="group_data has 199 rows but X has 200"):
        MulticalibratedRegressor(groups=["site"]).fit(X, y, group_data=protected.iloc[1:])
    with pytest.raises(InputError, match="two names of one argument"):
        MulticalibratedRegressor(groups=["site"]).fit(X, y, group_data=protected, sensitive_features=protected)


@pytest.mark.parametrize("kind", [MulticalibratedClassifier, MulticalibratedRegressor])
def test_folds_that_keep_rows_together(kind: Any) -> None:
    X, _, y = people(400)
    customers = np.arange(400) // 8
    model = kind(groups=["a > 0"], cv=GroupKFold(3)).fit(X, y, groups=customers)
    assert np.isfinite(model.predict(X)).all()
    with pytest.raises(InputError, match=r"pass groups= to fit"):
        kind(groups=["a > 0"], cv=GroupKFold(3)).fit(X, y)


def test_pairs_keep_rows_together_too() -> None:
    X, protected, _ = people(400)
    y = X["a"].to_numpy() + np.random.default_rng(1).normal(size=400)
    model = MulticalibratedPairRegressor(LinearRegression(), LinearRegression(), groups=["site"], cv=GroupKFold(3))
    model.fit(X, y, groups=np.arange(400) // 8, group_data=protected)
    assert model.predict(X, group_data=protected).shape == (400, 2)


def test_each_fold_is_fitted_on_its_own_weights() -> None:
    X, _, y = people(300)
    weights = np.random.default_rng(2).random(300)
    Remembers.seen.clear()
    MulticalibratedRegressor(Remembers(), cv=3).fit(X.assign(a=np.arange(300.0)), y, sample_weight=weights)
    assert len(Remembers.seen) == 4
    for call in Remembers.seen:
        np.testing.assert_array_equal(call["sample_weight"], weights[call["rows"].astype(int)])


@pytest.mark.usefixtures("routing")
def test_metadata_is_routed_to_model_and_splitter() -> None:
    X, _, y = people(300)
    X = X.assign(a=np.arange(300.0))
    price, customers = np.random.default_rng(3).random(300), np.arange(300) // 10
    inner = Remembers().set_fit_request(sample_weight=True, price=True)
    Remembers.seen.clear()
    model = MulticalibratedRegressor(inner, cv=GroupKFold(3))
    model.fit(X, y, sample_weight=np.ones(300), price=price, groups=customers)
    assert len(Remembers.seen) == 4
    for call in Remembers.seen:
        rows = call["rows"].astype(int)
        np.testing.assert_array_equal(call["price"], price[rows])
    for call in Remembers.seen[1:]:  # whole customers on one side
        inside = np.isin(np.arange(300), call["rows"].astype(int))
        assert all(inside[customers == c].all() or not inside[customers == c].any() for c in range(30))


def test_unknown_parameters_are_named() -> None:
    X, _, y = people(100)
    with pytest.raises(InputError, match="price"):
        MulticalibratedRegressor().fit(X, y, price=y)


def test_columns_that_came_after_the_fit_are_ignored() -> None:
    X, _, y = people(300)
    model = MulticalibratedClassifier(LogisticRegression(), groups=["a > 0"]).fit(X, y)
    more = X.assign(extra="x")
    np.testing.assert_array_equal(model.predict_proba(more), model.predict_proba(X))


def test_the_calibration_is_saved(tmp_path: Any) -> None:
    X, _, y = people(2000)
    model = MulticalibratedRegressor(LinearRegression(), groups=["a > 0"]).fit(X, y)
    model.save(tmp_path / "calibration.json")
    again = mv.load(tmp_path / "calibration.json")
    np.testing.assert_array_equal(again.predict(model.estimator_.predict(X), data=X), model.predict(X))


@pytest.mark.parametrize("classes", [2, 3])
def test_the_calibration_of_a_classifier_is_saved(tmp_path: Any, classes: int) -> None:
    X, protected, y = people(2000)
    y = y + (protected["site"] == "west") if classes == 3 else y
    model = MulticalibratedClassifier(LogisticRegression(), groups=["a > 0"]).fit(X, y)
    model.save(tmp_path / "calibration.json")
    raw = model.estimator_.predict_proba(X)
    again = mv.load(tmp_path / "calibration.json").predict(raw if classes == 3 else raw[:, 1], data=X)
    np.testing.assert_array_equal(again, model.predict_proba(X)[:, slice(None) if classes == 3 else 1])


def test_one_class_alone_has_nothing_to_save(tmp_path: Any) -> None:
    X, _, y = people(200)
    frozen = FrozenEstimator(LogisticRegression().fit(X, y))
    with pytest.raises(InputError, match="one class alone"):
        MulticalibratedClassifier(frozen).fit(X, np.ones(200)).save(tmp_path / "calibration.json")


def test_the_calibration_of_a_pair_is_saved(tmp_path: Any) -> None:
    X, _, _ = people(1000)
    y = X["a"].to_numpy() + np.random.default_rng(1).normal(size=1000)
    model = MulticalibratedPairRegressor(LinearRegression(), LinearRegression(), groups=["a > 0"]).fit(X, y)
    model.save(tmp_path / "calibration.json")
    raw = np.stack([model.first_.predict(X), model.second_.predict(X)], axis=1)
    np.testing.assert_array_equal(mv.load(tmp_path / "calibration.json").predict(raw, data=X), model.predict(X))


def test_one_column_may_be_a_series() -> None:
    X, protected, y = people(1000)
    model = MulticalibratedClassifier(LogisticRegression(), groups=["site"])
    whole = model.fit(X, y, sensitive_features=protected).predict_proba(X, sensitive_features=protected)
    site = protected["site"]
    np.testing.assert_array_equal(model.fit(X, y, sensitive_features=site).predict_proba(X, sensitive_features=site), whole)
    with pytest.raises(InputError, match="needs a name"):
        model.fit(X, y, sensitive_features=site.rename(None))
