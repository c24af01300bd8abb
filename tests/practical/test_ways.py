"""Ways from columns: folds, one number of trees for all of them, and the scale on which groups add up."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import multivalid as mv
from multivalid.discover.bins import Ordered
from multivalid.groups.membership import Membership
from multivalid.practical import boost
from multivalid.practical.boost import Boosting, CodedRows, boost_together
from multivalid.practical.candidates import Candidate
from multivalid.practical.data import LinkRows, Matching, Outcomes
from multivalid.practical.from_columns.folds import FOLDS, folds
from multivalid.practical.link import LogOdds
from multivalid.practical.model import Model
from multivalid.practical.start import summed_shifts
from multivalid.practical.sum_scale import shifts_for


@pytest.mark.parametrize("blocks", [None, np.repeat(np.arange(29), 7)])
def test_every_row_is_held_out_once_and_blocks_stay_whole(blocks):
    made = folds(203, blocks, 3, FOLDS)
    assert np.array_equal(np.sort(np.concatenate([held for _, held in made])), np.arange(203))
    for fitting, held in made:
        assert np.array_equal(np.sort(np.concatenate([fitting, held])), np.arange(203))
        assert blocks is None or not set(blocks[fitting]) & set(blocks[held])
        assert not np.array_equal(fitting, np.sort(fitting))


def runs(rows=1200, seed=0, off=1.0):
    """Boosting on two folds of events that one column tells apart."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 6, (rows, 2)).astype(np.uint8)
    bins = [Ordered(name, "number", (1.0, 2.0, 3.0, 4.0)) for name in "ab"]
    outcomes = Outcomes((rng.random(rows) < 1 / (1 + np.exp(-off * (codes[:, 0] > 3)))).astype(float), rng.uniform(0.5, 2.0, rows))
    loss = Matching(mv.Mean(), LogOdds())

    def part(chosen):
        return CodedRows(outcomes.pick(chosen), codes[chosen], np.zeros(chosen.size))

    half = np.arange(rows) < rows // 2
    return [Boosting(bins, part(np.flatnonzero(a)), loss, 0.1, part(np.flatnonzero(~a))) for a in (half, ~half)], outcomes, codes


def test_one_number_of_trees_serves_all_folds():
    parts, _, _ = runs()
    count = boost_together(parts)
    total = np.sum([part.gained for part in parts], axis=0)
    assert 0 < count == int(np.argmax(total)) < boost.MOST_TREES
    assert len(parts[0].trees) == len(parts[1].trees) == min(count + boost.PATIENCE, boost.MOST_TREES)


def test_what_trees_gain_is_the_log_loss_of_rows_held_out():
    (first, _), outcomes, codes = runs()
    boost_together([first])
    held = np.arange(600, 1200)
    eta = np.zeros(600)
    from multivalid.discover.forest import add_trees

    add_trees(first.trees, codes[held], eta)
    labels, weights = outcomes.labels[held], outcomes.weights[held]
    losses = [float(weights @ (np.logaddexp(0, at) - labels * at)) for at in (np.zeros(600), eta)]
    assert first.gained[-1] == pytest.approx(losses[0] - losses[1], rel=1e-2)


def test_nothing_to_find_takes_no_trees_in_most_draws():
    counts = [boost_together(runs(600, seed, off=0.0)[0]) for seed in range(8)]
    assert sorted(counts)[4] <= 3


def test_summed_shifts_are_those_that_the_bent_model_would_need():
    rng = np.random.default_rng(1)
    rows, groups = 500, 4
    masks = rng.random((groups, rows)) < np.array([0.5, 0.3, 0.2, 0.6])[:, None]
    every = LinkRows(
        rng.random(rows), np.ones(rows), rng.normal(size=rows), Membership.from_masks([np.ones(rows, bool), *masks], rows)
    )
    shifts = np.array([0.7, -0.5, 0.9, 0.2])
    model = Model.new(every.base, groups).moved(np.concatenate([np.full(6, 0.1), shifts]))
    model = model.with_bends(summed_shifts(model, every)).with_twists()
    step = np.zeros(model.flat.values.size)
    step[model.flat.cuts[0] : model.flat.cuts[1]] = rng.uniform(0.0, 0.4, model.bends.size)
    step[model.flat.cuts[3] :] = 0.01
    model = model.moved(step)
    eta = Candidate("twist", model, 1.0).eta(every)
    found = shifts_for(model, every.base, eta, (-3.0, 3.0))
    assert np.allclose(found, shifts @ masks, atol=1e-6)
    assert np.allclose(shifts_for(model, every.base, eta + 100.0, (-3.0, 3.0)), 3.0)


def test_fewer_rows_than_one_split_needs_are_all_asked():
    rng = np.random.default_rng(2)
    data = pd.DataFrame({"a": rng.normal(size=3000), "b": rng.choice(["u", "v"], 3000)})
    y = (rng.random(3000) < np.where((data["a"] > 0.5) & (data["b"] == "u"), 0.8, 0.4)).astype(float)
    note = mv.multicalibrate(y, np.full(3000, 0.45), groups=[], data=data, features=["a", "b"]).certificate.note
    assert "confirmed on all 3,000 rows, a fifth at a time that was not fitted" in note
    assert "with at least 20 of the 3,000 rows not fitted" in note


def test_a_group_that_is_plainly_off_is_found_on_few_rows() -> None:
    """The young have three tenths more events than predicted, 6,000 rows: most fits from columns see it, and come nearer to the truth."""
    changed, before, after = 0, 0.0, 0.0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        data = pd.DataFrame({"age": rng.integers(10, 90, 6000), "x": rng.normal(size=6000), "p": rng.beta(2, 5, 6000)})
        truth = np.clip(data["p"] * np.where(data["age"] < 25, 1.3, 1.0), 0, 1).to_numpy()
        data["y"] = (rng.random(6000) < truth).astype(float)
        made = mv.multicalibrate("y", "p", data=data, groups=[], features=["age", "x"]).predict("p", data=data)
        changed += not np.array_equal(made, data["p"])
        before, after = before + float(np.mean((data["p"] - truth) ** 2)), after + float(np.mean((made - truth) ** 2))
    assert changed >= 4
    assert after < 0.7 * before


def test_with_blocks_every_block_is_held_out_once_and_counts_once():
    """Rows of a block share their luck: evidence is counted by blocks, of which all are held out in turn."""
    rng = np.random.default_rng(0)
    blocks = rng.integers(0, 30, 30_000)
    parts = folds(30_000, blocks, 0, FOLDS)
    assert sorted(np.concatenate([held for _, held in parts]).tolist()) == list(range(30_000))
    for fitting, held in parts:
        assert not set(blocks[fitting]) & set(blocks[held])
        assert np.count_nonzero(np.diff(blocks[held])) + 1 == np.unique(blocks[held]).size  # its rows stand together


def test_luck_that_blocks_share_is_not_found_where_blocks_are_told():
    """A shift drawn for each of 20 days and a column that is the day: by rows this is evidence, by days it is luck."""
    rng = np.random.default_rng(1)
    day = rng.integers(0, 20, 24_000)
    y = rng.normal(size=day.size) + rng.normal(0, 0.5, 20)[day]
    data = pd.DataFrame({"a": day % 4, "b": rng.normal(size=day.size)})
    made = mv.multicalibrate(y, rng.normal(0, 0.01, day.size), groups=[], data=data, features=["a", "b"], blocks=day)
    assert "none were found" in made.certificate.note
