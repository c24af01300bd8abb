"""Passes over both coordinates of a pair, and whether rows held out confirm them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from multivalid.grid import Grid
from multivalid.groups.membership import Membership
from multivalid.joint.link_predictor import PairLinkPredictor, PairPass, with_levels
from multivalid.joint.practical_goal import PairGoal
from multivalid.joint.rank_scale import RankScale
from multivalid.joint.reduction import Reduction
from multivalid.joint.score import comparable_scores
from multivalid.practical.data import shuffle, unit_numbers
from multivalid.practical.work import work_out
from multivalid.properties import Pair, Quantile
from multivalid.properties.base import Array
from multivalid.sources.memory import MemorySource as Rows

MOST_PASSES = 3
OTHER_LEVELS = 5  # levels of one coordinate that the fit of the other conditions on
FEWEST = 10  # fewer rows cannot be split into rows to fit and rows to judge
HELD_SHARE = 5  # one row in five judges


def all_passes(rows: Rows, reduction: Reduction, goal: PairGoal, random_state: int) -> tuple[list[PairPass], list[str]]:
    """Do { both stages } while the first coordinate is off, beyond chance, on the level sets of the second."""
    passes: list[PairPass] = []
    notes: list[str] = []
    for number in range(1, MOST_PASSES + 1):
        found = _one_pass(rows, reduction, goal, random_state, always=number == 1)
        if found is None:
            break
        made, said = found
        passes.append(made)
        notes += [f"Pass {number}, {line}" for line in said]
        rows = replace(rows, predictions=made.predict(rows.predictions, rows.membership, reduction.form))
        if not np.isfinite(rows.predictions).all():
            break
    return passes, notes


def _one_pass(
    rows: Rows, reduction: Reduction, goal: PairGoal, random_state: int, always: bool
) -> tuple[PairPass, list[str]] | None:
    """Stage 0 with levels of f¹ among the groups, then stage 1 with levels of f⁰ among them.

    None when stage 0 finds nothing to do, unless stage 1 is to run `always`.
    """
    first_edges = _edges(rows.predictions[:, 1], rows.weights)
    membership = with_levels(rows.membership, rows.predictions[:, 1], first_edges)
    scale = RankScale.of(rows.labels, rows.weights) if isinstance(reduction.pair.first, Quantile) else None
    one = replace(rows, predictions=rows.predictions[:, 0], membership=membership)
    if scale is not None:
        spread = scale.spread(rows.labels, np.random.default_rng(random_state))
        one = replace(one, labels=spread, predictions=scale.forward(one.predictions))
    made = work_out(one, reduction.pair.first, goal.stage(), random_state=random_state)
    if made.predictor.model is None and not always:
        return None
    first = made.predictor.predict(one.predictions, membership)
    if scale is not None:
        first = rows.predictions[:, 0] if made.predictor.model is None else scale.inverse(first)
    second_edges = _edges(first, rows.weights)
    membership = with_levels(rows.membership, first, second_edges)
    start = reduction.form.forward(rows.predictions[:, 1])
    pseudo = reduction.labels(first, rows.labels)
    prop = reduction.property(pseudo, start)
    # Pseudo-labels can have tails so heavy that a shift for every group is noise: first a curve and levels of f⁰ alone.
    everyone = with_levels(Membership(rows.membership.bits[:1], rows.membership.rows), first, second_edges)
    other = replace(rows, labels=pseudo, predictions=start, membership=everyone)
    rough = work_out(other, prop, goal.stage(), random_state=random_state)
    other = replace(other, predictions=rough.predictor.predict(start, everyone), membership=membership)
    stage = work_out(other, prop, goal.stage(), random_state=random_state)
    said = [
        f"first coordinate: {made.note}",
        f"second coordinate, everyone: {rough.note}",
        f"second coordinate: {stage.note}",
    ]
    return PairPass(scale, made.predictor, rough.predictor, stage.predictor, first_edges, second_edges), said


def _edges(values: Array, weights: Array) -> Array:
    """Cuts between levels of about equal weight."""
    points = Grid.quantile(values, OTHER_LEVELS, weights)
    return np.asarray(points.boundaries)


def worth_it(rows: Rows, pair: Pair, reduction: Reduction, goal: PairGoal, random_state: int) -> tuple[bool, str]:
    """Whether the joint score on rows held out does not rise, and what was found, in words."""
    used = np.flatnonzero(rows.weights > 0)
    if used.size < FEWEST:
        return False, "Too few rows to hold any out: nothing done."
    order = shuffle(used, rows.cluster, np.random.default_rng(random_state))
    unit = unit_numbers(used.size, None if rows.cluster is None else rows.cluster[order])
    if unit[-1] + 1 < HELD_SHARE:
        return False, f"With fewer than {HELD_SHARE} clusters none can be held out: nothing done."
    cut = int(np.searchsorted(unit, (unit[-1] + 1) // HELD_SHARE))  # whole clusters
    fitting, judging = rows.take(np.sort(order[cut:])), rows.take(np.sort(order[:cut]))
    passes, _ = all_passes(fitting, reduction, replace(goal, control=replace(goal.control, progress=None)), random_state)
    after = PairLinkPredictor((Grid([0.0]), Grid([0.0])), reduction.form, passes).predict(judging.predictions, judging.membership)
    if not np.isfinite(after).all():
        return False, "The fit on part of the rows was not finite: nothing done."
    scores = comparable_scores(pair, judging.predictions, after, judging.labels)
    if scores is None:
        return True, "No joint score for this pair: each coordinate was judged on its own score."
    before, now = (float(np.average(score, weights=judging.weights)) for score in scores)
    if not now <= before:
        return False, f"The joint score on rows held out would rise ({before:.6g} → {now:.6g}): nothing done."
    return True, f"Joint score on rows held out: {before:.6g} → {now:.6g}."
