"""The practical predictor of a pair: the first coordinate, then the second with levels of the first among its groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.errors import ModelFileError
from multivalid.grid import Grid
from multivalid.groups.membership import Membership
from multivalid.joint.predictor import grids_from_json
from multivalid.joint.rank_scale import RankScale
from multivalid.joint.reduction import Form
from multivalid.practical.predictor import LinkPredictor
from multivalid.practical.shifts import Shift
from multivalid.properties.base import Array


@dataclass(frozen=True)
class PairLinkPredictor:
    """Both coordinates on their link scales; with `second` None the second passes through (with `first` None both do).

    Attributes
    ----------
    scale : RankScale or None
        For quantiles: the scale on which the first coordinate is calibrated.
    first, rough, second : LinkPredictor or None
        The first coordinate; the second for everyone, by levels of the first; then for the groups.
    first_edges, second_edges : array
        Cuts of f¹ as given, which stage 0 conditions on, and of f⁰ as calibrated, which stage 1 conditions on.
    """

    grids: tuple[Grid, Grid]
    form: Form
    scale: RankScale | None
    first: LinkPredictor | None
    rough: LinkPredictor | None
    second: LinkPredictor | None
    first_edges: Array
    second_edges: Array

    @property
    def patches(self) -> list[tuple[int, Shift]]:
        """The shifts after the start, with the coordinate they belong to."""
        parts = ((0, self.first), (1, self.rough), (1, self.second))
        return [(k, shift) for k, part in parts if part is not None for shift in part.patches]

    @property
    def _parts(self) -> dict[str, LinkPredictor | None]:
        return {"first": self.first, "rough": self.rough, "second": self.second}

    def predict(self, predictions: Array, membership: Membership) -> Array:
        """Calibrated predictions of both coordinates."""
        if self.first is None:
            return np.array(predictions)
        first = self.predict_first(predictions, membership)
        if self.rough is None or self.second is None:
            return np.stack([first, predictions[:, 1]], axis=1)
        population = Membership(membership.bits[:1], membership.rows)
        start = self.rough.predict(self.form.forward(predictions[:, 1]), with_levels(population, first, self.second_edges))
        second = self.second.predict(start, with_levels(membership, first, self.second_edges))
        return np.stack([first, self.form.backward(second, first)], axis=1)

    def predict_first(self, predictions: Array, membership: Membership) -> Array:
        """Calibrated predictions of the first coordinate."""
        assert self.first is not None
        extended = with_levels(membership, predictions[:, 1], self.first_edges)
        if self.scale is None:
            return self.first.predict(predictions[:, 0], extended)
        return self.scale.inverse(self.first.predict(self.scale.forward(predictions[:, 0]), extended))

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        parts = {name: None if part is None else part.to_json() for name, part in self._parts.items()}
        return {
            "kind": "pair link",
            "grids": [grid.to_json() for grid in self.grids],
            "square": self.form.square,
            "ordered": self.form.ordered,
            "scale": None if self.scale is None else self.scale.to_json(),
            "first_edges": self.first_edges.tolist(),
            "second_edges": self.second_edges.tolist(),
            **parts,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any], groups: int) -> PairLinkPredictor:
        """The predictor that `to_json` described."""
        known = {"kind", "grids", "square", "ordered", "scale", "first_edges", "second_edges", "first", "rough", "second"}
        if set(data) != known or not all(isinstance(data[name], bool) for name in ("square", "ordered")):
            raise ModelFileError(f"a pair link predictor must have {', '.join(sorted(known))}.")
        edges = [_edges(data[name]) for name in ("first_edges", "second_edges")]
        first = _part(data["first"], groups, edges[0])
        rough, second = _part(data["rough"], 1, edges[1]), _part(data["second"], groups, edges[1])
        form = Form(data["square"], data["ordered"])
        scale = None if data["scale"] is None else RankScale.from_json(data["scale"])
        return cls(grids_from_json(data["grids"]), form, scale, first, rough, second, edges[0], edges[1])


def with_levels(membership: Membership, values: Array, edges: Array) -> Membership:
    """The groups and, after them, one group per level that the edges cut `values` into."""
    if edges.size == 0:
        return membership
    level = np.searchsorted(edges, values, side="left")
    masks: list[NDArray[np.bool_]] = [level == k for k in range(edges.size + 1)]
    more = Membership.from_masks(masks, membership.rows)
    return Membership(np.concatenate([membership.bits, more.bits]), membership.rows)


def _part(data: Any, groups: int, edges: Array) -> LinkPredictor | None:
    if data is None:
        return None
    if not isinstance(data, dict):
        raise ModelFileError("first and second must be link predictors or null.")
    return LinkPredictor.from_json(data, groups + (edges.size + 1 if edges.size else 0))


def _edges(values: Any) -> Array:
    fine = isinstance(values, list) and all(
        isinstance(v, (int, float)) and not isinstance(v, bool) and abs(v) < float("inf") for v in values
    )
    if not fine or sorted(set(values)) != values:
        raise ModelFileError("edges must be increasing numbers.")
    return np.array(values, dtype=np.float64)
