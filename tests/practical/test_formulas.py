"""Choices and units of the practical fit: which link, which size of V, how many rules."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import norm

import multivalid as mv
from multivalid.audit.audit import audit_source
from multivalid.errors import InputError
from multivalid.practical import certify as certify_module
from multivalid.practical.data import Matching, Outcomes
from multivalid.practical.from_columns.folds import ONE_SPLIT
from multivalid.practical.from_columns.ways import FEWEST_RULES, Ways
from multivalid.practical.link import LogOdds, OwnUnits, choose_link
from multivalid.sources.rows import open_rows

SHARES = np.array([0.0, 0.2, 0.9, 1.0])


@pytest.mark.parametrize(("said", "kind"), [([0.1, 0.9], "logit"), ([-0.1, 0.9], "identity"), ([0.1, 1.1], "identity")])
def test_one_prediction_outside_of_its_range_is_enough_to_leave_log_odds(said, kind):
    assert choose_link(mv.Mean(), SHARES, np.array(said)).kind == kind


@pytest.mark.parametrize("size", [1e-30, 1.0, 1e30])
def test_sums_are_taken_of_ordinary_numbers_whatever_the_unit_of_labels(size):
    loss = Matching(mv.Mean(), OwnUnits(0.0, size))
    found = loss.identify(np.array([-1.0, 0.5]), Outcomes(np.array([1.0, 0.0]) * size, np.array([1.0, 3.0])))
    assert 0.1 < np.abs(found).max() < 10
    assert found * loss.unit == pytest.approx(np.array([-2.0, 1.5]) * size)


@pytest.mark.parametrize(("rows", "tried"), [(ONE_SPLIT - 1, [None, 10]), (ONE_SPLIT, [None])])
def test_where_rows_are_few_a_quarter_of_the_rules_is_tried_too(rows, tried, monkeypatch):
    ways, counts = object.__new__(Ways), []
    ways.problem = SimpleNamespace(every=range(rows))
    ways.parts = [SimpleNamespace(rules=lambda plan, number=number: [None] * number) for number in (40, 17)]
    monkeypatch.setattr(
        ways,
        "_some_rules",
        lambda trees, chosen, count: counts.append(count) or SimpleNamespace(gain=np.array([float(count or 0)])),
    )
    best = ways.rules(SimpleNamespace(plans=[None, None]))
    assert counts == tried
    assert best.gain[0] == float(tried[-1] or 0), "the one that gains most"
    assert FEWEST_RULES < 10


def ends_of(labels, said, prop):
    link = choose_link(prop, np.asarray(labels, dtype=float), np.asarray(said, dtype=float))
    assert isinstance(link, LogOdds)
    return link, link.ends


@pytest.mark.parametrize(("at_end", "stretched"), [(1, False), (2, True), (30, True)])
def test_where_labels_sit_on_an_end_a_quantile_may_be_that_end(at_end, stretched):
    """More than one in a hundred; the range is then a hundredth longer on either side, and what comes near an end is the end."""
    labels = np.r_[np.zeros(at_end), np.linspace(0.2, 0.8, 150 - at_end), np.full(4, 0.5)][:150]
    link, ends = ends_of(labels, np.full(150, 0.4), mv.Quantile(0.1))
    assert (link.stretched, (ends.lo, ends.hi)) == (stretched, (pytest.approx(0.0), pytest.approx(1.0)))
    assert (link.center, link.scale) == (pytest.approx(-0.01), pytest.approx(1.02)) if stretched else (0.0, 1.0)
    near = link.forward(np.array([0.9e-4, 1.1e-4, 0.5, 1 - 1.1e-4, 1 - 0.9e-4]))
    handed = link.inverse(near, handed_out=True)
    assert (handed == np.array([0, 0, 0, 1, 1])).tolist() == ([True, False, False, False, True] if stretched else [False] * 5)
    assert link.inverse(near) == pytest.approx(np.array([0.9e-4, 1.1e-4, 0.5, 1 - 1.1e-4, 1 - 0.9e-4]), rel=1e-9)
    if stretched:
        far = link.inverse(np.array([-40.0, 40.0]))
        assert far.tolist() == [0.0, 1.0], "beyond the end is the end"


def test_a_mean_is_never_the_end_of_its_range():
    assert not ends_of(np.arange(100) % 2, np.full(100, 0.4), mv.Mean())[0].stretched


@pytest.mark.parametrize(("largest", "kind"), [(1.0, "logit"), (1.1e-4, "logit"), (0.9e-4, "identity"), (1.01, "identity")])
def test_shares_have_log_odds_and_amounts_far_below_one_do_not(largest, kind):
    labels = np.linspace(0.0, largest, 400)
    assert choose_link(mv.Mean(), labels, np.full(400, largest / 2)).kind == kind
    assert choose_link(mv.Mean(), np.zeros(400), np.full(400, 0.3)).kind == "logit"


def test_skewed_amounts_have_logarithms_in_units_of_their_mean():
    rng = np.random.default_rng(0)
    labels, said = rng.lognormal(1, 1.5, 3000), rng.lognormal(1, 0.5, 3000)
    link = choose_link(mv.Mean(), labels, said)
    assert (link.kind, link.scale) == ("log", pytest.approx(labels[:2000].mean()))
    assert link.forward(np.array([link.scale, 2 * link.scale, 0.0])) == pytest.approx(np.array([0, np.log(2), np.log(1e-7)]))
    assert link.inverse(np.array([0.0, np.log(3), 40.0])) == pytest.approx(link.scale * np.array([1, 3, np.exp(30)]))
    even = rng.uniform(1, 2, 3000)
    assert choose_link(mv.Mean(), even, said).kind == "identity", "not skewed"
    assert choose_link(mv.Mean(), labels, said - said.min()).kind == "identity", "a prediction of 0 has no logarithm"
    assert choose_link(mv.Mean(), np.r_[labels, -1.0], said).kind == "identity", "nor has a label below it"


def test_own_units_are_those_of_the_noise_of_one_label():
    rng = np.random.default_rng(0)
    labels, said = rng.normal(5, 3, 3000), rng.normal(4, 2, 3000)
    link = choose_link(mv.Mean(), labels, said)
    assert (link.kind, link.center, link.scale) == ("identity", pytest.approx(said.mean()), pytest.approx(labels[:2000].std()))
    assert link.forward(np.array([link.center + 2 * link.scale])) == pytest.approx(np.array([2.0]))
    assert link.inverse(np.array([2.0])) == pytest.approx(np.array([link.center + 2 * link.scale]))
    same = choose_link(mv.Mean(), np.full(300, -7.0), said[:300])
    assert same.scale == pytest.approx(said[:300].std()), "labels that are all alike have no noise"
    assert choose_link(mv.Mean(), np.full(300, -7.0), np.full(300, -3.0)).scale == 1.0
    far = np.r_[said, 0.99e12 * labels[:2000].std()]
    assert choose_link(mv.Mean(), np.r_[labels, 0.0], far).kind == "identity"
    with pytest.raises(InputError, match="times as far as the labels spread"):
        choose_link(mv.Mean(), np.r_[labels, 0.0], np.r_[said, 1.01e12 * labels[:2000].std()])


def test_log_odds_by_hand():
    link = LogOdds(2.0, 4.0)
    assert (link.ends.lo, link.ends.hi) == (2.0, 6.0)
    assert link.forward(np.array([3.0, 4.0, 2.0, 6.0, 9.0])) == pytest.approx(
        np.array([np.log(1 / 3), 0.0, np.log(1e-7 / (1 - 1e-7)), -np.log(1e-7 / (1 - 1e-7)), np.log((1 - 1e-7) / 1e-7)])
    )
    assert link.inverse(np.array([np.log(3), -50.0, 50.0])) == pytest.approx(
        np.array([5.0, 2 + 4 * np.exp(-30), 6 - 4 * np.exp(-30)])
    )


# ---- the certificate ---------------------------------------------------------------------------------------------------
def fitted_rows(seed=0, count=3000, groups=2):
    rng = np.random.default_rng(seed)
    members = [rng.random(count) < share for share in (0.3, 0.1)[:groups]]
    p = rng.random(count).round(1)
    y = (rng.random(count) < np.clip(p + (0.2 * members[0] if groups else 0.0), 0, 1)).astype(float)
    rows = open_rows(y, p, groups=members, data=None, sample_weight=rng.choice([0.5, 2.0], count))
    return rows, members


@pytest.mark.parametrize("groups", [0, 2])
def test_what_a_constant_reaches_by_hand(groups):
    rows, members = fitted_rows(groups=groups)
    y, w = rows.labels, rows.weights
    v = np.average(y, weights=w) - y
    every = [np.ones(y.size, dtype=bool), *members]
    wanted = max((w[g] @ v[g]) ** 2 / w[g].sum() / w.sum() for g in every) if groups else np.average(v**2, weights=w)
    assert certify_module._of_a_constant(rows, mv.Mean()) == pytest.approx(wanted)


def test_the_yardstick_is_the_edge_of_chance_and_cells_beyond_it_are_told():
    rows, _ = fitted_rows()
    grid = mv.Grid.uniform(0, 1, 11)
    found = audit_source(rows, mv.Mean(), grid, beyond=True, values=False)
    names, level = list(found.table["name"]), grid.points
    cells, total = found.cells, found.table["weight"][0]
    limit = norm.ppf(1 - 0.025 / len(cells["group"]))
    room = cells["weight"] * (limit * cells["standard_error"]) ** 2
    allowed = [room[cells["group"] == name].sum() for name in names]
    edge = max(allowed) / total
    assert certify_module._yardstick(found, 0.0, True) == pytest.approx(edge)
    assert certify_module._yardstick(found, 0.0, False) == pytest.approx(max(edge, found.error))
    assert certify_module._yardstick(found, 9.0, True) == 9.0
    off = certify_module._beyond(found)
    wanted = [i for i in range(len(cells["z"])) if abs(cells["z"][i]) > limit]
    assert len(off) == len(wanted) > 0
    told = {(names.index(cells["group"][i]), int(np.flatnonzero(level == cells["level"][i])[0])): i for i in wanted}
    for one in off:
        i = told[one.group, one.level]
        assert (one.weight, one.identification) == (
            pytest.approx(cells["weight"][i] / total),
            pytest.approx(cells["identification"][i]),
        )


def test_the_size_of_v_is_that_of_the_labels_that_count():
    y = np.array([2e-6, 5e-6, 900.0])
    rows = open_rows(y, y, groups=[], data=None, sample_weight=[1.0, 1.0, 0.0])
    assert certify_module._size_of_v(rows, mv.Mean()) == pytest.approx(3e-6)


@pytest.mark.parametrize(("alpha", "status"), [(0.3, "vacuous"), (0.2, "converged")])
def test_more_than_a_constant_reaches_promises_nothing(alpha, status):
    rng = np.random.default_rng(1)
    y = np.arange(4000.0) % 2
    rows = open_rows(y, np.where(rng.random(4000) < 0.5, 0.49, 0.51), groups=[], data=None)
    made = certify_module.certify(rows, mv.Mean(), mv.Grid([0.49, 0.51]), 0, [1.0, 0.5], alpha=alpha, stopped=False, note="")
    assert (made.trivial, made.status) == (pytest.approx(0.25), status)
    assert (made.initial, made.optimal) == (1.0, 0.0)


def test_the_ends_of_a_stretched_range_are_those_before():
    ends = LogOdds(1.0 - 0.04, 4.0 * 1.02, stretched=True).ends
    assert (ends.lo, ends.hi) == (pytest.approx(1.0), pytest.approx(5.0))
