"""The ways to correct from columns: each is fitted in turn on all folds but one, and looked at on that one.

On top of the named groups trees are boosted, one number of them for all folds; the nodes that say most of what the trees say become rules,
groups like any other, fitted together with the named ones; and trees again on top of those. Where the fit bends the sum of the groups'
shifts, it is known by then on which scale groups add up, and rules are chosen once more there. At the end of a way its groups may be
touched up: trees and rules leave some groups and some levels of the prediction off, so a curve along it and the shifts of all groups are
fitted once more there, then single cells are shifted. `choice.py` says which way is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from multivalid.practical import accept
from multivalid.practical.boost import boost_together
from multivalid.practical.candidates import Candidate
from multivalid.practical.data import Outcomes
from multivalid.practical.from_columns.folds import FOLDS, ONE_SPLIT, folds
from multivalid.practical.from_columns.part import Part
from multivalid.practical.from_columns.plan import Plan
from multivalid.practical.from_columns.problem import Problem
from multivalid.practical.rules import Rule
from multivalid.properties.base import Array

FEWEST_RULES = 3


@dataclass(frozen=True)
class Way:
    """What to do, done on every part; on each row held out the predictions and the score gained; `repeat` does it on other rows."""

    name: str
    plans: list[Plan]
    final: Array
    gain: Array
    repeat: Callable[[Part], Plan] = field(compare=False)

    @property
    def bent(self) -> bool:
        """Whether the sum of shifts is bent anywhere."""
        return any(plan.start.model.bends.size for plan in self.plans)


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

    # ---- rows ----------------------------------------------------------------------------------------------------------
    @cached_property
    def parts(self) -> list[Part]:
        """The folds."""
        return [Part(self.problem, fitting, held) for fitting, held in self.folds]

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

    def beyond(self, named: Way) -> Iterator[Way]:
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
        second = self.rules_where_they_add_up(both)
        yield second
        both = None if readable else self.trees(second, f"{second.name} and trees")
        if both is not None:
            yield both

    def trees(self, way: Way, name: str) -> Way | None:
        """Trees on top of a way, as many as all rows held out like; None where they like none."""
        runs = [part.boosting(plan) for part, plan in zip(self.parts, way.plans, strict=True)]
        count = boost_together(runs, self.problem.tell)
        if not count:
            return None
        plans = [replace(plan, trees=run.trees[:count]) for plan, run in zip(way.plans, runs, strict=True)]

        def repeat(part: Part) -> Plan:
            more = len(part.inside) / len(self.parts[0].inside)  # rows ask for trees
            return part.grow_trees(way.repeat(part), round(count * more))

        return self._way(name, plans, repeat)

    def rules(self, trees: Way) -> Way:
        """The trees' nodes as groups; where rows are few, many of them fit noise, and fewer are tried too."""
        chosen = [part.rules(plan) for part, plan in zip(self.parts, trees.plans, strict=True)]
        fewer = max(max(len(rules) for rules in chosen) // 4, FEWEST_RULES)
        counts = [None, fewer] if len(self.problem.every) < ONE_SPLIT else [None]
        tried = [self._some_rules(trees, chosen, count) for count in counts]
        return max(tried, key=lambda way: float(way.gain.mean()))

    def _some_rules(self, trees: Way, chosen: Sequence[list[Rule]], count: int | None) -> Way:
        every = zip(self.parts, trees.plans, chosen, strict=True)
        plans = [part.fit_rules(rules[:count], plan.trees) for part, plan, rules in every]

        def repeat(part: Part) -> Plan:
            plan = trees.repeat(part)
            return part.fit_rules(part.rules(plan)[:count], plan.trees)

        return self._way("rules", plans, repeat)

    def rules_where_they_add_up(self, both: Way) -> Way:
        """Rules chosen again on the scale where groups add up."""

        def second(part: Part, plan: Plan) -> Plan:
            return part.fit_rules(part.rules_where_they_add_up(plan), plan.grown)

        plans = [second(part, plan) for part, plan in zip(self.parts, both.plans, strict=True)]
        return self._way("rules (second choice)", plans, lambda part: second(part, both.repeat(part)))

    def with_last(self, way: Way, stage: str, asked: Sequence[list[Candidate]]) -> Way:
        """A way with what the groups of each part still ask for at its end, up to a stage."""

        def repeat(part: Part) -> Plan:
            plan = way.repeat(part)
            return plan.with_last(stage, part.touch_up(plan))

        return self._way(way.name, [plan.with_last(stage, one) for plan, one in zip(way.plans, asked, strict=True)], repeat)

    def _way(self, name: str, plans: list[Plan], repeat: Callable[[Part], Plan]) -> Way:
        every = list(zip(self.parts, plans, strict=True))
        final = np.concatenate([part.predict_held_out(plan) for part, plan in every])
        before, score = np.concatenate([part.base for part in self.parts]), self.problem.loss.prop.score
        gain = self.outcomes.weights * (score(before, self.outcomes.labels) - score(final, self.outcomes.labels))
        return Way(name, plans, final, gain, repeat)

    # ---- what rows held out say of them -----------------------------------------------------------------------------------
    def evidence(self, before: Way, after: Way) -> float:
        """How many standard errors the rows held out, or their blocks, lean from one way towards another (see `accept`)."""
        v = self.problem.loss.prop.identify(before.final, self.outcomes.labels)
        lean = np.asarray(self.outcomes.weights * v * (before.final - after.final))
        return accept.z_statistic(lean if self.blocks is None else np.bincount(self.blocks, weights=lean).astype(np.float64))
