"""Which way to correct from columns is taken: the one that rows held out like best, if it stands out from what named groups reach.

It is touched up, each stage only if held-out rows lean to it, and then gone again on all rows; and it is said what each way gained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.batch.control import INTERRUPTED
from multivalid.cells.sentences import UNNAMED
from multivalid.practical import accept
from multivalid.practical.columns import Columns, several
from multivalid.practical.from_columns.plan import Plan
from multivalid.practical.from_columns.problem import Problem
from multivalid.practical.from_columns.ways import Way, Ways
from multivalid.practical.goal import Goal
from multivalid.practical.remains import remaining
from multivalid.practical.rules import Rule
from multivalid.properties.base import Property
from multivalid.sources.memory import MemorySource as Rows

# Standard errors by which held-out rows must lean towards a way from what named groups reach (see `accept`); more than for named groups,
# as the number of trees was chosen on the same rows.
NEEDED = 3.5


@dataclass(frozen=True)
class Chosen:
    """The plan that rows held out confirm, on all rows; what to say of it; and whether Ctrl-C came."""

    plan: Plan
    report: list[str]
    stopped: bool = False


def choose(problem: Problem, blocks: NDArray[Any] | None, seed: int) -> Chosen:
    """The best way, on all rows; after Ctrl-C what was confirmed by then, as it stands, if that was asked for."""
    ways = Ways(problem, blocks, seed)
    tried: list[Way] = []
    report: list[str] = []
    try:
        named, report = ways.named()
        tried.append(named)
        for way in ways.beyond(named):
            tried.append(way)  # one by one: what is there when Ctrl-C comes is kept
        best, gains = pick(ways, tried)
        best, last_gains = touch_up(ways, best)
        plan = best.repeat(ways.whole())
        lines = [headline(ways, plan), remains(ways, best), *report, *gains, *last_gains]
        return Chosen(plan, [line for line in lines if line])
    except KeyboardInterrupt:
        if not problem.goal.control.keep_interrupted:
            raise
        if not tried:
            return Chosen(ways.untouched(), [f"{INTERRUPTED} Nothing done."], True)
        best, gains = pick(ways, tried)
        plan = best.plans[0]
        end = "Nothing done." if plan.untouched else "Not refitted on all rows."
        return Chosen(plan, [headline(ways, plan), *report, *gains, f"{INTERRUPTED} {end}"], True)


def find_rules(
    rows: Rows, prop: Property, goal: Goal, columns: Columns, *, blocks: NDArray[Any] | None = None, random_state: int = 0
) -> tuple[list[Rule], str]:
    """The rules alone that rows held out confirm for one column of predictions, chosen on all rows, and what to say of them; Ctrl-C is
    the caller's."""
    problem = Problem.of(rows, prop, goal, replace(columns, readable=True), blocks)
    ways = Ways(problem, blocks, random_state)
    named, _ = ways.named()
    best, _ = pick(ways, [named, *ways.beyond(named)])
    plan = best.repeat(ways.whole())
    return plan.rules, headline(ways, plan)


def pick(ways: Ways, tried: Sequence[Way]) -> tuple[Way, list[str]]:
    """The way of largest held-out gain, if it stands out from what named groups (the first) reach; and what each gained, in words."""
    named = best = tried[0]
    report, largest = [], 0.0
    for way in tried[1:]:
        more, z = float((way.gain - named.gain).mean()), ways.evidence(named, way)
        if z >= NEEDED and more > largest:
            best, largest = way, more
        what = f"{way.name} found in columns ({way.plans[0].size})"
        report.append(f"{what}: held-out score gain {more:.3g} beyond the named groups (z = {z:.1f})")
    return best, report


def touch_up(ways: Ways, way: Way) -> tuple[Way, list[str]]:
    """A way through columns with what its groups still ask for at its end, as far as rows held out gain by it; and what they gain."""
    report: list[str] = []
    groups = ways.problem.every.membership.groups
    if not any(plan.rules or (plan.trees and groups > 1) for plan in way.plans):
        return way, report  # trees alone know no groups, and a curve along what they were fitted to would follow its noise
    asked = [part.touch_up(plan) for part, plan in zip(ways.parts, way.plans, strict=True)]
    best = way
    for stage in (stage for stage in accept.ORDER if any(one.name == stage for some in asked for one in some)):
        longer = ways.with_last(way, stage, asked)
        more, z = float((longer.gain - best.gain).mean()), ways.evidence(best, longer)
        better = z > accept.NEEDED_FOR_ANY and more > 0
        gain = f"held-out score gain {more:.3g} (z = {z:.1f}), {'kept' if better else 'dropped'}"
        report.append(f"{stage} after what was found: {gain}")
        best = longer if better else best
    return best, report


def remains(ways: Ways, way: Way) -> str:
    """What is left for groups that nobody named, on the rows held out."""
    rows, prop = ways.outcomes, ways.problem.loss.prop
    v = np.asarray(rows.weights * prop.identify(way.final, rows.labels))
    bins, codes = ways.problem.columns.bins[:-1], np.concatenate([part.codes_out for part in ways.parts])
    return remaining(prop, bins, codes, rows, v, events=ways.problem.of_events)


def headline(ways: Ways, plan: Plan) -> str:
    """What was found and kept."""
    where = several(len(ways.problem.columns.bins) - 1, "column")
    held, every = sum(held.size for _, held in ways.folds), len(ways.problem.every)
    judges = f"{held:,} rows not fitted" if held < every else f"all {every:,} rows, a fifth at a time that was not fitted"
    if not (plan.rules or plan.trees):
        return f"{UNNAMED}: none were found in {where} beyond the named ones and confirmed on {judges}."
    return f"{UNNAMED}: found in {where} and confirmed on {judges}: {plan.size}."
