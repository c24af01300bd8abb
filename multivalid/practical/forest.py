"""Found trees as a part of a predictor: in memory from codes, on an engine as expressions, as plain data."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from multivalid.atoms.summary import PREDICTION
from multivalid.discover.bins import Bins, Codes, Ordered, encode
from multivalid.discover.codec import MOST_TREES, bins_from_json, bins_to_json, tree_from_json, tree_to_json
from multivalid.discover.forest import add_trees, splits
from multivalid.discover.grow import Node, Split
from multivalid.errors import InputError, ModelFileError
from multivalid.groups.engine import balanced, condition_expression
from multivalid.groups.frames import open_frame
from multivalid.groups.remote import Frame
from multivalid.properties.base import Array
from multivalid.properties.ops import expressions

TOGETHER = 20  # trees per step of an engine's plan: longer expressions take longer to plan than to run


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
        return cls(tuple(bins[column] for column in used), tuple(_moved(tree, place) for tree in trees))

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

    def added(self, codes: Codes) -> Array:
        """What the trees add to each row."""
        out = np.zeros(len(codes))
        add_trees(self.trees, codes, out)
        return out

    def on_frame(self, frame: Frame, eta: str) -> Frame:
        """The lazy frame with what the trees add put on top of its column `eta`; `PREDICTION` is there."""
        schema = frame.collect_schema()
        conditions: dict[tuple[int, bytes], str] = {}
        staged = []
        for split in (split for tree in self.trees for split in splits(tree)):
            key = split.column, split.left.tobytes()
            if key not in conditions:
                conditions[key] = f"__mv_split{len(conditions)}"
                condition = self.bins[split.column].condition(split.left)
                staged.append(condition_expression(condition, schema, "a found split").alias(conditions[key]))
        frame = frame.with_columns(*staged) if staged else frame
        for start in range(0, len(self.trees), TOGETHER):
            terms = [_expression(tree, conditions) for tree in self.trees[start : start + TOGETHER]]
            frame = frame.with_columns((nw.col(eta) + balanced(terms, operator.add)).alias(eta))
        return frame

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


def _moved(node: Node, place: dict[int, int]) -> Node:
    if not isinstance(node, Split):
        return node
    return Split(place[node.column], node.left, (_moved(node.children[0], place), _moved(node.children[1], place)))


def _expression(node: Node, conditions: dict[tuple[int, bytes], str]) -> Any:
    if not isinstance(node, Split):
        return nw.lit(float(node), dtype=nw.Float64)
    first, second = (_expression(child, conditions) for child in node.children)
    return expressions().where(nw.col(conditions[node.column, node.left.tobytes()]), first, second)
