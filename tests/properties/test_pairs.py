"""Laws that every pair obeys: V¹ is zero at the solution, monotone, the derivative of S¹, with the constants it declares."""

import copy
import pickle

import numpy as np
import pytest

from multivalid.errors import InputError, PropertyError
from multivalid.properties import (
    BayesPair,
    CentralMoment,
    CVaR,
    Entropic,
    Expectile,
    ExpectileVariantile,
    Huber,
    InterquartileRange,
    LowerQuantileCVaR,
    LpQuantile,
    Mean,
    MeanAbsoluteDeviation,
    MeanMAD,
    MeanMoment,
    MeanStd,
    MeanVariance,
    Moment,
    Pair,
    Quantile,
    QuantileCVaR,
    QuantileIQR,
    QuantileSpectral,
    Ratio,
    Spectral,
    Std,
    Variance,
    Variantile,
    parse_any,
    spec_of,
)

PAIRS = [
    MeanVariance(), MeanStd(), MeanMoment(2), MeanMoment(3), MeanMoment(4), MeanMAD(), QuantileCVaR(0.75), QuantileCVaR(0.3),
    LowerQuantileCVaR(0.75), LowerQuantileCVaR(0.3),
    QuantileSpectral(0.8, 0.4), ExpectileVariantile(0.8), QuantileIQR(), QuantileIQR(0.1, 0.6), BayesPair(Mean()),
    BayesPair(Quantile(0.9)), BayesPair(Expectile(0.3)), BayesPair(Huber(0.4)), BayesPair(LpQuantile(3, 0.6)),
    BayesPair(Entropic(0.5)), BayesPair(Moment(2)),
]  # fmt: skip
OWN = [
    Pair.from_target(Quantile(0.5), lambda g, y: np.abs(y - g), range=(0, 10), conditional_lipschitz=1, name="spread"),
    Pair.from_identification(
        Mean(), lambda g, s, y: s**2 - (y - g) ** 2, range=(0, 10), labels=(-3, 7), lipschitz=20, conditional_lipschitz=20, name="s"
    ),
]  # fmt: skip
SECOND = [
    (MeanVariance(), Variance()), (MeanStd(), Std()), (MeanMoment(3), CentralMoment(3)), (MeanMoment(5), CentralMoment(5)),
    (MeanMAD(), MeanAbsoluteDeviation()), (QuantileCVaR(0.75), CVaR(0.75)), (QuantileCVaR(0.3), CVaR(0.3)),
    (QuantileSpectral(0.8, 0.4), Spectral((0, 0.8), (0.6, 0.4))), (ExpectileVariantile(0.8), Variantile(0.8)),
    (QuantileIQR(), InterquartileRange()), (QuantileIQR(0.1, 0.6), InterquartileRange(0.1, 0.6)),
]  # fmt: skip
RANGES = [(0.0, 1.0), (-3.0, 7.0)]
every = pytest.mark.parametrize("pair", PAIRS + OWN, ids=repr)


def sample(lo, hi, seed=0, size=40):
    random = np.random.default_rng(seed)
    # Ties on purpose: half of the labels lie on a coarse lattice.
    y = np.where(random.random(size) < 0.5, np.round(random.random(size) * 4) / 4, random.random(size))
    return lo + (hi - lo) * y, random.integers(1, 4, size).astype(float)


@every
@pytest.mark.parametrize("seed", range(5))
def test_identification_crosses_zero_at_the_solution(pair, seed):
    y, w = sample(-3, 7, seed)
    first, second = pair.solve(y, w)
    step = 1e-7
    value = np.average(pair.identify_second(first, second, y), weights=w)
    below = np.average(pair.identify_second(first, second - step, y), weights=w)
    assert below <= 1e-9
    assert value >= -1e-9
    if pair.has_target:
        assert value == pytest.approx(0, abs=1e-9 * max(1, abs(second)))


@every
def test_weight_is_repetition(pair):
    y, w = sample(-3, 7)
    assert pair.solve(y, w) == pytest.approx(pair.solve(np.repeat(y, w.astype(int))), abs=1e-9)
    assert pair.solve(y, np.where(y > 2.5, 10 * w, w)) != pytest.approx(pair.solve(y), abs=1e-9)


