"""Which way to correct from columns: each is fitted in turn on all folds but one, and looked at on that one.

On top of the named groups trees are boosted, one number of them for all folds; the nodes that say most of what the trees say become rules,
groups like any other, fitted together with the named ones; and trees again on top of those. Where the fit bends the sum of the groups'
shifts, it is known by then on which scale groups add up, and rules are chosen once more there. The way that all rows held out like best
is touched up: trees and rules leave some groups and some levels of the prediction off, so a curve along it and the shifts of all groups
are fitted once more at its end, then single cells are shifted, each if rows held out gain by it. That way is gone again on all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from multivalid.batch.control import INTERRUPTED
from multivalid.cells.sentences import UNNAMED
from multivalid.practical import accept
from multivalid.practical.boost import boost_together
from multivalid.practical.columns import several
from multivalid.practical.data import Outcomes
from multivalid.practical.found_plan import Plan
from multivalid.practical.found_plans import Index, Part
from multivalid.practical.found_problem import Problem
from multivalid.practical.remains import remaining
from multivalid.practical.rules import Rule
from multivalid.properties.base import Array

# Standard errors by which held-out rows must lean towards a way from what named groups reach (see `accept`); more than for named groups,
# as the number of trees was chosen on the same rows.
NEEDED = 3.5
FOLDS = 5
ONE_SPLIT = 20_000  # with at least this many rows one held-out fifth decides; with fewer all five folds do
FEWEST_RULES = 3


@dataclass(frozen=True)
class Way:
    """What to do, done on every part; on each row held out the predictions and the score gained; `again` does it on other rows."""

    name: str
    plans: list[Plan]
    final: Array
    gain: Array
    again: Callable[[Part], Plan] = field(compare=False)

    @property
    def bent(self) -> bool:
        """Whether the sum of shifts is bent anywhere."""
        return any(plan.start.model.bends.size for plan in self.plans)


@dataclass(frozen=True)
class Chosen:
    """The plan that rows held out confirm, on all rows; what to say of it; and whether Ctrl-C came."""

    plan: Plan
    report: list[str]
    stopped: bool = False


class Ways:
    """The ways from one problem, on parts of its rows."""

    def __init__(self, problem: Problem, blocks: NDArray[np.intp] | None, seed: int) -> None:
        self.problem, self.seed = problem, seed
        rows = len(problem.every)
        self.unit = "rows" if blocks is None else "blocks"
        # Blocks are few however many their rows: all of them must have their say.
        self.folds = folds(rows, blocks, seed, 1 if rows >= ONE_SPLIT and blocks is None else FOLDS)
        held = np.concatenate([held for _, held in self.folds])
        self.outcomes = Outcomes(problem.every.labels[held], problem.every.weights[held])
        self.blocks = None if blocks is None else np.unique(blocks[held], return_inverse=True)[1]

    # ---- the whole -----------------------------------------------------------------------------------------------------
    def choose(self) -> Chosen:
        """The best way, on all rows; after Ctrl-C what was confirmed by then, as it stands, if that was asked for."""
        found: list[Way] = []
        report: list[str] = []
        try:
            self.parts = [Part(self.problem, fitting, held) for fitting, held in self.folds]
            named, report = self.named()
            found.append(named)
            for way in self.more(named):
                found.append(way)  # one by one: what is there when Ctrl-C comes is kept
            best, told = self.best(found)
            best, ended = self.touched_up(best)
            plan = best.again(self.whole())
            lines = [self._found_line(plan), self.remains(best), *report, *told, *ended]
            return Chosen(plan, [line for line in lines if line])
        except KeyboardInterrupt:
            if not self.problem.goal.control.keep_interrupted:
                raise
            if not found:
                return Chosen(self.untouched(), [f"{INTERRUPTED} Nothing done."], True)
            best, told = self.best(found)
            plan = best.plans[0]
            end = "Nothing done." if plan.untouched else "Not refitted on all rows."
            return Chosen(plan, [self._found_line(plan), *report, *told, f"{INTERRUPTED} {end}"], True)

    def choose_rules(self) -> tuple[list[Rule], str]:
        """The rules of the best way, chosen on all rows, and what to say of them; Ctrl-C is the caller's."""
        self.parts = [Part(self.problem, fitting, held) for fitting, held in self.folds]
        named, _ = self.named()
        best, _ = self.best([named, *self.more(named)])
        plan = best.again(self.whole())
        return plan.rules, self._found_line(plan)

    def whole(self) -> Part:
        """All rows, none held out."""
        order = np.random.default_rng(self.seed).permutation(len(self.problem.every))
        return Part(self.problem, order, order[:0])

    def untouched(self) -> Plan:
        """The input as it is."""
        nobody = np.zeros(0, dtype=np.intp)
        return Part(self.problem, np.arange(len(self.problem.every)), nobody).named(None)

    # ---- the ways ------------------------------------------------------------------------------------------------------
    def named(self) -> tuple[Way, list[str]]:
        """What the named groups reach, fitted inside the folds; the input itself when that is as good."""
        stage, report = accept.choose([part.held_out() for part in self.parts], unit=self.unit)
        return self._way("named", [part.named(stage) for part in self.parts], lambda part: part.named(stage)), report

    def more(self, named: Way) -> Iterator[Way]:
        """On top of the named groups: trees, rules, both, and rules chosen again where groups add up."""
        readable = self.problem.columns.readable
        trees = self.trees(named, "trees")
        if trees is None:
            return
        if not readable:
            yield trees
        ruled = self.rules(trees)
        yield ruled
        if ruled.gain.mean() < trees.gain.mean():
            return  # trees on top of rules that say less than trees alone end where the trees were, or short of it
        both = self.trees(ruled, "rules and trees")
        if both is None:
            return
        if not readable:
            yield both
        if not ruled.bent:
            return
        added = self.added_up(both)
        yield added
        both = None if readable else self.trees(added, f"{added.name} and trees")
        if both is not None:
            yield both

    def trees(self, way: Way, name: str) -> Way | None:
        """Trees on top of a way, as many as all rows held out like; None where they like none."""
        runs = [part.boosting(plan) for part, plan in zip(self.parts, way.plans, strict=True)]
        count = boost_together(runs, self.problem.tell)
        if not count:
            return None
        plans = [replace(plan, trees=run.trees[:count]) for plan, run in zip(way.plans, runs, strict=True)]

        def again(part: Part) -> Plan:
            more = len(part.inside) / len(self.parts[0].inside)  # rows ask for trees
            return part.boosted(way.again(part), round(count * more))

        return self._way(name, plans, again)

    def rules(self, trees: Way) -> Way:
        """The trees' nodes as groups; where rows are few, many of them fit noise, and fewer are tried too."""
        found = [part.rules(plan) for part, plan in zip(self.parts, trees.plans, strict=True)]
        fewer = max(max(len(rules) for rules in found) // 4, FEWEST_RULES)
        counts = [None, fewer] if len(self.problem.every) < ONE_SPLIT else [None]
        tried = [self._ruled(trees, found, count) for count in counts]
        return max(tried, key=lambda way: float(way.gain.mean()))

    def _ruled(self, trees: Way, found: Sequence[list[Rule]], count: int | None) -> Way:
        made = zip(self.parts, trees.plans, found, strict=True)
        plans = [part.ruled(rules[:count], plan.trees) for part, plan, rules in made]

        def again(part: Part) -> Plan:
            plan = trees.again(part)
            return part.ruled(part.rules(plan)[:count], plan.trees)

        return self._way("rules", plans, again)

    def added_up(self, both: Way) -> Way:
        """Rules chosen again where groups add up."""

        def again(part: Part, plan: Plan | None = None) -> Plan:
            plan = both.again(part) if plan is None else plan
            return part.ruled(part.added_up(plan), plan.grown)

        plans = [again(part, plan) for part, plan in zip(self.parts, both.plans, strict=True)]
        return self._way("rules (second choice)", plans, again)

    def touched_up(self, way: Way) -> tuple[Way, list[str]]:
        """A way through columns with what its groups still ask for at its end, as far as rows held out gain by it; and what they gain."""
        report: list[str] = []
        if not any(plan.rules or (plan.trees and self.problem.every.membership.groups > 1) for plan in way.plans):
            return way, report  # trees alone know no groups, and a curve along what they were fitted to would follow its noise
        found = [part.touched_up(plan) for part, plan in zip(self.parts, way.plans, strict=True)]
        best = way
        for stage in (stage for stage in accept.ORDER if any(one.name == stage for some in found for one in some)):
            plans = [plan.ended(stage, some) for plan, some in zip(way.plans, found, strict=True)]
            tried = self._way(way.name, plans, partial(_touched_up, way, stage))
            more, z = float((tried.gain - best.gain).mean()), self.evidence(best, tried)
            better = z > accept.NEEDED_FOR_ANY and more > 0
            told = f"held-out score gain {more:.3g} (z = {z:.1f}), {'kept' if better else 'dropped'}"
            report.append(f"{stage} after what was found: {told}")
            best = tried if better else best
        return best, report

    def _way(self, name: str, plans: list[Plan], again: Callable[[Part], Plan]) -> Way:
        made = list(zip(self.parts, plans, strict=True))
        final = np.concatenate([part.predicted(plan) for part, plan in made])
        before, score = np.concatenate([part.base for part in self.parts]), self.problem.loss.prop.score
        gain = self.outcomes.weights * (score(before, self.outcomes.labels) - score(final, self.outcomes.labels))
        return Way(name, plans, final, gain, again)

    def best(self, ways: Sequence[Way]) -> tuple[Way, list[str]]:
        """The way of largest held-out gain, if it stands out from what named groups (the first) reach; and what each gained, in words."""
        named = best = ways[0]
        report, largest = [], 0.0
        for way in ways[1:]:
            more, z = float((way.gain - named.gain).mean()), self.evidence(named, way)
            if z >= NEEDED and more > largest:
                best, largest = way, more
            found = f"{way.name} found in columns ({way.plans[0].size})"
            report.append(f"{found}: held-out score gain {more:.3g} beyond the named groups (z = {z:.1f})")
        return best, report

    def evidence(self, before: Way, after: Way) -> float:
        """How many standard errors the rows held out, or their blocks, lean from one way towards another (see `accept`)."""
        v = self.problem.loss.prop.identify(before.final, self.outcomes.labels)
        lean = np.asarray(self.outcomes.weights * v * (before.final - after.final))
        return accept.z_statistic(lean if self.blocks is None else np.bincount(self.blocks, weights=lean).astype(np.float64))

    # ---- what to say ---------------------------------------------------------------------------------------------------
    def remains(self, way: Way) -> str:
        """What is left for groups that nobody named, on the rows held out."""
        rows, prop = self.outcomes, self.problem.loss.prop
        v = np.asarray(rows.weights * prop.identify(way.final, rows.labels))
        bins, codes = self.problem.columns.bins[:-1], np.concatenate([part.codes_out for part in self.parts])
        return remaining(prop, bins, codes, rows, v, events=self.problem.of_events)

    def _found_line(self, plan: Plan) -> str:
        """What was found and kept."""
        where = several(len(self.problem.columns.bins) - 1, "column")
        held, every = sum(held.size for _, held in self.folds), len(self.problem.every)
        judges = f"{held:,} rows not fitted" if held < every else f"all {every:,} rows, a fifth at a time that was not fitted"
        if not (plan.rules or plan.trees):
            return f"{UNNAMED}: none were found in {where} beyond the named ones and confirmed on {judges}."
        return f"{UNNAMED}: found in {where} and confirmed on {judges}: {plan.size}."


def _touched_up(way: Way, stage: str, part: Part) -> Plan:
    plan = way.again(part)
    return plan.ended(stage, part.touched_up(plan))


def folds(rows: int, blocks: NDArray[np.intp] | None, seed: int, count: int) -> list[tuple[Index, Index]]:
    """Rows to fit and rows to hold out, both shuffled, of the first `count` of five folds; where rows belong together, blocks are held
    out whole, and their rows stand together."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(rows)
    if blocks is None:
        place = np.arange(rows) * FOLDS // rows
    else:
        _, number = np.unique(blocks, return_inverse=True)
        place = (rng.permutation(int(number.max()) + 1) % FOLDS)[number[order]]
        parts = [(order[place != k], order[place == k]) for k in range(count)]
        return [(fitting, held[np.argsort(number[held], kind="stable")]) for fitting, held in parts]
    return [(order[place != k], order[place == k]) for k in range(count)]
