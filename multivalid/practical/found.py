"""The practical fit with columns: groups that nobody named are found, as rules, as trees, or as both, and kept if held-out rows confirm.

Named groups are fitted first, as without columns. On top of them trees are boosted on codes of the columns and of the prediction itself;
the nodes that say most of what the trees say become rules, groups like any other, fitted together with the named ones; and trees
again on top of those. What rows held out like best is fitted again on all rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.atoms.summary import PREDICTION
from multivalid.batch.control import INTERRUPTED
from multivalid.batch.theorem import judged
from multivalid.cells.sentences import UNNAMED
from multivalid.discover.bins import MOST_CODES, Bins, Codes, Ordered
from multivalid.discover.fit_bins import fit_edges
from multivalid.discover.forest import add_trees
from multivalid.discover.grow import Node
from multivalid.grid import Grid
from multivalid.groups.blocks import Holds
from multivalid.groups.family import FittedGroups
from multivalid.groups.kept import Kept
from multivalid.groups.membership import Membership, flagged
from multivalid.groups.nodes import render
from multivalid.groups.recode import with_codes
from multivalid.practical import accept, newton
from multivalid.practical import fit as practical
from multivalid.practical.accept import Candidate, t_statistic
from multivalid.practical.boost import CodedRows, boost
from multivalid.practical.certify import certify
from multivalid.practical.data import LinkRows, Matching
from multivalid.practical.forest import Forest
from multivalid.practical.link import choose_link
from multivalid.practical.model import Model
from multivalid.practical.predictor import LinkPredictor
from multivalid.practical.remains import remaining
from multivalid.practical.rules import Rule, choose_rules, masks_of
from multivalid.practical.start import stages
from multivalid.properties import Property
from multivalid.properties.base import Array
from multivalid.sources.memory import MemorySource as Rows

NEEDED = 2.5  # t of the held-out gain over what named groups reach: the number of trees was chosen on the same rows
BLOCKS = 20
FOLDS = 5
FEW_ROWS = 20_000
FEWEST_RULES = 3
Index = NDArray[np.intp]


@dataclass(frozen=True)
class FoundFit:
    """What a fit with columns made: groups (named and found), predictor, levels of the fitted rows, certificate, rows to report on."""

    groups: FittedGroups
    predictor: LinkPredictor
    levels: Index
    certificate: Any
    rows: Rows


@dataclass(frozen=True)
class Columns:
    """The columns in which groups may be found: bins and codes of every row, the prediction's own last unless only rules are wanted."""

    bins: list[Bins]
    codes: Codes
    readable: bool

    def with_prediction(self, predictions: Array) -> Columns:
        """With the prediction as one more column."""
        edges = fit_edges(np.sort(predictions), MOST_CODES, whole=False)
        own = Ordered(PREDICTION, "number", tuple(edges.tolist()))
        return replace(self, bins=[*self.bins, own], codes=np.column_stack([self.codes, own.codes_of(predictions)]))


