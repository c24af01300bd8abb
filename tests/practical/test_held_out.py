"""Which stage held-out rows confirm, how they are held out, how cells are shifted after it, and trees grown: by plain loops."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import multivalid as mv
from multivalid.batch.control import UNLIMITED
from multivalid.discover.bins import Categories, Ordered
from multivalid.discover.grow import Split
from multivalid.groups.membership import Membership
from multivalid.practical import accept, boost, candidates, held_out
from multivalid.practical.accept import HeldOut, choose, sharing_rows, t_statistic, z_statistic
from multivalid.practical.boost import Boosting, CodedRows, boost_together, rate_for
from multivalid.practical.candidates import Candidate, fit_candidates, group_shifts_by_level, up_to
from multivalid.practical.data import LinkRows, Matching, Outcomes, shuffle, unit_numbers
from multivalid.practical.goal import Goal, level_grid
from multivalid.practical.link import LogOdds, OwnUnits
from multivalid.practical.model import Model
from multivalid.practical.rules import LEAST_ROWS, MOST_COLUMNS, choose_rules, masks_of, most_rules
from multivalid.practical.rules import candidates as nodes_of
from multivalid.practical.shifts import shift_round
from multivalid.practical.start import chance_limit

LINK = LogOdds()


def rows_of(count=900, seed=0, cluster=None, groups=3):
    rng = np.random.default_rng(seed)
    members = rng.random((count, groups)) < np.linspace(0.2, 0.7, groups)
    base = rng.normal(size=count)
    labels = (rng.random(count) < LINK.inverse(base + members @ np.linspace(-1.5, 1.2, groups))).astype(float)
    weights = rng.choice([0.5, 1.0, 3.0], count)
    return LinkRows(labels, weights / weights.mean(), base, Membership.from_dense(members), cluster)


class Moved:
    """A stage that moves everybody."""

    def __init__(self, name, shift):
        self.name, self.shift = name, shift

    def eta(self, rows):
        return rows.base + self.shift


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("kind", ["events", "amounts", "quantile"])
def test_what_a_stage_does_on_rows_held_out(kind, clustered):
    cluster = np.repeat(np.arange(90), np.random.default_rng(1).multinomial(900, np.ones(90) / 90)) if clustered else None
    rows = rows_of(cluster=cluster)
    prop = mv.Quantile(0.7) if kind == "quantile" else mv.Mean()
    base = LINK.inverse(rows.base)
    if kind == "amounts":
        rows = LinkRows(rows.labels * 0.9 + 0.05, rows.weights, rows.base, rows.membership, cluster)
    loss = Matching(prop, LINK)
    found = accept.held_out(base, rows, [Moved("a", 0.3), Moved("b", -0.2)], loss, binary=kind == "events")
    for name, shift in (("a", 0.3), ("b", -0.2)):
        after, w, y = LINK.inverse(rows.base + shift), rows.weights, rows.labels
        v = (base - y) if prop == mv.Mean() else (y <= base) - 0.7
        gain = w * (prop.score(base, y) - prop.score(after, y))
        lean, variance = w * v * (base - after), {"events": base * (1 - base), "quantile": np.full(900, 0.21)}.get(kind)
        noise = None if variance is None else (w * (after - base)) ** 2 * variance
        if clustered:
            unit = np.unique(cluster, return_inverse=True)[1]
            ratio = (unit.max() + 1) / 900
            gain, lean = (ratio * np.array([one[unit == k].sum() for k in range(unit.max() + 1)]) for one in (gain, lean))
            noise = None if noise is None else ratio**2 * np.array([noise[unit == k].sum() for k in range(unit.max() + 1)])
        np.testing.assert_allclose(found.gains[name], gain, atol=1e-12)
        np.testing.assert_allclose(found.leans[name], lean, atol=1e-12)
        assert (name in found.noise) == (noise is not None)
        if noise is not None:
            np.testing.assert_allclose(found.noise[name], noise, atol=1e-12)
    assert (found.above, found.below) == ((v > 0).sum(), (v < 0).sum())
    assert found.above != found.below


def test_statistics_by_hand():
    values = np.array([3.0, -1.0, 2.0, 0.0])
    assert z_statistic(values) == pytest.approx(4 / 14**0.5)
    assert z_statistic(values, least=20.0) == pytest.approx(4 / 20**0.5)
    assert z_statistic(1e200 * values, least=1e300) == pytest.approx(4 / 14**0.5)
    assert t_statistic(values) == pytest.approx(1 / (values.std() / 2))
    assert t_statistic(np.ones(3)) == 0.0
    assert sharing_rows(values * 1e-200) == pytest.approx(14**2 / (81 + 1 + 16))


ORDER = ("group shifts", "bend", "products", "patches")


def part(rng, gains, leans=None, noise=None, sides=(500, 500), rows=400):
    """Gains of this mean, and leans of this many standard errors."""
    made = {name: rng.normal(0, 1e-3, rows) + gain for name, gain in gains.items()}
    lean = {name: 1.0 + 0 * made[name] for name in gains} if leans is None else leans
    return HeldOut(made, lean, {} if noise is None else noise, *sides)


def test_a_stage_is_kept_if_it_beats_the_one_kept_before():
    rng = np.random.default_rng(0)
    parts = [part(rng, {"group shifts": 0.1, "bend": 0.3, "products": 0.2, "patches": 0.31}) for _ in range(2)]
    best, report = choose(parts, order=ORDER)
    assert best == "patches"
    assert [line.split(":")[0] for line in report] == list(ORDER)
    assert ["kept" in line for line in report] == [True, True, False, True]
    wanted = np.concatenate([one.gains["products"] for one in parts])
    assert (
        f"gain {wanted.mean():.3g} (t = {t_statistic(wanted - np.concatenate([one.gains['bend'] for one in parts])):.1f})"
        in report[2]
    )


def test_a_part_that_did_not_reach_a_stage_counts_with_its_last():
    rng = np.random.default_rng(0)
    parts = [part(rng, {"group shifts": 0.1, "bend": -0.3}), part(rng, {"group shifts": 0.1})]
    assert choose(parts, order=ORDER)[0] == "group shifts"
    parts = [part(rng, {"group shifts": 0.1, "bend": 0.3}), part(rng, {"group shifts": 0.1})]
    best, report = choose(parts, order=ORDER)
    assert best == "bend"
    assert "gain 0.2 " in report[1]


@pytest.mark.parametrize(
    ("leans", "noise", "sides", "gain", "kept"),
    [
        (3.05, None, (500, 500), 0.1, True),
        (2.95, None, (500, 500), 0.1, False),
        (3.05, None, (500, 500), -0.1, False),
        (3.05, None, (500, 4), 0.1, False),  # fewer than five on one side
        (3.05, None, (4, 500), 0.1, False),
        (3.05, None, (500, 5), 0.1, True),
        (3.05, None, (996, 4), 0.1, True),  # a thousand rows have shown it
        (3.05, None, (995, 4), 0.1, False),
        (9.0, 1.0, (500, 4), 0.1, True),  # a law that is known needs no sides
        (9.0, 9.5, (500, 500), 0.1, False),  # and its variance, where larger, counts: 9 / 9.5 ** .5 < 3
        (9.6, 9.5, (500, 500), 0.1, True),
    ],
)
def test_what_the_first_stage_needs(leans, noise, sides, gain, kept):
    rows = 400
    # Alternating noise of mean square one beside a lean of so many standard errors of it.
    lean = leans / rows**0.5
    values = np.tile([1.0, -1.0], rows // 2) * (1 - lean**2) ** 0.5 + lean
    if noise is not None:
        values = np.full(rows, leans / rows)
    rng = np.random.default_rng(0)
    known = None if noise is None else {"group shifts": np.full(rows, noise / rows)}
    held = part(rng, {"group shifts": gain}, {"group shifts": values}, known, sides)
    best, report = choose([held], order=ORDER)
    assert (best is not None) == kept, report


@pytest.mark.parametrize(("rows", "kept"), [(29, False), (31, True)])
def test_so_many_rows_must_tell_the_difference(rows, kept):
    gain = np.where(np.arange(400) < rows, 0.1, 0.0)
    held = HeldOut({"bend": gain}, {"bend": gain}, {}, 300, 300)
    best, report = choose([held], unit="clusters", order=ORDER)
    assert (best is not None) == kept
    assert kept or f"only {rows} held-out clusters tell the difference, 30 are needed" in report[0]


@pytest.mark.parametrize("count", [905, 20_000])
def test_rows_are_held_out_once_and_clusters_whole(count):
    rng = np.random.default_rng(0)
    for cluster in (None, np.append(np.sort(rng.integers(0, 17, count - 1)), 17)):
        rows = rows_of(count, cluster=cluster)
        parts = list(held_out._splits(rows))
        assert len(parts) == (1 if count >= 20_000 else 5)
        for out, testing, fitting in parts:
            assert len(testing) == out.size
            assert len(testing) + len(fitting) == count
            np.testing.assert_array_equal(testing.base, rows.base[out])
            assert set(testing.base) | set(fitting.base) == set(rows.base)
            assert out.size == pytest.approx(count / 5, rel=0.01 if cluster is None else 0.6)
            if cluster is not None:
                assert not set(testing.cluster) & set(fitting.cluster)
        if len(parts) == 5:
            assert sorted(np.concatenate([out for out, _, _ in parts])) == list(range(count))


@pytest.mark.parametrize("clustered", [False, True])
def test_on_many_rows_stages_are_compared_on_some(clustered, monkeypatch):
    monkeypatch.setattr(held_out, "ONE_SPLIT", 1000)
    monkeypatch.setattr(held_out, "DECIDING", 320)
    rows = rows_of(1280, cluster=np.repeat(np.arange(20), 64) if clustered else None)
    ((out, testing, fitting),) = held_out._splits(rows)
    assert out.tolist() == list(range(256))
    np.testing.assert_array_equal(testing.base, rows.base[:256])
    np.testing.assert_array_equal(fitting.base, rows.base[256:576])


@pytest.mark.parametrize("once", [False, True])
def test_the_stage_kept_is_fitted_on_all_rows(once, monkeypatch):
    monkeypatch.setattr(held_out, "ONE_SPLIT", 1000 if once else 10_000)
    rows, loss = rows_of(3008, 2), Matching(mv.Mean(), LINK)
    kept, report, stopped = held_out.choose_stage(rows, LINK.inverse(rows.base), loss, Goal(), 0.0)
    assert "kept" in report[0]
    assert not stopped
    if once:
        ((_, _, fitting),) = held_out._splits(rows)
        wanted = up_to(kept.name, fit_candidates(fitting, loss, Goal())).on_more_rows(rows, loss, Goal())
    else:
        wanted = up_to(kept.name, fit_candidates(rows, loss, Goal()))
    np.testing.assert_array_equal(kept.model.flat.values, wanted.model.flat.values)
    assert [one.shifts for one in kept.rounds] == [one.shifts for one in wanted.rounds]


@pytest.mark.parametrize(("clusters", "told"), [(4, "fewer than 5 clusters"), (5, None)])
def test_fewer_clusters_than_folds_are_too_few(clusters, told):
    cluster = np.append(np.sort(np.arange(399) % (clusters - 1)), clusters - 1)  # the last of one row
    rows = rows_of(400, cluster=cluster)
    report = held_out.choose_stage(rows, LINK.inverse(rows.base), Matching(mv.Mean(), LINK), Goal(), 0.0)[1]
    assert any("fewer than 5 clusters" in line for line in report) == (told is not None)


@pytest.mark.parametrize(("count", "told"), [(99, True), (100, False)])
def test_fewer_rows_than_a_hundred_are_too_few(count, told):
    rows = rows_of(count)
    report = held_out.choose_stage(rows, LINK.inverse(rows.base), Matching(mv.Mean(), LINK), Goal(), 0.0)[1]
    assert any(f"{count} rows are too few" in line for line in report) == told


def test_units_of_chance_and_shuffled_clusters():
    assert unit_numbers(3, None).tolist() == [0, 1, 2]
    assert unit_numbers(5, np.array([7, 7, 2, 9, 9])).tolist() == [0, 0, 1, 2, 2]
    cluster = np.array([5, 3, 5, 8, 3, 5, 8])
    orders = {tuple(shuffle(np.array([6, 5, 4, 3, 1, 0]), cluster, np.random.default_rng(k))) for k in range(60)}
    assert {frozenset(order) for order in orders} == {frozenset([6, 5, 4, 3, 1, 0])}
    for order in orders:
        assert unit_numbers(6, cluster[list(order)])[-1] == 2, "each cluster stands together"
    assert len({tuple(dict.fromkeys(cluster[list(order)])) for order in orders}) == 6, "in every order"
    assert len({tuple(i for i in order if cluster[i] == 5) for order in orders}) == 2


def rounds_by_loops(eta, rows, loss, levels, most):
    """Rounds of shifts at levels of about equal size, until one makes none or all that may be made are."""
    made, left = [], most
    for _ in range(candidates.ROUNDS):
        edges = sorted({float(np.quantile(eta, k / levels)) for k in range(1, levels)})
        found = shift_round(eta, rows, loss, np.array(edges), left)
        if not found.shifts:
            break
        made.append(found)
        eta = found.apply(eta, rows.membership)
        left = None if left is None else left - len(found.shifts)
    return made


@pytest.mark.parametrize("most", [None, 1, 3])
def test_rounds_follow_the_predictions_and_stop_at_the_most_updates(most):
    rows, loss = rows_of(6000, 3), Matching(mv.Mean(), LINK)
    control = SimpleNamespace(max_updates=most)
    goal = Goal(m=4, control=UNLIMITED if most is None else control)
    found = candidates._rounds(rows.base, rows, loss, goal)
    wanted = rounds_by_loops(rows.base, rows, loss, 4, most)
    assert [one.shifts for one in found] == [one.shifts for one in wanted]
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one.edges, other.edges)
    count = sum(len(one.shifts) for one in found)
    assert count == most if most is not None else count > 3
    given = candidates._rounds(rows.base, rows, loss, Goal(grid=mv.Grid([0.2, 0.5, 0.6])))
    np.testing.assert_allclose(given[0].edges, LINK.forward(np.array([0.35, 0.55])))


def shifts_by_loops(eta, rows, loss, edges):
    """The cell most beyond chance of every level, moved by a Newton step, until none is."""
    members = np.stack([rows.membership.mask(g) for g in range(rows.membership.groups)])
    limit = chance_limit(len(members) * (len(edges) + 1))
    floor = 25 * float(np.mean(loss.identify(eta, rows) ** 2))
    level = np.array([sum(value > edge for edge in edges) for value in eta])
    made = []
    for k in range(len(edges) + 1):
        moved = eta.copy()
        for _ in range(10):
            v = loss.identify(moved, rows)
            cells = [mask & (level == k) for mask in members]
            z = [abs(v[cell].sum()) / (np.sum(v[cell] ** 2) + floor) ** 0.5 for cell in cells]
            g = int(np.argmax(z))
            if z[g] <= limit:
                break
            cell, total = cells[g], v[cells[g]].sum()
            step = float(np.clip(-total / max(loss.slope(moved, rows)[cell].sum(), 1e-9 * cell.sum()), -1, 1))
            for _ in range(10):
                if loss.identify(moved + step, rows)[cell].sum() * np.sign(total) >= -0.25 * abs(total):
                    break
                step /= 2
            else:
                break
            made.append((g, k, step))
            moved = moved + step * cell
    return made


@pytest.mark.parametrize("prop", [mv.Mean(), mv.Quantile(0.8)])
def test_cells_beyond_chance_are_shifted_as_loops_do(prop):
    rng = np.random.default_rng(2)
    rows = rows_of(5000, 5)
    if isinstance(prop, mv.Quantile):
        labels = rng.normal(size=5000) + 0.4 * rows.membership.mask(1) - 1.2 * rows.membership.mask(2)
        rows = LinkRows(labels, rows.weights, rows.base, rows.membership)
        loss = Matching(prop, OwnUnits(0.0, 1.0), window=0.2)
    else:
        loss = Matching(prop, LINK)
    edges = np.array([-0.7, 0.1, 0.9])
    found = shift_round(rows.base, rows, loss, edges)
    wanted = shifts_by_loops(rows.base, rows, loss, edges.tolist())
    assert [one[:2] for one in found.shifts] == [one[:2] for one in wanted]
    assert [one[2] for one in found.shifts] == pytest.approx([one[2] for one in wanted], rel=1e-5)
    assert len(wanted) > 6


def test_the_richest_stage_up_to_a_name():
    model = Model.new(np.arange(9.0), 1)
    made = [Candidate(name, model, 1.0) for name in ("group shifts", "bend", "patches")]
    found = [up_to(name, made).name for name in ("group shifts", "bend", "products", "patches")]
    assert found == ["group shifts", "bend", "bend", "patches"]


def test_a_curve_that_may_turn_at_every_level_has_that_many_knots():
    rows = rows_of(3000)
    (stage,) = group_shifts_by_level(rows, Matching(mv.Mean(), LINK))
    assert stage.fitted.model.knots.size == 19
    assert fit_candidates(rows, Matching(mv.Mean(), LINK), Goal(), group_shifts_by_level)[0].name == stage.name


@pytest.mark.parametrize(("distinct", "levels", "own"), [(5, 5, True), (6, 5, False), (3, 20, True)])
def test_few_predictions_are_levels_of_their_own(distinct, levels, own):
    values = np.arange(600.0) % distinct
    weights = np.random.default_rng(0).random(600)
    grid = level_grid(values, weights, levels)
    assert (grid.points.tolist() == list(range(distinct))) == own
    if not own:
        np.testing.assert_array_equal(grid.points, mv.Grid.quantile(values, levels, weights).points)
    assert level_grid(values, weights, levels, mv.Grid([0.0, 9.0])).points.tolist() == [0.0, 9.0]


# ---- trees and rules ---------------------------------------------------------------------------------------------------
BINS = [Ordered("a", "number", (1.0, 2.0, 3.0)), Categories("c", "text", ("u", "v", "w")), Ordered("p", "number", (0.5,))]


def coded(count, seed):
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, one.size, count) for one in BINS], axis=1).astype(np.uint8)
    eta = rng.normal(size=count)
    labels = (rng.random(count) < LINK.inverse(eta + 1.2 * (codes[:, 0] > 2) - 0.8 * (codes[:, 1] == 1))).astype(float)
    return CodedRows(Outcomes(labels, rng.choice([0.5, 1.5], count)), codes, eta)


@pytest.mark.parametrize(("rows", "rate"), [(49_999, 0.1), (50_000, 0.15)])
def test_a_tree_takes_a_share_of_a_newton_step(rows, rate):
    assert rate_for(rows) == rate


def log_loss(rows, eta):
    return float(rows.outcomes.weights @ (np.logaddexp(0, eta) - rows.outcomes.labels * eta))


def test_rows_held_out_tell_what_every_tree_gains_and_the_fit_goes_along():
    fitting, held = coded(1500, 0), coded(800, 1)
    made = Boosting(BINS, fitting, Matching(mv.Mean(), LINK), 0.2, held)
    before = log_loss(held, held.eta)
    for k in range(6):
        made.grow()
        assert len(made.gained) == k + 2
        assert made.gained[-1] == pytest.approx(before - log_loss(held, made.judge.eta), rel=0.02, abs=0.02)
    eta = fitting.eta.copy()
    boost.add_trees(made.trees, fitting.codes, eta)
    np.testing.assert_allclose(made.eta, eta, atol=1e-12)
    assert log_loss(fitting, made.eta) < log_loss(fitting, fitting.eta)
    assert made.gained[-1] > 0
    assert made.gained[0] == 0.0


def test_the_slope_is_taken_anew_for_every_fourth_tree(monkeypatch):
    made = Boosting(BINS, coded(900, 0), Matching(mv.Mean(), LINK), 0.2)
    taken = []
    slope = Matching.slope
    monkeypatch.setattr(Matching, "widen", lambda *given: taken.append(len(made.trees)))
    boost.boost(made, 9)
    assert taken == [0, 4, 8]
    exact = Matching(mv.Mean(), LINK)
    np.testing.assert_allclose(made.slope.shape, slope(exact, made.eta, made.rows.outcomes).shape)
    assert made.gained == []


@pytest.mark.parametrize(
    ("gains", "grown", "best"),
    [
        ([0, 1, 2, 3] + [2] * 60, 23, 3),
        ([0] + [-1] * 60, 20, 0),
        ([0, 1] + [0] * 18 + [2] + [0] * 60, 40, 20),
        (list(range(500)), 400, 400),
    ],
)
def test_trees_are_grown_until_twenty_in_a_row_gain_nothing(gains, grown, best):
    class Told:
        def __init__(self, share):
            self.share, self.gained = share, [0.0]

        def grow(self):
            self.gained.append(self.share * gains[len(self.gained)])

    parts, ticks = [Told(0.25), Told(0.75)], []
    assert boost_together(parts, lambda: ticks.append(0)) == best
    assert len(parts[0].gained) == grown + 1
    assert len(ticks) == 2 * grown


@pytest.mark.parametrize(("rows", "count"), [(400, 10), (4000, 10), (4400, 11), (39_600, 99), (41_000, 100)])
def test_a_rule_for_every_four_hundred_rows(rows, count):
    assert most_rules(rows) == count


def test_rules_are_nodes_of_few_columns_and_chosen_by_least_squares():
    fitting = coded(3000, 4)
    made = Boosting(BINS, fitting, Matching(mv.Mean(), LINK), 0.3)
    boost.boost(made, 8)
    every = nodes_of(made.trees, 2)
    assert len(every) == len(set(every)) > 4
    for rule in every:
        columns = [column for column, _ in rule.parts]
        assert columns == sorted(set(columns))
        assert set(columns) <= {0, 1}, "the prediction is no column of a rule"
        assert 1 <= len(columns) <= MOST_COLUMNS
        assert not any(all(flags) for _, flags in rule.parts)
    masks = [np.array([all(flags[row[c]] for c, flags in rule.parts) for row in fitting.codes.tolist()]) for rule in every]
    for mask, found in zip(masks, masks_of(every, fitting.codes), strict=True):
        np.testing.assert_array_equal(mask, found)
    shift = made.eta - fitting.eta
    # The next rule is the one whose own direction says most of what the rules before leave.
    chosen, design = [], np.ones((3000, 1))
    for _ in range(4):
        rest = shift - design @ np.linalg.lstsq(design, shift, rcond=None)[0]
        told = [
            abs(rest @ (mask - mask.mean())) / (mask - mask.mean() + 1e-300).std() / 3000**0.5
            if LEAST_ROWS <= mask.sum() <= 3000 - LEAST_ROWS else -1.0 for mask in masks
        ]  # fmt: skip
        chosen.append(every[int(np.argmax(told))])
        design = np.column_stack([design, masks[int(np.argmax(told))]])
    assert choose_rules(made.trees, 2, fitting.codes, shift, 4) == chosen


@pytest.mark.parametrize(("inside", "kept"), [(LEAST_ROWS - 1, False), (LEAST_ROWS, True)])
@pytest.mark.parametrize("turned", [False, True])
def test_a_rule_has_twenty_rows_and_as_many_that_it_does_not_hold_for(inside, kept, turned):
    flags = np.zeros(5, dtype=bool)
    flags[1] = True
    tree = Split(0, flags, (1.0, -1.0))
    codes = np.zeros((400, 3), dtype=np.uint8)
    codes[:inside, 0] = 1
    if turned:
        codes[:, 0] = 1 - codes[:, 0]
    shift = codes[:, 0] * 1.0
    assert len(choose_rules([tree], 2, codes, shift, 5)) == (1 if kept else 0)
