"""The start: η = base + curve(base) + h(u) + t(u, base) + Σ products of two features, all on the link scale; u sums the groups' shifts."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multivalid import json_checks as read
from multivalid.errors import ModelFileError
from multivalid.evaluators import Evaluator, Members

if TYPE_CHECKING:
    from multivalid.practical.blocks import GroupRows
    from multivalid.properties.base import Array

ROUNDING = 1e-12  # relative: predictions that differ by less are equal
FEW_KNOTS = 4  # of the curve along the base
FARTHEST = 1e3  # standard deviations from the mean of the base beyond which its curve goes no further
Single = NDArray[np.float32]  # features are zeros, ones and hinges: single precision is exact enough and twice as fast


NONE, NO_PAIRS = np.zeros(0), np.zeros((2, 0), dtype=np.intp)


class Flat(NamedTuple):
    """All coefficients in one row, and what a fit needs to know of each.

    Attributes
    ----------
    values, single
        The coefficients, and the same in single precision.
    cuts
        Where curve, bends, shifts, products and twists end.
    penalty
        Relative ridge: none on the intercept, hardly any on the slope of the base.
    few
        Which coefficients are not shifts of groups.
    """

    values: Array
    single: Single
    cuts: list[int]
    penalty: Array
    few: NDArray[np.bool_]


@dataclass(frozen=True)
class Model:
    """Parameters, in the order of the feature rows that `evaluate` fills.

    Attributes
    ----------
    center, scale : float
        Of the base predictions on the link scale; their standardised value is the feature "base".
    knots, curve
        Intercept, slope and hinges of the base.
    bend_knots, bends
        h(u) = u + Σ bends·(u − knot)₊ for the summed shifts u.
    shifts
        One per group.
    pairs, products
        Products of two features, by index (groups first, then the base), and their coefficients.
    twists
        Of t: every product of u or a hinge of u with the base or a hinge of the base; u first, and for each the base first.
    """

    center: float
    scale: float
    knots: Array
    curve: Array
    shifts: Array
    bend_knots: Array = field(default_factory=NONE.copy)
    bends: Array = field(default_factory=NONE.copy)
    pairs: NDArray[np.intp] = field(default_factory=NO_PAIRS.copy)
    products: Array = field(default_factory=NONE.copy)
    twists: Array = field(default_factory=NONE.copy)

    @classmethod
    def new(cls, base: Array, groups: int, knots: int = FEW_KNOTS) -> Model:
        """A model that changes nothing, with hinges at quantiles of the base."""
        scale = float(base.std())
        if scale <= ROUNDING * (1 + float(np.abs(base).max())):
            scale = 1.0  # equal up to rounding: a curve along them would be as steep as rounding is small
        at = np.unique(np.quantile(base, (np.arange(knots) + 1) / (knots + 1)))
        return cls(float(base.mean()), scale, (at - base.mean()) / scale, np.zeros(2 + at.size), np.zeros(groups))

    @cached_property
    def flat(self) -> Flat:
        """All coefficients in one row."""
        parts = (self.curve, self.bends, self.shifts, self.products, self.twists)
        values, cuts = np.concatenate(parts), [int(v) for v in np.cumsum([part.size for part in parts])]
        penalty, few = np.ones(values.size), np.ones(values.size, dtype=bool)
        penalty[:2], few[cuts[1] : cuts[2]] = (0.0, 0.01), False
        return Flat(values, values.astype(np.float32), cuts, penalty, few)

    def moved(self, step: Array) -> Model:
        """The model with `step` added to its coefficients."""
        curve, bends, shifts, products, twists = np.split(step, self.flat.cuts[:4])
        return replace(
            self,
            curve=self.curve + curve,
            bends=self.bends + bends,
            shifts=self.shifts + shifts,
            products=self.products + products,
            twists=self.twists + twists,
        )

    def with_bends(self, index: Array, knots: int = 8) -> Model:
        """The same model with room to bend the summed shifts, knots at quantiles of `index`."""
        at = np.unique(np.quantile(index, (np.arange(knots) + 1) / (knots + 1)))
        return replace(self, bend_knots=at, bends=np.zeros(at.size))

    def with_twists(self) -> Model:
        """The same model with room for groups to matter more or less along the base."""
        return replace(self, twists=np.zeros((1 + self.bends.size) * (1 + self.knots.size)))

    def with_products(self, pairs: NDArray[np.intp]) -> Model:
        """The same model with more products, coefficients zero."""
        return replace(
            self, pairs=np.concatenate([self.pairs, pairs], axis=1), products=np.append(self.products, np.zeros(pairs.shape[1]))
        )

    def dense_at(self, line_at: NDArray[np.intp]) -> NDArray[np.intp] | slice:
        """Where the coefficients of the features that `evaluate` fills stand in `flat`: all but those of coded groups."""
        _, bend, shift, _, total = self.flat.cuts
        if line_at.size == self.shifts.size:
            return slice(0, total)
        return np.concatenate([np.arange(bend), bend + line_at, np.arange(shift, total)])

    def evaluate(self, base: Array, groups: GroupRows, buffer: Single | None = None) -> tuple[Array, Single, Single]:
        """η, the summed shifts u, and the features of one chunk (lines × rows; coded groups have none); `buffer` is reused for them."""
        at = self.dense_at(groups.line_at)
        amounts, (curve, bend) = self.flat.single[at], self.flat.cuts[:2]
        shift = bend + groups.line_at.size
        product, total = shift + self.products.size, amounts.size
        features = buffer if buffer is not None and buffer.shape == (total, base.size) else np.empty((total, base.size), np.float32)
        standard = np.clip((base - self.center) / self.scale, -FARTHEST, FARTHEST).astype(np.float32)
        features[0], features[1] = 1.0, standard
        np.maximum(standard - self.knots.astype(np.float32)[:, None], 0, out=features[2:curve])
        features[bend:shift] = groups.lines
        index = amounts[bend:shift] @ features[bend:shift]
        if groups.coded:
            coded = groups.coded_total(self.shifts)
            base = base + coded
            index += coded.astype(np.float32)
        np.maximum(index - self.bend_knots.astype(np.float32)[:, None], 0, out=features[curve:bend])
        factors = {self.shifts.size: standard}
        factors |= {i: groups.holds(i).astype(np.float32) for i in set(self.pairs.ravel().tolist()) - set(factors)}
        for row, (i, j) in zip(features[shift:product], self.pairs.T, strict=True):
            np.multiply(factors[i], factors[j], out=row)
        if self.twists.size:
            rows = features[product:].reshape(1 + self.bends.size, 1 + self.knots.size, -1)
            np.multiply(index, features[1:curve], out=rows[0])
            np.multiply(features[curve:bend, None], features[1:curve], out=rows[1:])
        return base + amounts @ features, index, features

    def chain(self, index: Single, features: Single) -> Single | None:
        """∂η/∂u, by which the lines of groups are multiplied in place: they become ∂η/∂shifts. None where it is 1."""
        if self.bends.size or self.twists.size:
            curve, bend = self.flat.cuts[:2]
            shift = len(features) - self.products.size - self.twists.size
            piece = np.searchsorted(self.bend_knots, index)
            slope = np.concatenate([[1.0], 1 + np.cumsum(self.bends)]).astype(np.float32)[piece]
            if self.twists.size:
                along = np.cumsum(self.twists.reshape(1 + self.bends.size, -1), axis=0).astype(np.float32)
                slope += np.einsum("rb,br->r", along[piece], features[1:curve])
            features[bend:shift] *= slope
            return slope
        return None

    def standard(self, by: Evaluator, base: Any) -> Any:
        """The base in standard deviations from its mean, cut far out."""
        scaled = by.keep("scaled", (base - self.center) / self.scale)
        return by.keep("standard", by.ops.maximum(by.ops.minimum(scaled, FARTHEST), -FARTHEST))

    def start(self, by: Evaluator, base: Any, members: Members) -> Any:
        """η of rows of any kind: the formula at the top of this file, term by term."""
        ops, at = by.ops, self._plain
        index = by.keep("pull", members.total(at.shifts))
        standard = self.standard(by, base)
        along = [standard, *(ops.maximum(standard - knot, 0.0) for knot in at.knots)]
        pulls = [index, *(ops.maximum(index - knot, 0.0) for knot in at.bend_knots)]
        eta = base + at.curve[0] + index
        for part, amount in zip(along + pulls[1:], at.curve[1:] + at.bends, strict=True):
            eta = eta + part * amount
        if at.twists:
            for (pull, part), amount in zip(itertools.product(pulls, along), at.twists, strict=True):
                eta = eta + pull * part * amount
        if any(at.tilts):
            eta = eta + members.total(at.tilts) * standard
        return eta + members.total_of_pairs(ops, at.pairs, at.products) if at.pairs else eta

    @cached_property
    def _plain(self) -> _Plain:
        """The coefficients as plain numbers, which a single row is calculated with."""
        vectors = {name: tuple(getattr(self, name).tolist()) for name in _VECTORS}
        (first, second), tilts = self.pairs, np.zeros(self.shifts.size)
        along = second == self.shifts.size  # products of a group with the base
        np.add.at(tilts, first[along], self.products[along])
        vectors["products"] = tuple(self.products[~along].tolist())
        return _Plain(pairs=tuple(zip(*(self.pairs[:, ~along] + 1).tolist(), strict=True)), tilts=tuple(tilts.tolist()), **vectors)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        arrays = {name: getattr(self, name).tolist() for name in (*_VECTORS, "pairs")}
        return {"center": self.center, "scale": self.scale, **arrays}

    @classmethod
    def from_json(cls, data: Any, groups: int) -> Model:
        """The model that `to_json` described, every size and index checked."""
        read.record(data, "model", ("center", "scale", "pairs", *_VECTORS))
        center, scale = _numbers([data["center"], data["scale"]], "center and scale")
        vectors = {name: _numbers(data[name], name) for name in _VECTORS}
        pairs = _pairs(data["pairs"], groups)
        sizes = (
            vectors["curve"].size == 2 + vectors["knots"].size
            and vectors["bends"].size == vectors["bend_knots"].size
            and vectors["shifts"].size == groups
            and vectors["products"].size == pairs.shape[1]
            and vectors["twists"].size in (0, (1 + vectors["bends"].size) * (1 + vectors["knots"].size))
        )
        if not sizes or scale <= 0:
            raise ModelFileError("model: the numbers of coefficients, knots, groups and products do not fit together.")
        return cls(float(center), float(scale), pairs=pairs, **vectors)


class _Plain(NamedTuple):
    """Coefficients as tuples of plain floats; products of two groups (numbered after everyone) apart from those with the base."""

    knots: tuple[float, ...]
    curve: tuple[float, ...]
    shifts: tuple[float, ...]
    bend_knots: tuple[float, ...]
    bends: tuple[float, ...]
    products: tuple[float, ...]
    twists: tuple[float, ...]
    pairs: tuple[tuple[int, int], ...]
    tilts: tuple[float, ...]


_VECTORS = ("knots", "curve", "shifts", "bend_knots", "bends", "products", "twists")


LARGEST = 1e12  # in a file: far beyond any fitted coefficient, far below where products overflow single precision


def _numbers(values: Any, name: str) -> Array:
    found = read.numbers(values, f"model: {name}")
    if (np.abs(found) > LARGEST).any():
        raise ModelFileError(f"model: {name} must be numbers of ordinary size, at most {LARGEST:g}.")
    return found


def _pairs(values: Any, groups: int) -> NDArray[np.intp]:
    first, second = (read.items(row, "model: pairs") for row in read.items(values, "model: pairs", 2))
    read.items(second, "model: the second list of pairs", len(first))
    rows = [[read.whole(v, "model: a feature of pairs", groups) for v in row] for row in (first, second)]
    return np.array(rows, dtype=np.intp).reshape(2, -1)
