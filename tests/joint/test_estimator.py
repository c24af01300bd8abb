"""The regressor with two outputs."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

import multivalid as mv
from multivalid.errors import InputError
from multivalid.estimators.pair import MulticalibratedPairRegressor


def rows(n=2000, seed=0):
    random = np.random.default_rng(seed)
    X = pd.DataFrame({"x": random.random(n), "kind": random.integers(0, 2, n)})
    return X, X["x"].to_numpy() + np.where(X["kind"] == 1, 1.0, 0.2) * random.standard_normal(n)


def test_fit_predict_on_frames():
    X, y = rows()
    model = MulticalibratedPairRegressor(LinearRegression(), LinearRegression(), groups=["kind == 1"])
    assert clone(model).get_params()["groups"] == ["kind == 1"]
    said = model.fit(X, y).predict(X)
    assert said.shape == (2000, 2)
    for kind, variance in ((1, 1.0), (0, 0.04)):
        assert said[X["kind"] == kind, 1].mean() == pytest.approx(variance, rel=0.2)


def test_arrays_with_a_function_for_groups():
    X, y = rows()
    model = MulticalibratedPairRegressor(
        LinearRegression(), property="quantile_cvar:0.8", groups=lambda X: np.asarray(X)[:, 1:2] == 1, cv=3
    )
    said = model.fit(X.to_numpy(), y).predict(X.to_numpy())
    assert (said[:, 1] >= said[:, 0]).all()
    assert isinstance(model.calibration_, mv.JointCalibration)


def test_arrays_take_predicates_and_frames_functions():
    X, y = rows(600)
    named = MulticalibratedPairRegressor(LinearRegression(), groups=["x1 == 1"], mode="theorem", m=8).fit(X.to_numpy(), y)
    assert named.calibration_.groups.names == ("everyone", "x1 == 1")
    framed = MulticalibratedPairRegressor(LinearRegression(), groups=lambda X: X["kind"] == 1, mode="theorem", m=8).fit(X, y)
    np.testing.assert_array_equal(named.predict(X.to_numpy()), framed.predict(X))


def test_weights_count_in_regressors_and_calibration():
    X, y = rows(600)
    heavy = np.where(y > 0.8, 6.0, 0.5)
    plain = MulticalibratedPairRegressor(LinearRegression(), mode="theorem", m=12).fit(X, y)
    weighted = MulticalibratedPairRegressor(LinearRegression(), mode="theorem", m=12).fit(X, y, sample_weight=heavy)
    assert weighted.first_.intercept_ > plain.first_.intercept_ + 0.1
    assert weighted.second_.constant_ != plain.second_.constant_  # a constant, of the weighted pseudo-labels
    only = MulticalibratedPairRegressor(mode="theorem", m=12).fit(X[heavy > 1], y[heavy > 1])
    zeros = MulticalibratedPairRegressor(mode="theorem", m=12, cv=only.cv).fit(X, y, sample_weight=np.where(heavy > 1, 1.0, 0.0))
    np.testing.assert_allclose(zeros.first_.constant_, only.first_.constant_)


def test_refusals():
    X, y = rows(50)
    with pytest.raises(InputError, match="pair with a target"):
        MulticalibratedPairRegressor(property="mean").fit(X, y)
    with pytest.raises(InputError, match="y has"):
        MulticalibratedPairRegressor().fit(X, [np.nan] * 50)
