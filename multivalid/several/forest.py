"""Trees over groups and over all columns of the predictions given: what they add to each column, for rows of any kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from multivalid import json_checks as read
from multivalid.discover.bins import Codes
from multivalid.discover.codec import MOST_TREES, tree_from_json, tree_to_json
from multivalid.discover.forest import PackedTrees, scaled, splits
from multivalid.discover.grow import Node, Split
from multivalid.errors import ModelFileError
from multivalid.evaluators import Evaluator, Members
from multivalid.properties.base import Array
from multivalid.several.tree_columns import Question, TreeColumn, column_from_json

TOGETHER = 20  # trees per step of a statement or a plan: longer expressions take longer to plan than to run

Plan = float | tuple[int, Any, Any]  # the number of a question, and what follows where it is answered yes and no


class _Plans(NamedTuple):
    """Questions, each once, and trees that ask them by number."""

    questions: list[Question]
    trees: list[list[Plan]]


@dataclass(frozen=True)
class ColumnTrees:
    """What the trees look at, and the trees of each column of predictions."""

    columns: tuple[TreeColumn, ...]
    trees: tuple[tuple[Node, ...], ...]

    @classmethod
    def of(cls, columns: Sequence[TreeColumn], trees: Sequence[Sequence[Node]]) -> ColumnTrees:
        """With what the trees do look at only."""
        used = sorted({split.column for some in trees for tree in some for split in splits(tree)})
        place = {column: k for k, column in enumerate(used)}
        return cls(tuple(columns[column] for column in used), tuple(tuple(_moved(tree, place) for tree in some) for some in trees))

    def times(self, rate: float) -> ColumnTrees:
        """With every leaf multiplied."""
        return replace(self, trees=tuple(tuple(scaled(tree, rate) for tree in some) for some in self.trees))

    def codes(self, given: Sequence[Array], members: Members) -> Codes:
        """What the trees look at, of rows in memory."""
        out = np.empty((len(given[0]), len(self.columns)), dtype=np.uint8)
        for k, one in enumerate(self.columns):
            out[:, k] = one.codes(given, members)
        return out

    def of_arrays(self, given: Sequence[Array], members: Members) -> list[Array]:
        """What each column's trees add on its scale, for rows in memory."""
        codes = self.codes(given, members)
        out = [np.zeros(len(codes)) for _ in self.trees]
        for total, packed in zip(out, self._packed, strict=True):
            packed.add(codes, total)
        return out

    def added(self, by: Evaluator, given: Sequence[Any], members: Members) -> list[Any]:
        """The same for rows of any kind."""
        questions, plans = self._plans
        answers = [by.keep(f"answer{i}", one.answer(given, members)) for i, one in enumerate(questions)]
        out = []
        for k, trees in enumerate(plans):
            total = by.ops.filled(0.0, given[0])
            for i, plan in enumerate(trees):
                total = total + _value(plan, by, answers, given[0])
                total = by.keep(f"trees{k}", total) if i % TOGETHER == TOGETHER - 1 else total
            out.append(by.keep(f"trees{k}", total))
        return out

    def of_row(self, given: Sequence[float], members: Members) -> list[float]:
        """The same for a single row: only what is asked on the way is answered."""
        questions, plans = self._plans
        answers: dict[int, bool] = {}
        out = []
        for trees in plans:
            total = 0.0
            for plan in trees:
                while isinstance(plan, tuple):
                    question, yes, no = plan
                    if question not in answers:
                        answers[question] = bool(questions[question].answer(given, members))
                    plan = yes if answers[question] else no
                total += plan
            out.append(total)
        return out

    @cached_property
    def _packed(self) -> list[PackedTrees]:
        return [PackedTrees(trees) for trees in self.trees]

    @cached_property
    def _plans(self) -> _Plans:
        numbers: dict[Question, int] = {}

        def plan(node: Node) -> Plan:
            if not isinstance(node, Split):
                return float(node)
            question, yes = self.columns[node.column].question(node.left)
            first, second = (plan(child) for child in node.children)
            return numbers.setdefault(question, len(numbers)), *((first, second) if yes else (second, first))

        trees = [[plan(tree) for tree in some] for some in self.trees]
        return _Plans(list(numbers), trees)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "columns": [one.to_json() for one in self.columns],
            "trees": [[tree_to_json(tree) for tree in some] for some in self.trees],
        }

    @classmethod
    def from_json(cls, data: Any, width: int, groups: int) -> ColumnTrees:
        """The trees that `to_json` described, every part checked; `groups` are counted with everyone."""
        found = read.record(data, "trees", ("columns", "trees"))
        columns = tuple(column_from_json(one, width, groups) for one in read.items(found["columns"], "trees: columns"))
        made = [read.items(some, "trees: those of a column") for some in read.items(found["trees"], "trees", width)]
        if any(len(some) > MOST_TREES for some in made):
            raise ModelFileError(f"trees: a column has at most {MOST_TREES} of them.")
        trees = tuple(tuple(tree_from_json(tree, columns) for tree in some) for some in made)
        for split in (split for some in trees for tree in some for split in splits(tree)):
            columns[split.column].check(split.left)
        return cls(columns, trees)


def _value(plan: Plan, by: Evaluator, answers: Sequence[Any], like: Any) -> Any:
    if not isinstance(plan, tuple):
        return by.ops.filled(plan, like)
    question, yes, no = plan
    return by.ops.where(answers[question], _value(yes, by, answers, like), _value(no, by, answers, like))


def _moved(node: Node, place: dict[int, int]) -> Node:
    if not isinstance(node, Split):
        return node
    return Split(place[node.column], node.left, (_moved(node.children[0], place), _moved(node.children[1], place)))
