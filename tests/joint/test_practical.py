"""The default mode for pairs: near the floor, never worse, at home in raw units, and calm on hostile data."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import multivalid as mv
from multivalid.errors import InputError
from multivalid.joint.rank_scale import EDGE, RankScale
from multivalid.joint.reduction import PositiveMean, reduction_of

BENCHMARKS = Path(__file__).parent.parent.parent / "benchmarks"


def script(name):
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_mean_and_variance_near_the_floor():
    errors, _ = script("joint_quality").run(200_000, 100_000)
    for k in (0, 1):
        assert errors["calibrated"][k] <= 4 * errors["truth"][k]
    assert errors["calibrated"][1] < 0.1 * errors["base"][1]


def test_claims_of_motor_policies():
    module = script("joint_norauto")
    path = module.data_file()
    if path is None:
        pytest.skip("cas_norauto.parquet is not at hand: set MULTIVALID_SHARED")
    found = module.run(path)
    base, calibrated = found["base"], found["calibrated"]
    assert module.joint_error(calibrated["audit"]) <= 0.4 * module.joint_error(base["audit"])
    assert calibrated["loss"] <= base["loss"]
    # Expected shortfall on its own, in V-form; value at risk cannot fall in V-form where more than 95 % have no claim at all.
    assert calibrated["audit"].errors[1] <= 0.4 * base["audit"].errors[1]
    understated = [(part["backtest"].table["one_sided_adjusted"] <= 0.05).sum() for part in (base, calibrated)]
    assert understated[0] > 50
    assert understated[1] <= 0.1 * understated[0]


def zero_inflated(n, seed):
    random = np.random.default_rng(seed)
    group = random.random(n) < 0.5
    claim = random.random(n) < np.where(group, 0.3, 0.06)
    return np.where(claim, 1000 * random.pareto(3.0, n) + 10, 0.0), group


def test_zero_inflated_heavy_tail_in_raw_units():
    y, group = zero_inflated(20_000, 0)
    said = np.tile([400.0, 900.0], (20_000, 1))
    fitted = mv.multicalibrate(y, said, groups=[group], property="quantile_cvar:0.9")
    fresh, inside = zero_inflated(200_000, 1)
    got = fitted.predict(np.tile([400.0, 900.0], (2, 1)), groups=[np.array([True, False])])
    for row, mask in zip(got, (inside, ~inside), strict=True):
        truth = mv.QuantileCVaR(0.9).solve(fresh[mask])
        assert row[0] == pytest.approx(truth[0], rel=0.1, abs=60)
        assert row[1] == pytest.approx(truth[1], rel=0.15)
    assert got[1, 0] == 0.0


@pytest.mark.parametrize("pair", ["mean_variance", "mean_std", "quantile_iqr", "expectile_variantile:0.7", "mean_moment:3", "mean_mad",
                                  "bayes:quantile:0.8", "quantile_spectral:0.8:0.5"])  # fmt: skip
def test_every_pair_gets_nearer(pair):
    random = np.random.default_rng(2)
    n = 8000
    group = random.random(n) < 0.4
    y = np.where(group, 3.0, 1.0) + np.where(group, 2.0, 0.5) * random.standard_normal(n)
    prop = mv.properties.parse_any(pair)
    said = np.tile(prop.solve(y), (n, 1))
    fitted = mv.multicalibrate(y[:5000], said[:5000], groups=[group[:5000]], property=prop)
    before = mv.audit(y[5000:], said[5000:], groups=[group[5000:]], property=prop)
    after = fitted.audit(y[5000:], said[5000:], groups=[group[5000:]])
    assert after.errors[0] < 0.2 * before.errors[0]
    assert after.errors[1] < 0.5 * before.errors[1]


def test_right_predictions_pass_through():
    random = np.random.default_rng(0)
    mean, sd = random.random(4000), 0.5 + random.random(4000)
    y = mean + sd * random.standard_normal(4000)
    said = np.column_stack([mean, sd**2])
    fitted = mv.multicalibrate(y, said, groups=[random.random(4000) < 0.3], property="mean_variance")
    moved = fitted.predict(said, groups=[random.random(4000) < 0.3])
    assert np.abs(moved - said).mean() < 0.1
    fresh = mean + sd * random.standard_normal(4000)
    score = [mv.joint_score(mv.MeanVariance(), p[:, 0], p[:, 1], fresh).mean() for p in (said, moved)]
    assert score[1] <= score[0] + 0.01


@pytest.mark.parametrize("pair", ["quantile_cvar:0.9", "mean_variance", "mean_std", "quantile_iqr"])
@pytest.mark.parametrize("shape", ["one row", "few", "constant", "two values", "one group empty", "huge", "weights"])
def test_hostile_data(pair, shape):
    random = np.random.default_rng(1)
    n = {"one row": 1, "few": 9}.get(shape, 300)
    y = {"constant": np.full(n, 3.0), "two values": random.integers(0, 2, n).astype(float)}.get(shape, random.gamma(1.0, 1.0, n))
    y = y * (1e9 if shape == "huge" else 1.0)
    said = np.column_stack([np.full(n, 2.0), np.full(n, 4.0)]) * (1e9 if shape == "huge" else 1.0)
    groups = [np.zeros(n, dtype=bool), random.random(n) < 0.5] if shape == "one group empty" else [random.random(n) < 0.5]
    weights = random.integers(0, 2, n) + np.eye(1, n)[0] if shape == "weights" else None
    for mode in ("practical", "theorem"):
        fitted = mv.multicalibrate(y, said, groups=groups, property=pair, mode=mode, sample_weight=weights, m=6)
        assert np.isfinite(fitted.predict(said, groups=groups)).all()
        assert np.isfinite(fitted.certificate.error).all()
        assert fitted.certificate.summary()
        assert mv.audit(y, said, groups=groups, property=pair, sample_weight=weights).summary()


def test_user_identification_is_sent_to_the_theorem():
    pair = mv.Pair.from_identification(mv.Mean(), lambda g, s, y: s - np.abs(y - g), range=(0, 9), name="spread")
    with pytest.raises(InputError, match="mode='theorem'"):
        mv.multicalibrate([0.0, 1.0], [[0.5, 0.5]] * 2, groups=[], property=pair)


def test_rank_scale_laws():
    random = np.random.default_rng(0)
    y = np.where(random.random(5000) < 0.9, 0.0, 1000 * random.pareto(2.0, 5000))
    scale = RankScale.of(y, np.ones(5000))
    assert scale.values.size <= 4001
    spread = scale.spread(y, random)
    assert abs(np.quantile(spread, 0.5) - 0.5) < 0.02
    for level in (0.3, 0.89, 0.93, 0.99):
        assert np.quantile(y, level) == pytest.approx(scale.inverse(np.array([level]))[0], rel=0.02, abs=1e-9)
    shares = np.linspace(0.001, 0.999, 200)
    assert (np.diff(scale.inverse(shares)) >= 0).all()
    values = np.sort(random.random(200) * y.max())
    assert (np.diff(scale.forward(values)) >= 0).all()
    # Covered labels are covered on the new scale too.
    for value in (0.0, 50.0, 2000.0):
        assert np.mean(spread <= scale.forward(np.array([value]))[0]) == pytest.approx(np.mean(y <= value), abs=2e-3)
    # Shares stay inside (0, 1), where log-odds are finite, also beyond the labels.
    beyond = scale.forward(np.array([-1e6, y.max(), 1e9]))
    np.testing.assert_array_equal(beyond, [EDGE, 1 - EDGE, 1 - EDGE])
    again = RankScale.from_json(scale.to_json())
    np.testing.assert_array_equal(again.forward(values), scale.forward(values))


def test_positive_mean_is_consistent():
    t = np.random.default_rng(0).gamma(1.0, 2.0, 500)
    prop = PositiveMean(1e-9)
    grid = t.mean() * np.linspace(0.5, 2, 301)
    scores = [prop.score(g, t).mean() for g in grid]
    assert grid[np.argmin(scores)] == pytest.approx(t.mean(), rel=0.01)
    assert np.isfinite(prop.score(0.0, t)).all()


def test_reduction_of_the_catalogue():
    assert reduction_of(mv.MeanStd()).form.square
    assert reduction_of(mv.QuantileCVaR(0.9)).form.ordered
    np.testing.assert_allclose(reduction_of(mv.QuantileIQR()).labels(np.array([1.0]), np.array([3.0])), [2.0])
