"""What every property must satisfy. Each law takes a case and fails with an AssertionError that says what is wrong."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from multivalid.properties.base import Array, Property

from .registry import Case

# Double-exponential nodes on (0, 1): they reach full accuracy although V may have a root or a jump at either end.
_T = np.arange(-3.4, 3.4 + 1e-9, 0.05)
_NODES = 1 / (1 + np.exp(-np.pi * np.sinh(_T)))
_WEIGHTS = 0.05 * np.pi * np.cosh(_T) * _NODES * (1 - _NODES)


def random_laws(case: Case, laws: int = 12, seed: int = 5) -> Iterator[tuple[Array, Array]]:
    """Labels and unequal weights, with ties and with labels on both edges among them."""
    rng = np.random.default_rng(seed)
    for law in range(laws):
        size = int(rng.integers(1, 9))
        share = rng.integers(0, 9, size) / 8 if law % 2 else rng.random(size)  # odd laws have ties and edges
        yield case.lo + share * case.length, rng.integers(1, 6, size) * rng.choice([1.0, 0.3])


def mean_identification(prop: Property, at: Array, labels: Array, weights: Array) -> Array:
    at = np.atleast_1d(at)
    return np.asarray(prop.identify(at[:, None], labels) @ weights / weights.sum())


def mean_score(prop: Property, at: Array, labels: Array, weights: Array) -> Array:
    at = np.atleast_1d(at)
    return np.asarray(prop.score(at[:, None], labels) @ weights / weights.sum())


def prediction_mesh(case: Case, size: int = 201) -> Array:
    ends = case.prop.facts(case.lo, case.hi).range
    return np.linspace(ends.lo, ends.hi, size)


def solution(case: Case, labels: Array, weights: Array) -> tuple[float, float]:
    """The lowest and the highest value of Γ (they differ where it is an interval)."""
    low = case.prop.solve(labels, weights)
    lo, hi = low, prediction_mesh(case)[-1]
    tolerance = (1e-12 + case.agreement * 1e-2) * case.prop.facts(case.lo, case.hi).bound
    if mean_identification(case.prop, np.array(low), labels, weights)[0] < -tolerance:
        return low, low
    for _ in range(80):
        middle = (lo + hi) / 2
        zero = mean_identification(case.prop, np.array(middle), labels, weights)[0] <= tolerance
        lo, hi = (middle, hi) if zero else (lo, middle)
    return low, max(low, lo)


# ---- identification -------------------------------------------------------------------------------------------------
def zero_at_value(case: Case) -> None:
    """Mean V changes sign at Γ, and is zero there where V is Lipschitz."""
    facts = case.prop.facts(case.lo, case.hi)
    step = 1e-9 * facts.range.length
    for labels, weights in random_laws(case):
        value = case.prop.solve(labels, weights)
        below, at, above = mean_identification(case.prop, np.array([value - step, value, value + step]), labels, weights)
        noise = 1e-12 * facts.bound + case.agreement * facts.bound
        assert below <= noise, f"mean V below the value is {below}"
        assert above >= -noise, f"mean V above the value is {above}"
        if facts.lipschitz is not None:
            assert abs(at) <= noise + 1e-13 * facts.lipschitz * facts.range.length, f"mean V at the value is {at}"


def oriented(case: Case) -> None:
    """Mean V is negative below Γ and positive above, and somewhere truly so."""
    mesh = prediction_mesh(case)
    bound = case.prop.facts(case.lo, case.hi).bound
    for labels, weights in random_laws(case):
        low, high = solution(case, labels, weights)
        v = mean_identification(case.prop, mesh, labels, weights)
        margin = 1e-3 * (mesh[-1] - mesh[0])
        below, above = v[mesh < low - margin], v[mesh > high + margin]
        assert (below < 0).all(), "wrong orientation: V is not negative below the value"
        assert (above > 0).all(), "wrong orientation: V is not positive above the value"
        assert np.abs(v).max() > 1e-6 * bound, "V is zero everywhere"


def monotone(case: Case) -> None:
    """V(·, y) never falls; close to the label too."""
    labels = np.linspace(case.lo, case.hi, 17)
    near = labels[:, None] + np.array([-1e-3, -1e-9, 0.0, 1e-9, 1e-3]) * case.length
    mesh = np.unique(np.concatenate([prediction_mesh(case), near.ravel()]))
    ends = prediction_mesh(case, 2)
    mesh = mesh[(mesh >= ends[0]) & (mesh <= ends[1])]
    v = case.prop.identify(mesh[:, None], labels)
    slack = (1e-13 + case.agreement * 1e-2) * np.abs(v).max()
    assert (np.diff(v, axis=0) >= -slack).all(), "V falls with the prediction"


# ---- score ------------------------------------------------------------------------------------------------------------
def score_is_integral(case: Case) -> None:
    """S(b, y) − S(a, y) = ∫ V over [a, b], cut where V breaks."""
    rng = np.random.default_rng(11)
    lo, hi = prediction_mesh(case, 2)
    start, stop = np.sort(rng.uniform(lo, hi, (2, 60)), axis=0)
    labels = rng.uniform(case.lo, case.hi, 60)
    labels[:20] = rng.choice([case.lo, case.hi], 20)
    stop[20:30], start[30:40] = np.maximum(labels[20:30], start[20:30]), np.minimum(labels[30:40], stop[30:40])
    inner = np.clip(np.sort(case.breaks(labels), axis=1), start[:, None], stop[:, None])
    cuts = np.concatenate([start[:, None], inner, stop[:, None]], axis=1)
    width = np.diff(cuts, axis=1)[..., None]
    at = cuts[:, :-1, None] + width * _NODES
    integral = (case.prop.identify(at, labels[:, None, None]) * _WEIGHTS * width).sum(axis=(1, 2))
    change = case.prop.score(stop, labels) - case.prop.score(start, labels)
    scale = max(1.0, np.abs(case.prop.score(np.array([start, stop]), labels)).max())
    assert np.abs(integral - change).max() <= case.agreement * scale, f"|∫V − ΔS| = {np.abs(integral - change).max():.2e}"


def score_has_slope_v(case: Case) -> None:
    """V = ∂S/∂γ away from the breakpoints, by a central difference of fourth order."""
    rng = np.random.default_rng(12)
    lo, hi = prediction_mesh(case, 2)
    h = 1e-3 * (hi - lo)
    g, y = rng.uniform(lo + 3 * h, hi - 3 * h, 300), rng.uniform(case.lo, case.hi, 300)
    clear = (np.abs(g[:, None] - case.breaks(y)) > 0.04 * (hi - lo)).all(axis=1)
    g, y = g[clear], y[clear]
    s = [case.prop.score(g + k * h, y) for k in (-2, -1, 1, 2)]
    slope = (s[0] - 8 * s[1] + 8 * s[2] - s[3]) / (12 * h)
    assert clear.sum() > 20
    worst = np.abs(slope - case.prop.identify(g, y)).max()
    assert worst <= 1e-6 * case.prop.facts(case.lo, case.hi).bound, f"V is off the slope of S by {worst:.2e}"


def consistent(case: Case) -> None:
    """Γ minimises the mean score, strictly outside the interval of values."""
    mesh = prediction_mesh(case)
    for labels, weights in random_laws(case):
        low, high = solution(case, labels, weights)
        best = mean_score(case.prop, np.array([low, high]), labels, weights)
        scores = mean_score(case.prop, mesh, labels, weights)
        noise = 1e-12 * max(1.0, np.abs(scores).max())
        assert (best <= scores.min() + noise).all(), "inconsistent: some prediction scores better than the value"
        outside = (mesh < low - 0.02 * case.length) | (mesh > high + 0.02 * case.length)
        assert (scores[outside] > best[0]).all(), "not strict: a prediction away from the value scores as well"


def order_sensitive(case: Case) -> None:
    """Farther from Γ on the same side scores worse (one-sided; distances on different sides do not compare)."""
    mesh = prediction_mesh(case, 41)
    for labels, weights in random_laws(case):
        low, high = solution(case, labels, weights)
        scores = mean_score(case.prop, mesh, labels, weights)
        # Past the interval of values by a hair, where its ends are only known up to rounding.
        hair = 1e-9 * (mesh[-1] - mesh[0])
        left, right = scores[mesh <= low - hair], scores[mesh >= high + hair]
        assert (np.diff(left) < 0).all(), "not order sensitive below the value"
        assert (np.diff(right) > 0).all(), "not order sensitive above the value"


# ---- labels and weights -----------------------------------------------------------------------------------------------
def ties_and_edges(case: Case) -> None:
    """A law on one label gives that label's own value, at the edges too, however often it is repeated."""
    labels = np.linspace(case.lo, case.hi, 9)
    own = case.prop.solve_points(labels)
    span = case.prop.facts(case.lo, case.hi).range.length
    for label, expected in zip(labels, own, strict=True):
        for law in ([label], [label] * 3):
            assert abs(case.prop.solve(law) - expected) <= 1e-8 * span, f"the value of a law on {label} is not {expected}"
        scores = case.prop.score(prediction_mesh(case), label)
        assert case.prop.score(expected, label) <= scores.min() + 1e-12 * max(1.0, np.abs(scores).max())


