"""The model of classes fitted together: log-probabilities moved by curves and by shifts and slopes of groups, then divided by their sum.

η_k = log p_k + curve_k(z) + own_k(log p_k) + Σ over groups (shift + Σ slope·z) + Σ over crossings of two groups (shift)

z are the directions along which the predictions given vary most (see `Directions`): what a model says of *one* class depends on all the
numbers it looked at, and a group may differ along any of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from multivalid import json_checks as read
from multivalid.errors import ModelFileError
from multivalid.evaluators import Evaluator, Members

if TYPE_CHECKING:
    from multivalid.properties.base import Array

MOST_DIRECTIONS = 3
KNOTS = 4
LEAST = 1e-7  # a probability below this is taken as this
FLAT = 1e-9  # a direction along which log-probabilities vary less is none
LARGEST = 1e12  # in a file
FARTHEST = 30.0  # exp(−30) is the least probability beside that of the likeliest class: no label is impossible


@dataclass(frozen=True)
class Directions:
    """z = weights @ log p − center: principal components of the log-ratios, of mean 0 and variance 1; and knots of hinges along each.

    `own_center`, `own_scale` and `own_knots` do the same for each class's own log-probability.
    """

    weights: Array
    center: Array
    knots: Array
    own_center: Array
    own_scale: Array
    own_knots: Array

    @classmethod
    def of(cls, logs: Array, weights: Array) -> Directions:
        """From log-probabilities (rows, classes)."""
        ratios = logs - logs.mean(axis=1, keepdims=True)
        middle = np.average(ratios, axis=0, weights=weights)
        spread = np.cov(ratios.T, aweights=weights)
        variance, axes = np.linalg.eigh(spread)
        chosen = np.argsort(-variance)[: min(MOST_DIRECTIONS, logs.shape[1] - 1)]
        chosen = chosen[variance[chosen] > FLAT]
        scaled = (axes[:, chosen] / np.sqrt(variance[chosen])).T
        scaled = scaled - scaled.mean(axis=1, keepdims=True)  # of log p rather than of the ratios
        center = scaled @ middle
        shares = (np.arange(KNOTS) + 1) / (KNOTS + 1)
        along = scaled @ logs.T - center[:, None]
        scale = logs.std(axis=0)
        scale[scale < np.sqrt(FLAT)] = 1.0
        own = (logs - logs.mean(axis=0)) / scale
        knots = np.quantile(along, shares, axis=1).T if len(along) else np.zeros((0, KNOTS))
        return cls(scaled, center, knots, logs.mean(axis=0), scale, np.quantile(own, shares, axis=0).T)

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.center)


@dataclass(frozen=True)
class Shares:
    """Coefficients, a row for each class.

    Attributes
    ----------
    curve : array (classes, 1 + directions·(1 + knots))
        Intercept, slopes along z, then hinges of the first direction, of the second, …
    own : array (classes, 1 + knots)
        Slope and hinges of the class's own log-probability.
    groups : array (classes, 1 + slopes, groups)
        Shifts of groups, then their slopes along the first directions.
    pairs, crossings : arrays (2, number), (classes, number)
        Two groups each, and the shifts of rows that are in both.
    """

    directions: Directions
    curve: Array
    own: Array
    groups: Array
    pairs: NDArray[np.intp]
    crossings: Array

    @classmethod
    def new(cls, directions: Directions, groups: int) -> Shares:
        """A model that changes nothing, with shifts alone."""
        classes, count = len(directions.own_center), directions.count
        return cls(
            directions,
            np.zeros((classes, 1 + count * (1 + KNOTS))),
            np.zeros((classes, 1 + KNOTS)),
            np.zeros((classes, 1, groups)),
            np.zeros((2, 0), dtype=np.intp),
            np.zeros((classes, 0)),
        )

    def with_slopes(self, slopes: int) -> Shares:
        """The same model with room for slopes of groups along the first directions."""
        more = np.zeros((self.groups.shape[0], slopes, self.groups.shape[2]))
        return replace(self, groups=np.concatenate([self.groups[:, :1], more], axis=1))

    def with_crossings(self, pairs: NDArray[np.intp]) -> Shares:
        """The same model with room for these crossings."""
        more = np.zeros((len(self.curve), pairs.shape[1]))
        return replace(
            self, pairs=np.concatenate([self.pairs, pairs], axis=1), crossings=np.concatenate([self.crossings, more], axis=1)
        )

    @property
    def table(self) -> Array:
        """All coefficients: (classes, coefficients)."""
        return np.concatenate([self.curve, self.own, self.groups.reshape(len(self.curve), -1), self.crossings], axis=1)

    def holding(self, table: Array) -> Shares:
        """The same model with other coefficients."""
        sizes = [self.curve.shape[1], self.own.shape[1], self.groups.shape[1] * self.groups.shape[2]]
        curve, own, groups, crossings = np.split(table, np.cumsum(sizes), axis=1)
        return self.with_tables(curve, own, groups.reshape(self.groups.shape), crossings)

    def with_tables(self, curve: Array, own: Array, groups: Array, crossings: Array) -> Shares:
        """The same, table by table."""
        return replace(self, curve=curve, own=own, groups=groups, crossings=crossings)

    @property
    def bent(self) -> NDArray[np.bool_]:
        """Which coefficients of a class belong to its curves: all but the intercept and those of groups."""
        place = np.arange(self.table.shape[1])
        return np.asarray((place > 0) & (place < self.curve.shape[1] + self.own.shape[1]))

    @property
    def penalty(self) -> Array:
        """Relative ridge of each coefficient of a class: none on the intercept, hardly any on slopes, little on bends."""
        count = self.directions.count
        curve = np.concatenate([[0.0], np.full(count, 0.01), np.full(count * KNOTS, 0.1)])
        own = np.concatenate([[0.01], np.full(KNOTS, 0.1)])
        return np.concatenate([curve, own, np.ones(self.groups[0].size + self.crossings.shape[1])])

    def shares(self, by: Evaluator, predictions: Sequence[Any], members: Members) -> list[Any]:
        """Probabilities of all classes for rows of any kind, not divided by their sum yet."""
        return raised(by, self.starts(by, predictions, members))

    def starts(self, by: Evaluator, predictions: Sequence[Any], members: Members) -> list[Any]:
        """Their logarithms: the formula at the top of this file."""
        ops, at = by.ops, self._plain
        logs = [by.keep(f"log{k}", ops.log(ops.maximum(value, LEAST))) for k, value in enumerate(predictions)]
        along = []
        for i, (weights, center) in enumerate(zip(at["weights"], at["center"], strict=True)):
            z = logs[0] * weights[0]
            for value, weight in zip(logs[1:], weights[1:], strict=True):
                z = z + value * weight
            along.append(by.keep(f"along{i}", z - center))
        bent = list(along)
        for z, knots in zip(along, at["knots"], strict=True):
            bent += [ops.maximum(z - knot, 0.0) for knot in knots]
        both = [members.holds(i + 1) & members.holds(j + 1) for i, j in at["pairs"]]
        made = []
        for k, log in enumerate(logs):
            eta = log + at["curve"][k][0] + members.total(at["groups"][k][0])
            for feature, amount in zip(bent, at["curve"][k][1:], strict=True):
                eta = eta + feature * amount
            own = by.keep(f"own{k}", (log - at["own_center"][k]) / at["own_scale"][k])
            for feature, amount in zip(
                [own, *(ops.maximum(own - knot, 0.0) for knot in at["own_knots"][k])], at["own"][k], strict=True
            ):
                eta = eta + feature * amount
            for z, slopes in zip(along, at["groups"][k][1:], strict=False):
                eta = eta + z * members.total(slopes)
            for held, amount in zip(both, at["crossings"][k], strict=True):
                eta = eta + ops.where(held, amount, 0.0)
            made.append(by.keep(f"eta{k}", eta))
        return made

    @cached_property
    def _plain(self) -> dict[str, Any]:
        """Coefficients as plain numbers, which a single row is calculated with."""
        found = {name: getattr(self.directions, name).tolist() for name in _DIRECTIONS}
        return found | {name: getattr(self, name).tolist() for name in _TABLES} | {"pairs": self.pairs.T.tolist()}

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        found = {name: getattr(self.directions, name).tolist() for name in _DIRECTIONS}
        return found | {name: getattr(self, name).tolist() for name in (*_TABLES, "pairs")}

    @classmethod
    def from_json(cls, data: Any, classes: int, groups: int) -> Shares:
        """The model that `to_json` described, every size and index checked."""
        read.record(data, "model", (*_DIRECTIONS, *_TABLES, "pairs"))
        count = len(read.items(data["center"], "model: center"))
        rows = [read.items(one, "model: groups") for one in read.items(data["groups"], "model: groups", classes)]
        slopes = len(rows[0]) - 1
        if count > MOST_DIRECTIONS or not 0 <= slopes <= count:
            raise ModelFileError("model: the numbers of directions and slopes do not fit together.")
        pairs = [[read.whole(v, "model: a group of pairs", groups - 1) for v in read.items(row, "model: pairs")]
                 for row in read.items(data["pairs"], "model: pairs", 2)]  # fmt: skip
        read.items(pairs[1], "model: the second list of pairs", len(pairs[0]))
        sizes: dict[str, tuple[int, ...]] = {
            "weights": (count, classes), "center": (count,), "knots": (count, KNOTS), "own_center": (classes,),
            "own_scale": (classes,), "own_knots": (classes, KNOTS), "curve": (classes, 1 + count * (1 + KNOTS)),
            "own": (classes, 1 + KNOTS), "groups": (classes, 1 + slopes, groups), "crossings": (classes, len(pairs[0])),
        }  # fmt: skip
        found = {name: _numbers(data[name], name, size) for name, size in sizes.items()}
        if (found["own_scale"] <= 0).any():
            raise ModelFileError("model: own_scale must be positive.")
        directions = Directions(**{name: found.pop(name) for name in _DIRECTIONS})
        return cls(directions, pairs=np.array(pairs, dtype=np.intp).reshape(2, -1), **found)


def raised(by: Evaluator, etas: Sequence[Any]) -> list[Any]:
    """Probabilities from their logarithms, as parts of that of the likeliest class; not divided by the sum of all yet."""
    highest = by.keep("highest", reduce(by.ops.maximum, etas))
    return [by.ops.exp(by.ops.maximum(eta - highest, -FARTHEST)) for eta in etas]


_DIRECTIONS = ("weights", "center", "knots", "own_center", "own_scale", "own_knots")
_TABLES = ("curve", "own", "groups", "crossings")


def _numbers(value: Any, name: str, size: tuple[int, ...]) -> Array:
    """Nested lists as an array of this size."""
    flat = [value]
    for length in size:
        flat = [inner for one in flat for inner in read.items(one, f"model: {name}", length)]
    found = read.numbers(flat, f"model: {name}")
    if (np.abs(found) > LARGEST).any():
        raise ModelFileError(f"model: {name} must be numbers of ordinary size, at most {LARGEST:g}.")
    return np.asarray(found, dtype=np.float64).reshape(size)
