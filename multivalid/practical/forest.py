"""Found trees as a part of a predictor: in memory from codes, on an engine as expressions, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from multivalid.atoms.names import PREDICTION
from multivalid.discover.bins import Bins, Codes, Ordered, encode
from multivalid.discover.codec import MOST_TREES, bins_from_json, bins_to_json, tree_from_json, tree_to_json
from multivalid.discover.forest import add_trees, splits
from multivalid.discover.grow import Node, Split
from multivalid.errors import InputError, ModelFileError
from multivalid.groups.frames import open_frame
from multivalid.groups.nodes import Condition, render
from multivalid.groups.rows import RowTest, row_test
from multivalid.lazy_names import narwhals as nw
from multivalid.properties.ops import Ops

if TYPE_CHECKING:
    from multivalid.properties.base import Array


@dataclass(frozen=True)
class Forest:
    """Trees over the columns of a frame, and over the prediction itself under its fixed name."""

    bins: tuple[Bins, ...]
    trees: tuple[Node, ...]

    @classmethod
    def of(cls, bins: Sequence[Bins], trees: Sequence[Node]) -> Forest:
        """With the columns that the trees look at only."""
        used = sorted({split.column for tree in trees for split in splits(tree)})
        place = {column: k for k, column in enumerate(used)}
        return cls(tuple(bins[column] for column in used), tuple(_move(tree, place) for tree in trees))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that a frame must have."""
        return tuple(one.column for one in self.bins if one.column != PREDICTION)

    def codes(self, data: Any, predictions: Array) -> Codes:
        """Codes of rows in memory."""
        if self.columns and data is None:
            raise InputError(f"groups were found in the columns {', '.join(self.columns)}; pass the frame that has them as data=.")
        frame = open_frame(nw.to_native(data, pass_through=True)) if self.columns else None
        out = np.empty((predictions.size, len(self.bins)), dtype=np.uint8)
        for k, one in enumerate(self.bins):
            if one.column == PREDICTION:
                assert isinstance(one, Ordered)
                out[:, k] = one.codes_of(predictions)
            else:
                assert frame is not None
                out[:, k] = encode([one], frame)[:, 0]
        return out

    def sums(self, codes: Codes) -> Array:
        """What the trees add to each row."""
        out = np.zeros(len(codes))
        add_trees(self.trees, codes, out)
        return out

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """What the splits ask of a row, each once."""
        return tuple(self.bins[column].condition(np.frombuffer(left, dtype=np.bool_)) for column, left in self._asked)

    @cached_property
    def _asked(self) -> dict[tuple[int, bytes], int]:
        asked: dict[tuple[int, bytes], int] = {}
        for split in (split for tree in self.trees for split in splits(tree)):
            asked.setdefault((split.column, split.left.tobytes()), len(asked))
        return asked

    def summed(self, ops: Ops, tree: int, answers: Sequence[Any]) -> Any:
        """What one tree adds to rows of any kind, from the answers to `conditions`."""
        return self._value(self.trees[tree], ops, answers)

    def _value(self, node: Node, ops: Ops, answers: Sequence[Any]) -> Any:
        if not isinstance(node, Split):
            return ops.filled(float(node), answers[0] if answers else None)
        first, second = (self._value(child, ops, answers) for child in node.children)
        return ops.where(answers[self._asked[node.column, node.left.tobytes()]], first, second)

    def of_row(self, row: Mapping[str, Any], prediction: float) -> float:
        """What the trees add to a single row."""
        values, answers, out = {**row, PREDICTION: prediction}, dict[int, bool](), 0.0
        for plan in self._plans:
            while isinstance(plan, tuple):
                question, yes, no = plan
                if question not in answers:
                    answers[question] = self._row_tests[question](values)
                plan = yes if answers[question] else no
            out += plan
        return out

    @cached_property
    def _row_tests(self) -> list[RowTest]:
        return [row_test(condition, render(condition)) for condition in self.conditions]

    @cached_property
    def _plans(self) -> list[Any]:
        """Trees as nested (question, yes, no)."""

        def plan(node: Node) -> Any:
            if not isinstance(node, Split):
                return float(node)
            return self._asked[node.column, node.left.tobytes()], *(plan(child) for child in node.children)

        return [plan(tree) for tree in self.trees]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"bins": [bins_to_json(one) for one in self.bins], "trees": [tree_to_json(tree) for tree in self.trees]}

    @classmethod
    def from_json(cls, data: Any) -> Forest:
        """The trees that `to_json` described, every part checked."""
        if not isinstance(data, dict) or set(data) != {"bins", "trees"}:
            raise ModelFileError("trees must have bins and trees.")
        if not isinstance(data["bins"], list) or not isinstance(data["trees"], list) or len(data["trees"]) > MOST_TREES:
            raise ModelFileError(f"trees: bins and trees must be lists, with at most {MOST_TREES} trees.")
        bins = tuple(bins_from_json(one) for one in data["bins"])
        if len({one.column for one in bins}) != len(bins):
            raise ModelFileError("trees: every column must be there once.")
        if any(one.column == PREDICTION and not isinstance(one, Ordered) for one in bins):
            raise ModelFileError("trees: the prediction is a number.")
        return cls(bins, tuple(tree_from_json(tree, bins) for tree in data["trees"]))


def _move(node: Node, place: dict[int, int]) -> Node:
    if not isinstance(node, Split):
        return node
    return Split(place[node.column], node.left, (_move(node.children[0], place), _move(node.children[1], place)))
