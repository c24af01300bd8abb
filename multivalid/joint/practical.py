"""The default mode for pairs: the practical batch fit on the first coordinate, then on the pseudo-label of the second.

Each coordinate is calibrated for the groups and for levels of the other one. As in Algorithm 3, the pass over both is repeated while
the first coordinate is off on the new level sets of the second. The result is kept only where the joint score on rows held out does
not rise; otherwise the predictions go through untouched.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid import validate
from multivalid.audit.audit import audit_source
from multivalid.audit.pair_cells import PairCells
from multivalid.batch.control import INTERRUPTED, UNLIMITED, Control
from multivalid.grid import Grid, checked_grid
from multivalid.groups.membership import Membership
from multivalid.joint.algorithm import BlockedPair
from multivalid.joint.certificate import JointCertificate
from multivalid.joint.link_predictor import PairLinkPredictor, PairPass, with_levels
from multivalid.joint.plan import OR_TWO, two
from multivalid.joint.rank_scale import RankScale
from multivalid.joint.reduction import Reduction, reduction_of
from multivalid.joint.score import comparable_scores
from multivalid.joint.theorem import with_holdout
from multivalid.joint.trivial import trivial_errors
from multivalid.practical import fit as batch
from multivalid.practical.certify import nothing_told, on_rows_fitted
from multivalid.practical.data import shuffle, unit_numbers
from multivalid.practical.start import chance_limit
from multivalid.properties import Pair, Quantile
from multivalid.properties.base import Array
from multivalid.sources.memory import MemorySource as Rows

LEVELS = 5  # of either coordinate: cells are (group, level⁰, level¹), so their number grows with the square
MOST_PASSES = 3
OTHER_LEVELS = 5  # levels of one coordinate that the fit of the other conditions on
GUARD_ROWS = 10  # fewer rows cannot be split into rows to fit and rows to judge
HELD_SHARE = 5  # one row in five judges


@dataclass(frozen=True)
class PairGoal:
    """What the user fixed."""

    levels: tuple[int, int]
    grids: tuple[Grid | None, Grid | None]
    alpha: tuple[float | None, float | None]
    control: Control

    @classmethod
    def of(cls, m: Any, grid: Any, alpha: Any, control: Control = UNLIMITED) -> PairGoal:
        """Checked; each argument is one value for both coordinates or two."""
        counts = [LEVELS if c is None else validate.count(c, "m") for c in two(m, "m")]
        wanted = [None if a is None else validate.positive(a, "alpha") for a in two(alpha, "alpha")]
        grids = two(grid, "grid")
        for given in grids:
            if given is not None:
                checked_grid(given, OR_TWO)
        return cls((counts[0], counts[1]), grids, (wanted[0], wanted[1]), control)

    def stage(self) -> batch.Goal:
        """The goal of one coordinate's own fit; an interruption ends the fit of the pair, not of a stage.

        Once the first coordinate has moved, the second as it came is no safe choice: a stage is held to its t alone, and the joint
        score of the whole decides whether anything is done.
        """
        return batch.Goal(control=replace(self.control, keep_interrupted=False), needed_rows=0.0)


@dataclass(frozen=True)
class PracticalPairFit:
    """A predictor, the levels of each fitted row (rows, 2), and the certificate."""

    predictor: PairLinkPredictor
    levels: NDArray[np.intp]
    certificate: JointCertificate


def fit(
    rows: Rows,
    pair: Pair,
    goal: PairGoal,
    *,
    held: Rows | None = None,
    random_state: int = 0,
) -> PracticalPairFit:
    """Fit both coordinates, compare with the input on rows held out, and say what was reached."""
    everyone, reduction = rows, reduction_of(pair)
    if not rows.weights.all():  # a row of weight 0 is not there: pseudo-labels, scales and levels must not see it
        rows = rows.take(np.flatnonzero(rows.weights > 0))
    with np.errstate(all="ignore"):  # trial steps of the fit may overflow; they are turned down, and the end is checked
        passes, notes, interrupted = _worked_out(rows, pair, reduction, goal, random_state)
        predictor = PairLinkPredictor((Grid([0.0]), Grid([0.0])), reduction.form, passes)
        final = predictor.predict(rows.predictions, rows.membership)
    if not np.isfinite(final).all():
        predictor, final, notes = replace(predictor, passes=[]), rows.predictions, ["The fit was not finite: nothing done."]
    predictor = replace(predictor, grids=_final_grids(final, rows.weights, goal))
    certificate = _certify(rows, pair, predictor, final, goal, notes)
    if interrupted:
        certificate = replace(certificate, status="budget")
    if held is not None:
        certificate = with_holdout(certificate, held, pair, predictor)
    if rows is not everyone:
        final = predictor.predict(everyone.predictions, everyone.membership)
    levels = np.stack([grid.round(final[:, k]) for k, grid in enumerate(predictor.grids)], axis=1)
    return PracticalPairFit(predictor, levels, certificate)


def _worked_out(
    rows: Rows, pair: Pair, reduction: Reduction, goal: PairGoal, random_state: int
) -> tuple[list[PairPass], list[str], bool]:
    """The passes that held-out rows confirmed, what to say of them, and whether Ctrl-C came before they were fitted."""
    try:
        kept, report = _worth_it(rows, pair, reduction, goal, random_state)
        passes, notes = _passes(rows, reduction, goal, random_state) if kept else ([], [])
        return passes, [report, *notes], False
    except KeyboardInterrupt:
        if not goal.control.keep_interrupted:
            raise
        return [], [INTERRUPTED + " Nothing done."], True


def _passes(rows: Rows, reduction: Reduction, goal: PairGoal, random_state: int) -> tuple[list[PairPass], list[str]]:
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
    made = batch.work_out(one, reduction.pair.first, goal.stage(), random_state=random_state)
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
    rough = batch.work_out(other, prop, goal.stage(), random_state=random_state)
    other = replace(other, predictions=rough.predictor.predict(start, everyone), membership=membership)
    stage = batch.work_out(other, prop, goal.stage(), random_state=random_state)
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


def _worth_it(rows: Rows, pair: Pair, reduction: Reduction, goal: PairGoal, random_state: int) -> tuple[bool, str]:
    """Whether the joint score on rows held out does not rise, and what was found, in words."""
    used = np.flatnonzero(rows.weights > 0)
    if used.size < GUARD_ROWS:
        return False, "Too few rows to hold any out: nothing done."
    order = shuffle(used, rows.cluster, np.random.default_rng(random_state))
    unit = unit_numbers(used.size, None if rows.cluster is None else rows.cluster[order])
    if unit[-1] + 1 < HELD_SHARE:
        return False, f"With fewer than {HELD_SHARE} clusters none can be held out: nothing done."
    cut = int(np.searchsorted(unit, (unit[-1] + 1) // HELD_SHARE))  # whole clusters
    fitting, judging = rows.take(np.sort(order[cut:])), rows.take(np.sort(order[:cut]))
    passes, _ = _passes(fitting, reduction, replace(goal, control=replace(goal.control, progress=None)), random_state)
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


def _final_grids(final: Array, weights: Array, goal: PairGoal) -> tuple[Grid, Grid]:
    made = []
    for k, (given, levels) in enumerate(zip(goal.grids, goal.levels, strict=True)):
        distinct = np.unique(final[:, k])
        few = Grid(distinct) if distinct.size <= levels else Grid.quantile(final[:, k], levels, weights)
        made.append(few if given is None else given)
    return made[0], made[1]


def _certify(
    rows: Rows, pair: Pair, predictor: PairLinkPredictor, final: Array, goal: PairGoal, notes: list[str]
) -> JointCertificate:
    """Given the levels of the final predictions: the errors reached, and which groups are off beyond chance."""
    found = audit_source(replace(rows, predictions=final), pair, predictor.grids, beyond=True)
    cells = found.cells
    limit = chance_limit(2 * int((cells.mass > 0).sum()))
    chance = [
        float(errors(limit * np.sqrt(variance)).max())
        for errors, variance in ((cells.first_errors, cells.first_variance), (cells.second_errors, cells.seen_variance))
    ]
    error, stage = found.errors, float(cells.second_errors(cells.seen).max())
    reached = (0.0, 0.0) if found.off else (error[0], stage)  # where no group is off, nothing more was to be had
    alpha = [max(chance[k], reached[k]) if asked is None else asked for k, asked in enumerate(goal.alpha)]
    updates = [sum(1 for side, _ in predictor.patches if side == k) for k in (0, 1)]
    spent = not goal.control.room(max(updates))
    fine = error[0] <= alpha[0] and stage <= alpha[1] and not found.off
    trivial = None if goal.alpha == (None, None) else trivial_errors(rows, pair)
    empty = (
        nothing_told(found) if trivial is None else any(a is not None and a > t for a, t in zip(goal.alpha, trivial, strict=True))
    )
    scores = comparable_scores(pair, rows.predictions, final, rows.labels)
    nan = float("nan")
    potential = [np.average(pair.first.score(p[:, 0], rows.labels), weights=rows.weights) for p in (rows.predictions, final)]
    means = None if scores is None else [float(np.average(s, weights=rows.weights)) for s in scores]
    return JointCertificate(
        status=("vacuous" if empty else "converged") if fine else ("budget" if spent else "blocked"),
        mode="practical",
        alpha=(alpha[0], alpha[1]),
        stage_alpha=alpha[1],
        argument="no group off beyond chance" if goal.alpha == (None, None) else "as asked",
        printed_alpha=None,
        error=error,
        gamma_error=(float(cells.first_errors(cells.first_gap).max()), float(cells.second_errors(cells.second_gap).max())),
        stage_error=stage,
        updates=(updates[0], updates[1]),
        update_bound=None,
        passes=len(predictor.passes),
        potential=np.array(potential),
        least_drop=(nan, nan),
        drop_bound=(0.0, 0.0),
        lipschitz=(nan, nan),
        steepest=(nan, nan),
        blocked=[] if fine else _beyond(cells, limit),
        joint_score=None if means is None else (means[0], means[1]),
        note="\n".join(line for line in (*notes, on_rows_fitted(found)) if line),
        asked=goal.alpha != (None, None),
        trivial=trivial,
    )


def _beyond(cells: PairCells, limit: float) -> list[BlockedPair]:
    """Cells that are off beyond chance although no correction held up on rows held out."""
    found = []
    for side, v, variance in ((0, cells.first, cells.first_variance), (1, cells.seen, cells.seen_variance)):
        for i, j, g in np.argwhere((np.abs(v) > limit * np.sqrt(variance)) & (cells.rows >= GUARD_ROWS)):
            found.append(BlockedPair(side, int(g), int(i), int(j), float(cells.mass[i, j, g]), float(v[i, j, g])))
    return found