@dataclass(frozen=True)
class _Plan:
    """One way to go on from the named groups, fitted on part of the rows."""

    name: str
    rules: list[Rule]
    start: Candidate
    trees: list[Node]
    eta: Array  # of the rows held out

    @property
    def size(self) -> str:
        """How many rules and trees."""
        parts = [several(len(self.rules), "rule")] if self.rules else []
        return " and ".join([*parts, several(len(self.trees), "tree")] if self.trees else parts)


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
    link = choose_link(prop, rows.labels, rows.predictions)
    loss = Matching(prop, link)
    columns = columns.with_prediction(rows.predictions)
    weights = rows.weights / rows.weights.mean()
    every = LinkRows(rows.labels, weights, link.forward(rows.predictions), with_codes(rows.membership))
    held, fitting = _split(len(rows), blocks, random_state)
    search = _Search(every, rows.predictions, columns, loss, goal, held, fitting, random_state)
    final, report, stopped = search.work_out()
    groups, membership = with_found(rows, final.rules, columns)
    forest = Forest.of(columns.bins, final.trees) if final.trees else None
    wide = replace(rows, groups=groups, membership=membership)
    bare = LinkPredictor(Grid([0.0]), link, final.start.model if final.name != "input" else None, final.start.rounds, forest)
    predictions = bare.predict(rows.predictions, membership, None if forest is None else forest.added(_codes(forest, columns)))
    grid = goal.grid if goal.grid is not None else practical.level_grid(predictions, rows.weights, goal.levels)
    predictor = replace(bare, grid=grid)
    done = wide.with_predictions(predictions)
    potential = [float(rows.weights @ prop.score(p, rows.labels) / rows.weights.sum()) for p in (rows.predictions, predictions)]
    certificate = certify(
        done, prop, predictor.grid, len(predictor.patches), potential, alpha=goal.alpha, stopped=stopped, note="\n".join(report)
    )
    return FoundFit(groups, predictor, grid.round(predictions), certificate, wide)


def find_rules(
    rows: Rows, prop: Property, goal: practical.Goal, columns: Columns, *, blocks: NDArray[Any] | None = None, random_state: int = 0
) -> tuple[list[Rule], str]:
    """The rules alone that rows held out confirm for one column of predictions, and what to say of them."""
    link = choose_link(prop, rows.labels, rows.predictions)
    columns = replace(columns, readable=True).with_prediction(rows.predictions)
    weights = rows.weights / rows.weights.mean()
    every = LinkRows(rows.labels, weights, link.forward(rows.predictions), with_codes(rows.membership))
    held, fitting = _split(len(rows), blocks, random_state)
    search = _Search(every, rows.predictions, columns, Matching(prop, link), goal, held, fitting, random_state)
    named, _ = search.named()
    kept, _ = _chosen([named, *search.plans(named)], search.gain)
    return kept.rules, _found_line(kept, columns, held.size)


def judge_found(made: FoundFit, rows: Rows, held: Rows, prop: Property, forest_values: Array | None) -> FoundFit:
    """The same with the error on rows held out by the user, put into the found groups too."""
    seen = held.with_predictions(made.predictor.predict(held.predictions, held.membership, forest_values))
    certificate = judged(made.certificate, seen, prop)
    return replace(made, certificate=certificate, rows=held)


