"""The practical predictor of a pair: the first coordinate, then the second with levels of the first among its groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from multivalid import json_checks as read
from multivalid.errors import ModelFileError
from multivalid.evaluators import Evaluator, Members, Nobody, OneRow, RowMembers, WithLevels, in_memory
from multivalid.grid import Grid
from multivalid.groups.membership import Coded, Membership
from multivalid.joint.predictor import grids_from_json
from multivalid.joint.rank_scale import RankScale
from multivalid.joint.reduction import Form
from multivalid.practical.predictor import LinkPredictor
from multivalid.practical.shift_round import Shift
from multivalid.properties.base import Array


@dataclass(frozen=True)
class PairPass:
    """Stage 0 and stage 1, once.

    Attributes
    ----------
    scale : RankScale or None
        For quantiles: the scale on which the first coordinate is calibrated.
    first, rough, second : LinkPredictor
        The first coordinate; the second for everyone, by levels of the first; then for the groups.
    first_edges, second_edges : array
        Cuts of f¹ as it came, which stage 0 conditions on, and of f⁰ as calibrated, which stage 1 conditions on.
    """

    scale: RankScale | None
    first: LinkPredictor
    rough: LinkPredictor
    second: LinkPredictor
    first_edges: Array
    second_edges: Array

    def predicted(self, by: Evaluator, predictions: Sequence[Any], members: Members, form: Form) -> list[Any]:
        """Calibrated predictions of both coordinates, for rows of any kind."""
        first = by.keep("first", self.predicted_first(by, predictions, members))
        level = self._level(by, "below", first, self.second_edges)
        start = by.keep("second", self.rough.calibrate(by, form.forward(predictions[1]), self._beside(by, self.rough, None, level)))
        second = self.second.calibrate(by, start, self._beside(by, self.second, members, level))
        return [first, by.keep("second", form.backward(second, first, by.ops))]

    def predict(self, predictions: Array, membership: Membership, form: Form) -> Array:
        """The same for rows in memory."""
        return in_memory(lambda by, columns, members: self.predicted(by, columns, members, form), predictions, membership)

    def predicted_first(self, by: Evaluator, predictions: Sequence[Any], members: Members) -> Any:
        """Calibrated predictions of the first coordinate; an input that was kept stays as it was, to the last digit."""
        if self.first.model is None:
            return predictions[0]
        level = self._level(by, "beside", predictions[1], self.first_edges)
        extended = self._beside(by, self.first, members, level)
        if self.scale is None:
            return self.first.calibrate(by, predictions[0], extended)
        return self.scale.back(by, self.first.calibrate(by, self.scale.onto(by, predictions[0]), extended))

    def _level(self, by: Evaluator, name: str, value: Any, edges: Array) -> Any:
        return by.keep(name, by.place(value, edges.tolist())) if edges.size else None

    def _beside(self, by: Evaluator, part: LinkPredictor, members: Members | None, level: Any) -> Members:
        """The groups, and the levels of the other coordinate where there are any."""
        if level is None or part.model is None:
            return Nobody() if members is None else members
        edges = self.first_edges if part is self.first else self.second_edges
        return WithLevels(by, members, part.model.shifts.size - edges.size - 1, level)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "scale": None if self.scale is None else self.scale.to_json(),
            "first": self.first.to_json(),
            "rough": self.rough.to_json(),
            "second": self.second.to_json(),
            "first_edges": self.first_edges.tolist(),
            "second_edges": self.second_edges.tolist(),
        }

    @classmethod
    def from_json(cls, data: Any, groups: int) -> PairPass:
        """The pass that `to_json` described."""
        known = {"scale", "first", "rough", "second", "first_edges", "second_edges"}
        read.record(data, "a pass of a pair", known)
        edges = [read.increasing(data[name], name) for name in ("first_edges", "second_edges")]
        return cls(
            None if data["scale"] is None else RankScale.from_json(data["scale"]),
            _part(data["first"], groups, edges[0]),
            _part(data["rough"], 1, edges[1]),
            _part(data["second"], groups, edges[1]),
            edges[0],
            edges[1],
        )


@dataclass(frozen=True)
class PairLinkPredictor:
    """Passes over both coordinates, one after the other; without any, predictions go through untouched."""

    grids: tuple[Grid, Grid]
    form: Form
    passes: list[PairPass]

    @property
    def patches(self) -> list[tuple[int, Shift]]:
        """The shifts after the starts, with the coordinate they belong to."""
        parts = [(k, part) for one in self.passes for k, part in ((0, one.first), (1, one.rough), (1, one.second))]
        return [(k, shift) for k, part in parts for shift in part.patches]

    def predicted(self, by: Evaluator, predictions: Sequence[Any], members: Members) -> list[Any]:
        """Calibrated predictions of both coordinates, for rows of any kind."""
        out = list(predictions)
        for one in self.passes:
            out = one.predicted(by, out, members, self.form)
        return out

    def predict_row(self, predictions: Sequence[float], members: RowMembers) -> list[float]:
        """Calibrated predictions of both coordinates of a single row."""
        return self.predicted(OneRow(), predictions, members)

    def predict(self, predictions: Array, membership: Membership) -> Array:
        """Calibrated predictions of both coordinates, for rows in memory."""
        return in_memory(self.predicted, predictions, membership)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "kind": "pair link",
            "grids": [grid.to_json() for grid in self.grids],
            "square": self.form.square,
            "ordered": self.form.ordered,
            **({"turned": True} if self.form.turned else {}),  # files of before know losses only
            "passes": [one.to_json() for one in self.passes],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any], groups: int) -> PairLinkPredictor:
        """The predictor that `to_json` described."""
        known = {"kind", "grids", "square", "ordered", "passes"}
        read.record(data, "a pair link predictor", known | ({"turned"} & set(data)))
        flags = (read.flag(data.get(name, False), name) for name in ("square", "ordered", "turned"))
        form = Form(*flags)
        passes = [PairPass.from_json(one, groups) for one in read.items(data["passes"], "passes")]
        return cls(grids_from_json(data["grids"]), form, passes)


def with_levels(membership: Membership, values: Array, edges: Array) -> Membership:
    """The groups and, after them, one group per level that the edges cut `values` into."""
    if edges.size == 0:
        return membership
    level = np.searchsorted(edges, values, side="left")
    more = Coded((level + 1).astype(np.min_scalar_type(edges.size + 1)), edges.size + 1)
    return Membership.of([*membership.parts, more], membership.rows)


def _part(data: Any, groups: int, edges: Array) -> LinkPredictor:
    if not isinstance(data, dict) or data.get("kind") != "link":
        raise ModelFileError("first, rough and second must be link predictors.")
    return LinkPredictor.from_json(data, groups + (edges.size + 1 if edges.size else 0))