def weight_is_repetition(case: Case) -> None:
    rng = np.random.default_rng(3)
    for labels, _ in random_laws(case):
        times = rng.integers(0, 4, labels.size)
        times[0] = 2
        weighted = case.prop.solve(labels, times.astype(float))
        repeated = case.prop.solve(np.repeat(labels, times))
        assert abs(weighted - repeated) <= 1e-12 * case.length + 1e-9 * case.agreement, "an integer weight is not repetition"


def weights_matter(case: Case) -> None:
    labels = case.lo + case.length * np.array([0.05, 0.2, 0.3, 0.45, 0.6, 0.7, 0.85, 0.95])
    low = case.prop.solve(labels, np.array([50.0, 50, 1, 1, 1, 1, 1, 1]))
    high = case.prop.solve(labels, np.array([1.0, 1, 1, 50, 50, 50, 1, 1]))
    assert low != high, "weights do not matter"


def scalar_is_vector(case: Case) -> None:
    rng = np.random.default_rng(8)
    g, y = rng.choice(prediction_mesh(case), 12), rng.uniform(case.lo, case.hi, 12)
    y[:3] = np.clip(g[:3], case.lo, case.hi)
    for verb in (case.prop.identify, case.prop.score):
        whole = verb(g, y)
        assert whole.dtype == np.float64
        one_by_one = np.array([float(verb(float(a), float(b))) for a, b in zip(g, y, strict=True)])
        # Powers of many numbers at once may be rounded otherwise than one by one: on processors with wide registers they are.
        np.testing.assert_array_max_ulp(one_by_one, whole, maxulp=4)
        np.testing.assert_array_max_ulp(verb(g[:, None], y[None, :]).diagonal(), whole, maxulp=4)
        np.testing.assert_array_equal(verb(list(g), list(y)), whole)