@every
@pytest.mark.parametrize("ends", RANGES)
def test_monotone_and_lipschitz_as_declared(pair, ends):
    facts = pair.facts(*ends)
    random = np.random.default_rng(2)
    first, other = random.uniform(*facts.first.range, (2, 3000))
    y = random.uniform(*ends, 3000)
    low, high = np.sort(random.uniform(*facts.second_range, (2, 3000)), axis=0)
    rise = pair.identify_second(first, high, y) - pair.identify_second(first, low, y)
    scale = facts.second_bound
    assert rise.min() >= -1e-12 * scale
    assert np.abs(pair.identify_second(first, low, y)).max() <= scale * (1 + 1e-9)
    if facts.second_lipschitz is not None:
        assert (rise <= facts.second_lipschitz * (high - low) + 1e-9 * scale).all()
    if facts.conditional_lipschitz is not None:
        shift = np.abs(pair.identify_second(other, low, y) - pair.identify_second(first, low, y))
        assert (shift <= facts.conditional_lipschitz * np.abs(other - first) + 1e-9 * scale).all()
    if facts.second_lipschitz is None or facts.conditional_lipschitz is None:
        assert facts.reason


@every
@pytest.mark.parametrize("ends", RANGES)
def test_score_is_the_integral_of_the_identification_and_within_its_span(pair, ends):
    facts = pair.facts(*ends)
    random = np.random.default_rng(3)
    first, y = random.uniform(*facts.first.range, 200), random.uniform(*ends, 200)
    low, high = np.sort(random.uniform(*facts.second_range, (2, 200)), axis=0)
    mesh = np.linspace(0, 1, 4001)[:, None]
    inner = pair.identify_second(first, low + (high - low) * (mesh[1:] + mesh[:-1]) / 2, y).mean(axis=0) * (high - low)
    rise = pair.score_second(first, high, y) - pair.score_second(first, low, y)
    assert np.abs(rise - inner).max() <= 1e-3 * facts.second_bound * facts.second_range.length
    assert np.abs(rise).max() <= facts.second_span * (1 + 1e-9)


@every
@pytest.mark.parametrize("ends", RANGES)
def test_second_range_holds_the_zero_for_every_first_prediction(pair, ends):
    facts = pair.facts(*ends)
    y, w = sample(*ends)
    for first in np.linspace(*facts.first.range, 21):
        second = pair.solve_second(float(first), y, w)
        assert facts.second_range.lo - 1e-9 <= second <= facts.second_range.hi + 1e-9
    if pair.has_target:
        random = np.random.default_rng(1)
        targets = pair.target(random.uniform(*facts.first.range, 5000), random.uniform(*ends, 5000))
        slack = 1e-9 * facts.second_range.length
        assert facts.second_range.lo - slack <= targets.min()
        assert targets.max() <= facts.second_range.hi + slack


@pytest.mark.parametrize("pair", [p for p in PAIRS if p.facts().bayes], ids=repr)
@pytest.mark.parametrize("ends", RANGES)
def test_bayes_pairs_are_scaled_scores_and_the_excess_is_bounded(pair, ends):
    facts = pair.facts(*ends)
    random = np.random.default_rng(4)
    g, other = random.uniform(*facts.first.range, (2, 500))
    y = random.uniform(*ends, 500)
    difference = pair.target(g, y) - pair.target(other, y)
    sign = -1 if pair.of_gains else 1
    scaled = sign * facts.bayes_scale * (pair.first.score(g, y) - pair.first.score(other, y))
    assert np.abs(difference - scaled).max() <= 1e-9 * max(1, np.abs(difference).max())
    labels, w = sample(*ends)
    first, risk = pair.solve(labels, w)
    for wrong in np.linspace(*facts.first.range, 17):
        excess = sign * (pair.solve_second(float(wrong), labels, w) - risk)
        slope = abs(np.average(pair.first.identify(wrong, labels), weights=w))
        assert excess >= -1e-9
        assert excess <= facts.bayes_scale * slope * abs(wrong - first) + 1e-9


@pytest.mark.parametrize("pair", [MeanStd(), MeanMoment(3), MeanMoment(4), MeanMAD(), QuantileIQR()], ids=repr)
def test_pairs_that_are_no_bayes_pairs_do_not_claim_it(pair):
    assert not pair.facts().bayes


@pytest.mark.parametrize(("pair", "functional"), SECOND, ids=repr)
@pytest.mark.parametrize("seed", range(5))
def test_the_second_coordinate_is_the_functional_of_that_name(pair, functional, seed):
    y, w = sample(-3, 7, seed)
    assert pair.solve(y, w)[1] == pytest.approx(functional.solve(y, w), rel=1e-12, abs=1e-12)


