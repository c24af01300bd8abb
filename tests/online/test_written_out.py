"""Windows, bounds of V, rates of bets, games and promises of the online algorithms, each worked out once more by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

import multivalid as mv
from multivalid.errors import InputError
from multivalid.online import evidence as evidence_module
from multivalid.online.convex_minimax import ConvexMinimax
from multivalid.online.evidence import BLOCK, RATES, Evidence, tilts
from multivalid.online.minimax import Certificate, Minimax
from multivalid.online.monitor import LEARN_EDGES, Monitor
from multivalid.online.rows import ROUNDING, _check_values
from multivalid.online.times import check_order, period_starts, read_times, show_time
from multivalid.online.v_range import prediction_range, v_range
from multivalid.online.watch import Watch
from multivalid.online.watch_targets import Shortfall, Single, watch_target
from multivalid.online.windows import PERIODS_KEPT, Periods, Recent, Trace
from multivalid.properties.base import REALS, Interval

LOW, HIGH = np.array([0.5, 2.0]), np.array([1.0, 2.5])


# ---- bounds of V ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("prop", "labels", "least", "most"),
    [
        (mv.Mean(), (0, 4), [-3.5, -2], [1, 2.5]),
        (mv.Moment(2), (-1, 3), [-8.5, -7], [1, 2.5]),
        (mv.Quantile(0.8), (0, 4), [-0.8, -0.8], [0.2, 0.2]),
        (mv.Expectile(0.8), (0, 4), [-1.6 * 3.5, -1.6 * 2], [0.4 * 1, 0.4 * 2.5]),
        (mv.Huber(0.7), (0, 4), [-0.7, -0.7], [0.7, 0.7]),
        (mv.Huber(0.7), (-np.inf, 4), [-np.inf, -np.inf], [np.inf, np.inf]),
        (mv.Mean(), (0, np.inf), [-np.inf, -np.inf], [1, 2.5]),
    ],
    ids=repr,
)
def test_between_which_numbers_v_lies(prop, labels, least, most):
    found = v_range(prop, LOW, HIGH, Interval(*labels))
    np.testing.assert_allclose(found, [least, most])


def test_where_a_prediction_can_be_right():
    assert prediction_range(mv.Moment(2), Interval(-1.0, 3.0)) == (0, 9)
    assert prediction_range(mv.Quantile(0.3), Interval(0.0, 1.0)) == REALS
    assert prediction_range(mv.Expectile(0.3), Interval(0.0, 2.0)) == (0, 2)
    assert prediction_range(mv.Huber(0.7), Interval(0.0, 2.0)) == (0, 2)
    assert prediction_range(mv.Huber(0.7), Interval(0.0, np.inf)) == REALS


@pytest.mark.parametrize(("off", "refused"), [(0.0, False), (0.9 * ROUNDING * 1.4, False), (1.1 * ROUNDING * 1.4, True)])
@pytest.mark.parametrize("side", [-1, 1])
def test_v_is_held_against_its_bounds(off, refused, side):
    coordinate = SimpleNamespace(
        prediction=lambda p: p[:, 0],
        identify=lambda p, y: np.full(len(p), side * (0.4 + off)),
        v_range=lambda low, high: (np.full_like(low, -0.4), np.full_like(high, 0.4)),
    )
    if refused:
        with pytest.raises(InputError, match="in row 0"):
            _check_values(coordinate, np.zeros((3, 1)), np.zeros(3))
    else:
        _check_values(coordinate, np.zeros((3, 1)), np.zeros(3))


def test_the_v_of_an_expected_shortfall():
    one = Shortfall(0.8, "es")
    said = np.array([[1.0, 3.0], [1.0, 3.0], [2.0, 2.5]])
    np.testing.assert_allclose(one.identify(said, np.array([0.5, 2.0, 4.5])), [1, 1 - 1 / 0.4, 1 - 2.5 / 0.1])
    assert one.usual(np.ones(2)).tolist() == pytest.approx([4, 4])
    assert [side.tolist() for side in one.v_range(LOW, HIGH)] == [[-np.inf, -np.inf], [1, 1]]


def test_predictions_that_no_label_bears_out_are_counted():
    watched = watch_target("mean", (0.0, 2.0))
    assert watched.outside(np.array([[-0.1], [0.0], [2.0], [2.1], [5.0]])) == 3
    np.testing.assert_allclose(watched.coordinates[0].prediction(np.array([[-1.0], [1.0], [7.0]])), [0, 1, 2])
    watched.check(np.zeros((2, 1)), np.array([0.0, 2.0]))
    for y in (-1e-9, 2 + 1e-9):
        with pytest.raises(InputError, match="1 values do not, the first at row 1"):
            watched.check(np.zeros((2, 1)), np.array([1.0, y]))
    pair = watch_target("quantile_cvar:0.9", None)
    pair.check(np.array([[1.0, 1.1]]), np.zeros(1))
    with pytest.raises(InputError, match="ES above VaR"):
        pair.check(np.array([[1.0, 1.0]]), np.zeros(1))


# ---- rates of bets ----------------------------------------------------------------------------------------------------
def tilt(loss, gain, theta):
    """The bet that grows fastest if the odds of the two extremes have shifted by theta."""
    share = loss / (loss + gain)
    shifted = share * math.exp(theta) / (1 - share + share * math.exp(theta))
    return (shifted / share - 1) / gain


def test_rates_of_every_bucket():
    watch = Watch(Single(mv.Mean(), Interval(0.0, 4.0)), 2, 3, 40.0, 0.1)
    watch.set_edges(np.array([1.0, 2.5]))
    ends = [(0.0, 1.0), (1.0, 2.5), (2.5, 4.0), (0.0, 4.0)]  # the last one of rows without a bucket
    for bucket, (low, high) in enumerate(ends):
        least, most = 4.0 - low, high  # V goes from low − 4 to high
        for k, theta in enumerate(RATES):
            assert watch.bets.rates[bucket, k] == pytest.approx(tilt(least + 0.1, most - 0.1, theta))
            assert watch.bets.rates[bucket, 8 + k] == pytest.approx(tilt(most + 0.1, least - 0.1, theta))
    assert watch.bucket(np.array([0.0, 1.0, 2.4, 2.5, 9.0])).tolist() == [0, 1, 1, 2, 2]
    np.testing.assert_allclose(watch._scale(np.array([0.0, 3.0]), np.array([0, 2])), 1.0)
    assert watch.says(0 * 16 + 3) == "predictions too high"
    assert watch.says(0 * 16 + 8) == "predictions too low"
    assert (watch.says(16), watch.says(16 + 8)) == ("predictions too extreme", "predictions too moderate")
    assert watch.says(2 * 16 + 7) == "predictions too high where they are in [0, 1)"
    assert watch.says(4 * 16 + 15) == "predictions too low where they are in [2.5, 4)"


def test_bets_of_predictions_far_out_are_made_smaller():
    """Labels of at least 0: V of a mean is at most the prediction, without end in the last bucket."""
    watch = Watch(Single(mv.Mean(), Interval(0.0, np.inf)), 1, 2, 40.0, 0.0)
    watch.set_edges(np.array([3.0]))
    assert (watch.bets.rates[:, :8] == 0).all(), "nothing bounds V from below"
    assert watch.bets.rates[1, 8] == pytest.approx(tilt(6.0, 6.0, RATES[0])), "twice what it is at the inner edge, and as far back"
    np.testing.assert_allclose(watch._scale(np.array([1.0, 3.0, 6.0, 8.0, 60.0]), np.array([0, 1, 1, 1, 1])), [1, 1, 1, 0.75, 0.1])
    assert watch.bets.prior[:, :8].sum() == 0
    assert watch.bets.prior.sum() == pytest.approx(1)
    assert watch.says(3 * 16 + 9) == "predictions too low where they are at least 3"


def test_money_on_families_sides_and_starts():
    bets = Evidence(groups=2, buckets=4, threshold=20.0, sides=(0.25, 0.75))
    np.testing.assert_allclose(bets.prior.sum(axis=1), [0.75, 0.1, *[0.15 / 4] * 4])
    np.testing.assert_allclose([bets.prior[:, :8].sum(), bets.prior[:, 8:].sum()], [0.25, 0.75])
    rates = np.array([1, 2, 4, 6, 6, 4, 2, 1]) / 26
    np.testing.assert_allclose(bets.prior[0], 0.75 * np.concatenate([0.25 * rates, 0.75 * rates]))
    rows = 2 * BLOCK + 1
    bets.add(np.ones((rows, 2), bool), np.zeros(rows, np.int64), np.zeros(rows), np.ones(rows), np.zeros(rows), 0)
    np.testing.assert_allclose(bets.wealth.sum(axis=(1, 2)), 1 / 2 + 1 / 6 + 1 / 12)  # V = 0 wins nothing
    np.testing.assert_allclose(bets.cash, 1 / 4)
    np.testing.assert_allclose(bets.evidence, 1.0)


def test_tilts_by_hand():
    found = tilts(np.array([-0.2, -3.0]), np.array([0.8, 0.5]))
    wanted = [[tilt(0.2, 0.8, theta) for theta in RATES], [tilt(3.0, 0.5, theta) for theta in RATES]]
    np.testing.assert_allclose(found, wanted)
    assert evidence_module.CEILING == 1e200


# ---- a monitor --------------------------------------------------------------------------------------------------------
def test_when_an_alarm_is_raised_and_where_buckets_are_cut():
    rng = np.random.default_rng(0)
    monitor = Monitor("mean", groups=2, delta=0.1, buckets=5)
    assert monitor._watches[0].bets.threshold == pytest.approx(3 / 0.1)
    p = rng.random(300)
    x, y = rng.random((300, 2)) < 0.5, (rng.random(300) < p).astype(float)
    monitor.update_many(x[:200], p[:200], y[:200])
    assert monitor._watches[0].edges is None
    monitor.update_many(x[200:], p[200:], y[200:])
    np.testing.assert_allclose(monitor._watches[0].edges, np.quantile(p[:LEARN_EDGES], [0.2, 0.4, 0.6, 0.8]))
    pair = Monitor("quantile_cvar:0.9", groups=2, delta=0.1)
    assert pair._watches[1].bets.threshold == pytest.approx(2 * 3 / 0.1)
    table = monitor.table(last=50)
    assert table["rows"].tolist() == [50, *x[250:].sum(axis=0)]
    np.testing.assert_allclose(table["gap"][0], (p - y)[250:].mean())


@pytest.mark.parametrize(("tolerance", "refused"), [(0.0, False), (1.9, False), (2.0, True), (-0.1, True)])
def test_a_tolerance_is_below_the_most_that_v_can_be(tolerance, refused):
    if refused:
        with pytest.raises(InputError, match="below 2, the most"):
            Monitor("mean", 0, labels=(0.0, 2.0), tolerance=tolerance)
    else:
        assert Monitor("mean", 0, labels=(0.0, 2.0), tolerance=tolerance).setup.tolerance == tolerance


@pytest.mark.parametrize("parts", [[23], [4, 9, 10], [1] * 23])
def test_sums_over_the_last_rounds(parts):
    rng = np.random.default_rng(1)
    member, value = rng.random((23, 11)) < 0.4, rng.normal(size=(23, 2))
    recent, done = Recent(size=10, groups=11, coordinates=2), 0
    for part in parts:
        recent.add(member[done : done + part], value[done : done + part], done)
        done += part
    for last in (1, 7, 10):
        rows, sums = recent.sums(last, 23)
        assert rows.tolist() == member[-last:].sum(axis=0).tolist()
        np.testing.assert_allclose(
            sums, [[value[-last:, c][member[-last:, g]].sum() for g in range(11)] for c in range(2)], atol=1e-12
        )
    small = Recent(size=10, groups=1, coordinates=1)
    small.add(np.ones((3, 1), bool), np.array([[1.0], [2.0], [4.0]]), 0)
    assert small.sums(last=10, rounds=3)[1].tolist() == [[7.0]]


def test_sums_by_period():
    rng = np.random.default_rng(2)
    periods = Periods(groups=3, coordinates=2)
    starts = np.repeat(np.arange(PERIODS_KEPT + 5.0), 2)
    member, value = rng.random((starts.size, 3)) < 0.5, rng.normal(size=(starts.size, 2))
    for at in (slice(0, 101), slice(101, None)):
        periods.add(starts[at], member[at], value[at])
    assert sorted(periods.kept) == list(range(5, PERIODS_KEPT + 5))
    rows, sums = periods.kept[50.0]
    assert rows.tolist() == member[100:102].sum(axis=0).tolist()
    np.testing.assert_allclose(sums, value[100:102].T @ member[100:102], atol=1e-12)


def test_evidence_is_noted_at_even_rounds():
    trace = Trace(groups=1, most=5)
    for rounds in range(1, 40):
        assert trace.until(rounds - 1) >= 1
        assert trace.wanted(rounds - 1 + trace.until(rounds - 1))
        if trace.wanted(rounds):
            trace.add(rounds, 2.0 * rounds, np.array([rounds / 3]))
    assert [point[0] for point in trace.points] == list(range(trace.stride, 40, trace.stride))
    assert (trace.stride, trace.points[0][1:]) == (8, (16.0, [round(8 / 3, 4)]))


def test_times_and_periods():
    assert period_starts(np.array([0.0, 2.4, 2.5, -0.1]), "number", 2.5).tolist() == [0, 0, 2.5, -2.5]
    days = np.array(["2024-02-29T23:59:59.999999", "2024-03-01"], dtype="datetime64[us]")
    times = read_times(days, 2)[0]
    months = period_starts(times, "date", "month")
    assert [show_time(one, "date") for one in months] == ["2024-02-01", "2024-03-01"]
    assert show_time(times[0] + 1, "date") == "2024-03-01"
    assert show_time(times[0], "date") == "2024-02-29 23:59:59"
    check_order(np.array([1.0, 1.0, 2.0]), 1.0, "number")
    for values, last in (([1.0, 0.9], None), ([0.9, 1.0], 1.0)):
        with pytest.raises(InputError, match=r"at 0\.9, after 1;"):
            check_order(np.array(values), last, "number")


# ---- games ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("horizon", [None, 50])
def test_weights_and_promise_of_the_general_game(horizon):
    rng = np.random.default_rng(3)
    game = Minimax(objectives=5, bound=1.5, horizon=horizon)
    total, values = np.zeros(5), 0.0
    for t in range(7):
        rate = (math.sqrt(math.log(5) / (t + 1)) if horizon is None else math.sqrt(2 * math.log(5) / 50)) / 1.5
        weights = np.exp(rate * total) / np.exp(rate * total).sum()
        np.testing.assert_allclose(game.weights, weights, rtol=1e-12)
        losses = rng.uniform(-1.5, 1.5, (5, 2, 3))
        mixture, reply = game.play(losses), rng.dirichlet(np.ones(3))
        mixed = np.tensordot(weights, losses, axes=1)
        grid = np.linspace(0, 1, 20_001)
        best = (grid[:, None] * mixed[0] + (1 - grid)[:, None] * mixed[1]).max(axis=1)
        values += best.min()
        assert (mixture @ mixed).max() == pytest.approx(best.min(), abs=1e-4)
        loss = np.array([mixture @ one @ reply for one in losses])
        np.testing.assert_allclose(game.observe(reply), loss, rtol=1e-12)
        total += loss
    made = game.certificate()
    allowed = 2 * 1.5 * math.sqrt(7 * math.log(5)) if horizon is None else 1.5 * math.sqrt(50 * math.log(5) / 2) * (1 + 7 / 50)
    assert made.allowed == pytest.approx(allowed)
    assert made.worst == pytest.approx(total.max())
    assert made.values == pytest.approx(values, abs=1e-3)
    assert made.regret == pytest.approx(made.worst - made.values)


def test_a_promise_holds_up_to_the_programs_tolerance():
    assert Certificate(0.5, 0.0, 1 + 0.9e-6, 1.0).holds
    assert not Certificate(0.5, 0.0, 1 + 1.1e-6, 1.0).holds
    assert Certificate(-30.0, 0.0, 1 + 29e-6, 1.0).holds
    assert not Certificate(-30.0, 0.0, 1 + 31e-6, 1.0).holds


@pytest.mark.parametrize(
    ("caps", "message"),
    [([0.5, 0.4], "sum of at least 1"), ([0.5, 0.5], None), ([1.0], "2 non-negative"), ([2.0, -0.1], "2 non-negative")],
)
def test_caps_of_an_adversary(caps, message):
    game = Minimax(1, 1.0)
    if message:
        with pytest.raises(InputError, match=message):
            game.play([[[1.0, 0.0], [0.0, 1.0]]], caps)
    else:
        game.play([[[1.0, 0.5], [0.0, 1.0]]], caps)
        game.observe([0.5, 0.5])
        assert game.values == pytest.approx(0.5), "the mean of either line, and the smaller one is played"


def test_what_a_grid_costs():
    game = ConvexMinimax(2, 4.0, actions=(0, 2), replies=(-1, 3), lipschitz=(3, 5), points=9)
    assert (game.action_error, game.reply_error) == pytest.approx((3 * 0.25 / 2, 5 * 0.5 / 2))

    def losses(a, b):
        return np.stack([a[:, None] - b[None, :], b[None, :] - a[:, None]])

    for reply in (-1, 3, 0.7):
        action = game.play(losses)
        np.testing.assert_allclose(game.observe(reply), [action - reply, reply - action])
    assert game.certificate().allowed == pytest.approx(2 * 4 * math.sqrt(3 * math.log(2)) + 3 * 1.25)
    assert game.amf_allowed == pytest.approx(game.certificate().allowed + 3 * 0.375)
    for reply in (-1.01, 3.01):
        game.play(losses)
        with pytest.raises(InputError, match="reply must lie in"):
            game.observe(reply)
