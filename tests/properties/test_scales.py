"""Labels and weights of every size: right or refused, never nan, never a raw overflow."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import multivalid as mv
from multivalid.errors import InputError, MultivalidError
from multivalid.properties.quantile import running_shares

LABELS = np.array([0.3, 0.7, 0.7, 1.1, 2.9, 4.0])
WEIGHTS = np.array([1.0, 3.0, 0.5, 2.0, 1.0, 0.25])
# With the degree d of Γ(c·Y) = c^d·Γ(Y); None where the property is not homogeneous.
SUBJECTS = {
    "mean": 1, "median": 1, "quantile:0.9": 1, "expectile:0.8": 1, "lp_quantile:1.5:0.3": 1, "lp_quantile:4:0.8": 1, "huber:0.5": None,
    "moment:2": 2, "moment:3": 3, "ratio:2:1": 1, "ratio:3:2": 1, "geometric_mean": 1, "entropic:0.5": None, "event:0:1": None,
    "variance": 2, "std": 1, "central_moment:4": 4, "skewness": 0, "kurtosis": 0, "mad": 1, "median_absolute_deviation": 1, "range": 1,
    "iqr": 1, "gini": 1, "variantile:0.8": 2, "cvar:0.9": 1, "wang:0.5": 1, "trimmed_mean:0.1": 1, "cv": 0, "dispersion_index": 1,
    "mode": 1, "entropy": 0,
}  # fmt: skip


def solved(name: str, labels: np.ndarray, weights: np.ndarray) -> float | None:
    """Γ, or None where it is refused."""
    try:
        return mv.parse_any(name).solve(labels, weights)
    except MultivalidError:
        return None


@pytest.mark.parametrize("name", SUBJECTS)
@pytest.mark.parametrize("exponent", [-500, -300, -150, -60, 60, 150, 300, 500, 990])
def test_labels_of_every_size(name: str, exponent: int) -> None:
    """Scaling by a power of two changes no digit, so a homogeneous Γ must follow exactly, or be refused for want of room."""
    degree, plain = SUBJECTS[name], mv.parse_any(name).solve(LABELS, WEIGHTS)
    found = solved(name, np.ldexp(LABELS, exponent), WEIGHTS)
    if degree is None:
        assert found is None or np.isfinite(found)
    elif abs(exponent * degree) <= 1000:
        assert found == pytest.approx(float(np.ldexp(plain, exponent * degree)), rel=1e-12)
    else:
        assert found is None


@pytest.mark.parametrize("name", SUBJECTS)
@pytest.mark.parametrize("factor", [1e-300, 1e-150, 1e150, 1e300])
def test_weights_of_every_size(name: str, factor: float) -> None:
    assert solved(name, LABELS, WEIGHTS * factor) == pytest.approx(mv.parse_any(name).solve(LABELS, WEIGHTS), rel=1e-12)


@pytest.mark.parametrize("pair", [mv.MeanVariance(), mv.MeanStd(), mv.QuantileCVaR(0.9), mv.QuantileIQR(), mv.MeanMoment(3)])
def test_pairs(pair: mv.Pair) -> None:
    plain = pair.solve(LABELS, WEIGHTS)
    for factor in (1e-150, 1e150):
        assert pair.solve(LABELS, WEIGHTS * factor) == pytest.approx(plain, rel=1e-12)
    for size in (1e-150, 1e150, 1e200):
        try:
            found = pair.solve(LABELS * size, WEIGHTS)
        except InputError:
            continue
        assert np.isfinite(found).all()


@pytest.mark.parametrize(
    "name", ["mean", "median", "expectile:0.8", "lp_quantile:3:0.7", "huber:0.5", "cvar:0.9", "iqr", "std", "gini"]
)
def test_a_large_offset(name: str) -> None:
    offset = 0.0 if name in ("iqr", "std", "gini") else 1e9
    found = mv.parse_any(name).solve(LABELS + 1e9, WEIGHTS)
    assert found - offset == pytest.approx(mv.parse_any(name).solve(LABELS, WEIGHTS), abs=1e-6)


@pytest.mark.parametrize("prop", [mv.Mean(), mv.Quantile(0.9), mv.Expectile(0.8)])
@pytest.mark.parametrize("labels", [[0.0, 1e200], [-1e200, 0.0], [1e-200, 2e-200]])
def test_an_audit_refuses_what_it_could_not_add_up(prop: mv.Property, labels: list[float]) -> None:
    with pytest.raises(InputError, match="unit of about that size"):
        mv.audit(np.array(labels * 10), np.full(20, labels[0]), groups=[], property=prop)


# ---- weighted quantiles: the running sum of one law must not feel the others ------------------------------------------------
def exact_quantile(labels: list[float], weights: list[float], tau: Fraction) -> float:
    """By fractions: the first label at which the share is at least tau."""
    parts = sorted(zip(labels, map(Fraction, weights), strict=True))
    total, running = sum(w for _, w in parts), Fraction(0)
    for label, weight in parts:
        running += weight
        if running >= tau * total:
            return label
    return parts[-1][0]


def test_fifty_medians_of_constant_weight() -> None:
    """Ten labels each, weight 0.1: the median is the fifth, for every cell, however many come before it."""
    labels = np.tile(np.arange(10.0), 50)
    found = mv.Quantile(0.5).solve_segments(labels, np.full(500, 0.1), np.arange(0, 500, 10))
    assert found.tolist() == [4.0] * 50


def test_small_weights_after_large_ones() -> None:
    labels = np.array([1.0, 2, 3, 4, 1, 2, 3, 4])
    weights = np.array([1e12] * 4 + [1e-6] * 4)
    assert mv.Quantile(0.5).solve_segments(labels, weights, np.array([0, 4])).tolist() == [2.0, 2.0]
    assert mv.Quantile(0.75).solve_segments(labels, weights, np.array([0, 4])).tolist() == [3.0, 3.0]


@pytest.mark.parametrize("tau", [Fraction(1, 2), Fraction(1, 10), Fraction(9, 10), Fraction(3, 4)])
def test_many_laws_against_fractions(tau: Fraction) -> None:
    rng = np.random.default_rng(int(100 * tau))
    sizes = rng.integers(1, 30, 400)
    starts = np.append(0, np.cumsum(sizes)[:-1])
    labels = np.concatenate([np.sort(rng.integers(0, 9, n) / 4) for n in sizes])
    scale = np.repeat(10.0 ** rng.integers(-150, 150, 400), sizes)
    weights = scale * rng.choice([0.1, 0.3, 1.0, 7.0, 1e-9], labels.size)
    found = mv.Quantile(float(tau)).solve_segments(labels, weights, starts)
    agree = 0
    for law, (a, n) in enumerate(zip(starts, sizes, strict=True)):
        y, w = labels[a : a + n].tolist(), weights[a : a + n].tolist()
        # Shares that meet tau within rounding count as having reached it; elsewhere the answer is exact.
        tight, loose = exact_quantile(y, w, tau), exact_quantile(y, w, tau * (1 - Fraction(1, 10**12)))
        assert found[law] in (tight, loose)
        agree += found[law] == tight
    assert agree > 300


def test_running_shares_of_extreme_weights() -> None:
    weights = np.array([1e300, 1e300, 1e-300, 3e-300, 1.0, 1e-30])
    shares = running_shares(weights, np.array([0, 2, 4]), np.array([2, 2, 2]))
    assert shares.tolist() == [0.5, 1.0, 0.25, 1.0, 1.0, 1.0]