class _Search:
    """The steps of the fit, on the rows of one split."""

    def __init__(
        self, every: LinkRows, base: Array, columns: Columns, loss: Matching, goal: practical.Goal, held: Index, fitting: Index,
        seed: int,
    ) -> None:  # fmt: skip
        self.every, self.base, self.columns, self.loss, self.goal = every, base, columns, loss, goal
        self.held, self.fitting = held, fitting
        self.out, self.inside = every.take(held), every.take(fitting)
        self.codes_out, self.codes_in = columns.codes[held], columns.codes[fitting]
        self.order = np.random.default_rng(seed).permutation(len(every))

    def work_out(self) -> tuple[_Plan, list[str], bool]:
        """The plan that held-out rows confirm, fitted on all rows; what to say of it; and whether Ctrl-C came."""
        found: list[_Plan] = []
        report: list[str] = []
        try:
            named, report = self.named()
            found.append(named)
            for plan in self.plans(named):
                found.append(plan)  # one by one: what is there when Ctrl-C comes is kept
            kept, told = _chosen(found, self.gain)
            final = self.again(kept)
            line = _found_line(kept, self.columns, self.held.size)
            if len(final.trees) > len(kept.trees):
                line += f" Fitted again on all {len(self.every):,} rows, with {several(len(final.trees), 'tree')}."
            lines = [line, self.remains(kept), *report, *told]
            return final, [line for line in lines if line], False
        except KeyboardInterrupt:
            if not self.goal.control.keep_interrupted:
                raise
            if not found:
                return self.untouched(), [f"{INTERRUPTED} Nothing done."], True
            kept, told = _chosen(found, self.gain)
            end = "Nothing done." if kept.name == "input" else "Not refitted on all rows."
            return kept, [_found_line(kept, self.columns, self.held.size), *report, *told, f"{INTERRUPTED} {end}"], True

    def untouched(self) -> _Plan:
        """The input as it is."""
        still = Candidate("input", Model.new(self.inside.base, self.inside.membership.groups - 1), 1.0)
        return _Plan("input", [], still, [], self.out.base)

    def remains(self, plan: _Plan) -> str:
        """What is left for groups that nobody named, on the rows held out."""
        final = self.base[self.held] if plan.name == "input" else self.loss.link.final(plan.eta)
        v = self.out.weights * self.loss.prop.identify(final, self.out.labels)
        return remaining(self.loss.prop, self.columns.bins[:-1], self.codes_out, self.out, np.asarray(v))

    def named(self) -> tuple[_Plan, list[str]]:
        """What the named groups reach, fitted inside the split; the input itself when that is as good."""
        made = practical._candidates(self.inside, self.loss, self.goal)
        binary = accept.are_events(self.out.labels, self.base[self.held])
        right = accept.input_right(self.base[self.held], self.out, made, self.loss, binary=binary)
        best, report = accept.choose([accept.gains(self.base[self.held], self.out, made, self.loss)], rights=[right])
        if best is None:
            return self.untouched(), report
        kept = practical._up_to(best, made)
        return _Plan(kept.name, [], kept, [], kept.eta(self.out)), report

    def plans(self, named: _Plan) -> Iterator[_Plan]:
        """On top of the named groups: trees, rules, both."""
        trees = self.trees(named, self.inside)
        if not trees.trees:
            return
        if not self.columns.readable:
            yield trees
        shift = np.zeros(len(self.inside))
        add_trees(trees.trees, self.codes_in, shift)
        rules = choose_rules(trees.trees, len(self.columns.bins) - 1, self.codes_in, shift)
        if rules:
            ruled = max(
                (self.ruled(rules[:count]) for count in self._counts(len(rules))), key=lambda plan: float(self.gain(plan).mean())
            )
            yield ruled
            # Trees on top of rules that say less than trees alone end where the trees were, or short of it.
            if not self.columns.readable and self.gain(ruled).mean() >= self.gain(trees).mean():
                both = self.trees(ruled, self.with_rules(self.inside, self.codes_in, ruled.rules))
                if both.trees:
                    yield replace(both, name="rules and trees")

    def _counts(self, rules: int) -> list[int]:
        """Numbers of rules to try: where rows are few, many rules fit noise."""
        fewer = max(rules // 4, FEWEST_RULES)
        return [rules, fewer] if len(self.inside) < FEW_ROWS and fewer < rules else [rules]

    def trees(self, plan: _Plan, rows: LinkRows) -> _Plan:
        """Trees on top of a plan, as many as the rows held out like."""
        held = CodedRows(self.out, self.codes_out, plan.eta)
        made = boost(self.columns.bins, CodedRows(rows, self.codes_in, plan.start.eta(rows)), self.loss, held=held, tell=self.tell)
        count = int(np.argmax(made.gained))
        eta = plan.eta.copy()
        add_trees(made.trees[:count], self.codes_out, eta)
        return _Plan("trees", plan.rules, plan.start, made.trees[:count], eta)

    def ruled(self, rules: list[Rule]) -> _Plan:
        """Named groups and rules fitted together."""
        last = stages(self.with_rules(self.inside, self.codes_in, rules), self.loss)[-1]
        start = Candidate(last.name, last.fitted.model, last.fitted.ridge)
        return _Plan("rules", rules, start, [], start.eta(self.with_rules(self.out, self.codes_out, rules)))

    def with_rules(self, rows: LinkRows, codes: Codes, rules: Sequence[Rule]) -> LinkRows:
        """The rows with the rules as further groups."""
        return replace(rows, membership=widened(rows.membership, masks_of(rules, codes))) if rules else rows

    def gain(self, plan: _Plan) -> Array:
        """Weighted score gained over the input on each row held out."""
        prop, out = self.loss.prop, self.out
        after = self.base[self.held] if plan.name == "input" else self.loss.link.final(plan.eta)
        return np.asarray(out.weights * (prop.score(self.base[self.held], out.labels) - prop.score(after, out.labels)))

    def again(self, plan: _Plan) -> _Plan:
        """The same on all rows: coefficients from where they stand, trees anew, more of them as rows are more."""
        if plan.name == "input":
            return plan
        shuffled = self.every.take(self.order)
        codes = self.columns.codes[self.order]
        rows = self.with_rules(shuffled, codes, plan.rules)
        start = plan.start
        if start.name != "input":
            model = newton.fit(start.model, rows, self.loss, start.ridge, warm=True).model
            start = replace(start, model=model)
        trees = plan.trees
        if trees:
            most = round(len(trees) * len(rows) / len(self.inside))
            trees = boost(self.columns.bins, CodedRows(rows, codes, start.eta(rows)), self.loss, most=most, tell=self.tell).trees
        return replace(plan, start=start, trees=trees)

    def tell(self) -> None:
        """A sign of life."""
        self.goal.control.tell(0, float("nan"), float("nan"))


def widened(membership: Membership, masks: Sequence[NDArray[np.bool_]]) -> Membership:
    """The groups with further ones after them."""
    return Membership.of([*membership.parts, flagged(masks, membership.rows)], membership.rows)


def several(count: int, what: str) -> str:
    """A number of things.

    Examples
    --------
    >>> several(1, "tree"), several(30, "rule")
    ('1 tree', '30 rules')
    """
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _chosen(plans: list[_Plan], gain: Any) -> tuple[_Plan, list[str]]:
    """The plan of largest held-out gain, if it is beyond what named groups (the first plan) reach; and what each gained, in words."""
    base = gain(plans[0])
    report, best, largest = [], plans[0], 0.0
    for plan in plans[1:]:
        more = gain(plan) - base
        t = t_statistic(more)
        kept = t >= NEEDED and more.mean() > largest
        if kept:
            best, largest = plan, float(more.mean())
        report.append(
            f"{plan.name} found in columns ({plan.size}): held-out score gain {more.mean():.3g} beyond the named groups (t = {t:.1f})"
        )
    return best, report


def _found_line(plan: _Plan, columns: Columns, held: int) -> str:
    """What was found and kept."""
    where = several(len(columns.bins) - 1, "column")
    if not (plan.rules or plan.trees):
        return f"{UNNAMED}: none were found in {where} beyond the named ones that {held:,} rows not fitted confirm."
    return f"{UNNAMED}: found in {where} and confirmed on {held:,} rows not fitted: {plan.size}."


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


def _split(rows: int, blocks: NDArray[Any] | None, seed: int) -> tuple[Index, Index]:
    """Rows to hold out and rows to fit, both shuffled; whole blocks where rows of one block belong together."""
    rng = np.random.default_rng(seed)
    if blocks is None:
        order = rng.permutation(rows)
        cut = rows // (FOLDS if rows >= FEW_ROWS else 3)
        return order[:cut], order[cut:]
    _, place = np.unique(blocks, return_inverse=True)
    out = rng.permutation(int(place.max()) + 1) % FOLDS == 0
    return rng.permutation(np.flatnonzero(out[place])), rng.permutation(np.flatnonzero(~out[place]))


def time_blocks(values: NDArray[Any]) -> Index:
    """Stretches of time with about equally many rows."""
    order = np.argsort(values, kind="stable")
    out = np.empty(order.size, dtype=np.intp)
    out[order] = np.arange(order.size) * BLOCKS // order.size
    return out
