"""The practical fit with columns: groups that nobody named are found, as rules, as trees, or as both, and kept if held-out rows confirm.

From rows to a problem on codes, whose ways `found_ways.py` tries, and from the plan it chose to a predictor with its certificate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.batch.statement import judged
from multivalid.discover.bins import Codes
from multivalid.grid import Grid
from multivalid.groups.blocks import Holds
from multivalid.groups.family import FittedGroups
from multivalid.groups.kept import Kept
from multivalid.groups.membership import Membership
from multivalid.groups.nodes import render
from multivalid.groups.recode import with_codes
from multivalid.practical import fit as practical
from multivalid.practical.boost import rate_for
from multivalid.practical.certify import certify
from multivalid.practical.columns import Columns, widened
from multivalid.practical.data import LinkRows, Matching
from multivalid.practical.forest import Forest
from multivalid.practical.found_plans import Index, Problem
from multivalid.practical.found_ways import Ways
from multivalid.practical.link import choose_link
from multivalid.practical.predictor import Ending, LinkPredictor
from multivalid.practical.rules import Rule, masks_of
from multivalid.properties import Property
from multivalid.properties.base import Array
from multivalid.sources.memory import MemorySource as Rows

BLOCKS = 20


@dataclass(frozen=True)
class FoundFit:
    """What a fit with columns made: groups (named and found), predictor, levels of the fitted rows, certificate, rows to report on."""

    groups: FittedGroups
    predictor: LinkPredictor
    levels: Index
    certificate: Any
    rows: Rows


def fit_found(
    rows: Rows,
    prop: Property,
    goal: practical.Goal,
    columns: Columns,
    *,
    blocks: NDArray[Any] | None = None,
    random_state: int = 0,
) -> FoundFit:
    """Fit named and found groups; `columns` has the codes of these rows, `blocks` says which rows belong together."""
    problem = _problem(rows, prop, goal, columns, blocks)
    columns, link = problem.columns, problem.loss.link
    chosen = Ways(problem, blocks, random_state).choose()
    final = chosen.plan
    groups, membership = with_found(rows, final.rules, columns)
    forest = Forest.of(columns.bins, final.trees) if final.trees else None
    wide = replace(rows, groups=groups, membership=membership)
    last = None if final.last is None else Ending(final.last.model, final.last.rounds)
    bare = LinkPredictor(Grid([0.0]), link, None if final.untouched else final.start.model, final.start.rounds, forest, last)
    predictions = bare.predict(rows.predictions, membership, None if forest is None else forest.added(_codes(forest, columns)))
    grid = goal.grid if goal.grid is not None else practical.level_grid(predictions, rows.weights, goal.levels)
    predictor = replace(bare, grid=grid)
    done = wide.with_predictions(predictions)
    potential = [float(rows.weights @ prop.score(p, rows.labels) / rows.weights.sum()) for p in (rows.predictions, predictions)]
    certificate = certify(
        done,
        prop,
        predictor.grid,
        len(predictor.patches),
        potential,
        alpha=goal.alpha,
        stopped=chosen.stopped,
        note="\n".join(chosen.report),
    )
    return FoundFit(groups, predictor, grid.round(predictions), certificate, wide)


def find_rules(
    rows: Rows, prop: Property, goal: practical.Goal, columns: Columns, *, blocks: NDArray[Any] | None = None, random_state: int = 0
) -> tuple[list[Rule], str]:
    """The rules alone that rows held out confirm for one column of predictions, and what to say of them."""
    problem = _problem(rows, prop, goal, replace(columns, readable=True), blocks)
    return Ways(problem, blocks, random_state).choose_rules()


def _problem(rows: Rows, prop: Property, goal: practical.Goal, columns: Columns, blocks: NDArray[Any] | None) -> Problem:
    link = choose_link(prop, rows.labels, rows.predictions)
    base, member = link.forward(rows.predictions), with_codes(rows.membership)
    every = LinkRows(rows.labels, rows.weights / rows.weights.mean(), base, member, blocks)
    return Problem(
        every, rows.predictions, columns.with_prediction(rows.predictions), Matching(prop, link), goal, rate_for(len(rows))
    )


def judge_found(made: FoundFit, rows: Rows, held: Rows, prop: Property, forest_values: Array | None) -> FoundFit:
    """The same with the error on rows held out by the user, put into the found groups too."""
    seen = held.with_predictions(made.predictor.predict(held.predictions, held.membership, forest_values))
    certificate = judged(made.certificate, seen, prop)
    return replace(made, certificate=certificate, rows=held)


def with_found(rows: Rows, rules: Sequence[Rule], columns: Columns) -> tuple[FittedGroups, Membership]:
    """Named groups, and rules as groups named by their conditions; `columns` has the codes of these rows."""
    names, kept, masks = list(rows.groups.names), list(rows.groups.kept), masks_of(rules, columns.codes)
    for rule in rules:
        condition = rule.condition(columns.bins)
        text = render(condition)
        names.append(text if text not in names else f"{text} (found)")
        kept.append(Kept(Holds(condition), (0,)))
    groups = FittedGroups(tuple(names), tuple(kept), rows.groups.arrays, rows.groups.notes, len(rules))
    return groups, widened(rows.membership, masks) if masks else rows.membership


def _codes(forest: Forest, columns: Columns) -> Codes:
    place = {one.column: k for k, one in enumerate(columns.bins)}
    return np.ascontiguousarray(columns.codes[:, [place[one.column] for one in forest.bins]])


def time_blocks(values: NDArray[Any]) -> Index:
    """Stretches of time with about equally many rows."""
    order = np.argsort(values, kind="stable")
    out = np.empty(order.size, dtype=np.intp)
    out[order] = np.arange(order.size) * BLOCKS // order.size
    return out
