"""Each piece of the practical fit against its slow version."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import practical_naive as naive
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import multivalid as mv
from multivalid.errors import ModelFileError
from multivalid.evaluators import Arrays, DenseMembers
from multivalid.groups.membership import Membership
from multivalid.practical import accept, newton, start
from multivalid.practical.accept import HeldOut, choose, t_statistic
from multivalid.practical.blocks import Blocks
from multivalid.practical.candidates import Candidate
from multivalid.practical.data import LinkRows, Matching
from multivalid.practical.link import Link, LogOdds, choose_link
from multivalid.practical.model import Model
from multivalid.practical.shifts import ShiftRound
from multivalid.practical.solve import solve

from .data import binary

LOGIT = LogOdds()


def link_rows(d: dict[str, np.ndarray], weights: np.ndarray | None = None) -> LinkRows:
    w = np.ones(d["y"].size) if weights is None else weights / weights.mean()
    return LinkRows(d["y"], w, LOGIT.forward(d["base"]), Membership.from_dense(d["groups"]))


def rich_model(d: dict[str, np.ndarray]) -> Model:
    rng = np.random.default_rng(5)
    model = Model.new(LOGIT.forward(d["base"]), d["groups"].shape[1])
    model = model.moved(rng.normal(0, 0.5, model.flat.values.size)).with_bends(rng.normal(0, 1, 500))
    model = model.with_products(np.array([[0, 1, 2], [2, 4, 4]])).with_twists()
    return model.moved(rng.normal(0, 0.3, model.flat.values.size))


def test_the_model_is_the_formula() -> None:
    d = binary(2500)
    model, base = rich_model(d), LOGIT.forward(d["base"])
    members = Membership.from_dense(d["groups"])
    found = model.start(Arrays(), base, DenseMembers(members, 0, base.size))
    np.testing.assert_allclose(found, naive.eta(model, base, d["groups"]), rtol=1e-12, atol=1e-12)
    # What the fit works with is the same, in single precision.
    np.testing.assert_allclose(model.evaluate(base, Blocks.of(members).part(slice(0, base.size)))[0], found, atol=2e-5)


def test_the_features_are_derivatives() -> None:
    d = binary(200)
    model, base = rich_model(d), LOGIT.forward(d["base"])
    _, index, found = model.evaluate(base, Blocks.of(Membership.from_dense(d["groups"])).part(slice(0, 200)))
    model.chain(index, found)
    for k in range(model.flat.values.size):
        step = np.zeros(model.flat.values.size)
        step[k] = 1e-6
        rise = naive.eta(model.moved(step), base, d["groups"]) - naive.eta(model.moved(-step), base, d["groups"])
        far = np.abs(index[None] - model.bend_knots[:, None]).min(axis=0) > 1e-4  # away from kinks
        np.testing.assert_allclose(found[k][far], rise[far] / 2e-6, atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
def test_newton_finds_the_minimum_of_the_log_loss(weighted: bool) -> None:
    d = binary(1500, seed=3)
    w = d["weights"] / d["weights"].mean() if weighted else np.ones(1500)
    rows, loss = link_rows(d, w), Matching(mv.Mean(), LOGIT)
    done = newton.fit(Model.new(rows.base, 4), rows, loss, tolerance=1e-6)
    best = naive.log_loss_fit(Model.new(rows.base, 4), rows.base, d["groups"], d["y"], w, done.ridge)
    expected = naive.eta(Model.new(rows.base, 4).moved(best), rows.base, d["groups"])
    np.testing.assert_allclose(LOGIT.inverse(done.eta), LOGIT.inverse(expected), atol=3e-3)


@pytest.mark.parametrize("prop", [mv.Mean(), mv.Expectile(0.8), mv.Huber(0.2), mv.Quantile(0.7)])
def test_the_fit_balances_v_in_every_group(prop: mv.Property) -> None:
    d = binary(6000, seed=1)
    rng = np.random.default_rng(0)
    d["y"] = np.clip(d["truth"] + rng.normal(0, 0.2, 6000), 0.001, 0.999)
    rows, loss = link_rows(d, d["weights"]), Matching(prop, LOGIT)
    done = newton.fit(Model.new(rows.base, 4), rows, loss)
    before = loss.identify(rows.base, rows)
    for member in d["groups"].T:
        spread = np.sqrt(np.sum(done.identification[member] ** 2))
        assert abs(done.identification[member].sum()) < 1.0 * spread  # V sums to far less than its noise
    assert abs(before[d["groups"][:, 3]].sum()) > 5 * spread  # and it did not before


def test_weights_are_repetitions() -> None:
    d = binary(1200, seed=2)
    w = d["weights"]
    again = np.repeat(np.arange(1200), w.astype(int))
    twice = {name: values[again] for name, values in d.items()}
    loss = Matching(mv.Mean(), LOGIT)
    model = Model.new(LOGIT.forward(d["base"]), 4)
    # weights have mean one inside, so the ridge of the repeated rows is that much larger in the same units
    one = naive.eta(_fixed(model, link_rows(d, w), loss, 5.0), LOGIT.forward(d["base"]), d["groups"])
    other = naive.eta(_fixed(model, link_rows(twice), loss, 5.0 * w.mean()), LOGIT.forward(d["base"]), d["groups"])
    plain = naive.eta(_fixed(model, link_rows(d), loss, 5.0), LOGIT.forward(d["base"]), d["groups"])
    np.testing.assert_allclose(one, other, atol=2e-3)
    assert np.abs(one - plain).max() > 0.02  # and weights matter


def _fixed(model: Model, rows: LinkRows, loss: Matching, ridge: float) -> Model:
    """Newton with a ridge that is not tuned."""
    for _ in range(8):
        _, _, gradient = newton.sweep(model, rows, loss)
        hessian = newton.hessian(model, rows, loss)[0].sum(axis=0)
        slope = gradient.sum(axis=0) + ridge * model.flat.penalty * model.flat.values
        model = model.moved(solve(hessian, ridge * model.flat.penalty, -slope))
    return model


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 90), st.integers(0, 6))
def test_a_round_of_shifts_is_the_loop(seed: int, rows: int, edges: int) -> None:
    rng = np.random.default_rng(seed)
    groups = np.column_stack([np.ones(rows, bool), rng.random((rows, 3)) < 0.4])
    at = np.unique(rng.integers(-3, 4, edges).astype(float))
    eta = rng.integers(-4, 5, rows).astype(float)  # often exactly on an edge
    shifts = [(int(rng.integers(4)), int(rng.integers(at.size + 1)), float(rng.normal())) for _ in range(5)]
    made = ShiftRound(at, shifts).apply(eta, Membership.from_masks(list(groups.T), rows))
    np.testing.assert_allclose(made, naive.shifted(at, shifts, eta, groups), atol=1e-12)


def test_screening_finds_the_product_that_is_there_and_no_copy_of_a_group() -> None:
    rng = np.random.default_rng(4)
    members = rng.random((20_000, 6)) < 0.4
    members[:, 5] = members[:, 4]  # a copy: the product of 4 and 5 is the group itself
    truth = LOGIT.inverse(0.8 * (members[:, 0] & members[:, 1]) + members[:, 2] - 1.3 * members[:, 3] - 0.3 * members[:, 4])
    d = {
        "y": (rng.random(20_000) < truth).astype(float),
        "base": np.full(20_000, 0.4) + 0.01 * rng.random(20_000),
        "groups": members,
    }
    rows, loss = link_rows(d), Matching(mv.Mean(), LOGIT)
    found = start.stages(rows, loss)
    assert found[-1].name == "products"
    assert found[-1].fitted.model.pairs.T.tolist() == [[0, 1]]


def test_no_stage_beyond_shifts_without_need() -> None:
    rows = link_rows(binary(5000, seed=8))
    assert [stage.name for stage in start.stages(rows, Matching(mv.Mean(), LOGIT))] == ["group shifts"]


def test_a_stage_must_beat_the_last_accepted() -> None:
    rng = np.random.default_rng(0)
    gain = rng.normal(0.1, 1, 5000)
    gains = {"group shifts": gain, "bend": gain - 0.01, "products": gain + rng.normal(0.05, 0.1, 5000)}
    best, report = choose([HeldOut(gains, gains, above=100, below=100)])
    assert best == "products"
    assert "dropped" in report[1]
    noise = {"group shifts": rng.normal(0, 1, 5000)}
    assert choose([HeldOut(noise, noise, above=100, below=100)])[0] is None
    assert t_statistic(np.zeros(3)) == 0.0


@pytest.mark.parametrize(
    ("prop", "labels", "predictions", "kind"),
    [
        (mv.Mean(), [0.0, 1.0, 1.0], [0.2, 0.4, 0.6], "logit"),
        (mv.Mean(), [0.0, 1.0, 1.0], [0.2, 0.4, 1.6], "identity"),
        (mv.Mean(), [0.0, 0.0, 0.0, 900.0], [10.0, 20.0, 30.0, 40.0], "log"),
        (mv.Mean(), [-5.0, 0.0, 9.0], [1.0, 2.0, 3.0], "identity"),
        (mv.EventProbability(5, 100), [1.0, 50.0, 900.0], [0.2, 0.4, 0.6], "logit"),
        (mv.Moment(2), [0.5, 10.0, 1.0, 0.1], [9.0, 9.0, 9.0, 9.0], "log"),
        (mv.Property.from_identification(lambda g, y: np.tanh(g - y), range=(0, 50)), [1.0, 40.0], [3.0, 4.0], "logit"),
    ],
)
def test_the_link_follows_the_range_of_the_property(
    prop: mv.Property, labels: list[float], predictions: list[float], kind: str
) -> None:
    link = choose_link(prop, np.array(labels), np.array(predictions))
    assert link.kind == kind
    np.testing.assert_allclose(link.inverse(link.forward(np.array(predictions))), predictions, rtol=1e-6)
    assert Link.from_json(json.loads(json.dumps(link.to_json()))) == link


def test_a_quantile_can_be_the_end_that_labels_sit_on() -> None:
    link = choose_link(mv.Quantile(0.9), np.array([0.1, 0.5, 1.0, 1.0]), np.array([0.5]))
    assert link.inverse(np.array([50.0, -50.0]), handed_out=True).tolist() == [1.0, 0.0]
    np.testing.assert_allclose(link.inverse(link.forward(np.array([0.3])), handed_out=True), 0.3)
    smooth = choose_link(mv.Mean(), np.array([0.1, 0.5, 1.0, 1.0]), np.array([0.5]))
    assert 0 < smooth.inverse(np.array(-50.0), handed_out=True) < smooth.inverse(np.array(50.0), handed_out=True) < 1


@pytest.mark.parametrize(
    "change",
    [
        {"scale": 0.0}, {"scale": "1"}, {"scale": float("nan")}, {"shifts": [1.0]}, {"pairs": [[0], [9]]}, {"pairs": [[0, 1], [2]]},
        {"curve": [1.0]}, {"bends": [1.0]}, {"products": [1.0]}, {"knots": [True]}, {"extra": 1},
    ],
)  # fmt: skip
def test_a_damaged_model_is_refused(change: dict[str, object]) -> None:
    model = Model.new(np.linspace(-1, 1, 9), 3).with_products(np.array([[0, 1], [2, 3]]))
    plain = json.loads(json.dumps(model.to_json()))
    assert Model.from_json(plain, 3).to_json() == plain
    with pytest.raises(ModelFileError):
        Model.from_json({**plain, **change}, 3)


@pytest.mark.parametrize(
    "data",
    [
        {"edges": [0.0]}, {"edges": [1.0, 0.0], "shifts": []}, {"edges": [0.0], "shifts": [[9, 0, 0.1]]}, [],
        {"edges": [0.0], "shifts": [[0, 2, 0.1]]}, {"edges": [0.0], "shifts": [[0, 0, None]]}, {"edges": [0.0], "shifts": [[0, True, 1.0]]},
    ],
)  # fmt: skip
def test_damaged_shifts_are_refused(data: object) -> None:
    with pytest.raises(ModelFileError):
        ShiftRound.from_json(data, 3)


def test_far_away_predictions_stay_finite() -> None:
    model = replace(Model.new(np.zeros(10), 1), scale=1e-9)
    members = DenseMembers(Membership.from_dense(np.ones((2, 1), bool)), 0, 2)
    assert np.isfinite(model.moved(np.ones(model.flat.values.size)).start(Arrays(), np.array([1e9, -1e9]), members)).all()


def odds(
    truth: np.ndarray, base: np.ndarray, member: np.ndarray, weights: np.ndarray, rng: np.random.Generator
) -> tuple[LinkRows, Matching]:
    """Events with these log-odds, and the loss that fits them."""
    labels = (rng.random(truth.size) < 1 / (1 + np.exp(-truth))).astype(float)
    link = choose_link(mv.Mean(), labels, np.full(truth.size, 0.5))
    return LinkRows(labels, weights / weights.mean(), base, Membership.from_dense(member)), Matching(mv.Mean(), link)


@pytest.mark.parametrize("richer", ["bends", "twists"])
@pytest.mark.parametrize("spread", [0.0, 1.5], ids=["no weights", "uneven weights"])
def test_nothing_richer_is_asked_for_by_chance(spread: float, richer: str) -> None:
    """Where groups only shift, the statistic is about χ² with as many degrees of freedom as coefficients, however uneven the weights."""
    found, count = [], 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rows = 1500
        base, weights = rng.normal(0, 1, rows), np.exp(spread * rng.normal(size=rows))
        member = rng.random((rows, 5)) < 0.4
        inner, loss = odds(base + member @ [0.5, -0.5, 0.3, 0.0, 0.2], base, member, weights, rng)
        done = newton.fit(Model.new(inner.base, 5), inner, loss)
        bent = richer == "bends"
        more = done.model.with_bends(start.summed_shifts(done.model, inner)) if bent else done.model.with_twists()
        added = slice(*(more.flat.cuts[:2] if bent else more.flat.cuts[3:]))
        count = added.stop - added.start
        found.append(start.statistic(more, added, inner, loss))
    assert np.mean(found) < 0.5 * np.sqrt(count / 2)  # on average no more than half of the degrees of freedom beyond them
    assert max(found) < start.BEYOND_CHANCE


def test_few_rows_do_not_bend_a_quantile() -> None:
    """Where V jumps and rows are few, its slope is read off a handful of them; the noise of the statistic must not be."""
    asked = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        base, member = rng.normal(0, 1, 200), rng.random((200, 5)) < 0.3
        labels = LOGIT.inverse(base + member @ [0.5, -0.5, 0.3, 0.0, 0.2] + rng.normal(0, 0.5, 200))
        inner, loss = LinkRows(labels, np.ones(200), base, Membership.from_dense(member)), Matching(mv.Quantile(0.9), LOGIT)
        asked.append(len([stage for stage in start.stages(inner, loss) if stage.name in ("bend", "twist")]))
    assert sum(asked) <= 20  # about one in ten asks, whichever machine adds the sums up; nearly all did with the curvature alone


def test_groups_that_matter_more_along_the_base_are_found() -> None:
    """The effect of the groups grows with the base: shifts alone cannot say so, twists can, and no bend is asked for."""
    rng = np.random.default_rng(0)
    rows = 20_000
    base, member = rng.normal(0, 1, rows), rng.random((rows, 6)) < 0.4
    pull = member @ np.array([0.8, -0.7, 0.5, -0.4, 0.3, 0.6])
    truth = base + pull * (1 + 0.6 * np.maximum(base, -1.0))
    inner, loss = odds(truth, base, member, np.ones(rows), rng)
    names = {stage.name: stage.fitted for stage in start.stages(inner, loss)}
    assert "twist" in names
    error = {name: float(np.mean((fitted.eta - truth) ** 2)) for name, fitted in names.items()}
    assert error["twist"] < 0.1 * error["group shifts"]


def test_a_gain_that_few_rows_carry_is_no_gain() -> None:
    """Rare events: one row decides the whole held-out comparison, however large t looks."""
    gain = np.full(400, 1e-6)
    gain[:5] = 1.0
    assert accept.sharing_rows(gain) == pytest.approx(5)
    best, (said,) = accept.choose([held_out_by(np.repeat(gain, 10))], needed_rows=60)
    assert best is None
    assert "only 50 held-out rows tell the difference, 60 are needed" in said
    assert accept.choose([held_out_by(np.repeat(gain, 10))], needed_rows=40)[0] == "group shifts"


def held_out_by(gain: np.ndarray, lean: np.ndarray | None = None, noise: np.ndarray | None = None) -> HeldOut:
    """One stage, outcomes on both sides."""
    stage = "group shifts"
    return HeldOut({stage: gain}, {stage: gain if lean is None else lean}, {} if noise is None else {stage: noise}, 100, 100)


def test_a_stage_that_rows_lean_to_must_also_gain() -> None:
    lean = np.tile([1.0, 0.5], 200)
    assert accept.choose([held_out_by(lean)])[0] == "group shifts"
    assert accept.choose([held_out_by(-lean, lean)])[0] is None
    # The known noise of the lean is larger than what the rows show of it: no event among them, say.
    assert accept.choose([held_out_by(lean, noise=np.full(400, 100.0))])[0] is None


def test_the_lean_is_the_slope_of_the_gain_and_averages_to_zero_where_the_input_is_right() -> None:
    """By hand for one shift on the link scale: −wV·d, its known variance, and the gain for a tiny d."""
    rng = np.random.default_rng(4)
    rows = 3000
    truth, weights = rng.uniform(0.05, 0.6, rows), rng.integers(1, 4, rows).astype(float)
    member = np.ones((rows, 1), dtype=bool)
    y = (rng.random(rows) < truth).astype(float)
    test = LinkRows(y, weights, LOGIT.forward(truth), Membership.from_dense(member))
    moved = Candidate.untouched(test)
    curve = moved.model.curve.copy()
    curve[0] += 1e-4
    moved = replace(moved, name="group shifts", model=replace(moved.model, curve=curve))
    told = accept.held_out(truth, test, [moved], Matching(mv.Mean(), LOGIT), binary=True)
    d = LOGIT.inverse(LOGIT.forward(truth) + 1e-4) - truth
    np.testing.assert_allclose(told.leans["group shifts"], -weights * (truth - y) * d, atol=1e-12)
    np.testing.assert_allclose(told.gains["group shifts"], told.leans["group shifts"], atol=1e-8)
    np.testing.assert_allclose(told.noise["group shifts"], weights**2 * truth * (1 - truth) * d**2, rtol=1e-6)
    assert abs(accept.z_statistic(told.leans["group shifts"])) < 4
    clustered = replace(test, cluster=np.arange(rows) // 10)
    by_day = accept.held_out(truth, clustered, [moved], Matching(mv.Mean(), LOGIT), binary=True)
    np.testing.assert_allclose(by_day.leans["group shifts"], told.leans["group shifts"].reshape(-1, 10).mean(axis=1), atol=1e-12)
    np.testing.assert_allclose(
        by_day.noise["group shifts"], told.noise["group shifts"].reshape(-1, 10).sum(axis=1) / 100, rtol=1e-9
    )


def test_a_group_that_is_plainly_off_is_corrected_on_few_rows() -> None:
    """One of five groups has 0.9 more log-odds of a rare event: on 4,000 rows most fits see it."""
    changed, ratio = 0, []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        groups = [rng.random(4000) < 0.3 for _ in range(5)]
        odds_of = rng.normal(-3.5, 1, 4000)
        base, truth = LOGIT.inverse(odds_of), LOGIT.inverse(odds_of + 0.9 * groups[0])
        y = (rng.random(4000) < truth).astype(float)
        after = mv.multicalibrate(y, base, groups=groups).predict(base, groups=groups)
        changed += not np.array_equal(after, base)
        ratio.append(np.mean((after - truth) ** 2) / np.mean((base - truth) ** 2))
    assert changed >= 7
    assert np.mean(ratio) < 0.7


@pytest.mark.parametrize("kind", ["rare", "heavy"])
def test_a_right_base_is_left_alone_on_few_rows(kind: str) -> None:
    changed = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(100, 501))
        groups = [rng.random(n) < share for share in (0.5, 0.3, 0.1)]
        base = np.clip(rng.lognormal(-4, 0.8, n), 1e-4, 0.5) if kind == "rare" else np.exp(rng.normal(0, 1, n))
        y = (rng.random(n) < base).astype(float) if kind == "rare" else base * np.exp(2 * rng.normal(0, 1, n) - 2)
        fitted = mv.multicalibrate(y, base, groups=groups)
        changed += not np.array_equal(fitted.predict(base, groups=groups), base)
    assert changed <= 1


@pytest.mark.parametrize("kind", ["no event", "no exceedance", "no claim"])
def test_rows_that_show_one_side_only_change_nothing(kind: str) -> None:
    """Every held-out row gains alike, as none of them shows what the other outcome costs."""
    rng = np.random.default_rng(0)
    groups = [rng.random(120) < 0.3 for _ in range(4)]
    if kind == "no exceedance":
        y, base, prop = rng.uniform(0, 1, 120), np.full(120, 1.1), "quantile:0.99"
    else:
        y, base, prop = np.zeros(120), np.full(120, 0.02 if kind == "no event" else 3.0), "mean"
    fitted = mv.multicalibrate(y, base, groups=groups, property=prop)
    assert (fitted.predict(base, groups=groups) == base).all()
    assert "dropped" in fitted.certificate.note


def test_one_side_only_is_mended_where_chance_cannot_do_it() -> None:
    groups = [np.random.default_rng(0).random(300) < 0.3]
    fitted = mv.multicalibrate(np.zeros(300), np.full(300, 0.4), groups=groups)
    assert (fitted.predict(np.full(300, 0.4), groups=groups) < 0.05).all()
