"""The scikit-learn faces: scikit-learn's own checks, and what they are for."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, QuantileRegressor
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import estimator_checks_generator

import multivalid as mv
from multivalid.errors import InputError
from multivalid.estimators import MulticalibratedClassifier, MulticalibratedPairRegressor, MulticalibratedRegressor

BOTH = [MulticalibratedRegressor, MulticalibratedClassifier]


def checks(estimator: Any) -> list[Any]:
    return [
        pytest.param(made, check, id=f"{type(made).__name__}-{made.mode}-{getattr(check, 'func', check).__name__}-{number}")
        for number, (made, check) in enumerate(estimator_checks_generator(estimator))
        # It looks for an environment variable that must be set before SciPy is imported, and skips itself without.
        if getattr(check, "func", check).__name__ != "check_array_api_input"
    ]


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning:sklearn")
@pytest.mark.parametrize(
    ("estimator", "check"), [case for kind in BOTH for mode in ("practical", "theorem") for case in checks(kind(mode=mode))]
)
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


def table(rows: int = 3000, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    site = rng.choice(["north", "south", "west"], rows)
    age = rng.integers(18, 90, rows)
    shift = pd.Series(site).map({"north": 0.25, "south": -0.2, "west": 0.0}).to_numpy()
    chance = np.clip(0.5 + shift + 0.004 * (age - 50), 0.02, 0.98)
    return pd.DataFrame(
        {"site": site, "age": age, "noise": rng.normal(size=rows), "chance": chance, "y": rng.random(rows) < chance}
    )


FEATURES = ["site", "age", "noise"]
WEAK = make_pipeline(make_column_transformer(("passthrough", ["noise"])), LogisticRegression())  # sees neither site nor age


class TestFrames:
    @pytest.mark.parametrize("kind", [pd.DataFrame, lambda data: pl.from_pandas(data)])
    def test_groups_by_name(self, kind: Any) -> None:
        data = table()
        X = kind(data[FEATURES])
        weak = make_pipeline(make_column_transformer(("passthrough", ["noise"])), LogisticRegression())
        model = MulticalibratedClassifier(weak, groups=["site", "age >= 60"], mode="theorem", m=50).fit(X, data["y"])
        assert list(model.feature_names_in_) == FEATURES
        found = model.predict_proba(X)[:, 1]
        raw = model.estimator_.predict_proba(X)[:, 1]
        for site in ("north", "south", "west"):
            here = (data["site"] == site).to_numpy()
            assert abs(found[here].mean() - data["y"][here].mean()) < 0.03
        assert np.mean((found - data["chance"]) ** 2) < 0.4 * np.mean((raw - data["chance"]) ** 2)

    def test_columns_that_moved_are_refused_by_name(self) -> None:
        data = table(300)
        model = MulticalibratedClassifier(WEAK, groups=["site"], mode="theorem").fit(data[FEATURES], data["y"])
        with pytest.raises(ValueError, match="feature names"):
            model.predict(data[FEATURES[::-1]])

    def test_missing_column(self) -> None:
        data = table(300)
        model = MulticalibratedClassifier(WEAK, groups=["site"], mode="theorem").fit(data[FEATURES], data["y"])
        with pytest.raises(ValueError, match="feature names"):
            model.predict(data[["age", "noise"]])

    @pytest.mark.parametrize("output", ["pandas", "polars"])
    def test_after_a_transformer_with_named_output(self, output: str) -> None:
        rng = np.random.default_rng(0)
        X = pd.DataFrame(rng.normal(size=(500, 2)), columns=["a", "b"])
        y = X["a"] + 9 * (X["b"].abs() < 0.5)
        scaler = StandardScaler().set_output(transform=output)
        plain = make_pipeline(scaler, MulticalibratedRegressor(mode="theorem", m=40)).fit(X, y)
        grouped = make_pipeline(scaler, MulticalibratedRegressor(groups=["-0.5 < b < 0.5"], mode="theorem", m=40)).fit(X, y)
        assert grouped.score(X, y) > plain.score(X, y) + 0.3


class TestArrays:
    X = np.random.default_rng(0).uniform(-1, 1, (600, 3))
    y = X[:, 0] + 3 * (np.abs(X[:, 1]) < 0.5)

    @pytest.mark.parametrize(
        "groups",
        [
            lambda X: np.abs(X[:, 1]) < 0.5,
            lambda X: np.abs(X[:, [1, 2]]) < 0.5,
            [lambda X: np.abs(X[:, 1]) < 0.5, lambda X: X[:, 2] > 0],
            {"middle": lambda X: np.abs(X[:, 1]) < 0.5, "top": "x2 > 0"},
            "-0.5 < x1 < 0.5",
            ["-0.5 < x1 < 0.5", mv.bins("x2", 3)],
            mv.Groups(["-0.5 < x1 < 0.5"]),
        ],
    )
    def test_groups_of_an_array(self, groups: Any) -> None:
        model = MulticalibratedRegressor(groups=groups, mode="theorem", m=40).fit(self.X, self.y)
        assert len(model.calibration_.groups) > 1
        assert model.score(self.X, self.y) > 0.9 > 0.3 > model.estimator_.score(self.X, self.y)
        np.testing.assert_array_equal(model.predict(self.X[:5]), model.predict(self.X)[:5])

    def test_a_number_is_a_column(self) -> None:
        X = np.column_stack([np.arange(60) % 3, np.arange(60)])
        y = np.array([0.0, 5.0, 1.0])[X[:, 0]]
        model = MulticalibratedRegressor(groups=[0], mode="theorem", m=50, cv=KFold(5, shuffle=True, random_state=0)).fit(X, y)
        assert model.calibration_.groups.names == ("everyone", "x0 = 0", "x0 = 1", "x0 = 2")
        named = pd.DataFrame(X, columns=["kind", "time"])
        assert MulticalibratedRegressor(groups=[0], mode="theorem").fit(named, y).calibration_.groups.names[1] == "kind = 0"

    def test_no_groups_means_the_population(self) -> None:
        assert MulticalibratedRegressor(mode="theorem").fit(self.X, self.y).calibration_.groups.names == ("everyone",)

    @pytest.mark.parametrize(
        ("groups", "message"),
        [
            (np.ones(600, dtype=bool), "an estimator cannot take boolean arrays"),
            (lambda X: X[:, 0], "must return booleans for 600 rows"),
            (lambda X: X[:10, 0] > 0, r"must return booleans for 600 rows .*shape \(10,\)"),
            (["x7 > 0"], "x7"),
        ],
    )
    def test_bad_groups(self, groups: Any, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            MulticalibratedRegressor(groups=groups, mode="theorem").fit(self.X, self.y)


class TestFitting:
    X = np.random.default_rng(1).normal(size=(400, 2))
    y = X[:, 0] + np.random.default_rng(2).normal(0, 0.3, 400)

    def test_calibrates_predictions_of_models_that_did_not_see_the_rows(self) -> None:
        class Memory(BaseEstimator):  # type: ignore[misc]
            def fit(self, X: Any, y: Any) -> Memory:
                self.seen_ = {tuple(x): value for x, value in zip(X, y, strict=True)}
                return self

            def predict(self, X: Any) -> Any:
                return np.array([self.seen_.get(tuple(x), 0.0) for x in X])

        model = MulticalibratedRegressor(Memory(), mode="theorem", m=20).fit(self.X, self.y)
        # Out of fold the memory says 0 for every row, so the one prediction that is calibrated is the mean.
        assert set(model.calibration_.levels) == {int(model.calibration_.grid.round([self.y.mean()])[0])}

    def test_frozen_model_is_left_alone(self) -> None:
        base = LinearRegression().fit(self.X[:100], self.y[:100])
        model = MulticalibratedRegressor(FrozenEstimator(base), mode="theorem", m=30).fit(self.X[100:], self.y[100:])
        assert model.estimator_.estimator is base
        assert model.calibration_.levels.size == 300
        direct = mv.multicalibrate(self.y[100:], base.predict(self.X[100:]), groups=[], mode="theorem", m=30)
        assert direct.patches == model.calibration_.patches

    def test_frozen_classifier_with_a_class_that_is_not_among_the_rows(self) -> None:
        y = np.digitize(self.X[:, 0], [-0.5, 0.5])
        base = LogisticRegression().fit(self.X, y)
        few = y != 2
        model = MulticalibratedClassifier(FrozenEstimator(base), mode="theorem").fit(self.X[few], y[few])
        assert model.predict_proba(self.X).shape == (400, 2)

    def test_a_frozen_model_must_be_fitted(self) -> None:
        with pytest.raises(NotFittedError):
            MulticalibratedRegressor(FrozenEstimator(LinearRegression())).fit(self.X, self.y)

    @pytest.mark.parametrize("kind", BOTH)
    def test_predict_before_fit(self, kind: Any) -> None:
        with pytest.raises(NotFittedError):
            kind().predict(self.X)

    def test_property(self) -> None:
        base = QuantileRegressor(quantile=0.5, alpha=0.0)
        model = MulticalibratedRegressor(base, property="quantile:0.9", mode="theorem", m=60).fit(self.X, self.y)
        assert abs(np.mean(self.y <= model.predict(self.X)) - 0.9) < 0.05

    def test_a_classifier_predicts_probabilities_only(self) -> None:
        for other in ("median", "mean_variance", mv.Expectile(0.8), "variance"):
            message = f"property must be 'mean' for a classifier.*MulticalibratedRegressor(property={other!r})"
            with pytest.raises(mv.MultivalidError, match=re.escape(message).replace(r"\.\*", ".*")):
                MulticalibratedClassifier(property=other).fit(self.X, self.y > 0)
        for same in ("mean", mv.Mean()):
            MulticalibratedClassifier(property=same, mode="theorem", m=5).fit(self.X, self.y > 0)
        with pytest.raises(mv.MultivalidError, match="must have predict_proba, but LinearSVC has not"):
            MulticalibratedClassifier(LinearSVC()).fit(self.X, self.y > 0)

    def test_groups_are_found_for_several_classes_together(self) -> None:
        rng = np.random.default_rng(7)
        X = rng.uniform(-1, 1, (4000, 2))
        inside = (X[:, 0] > 0) & (X[:, 1] > 0)
        chance = np.where(inside[:, None], [0.7, 0.2, 0.1], [0.1, 0.4, 0.5])
        y = (chance.cumsum(axis=1) > rng.random(4000)[:, None]).argmax(axis=1)
        model = MulticalibratedClassifier(features=["x0", "x1"]).fit(X, y)
        found = model.predict_proba(X)
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
        (together,) = model.calibrations_
        assert isinstance(together, mv.SeveralCalibration)
        plain = model.estimator_.predict_proba(X)
        off = [np.abs((p - chance)[inside].mean(axis=0)).max() for p in (plain, found)]
        assert off[1] < 0.5 * off[0]

    def test_several_classes(self) -> None:
        y = np.array(["low", "mid", "top"])[np.digitize(self.X[:, 0], [-0.5, 0.5])]
        model = MulticalibratedClassifier(mode="theorem", m=20).fit(self.X, y)
        found = model.predict_proba(self.X)
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
        (together,) = model.calibrations_
        assert isinstance(together, mv.SeveralCalibration)
        assert model.score(self.X, y) > 0.9

    def test_one_model_per_quantile(self) -> None:
        taus = (0.2, 0.5, 0.8)
        models = [QuantileRegressor(quantile=tau, alpha=0.0) for tau in reversed(taus)]  # in the wrong order: they all cross
        model = MulticalibratedRegressor(models, groups=["x1 > 0"], property=mv.Quantiles(taus)).fit(self.X, self.y)
        found = model.predict(self.X)
        assert found.shape == (len(self.X), 3)
        assert (np.diff(found, axis=1) >= 0).all()
        np.testing.assert_allclose((self.y[:, None] <= found).mean(axis=0), taus, atol=0.06)

    def test_rows_that_no_fold_tests_take_no_part(self) -> None:
        halves = [(np.arange(200), np.arange(200, 400))]
        assert MulticalibratedRegressor(cv=halves, mode="theorem").fit(self.X, self.y).calibration_.levels.size == 200

    def test_a_calibration_can_be_saved(self, tmp_path: Any) -> None:
        model = MulticalibratedRegressor(groups=["x1 > 0"], mode="theorem", m=20).fit(self.X, self.y)
        model.calibration_.save(tmp_path / "model.json")
        raw = model.estimator_.predict(self.X)
        frame = pd.DataFrame(self.X, columns=["x0", "x1"])
        np.testing.assert_array_equal(mv.load(tmp_path / "model.json").predict(raw, data=frame), model.predict(self.X))


class TestWeights:
    X = np.random.default_rng(3).normal(size=(300, 2))
    y = X[:, 0] + np.random.default_rng(4).normal(0, 0.5, 300)
    w = np.where(y > 0.2, 5.0, 0.5)

    def test_reach_the_model_and_the_calibration(self) -> None:
        plain = MulticalibratedRegressor(mode="theorem", m=40).fit(self.X, self.y)
        weighted = MulticalibratedRegressor(mode="theorem", m=40).fit(self.X, self.y, sample_weight=self.w)
        assert weighted.estimator_.intercept_ > plain.estimator_.intercept_ + 0.1
        assert weighted.calibration_.certificate.initial != plain.calibration_.certificate.initial

    def test_reach_the_models_of_the_folds(self) -> None:
        seen = []

        class Watched(LinearRegression):  # type: ignore[misc]
            def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
                seen.append(dict(zip(y, sample_weight, strict=True)))
                return super().fit(X, y, sample_weight)

        MulticalibratedRegressor(Watched(), mode="theorem", cv=3).fit(self.X, self.y, sample_weight=self.w)
        assert [len(rows) for rows in seen] == [300, 200, 200, 200]
        right = dict(zip(self.y, self.w, strict=True))
        assert all(rows[label] == right[label] for rows in seen for label in rows)

    def test_reach_the_last_step_of_a_pipeline(self) -> None:
        base = make_pipeline(StandardScaler(), LinearRegression())
        plain = MulticalibratedRegressor(base, mode="theorem").fit(self.X, self.y)
        weighted = MulticalibratedRegressor(base, mode="theorem").fit(self.X, self.y, sample_weight=self.w)
        assert weighted.estimator_[-1].intercept_ > plain.estimator_[-1].intercept_ + 0.1

    def test_reach_the_calibration_where_the_model_takes_none(self) -> None:
        class Flat(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
            def fit(self, X: Any, y: Any) -> Flat:
                self.classes_ = np.unique(y)
                return self

            def predict_proba(self, X: Any) -> Any:
                return np.full((len(X), 2), 0.5)

        y = self.y > 0.2
        model = MulticalibratedClassifier(Flat(), mode="theorem", m=50).fit(self.X, y, sample_weight=self.w)
        assert abs(model.predict_proba(self.X)[0, 1] - np.average(y, weights=self.w)) <= 0.02


class TestCompany:
    data = table(1500)

    def test_pipeline_grid_search_clone_and_pickle(self) -> None:
        encode = make_column_transformer((OneHotEncoder(), ["site"]), remainder="passthrough")
        inner = make_pipeline(encode, DecisionTreeClassifier())
        model = MulticalibratedClassifier(inner, groups=["site"], cv=3, mode="theorem")
        search = GridSearchCV(model, {"m": [5, 20], "estimator__decisiontreeclassifier__max_depth": [1, 3]}, cv=2)
        search.fit(self.data[FEATURES], self.data["y"])
        best = search.best_estimator_
        assert best.m in (5, 20)
        found = best.predict_proba(self.data[FEATURES])
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(best)).predict_proba(self.data[FEATURES]), found)  # noqa: S301
        again = clone(best).fit(self.data[FEATURES], self.data["y"])
        assert again.predict_proba(self.data[FEATURES]).shape == found.shape

    def test_sample_weight_in_a_grid_search(self) -> None:
        X, y = self.data[["age", "noise"]], self.data["y"]
        search = GridSearchCV(MulticalibratedClassifier(mode="theorem", cv=2), {"m": [5, 10]}, cv=2)
        assert search.fit(X, y, sample_weight=np.where(y, 2.0, 1.0)).best_score_ > 0.5


def test_scikit_learn_is_imported_on_first_use_only() -> None:
    script = (
        "import sys, multivalid as mv\n"
        "assert not any(name.split('.')[0] == 'sklearn' for name in sys.modules)\n"
        "mv.estimators.MulticalibratedRegressor\n"
        "assert 'sklearn' in sys.modules\n"
        "try: mv.nothing\n"
        "except AttributeError as error: assert 'nothing' in str(error)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


class TestLabelsAsPeopleHaveThem:
    def test_rows_without_a_label_are_refused_or_left_out(self) -> None:
        rng = np.random.default_rng(0)
        X = pd.DataFrame({"a": rng.normal(size=300), "g": rng.choice([0, 1], 300)})
        y, weight = X["a"] + rng.normal(size=300), rng.random(300)
        gaps = y.where(X.index > 4)
        with pytest.raises(InputError, match=r'5 missing among 300 labels; missing_rows="drop"'):
            MulticalibratedRegressor(groups=["g == 1"]).fit(X, gaps)
        one = MulticalibratedRegressor(groups=["g == 1"], missing_rows="drop").fit(X, gaps, weight)
        other = MulticalibratedRegressor(groups=["g == 1"]).fit(X[5:], y[5:], weight[5:])
        assert np.array_equal(one.predict(X), other.predict(X))
        pair = MulticalibratedPairRegressor(missing_rows="drop", groups=["g == 1"]).fit(X, gaps, weight)
        assert np.array_equal(
            pair.predict(X), MulticalibratedPairRegressor(groups=["g == 1"]).fit(X[5:], y[5:], weight[5:]).predict(X)
        )

    def test_classes_by_name_some_missing(self) -> None:
        rng = np.random.default_rng(0)
        X = pd.DataFrame({"a": rng.normal(size=400), "g": rng.choice([0, 1], 400)})
        y = np.where(rng.random(400) < 1 / (1 + np.exp(-X["a"])), ">50K", "<=50K").astype(object)
        y[:3] = None
        with pytest.raises(InputError, match="3 missing among 400"):
            MulticalibratedClassifier(groups=["g == 1"]).fit(X, y)
        named = MulticalibratedClassifier(groups=["g == 1"], missing_rows="drop").fit(X, y)
        assert named.classes_.tolist() == ["<=50K", ">50K"]
        flagged = MulticalibratedClassifier(groups=["g == 1"], missing_rows="drop", positive=">50K").fit(X, y)
        assert flagged.classes_.tolist() == [False, True]
        assert np.allclose(flagged.predict_proba(X), named.predict_proba(X))


def test_several_quantiles_without_an_estimator_say_which_argument_is_missing():
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match=r"estimator=None is a Ridge regression, which gives one column.* has 2; pass estimator="):
        MulticalibratedRegressor(property=mv.Quantiles([0.1, 0.9])).fit(rng.normal(size=(300, 2)), rng.normal(size=300))