def test_cvar_with_atoms_is_the_least_mean_score():
    y, w = np.array([0.0, 1.0, 5.0]), np.array([0.5, 0.3, 0.2])
    for tau in (0.1, 0.5, 0.6, 0.8, 0.9):
        pair = QuantileCVaR(tau)
        least = min(np.average(pair.target(g, y), weights=w) for g in np.linspace(-1, 6, 7001))
        assert pair.solve(y, w)[1] == pytest.approx(least, abs=1e-12)
    assert QuantileCVaR(0.9).solve(y, w)[1] == 5.0


def test_known_ranges_in_raw_units():
    assert QuantileCVaR(0.95).facts(2, 12).second_range == pytest.approx((2, 202))
    assert MeanMoment(3).facts(0, 2).second_range == (-8, 8)
    assert MeanMoment(4).facts(0, 2).second_range == (0, 16)
    assert QuantileIQR().facts(0, 2).second_range == (-2, 2)
    assert MeanVariance().facts(0, 2).conditional_lipschitz == 4
    assert QuantileCVaR(0.75).facts().conditional_lipschitz == 3
    assert MeanStd().facts().second_lipschitz == 2


@pytest.mark.parametrize("pair", PAIRS, ids=repr)
def test_pairs_travel(pair):
    assert pickle.loads(pickle.dumps(pair)) == pair  # noqa: S301
    assert copy.deepcopy(pair) == pair
    assert eval(repr(pair), dict(globals())) == pair  # noqa: S307
    assert parse_any(pair.spec) == pair
    assert spec_of(pair) == pair.spec
    assert len(pair.names) == 2


@every
def test_shapes_broadcast(pair):
    assert pair.identify_second(0.2, np.array([0.1, 0.3])[:, None], np.array([0.0, 0.5, 1.0])).shape == (2, 3)
    assert pair.score_second(0.2, np.array([0.1, 0.3])[:, None], np.array([0.0, 0.5, 1.0])).shape == (2, 3)


def test_pairs_without_target_say_so():
    with pytest.raises(PropertyError, match="identify_second"):
        MeanStd().target(0, 1)


def test_bad_pairs_are_refused():
    with pytest.raises(InputError, match="prop"):
        BayesPair("mean")
    with pytest.raises(InputError, match="tau"):
        QuantileCVaR(1.0)
    with pytest.raises(InputError, match="k must be a whole number"):
        MeanMoment(1)
    with pytest.raises(InputError, match="low must be below high"):
        QuantileIQR(0.75, 0.25)
    with pytest.raises(InputError, match="first must be a property"):
        Pair.from_target("mean", lambda g, y: y, range=(0, 1))
    with pytest.raises(InputError, match="range"):
        Pair.from_target(Mean(), lambda g, y: y, range=(1, 0))
    with pytest.raises(InputError, match="target must be a function"):
        Pair.from_target(Mean(), 3, range=(0, 1))
    with pytest.raises(PropertyError, match="not monotone"):
        Pair.from_identification(Mean(), lambda g, s, y: y - s, range=(0, 1))
    with pytest.raises(PropertyError, match="raised ZeroDivisionError"):
        Pair.from_target(Mean(), lambda g, y: 1 / 0, range=(0, 1)).solve([0, 1])


def test_ratio_pair_works_where_its_labels_allow():
    pair = BayesPair(Ratio(2, 1))
    first, second = pair.solve([1.0, 3.0])
    assert first == 2.5
    assert second == pytest.approx(np.mean(Ratio(2, 1).score(2.5, [1.0, 3.0])))


@pytest.mark.parametrize("pair", [MeanVariance(), QuantileCVaR(0.6), LowerQuantileCVaR(0.8)])
def test_what_a_group_as_a_whole_should_be_told_is_the_weighted_mean_of_its_targets(pair):
    rng = np.random.default_rng(8)
    weights, starts = rng.exponential(3, 30), np.array([0, 7, 18])
    labels = np.concatenate([np.sort(part) for part in np.split(rng.normal(size=30), starts[1:])])
    said = np.column_stack([rng.normal(size=30), rng.normal(size=30)])
    found = pair.solve_groups(labels, said, weights, starts)
    for law, inside in enumerate(np.split(np.arange(30), starts[1:])):
        assert found[0, law] == pytest.approx(pair.first.solve(labels[inside], weights[inside]))
        targets = [float(pair.target(said[i, 0], labels[i])) for i in inside]
        assert found[1, law] == pytest.approx(np.average(targets, weights=weights[inside]))
