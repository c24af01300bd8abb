"""Plans to correct from columns, fitted on some rows and looked at on others: named groups, rules, trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from multivalid.discover.bins import Codes
from multivalid.practical import accept
from multivalid.practical.boost import Boosting, CodedRows, boost
from multivalid.practical.candidates import Candidate, fit_candidates, group_shifts_by_level, up_to
from multivalid.practical.columns import widen
from multivalid.practical.data import LinkRows
from multivalid.practical.from_columns.plan import Plan, Trees
from multivalid.practical.from_columns.problem import Index, Problem
from multivalid.practical.rules import Rule, choose_rules, masks_of, most_rules
from multivalid.practical.start import stages, summed_shifts
from multivalid.practical.sum_scale import shifts_for
from multivalid.properties.base import Array

SAMPLE = 10_000  # rows on which rules are compared
FIRST_TREES = 60  # whose nodes may become rules: later ones repair earlier ones …
FIRST_TREES_ADDED_UP = 200  # … but are worth a look where it is known on which scale groups add up


class Part:
    """Rows to fit on, shuffled, and rows to look at."""

    def __init__(self, problem: Problem, fitting: Index, held: Index) -> None:
        self.problem, self.loss, self.bins = problem, problem.loss, problem.columns.bins
        self.inside, self.codes_in = problem.every.take(fitting), problem.columns.codes[fitting]
        self.out, self.codes_out = problem.every.take(held), problem.columns.codes[held]
        self.base = problem.base[held]

    # ---- named groups --------------------------------------------------------------------------------------------------
    @cached_property
    def candidates(self) -> list[Candidate]:
        """Stages of the named groups."""
        return fit_candidates(self.inside, self.loss, self.problem.goal)

    def held_out(self) -> accept.HeldOut:
        """What each stage does on the rows held out."""
        return accept.held_out(self.base, self.out, self.candidates, self.loss, binary=self.problem.of_events)

    def named(self, stage: str | None) -> Plan:
        """The named groups up to a stage; the input itself without one."""
        if stage is None:
            return Plan([], Candidate.untouched(self.inside))
        return Plan([], up_to(stage, self.candidates))

    # ---- trees ---------------------------------------------------------------------------------------------------------
    def boosting(self, plan: Plan) -> Boosting:
        """Trees to be grown on top of a plan."""
        held = CodedRows(self.out, self.codes_out, self._eta(plan, self.out, self.codes_out)) if len(self.out) else None
        mine = CodedRows(self.inside, self.codes_in, self._eta(plan, self.inside, self.codes_in))
        return Boosting(self.bins, mine, self.loss, self.problem.rate, held)

    def grow_trees(self, plan: Plan, trees: int) -> Plan:
        """So many trees on top."""
        return replace(plan, trees=boost(self.boosting(plan), trees, self.problem.tell))

    # ---- rules ---------------------------------------------------------------------------------------------------------
    def rules(self, plan: Plan) -> list[Rule]:
        """The nodes that say most of what the trees of a plan say."""
        codes, shift = self._sample(), np.zeros(min(len(self.inside), SAMPLE))
        plan.add_trees(codes, shift)
        return choose_rules(plan.trees[:FIRST_TREES], len(self.bins) - 1, codes, shift, most_rules(len(self.inside)))

    def rules_where_they_add_up(self, plan: Plan) -> list[Rule]:
        """Rules chosen again, to say what the rules and trees of a plan say on the scale where rules add up, before their sum is bent."""
        codes, model = self._sample(), plan.start.model
        few = self._with_rules(self.inside.take(np.arange(len(codes))), codes, plan.rules)
        index = summed_shifts(model, few)
        room = (index.max() - index.min()) / 2
        target = shifts_for(model, few.base, self._eta(plan, few, codes, widened=True), (index.min() - room, index.max() + room))
        trees = [*plan.grown[:FIRST_TREES_ADDED_UP], *plan.trees]
        return choose_rules(trees, len(self.bins) - 1, codes, target, most_rules(len(self.inside)))

    def fit_rules(self, rules: list[Rule], grown: Trees) -> Plan:
        """Named groups and rules fitted together."""
        last = stages(self._with_rules(self.inside, self.codes_in, rules), self.loss)[-1]
        return Plan(rules, Candidate(last.name, last.fitted.model, last.fitted.ridge), grown=list(grown))

    def _sample(self) -> Codes:
        return self.codes_in[:SAMPLE]

    def _with_rules(self, rows: LinkRows, codes: Codes, rules: Sequence[Rule]) -> LinkRows:
        return replace(rows, membership=widen(rows.membership, masks_of(rules, codes))) if rules else rows

    # ---- after the trees -----------------------------------------------------------------------------------------------
    def touch_up(self, plan: Plan) -> list[Candidate]:
        """What the groups of a plan still ask for where it ends: trees leave groups off, and levels of what they make of the base, so that
        the curve here may turn at the edge of every level."""
        rows = self._with_rules(self.inside, self.codes_in, plan.rules)
        rows = replace(rows, base=self._eta(plan, rows, self.codes_in, widened=True))
        return fit_candidates(rows, self.loss, self.problem.goal, group_shifts_by_level)

    # ---- what comes out ------------------------------------------------------------------------------------------------
    def predict_held_out(self, plan: Plan) -> Array:
        """Predictions of a plan for the rows held out."""
        return self.base if plan.untouched else self.loss.link.inverse(self._eta(plan, self.out, self.codes_out), handed_out=True)

    def _eta(self, plan: Plan, rows: LinkRows, codes: Codes, widened: bool = False) -> Array:
        rows = rows if widened else self._with_rules(rows, codes, plan.rules)
        eta = plan.start.eta(rows)
        plan.add_trees(codes, eta)
        return eta if plan.last is None else plan.last.eta(replace(rows, base=eta))
