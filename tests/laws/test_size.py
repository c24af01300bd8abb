"""Numbers of any size: the same answer in another unit, or a refusal of our own; never a warning, nan or an overflow."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest

import multivalid as mv
from multivalid.errors import InputError

ROWS = 400
RANDOM = np.random.default_rng(6)
INSIDE = RANDOM.random(ROWS) < 0.4
BASE = RANDOM.normal(1, 1, ROWS)
LABELS = BASE + RANDOM.normal(0, 1, ROWS) + 0.8 * INSIDE
TARGETS = {
    "mean": ("mean", lambda f, s: f.copy()),
    "quantile": ("quantile:0.5", lambda f, s: f.copy()),
    "expectile": ("expectile:0.8", lambda f, s: f.copy()),
    "pair": (mv.QuantileCVaR(0.9), lambda f, s: np.column_stack([f + 1.3 * s, f + 1.8 * s])),
    "several": (mv.Quantiles([0.1, 0.5, 0.9]), lambda f, s: np.column_stack([f - s, f, f + s])),
}


@pytest.fixture(autouse=True)
def _no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def p_values(found: mv.Audit) -> np.ndarray:
    return np.concatenate([one.table["p_adjusted"] for one in found.coordinates])


def audited(target: str, scale: float = 1.0, **more: object) -> mv.Audit:
    prop, columns = TARGETS[target]
    return mv.audit(LABELS * scale, columns(BASE * scale, scale), groups=[INSIDE], property=prop, **more)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("scale", [2.0**-190, 2.0**190])
def test_an_audit_says_the_same_in_another_unit(target: str, scale: float) -> None:
    np.testing.assert_allclose(p_values(audited(target, scale)), p_values(audited(target)), rtol=1e-9)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("weight", [1e-150, 1e150])
def test_an_audit_says_the_same_with_another_unit_of_weight(target: str, weight: float) -> None:
    found = audited(target, sample_weight=np.full(ROWS, weight))
    np.testing.assert_allclose(p_values(found), p_values(audited(target)), rtol=1e-9)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("at", ["label", "prediction"])
@pytest.mark.parametrize("size", [1e150, 1e200, 1.7e308])
def test_numbers_that_have_no_square_are_refused(target: str, at: str, size: float) -> None:
    prop, columns = TARGETS[target]
    labels, predictions = LABELS.copy(), columns(BASE, 1.0)
    (labels if at == "label" else predictions)[3] = size
    for act in (mv.audit, mv.multicalibrate):
        with pytest.raises(InputError, match=r"must not be larger than 1e\+60"):
            act(labels, predictions, groups=[INSIDE], property=prop)


@pytest.mark.parametrize("column", ["y", "f"])
def test_an_engine_refuses_them_too(column: str) -> None:
    data = {"y": LABELS.copy(), "f": BASE.copy(), "g": INSIDE}
    data[column][3] = 1e200
    for act in (mv.audit, mv.multicalibrate):
        with pytest.raises(InputError, match=r"must not be larger than 1e\+60"):
            act("y", "f", data=pl.LazyFrame(data), groups=["g"])


def test_labels_too_small_to_be_squared_are_refused() -> None:
    for target in TARGETS:
        with pytest.raises(InputError, match="larger than 1e-60"):
            audited(target, 1e-150)


@pytest.mark.parametrize("target", ["mean", "quantile", "expectile"])
@pytest.mark.parametrize("exponent", [-190, -126, 60, 126, 190])
def test_a_practical_fit_is_the_same_in_another_unit(target: str, exponent: int) -> None:
    prop, scale = TARGETS[target][0], 2.0**exponent
    plain = mv.multicalibrate(LABELS, BASE, groups=[INSIDE], property=prop)
    other = mv.multicalibrate(LABELS * scale, BASE * scale, groups=[INSIDE], property=prop)
    assert other.certificate.status == plain.certificate.status
    made = other.predict(BASE * scale, groups=[INSIDE]) / scale
    np.testing.assert_allclose(made, plain.predict(BASE, groups=[INSIDE]), atol=1e-6)


@pytest.mark.parametrize("size", [1e-6, 1e-12, 1e-30])
def test_small_amounts_are_no_shares_of_one(size: float) -> None:
    """Twice too low for a group: found and corrected, whatever the unit; never called converged while it is off."""
    random = np.random.default_rng(0)
    inside = random.random(4000) < 0.4
    base = np.exp(random.normal(0, 0.3, 4000)) * size
    labels = base * random.gamma(4.0, 0.25, 4000) * (1 + inside)
    fitted = mv.multicalibrate(labels, base, groups=[inside])
    made = fitted.predict(base, groups=[inside])
    assert made[inside].mean() == pytest.approx(labels[inside].mean(), rel=0.05)
    assert made[~inside].mean() == pytest.approx(labels[~inside].mean(), rel=0.05)


def test_predictions_far_beyond_the_labels_are_refused_by_a_practical_fit() -> None:
    base = BASE.copy()
    base[3] = 1e50
    with pytest.raises(InputError, match="times as far as the labels spread"):
        mv.multicalibrate(LABELS, base, groups=[INSIDE])


def test_weights_of_three_hundred_orders_leave_numbers() -> None:
    weights = 10.0 ** np.random.default_rng(1).uniform(-150, 150, ROWS)
    for target in TARGETS:
        for one in audited(target, sample_weight=weights).coordinates:
            assert np.isfinite(one.table["debiased"]).all()


@pytest.mark.parametrize("weight", [1e-150, 1e150])
def test_a_backtest_with_another_unit_of_weight(weight: float) -> None:
    weights = np.linspace(0.5, 1, ROWS)
    plain, other = (
        mv.backtest(LABELS, BASE + 1.3, BASE + 1.8, tau=0.9, groups=[INSIDE], sample_weight=w).table
        for w in (weights, weight * weights)
    )
    np.testing.assert_allclose(other["p_adjusted"], plain["p_adjusted"], rtol=1e-9)
    np.testing.assert_allclose(other["exceedances"], weight * plain["exceedances"], rtol=1e-9)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_backtest_refuses_what_has_no_square(place: int) -> None:
    columns = [LABELS.copy(), BASE + 1.3, BASE + 1.8]
    columns[place][3] = 1e200
    with pytest.raises(InputError, match=r"must not be larger than 1e\+60"):
        mv.backtest(*columns, tau=0.9, groups=[INSIDE])
