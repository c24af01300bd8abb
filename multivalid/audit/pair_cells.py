"""Both conditions of joint multicalibration on every cell (group, level⁰, level¹), with Γ⁰ of the cell solved from its labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multivalid.groups.membership import Membership
from multivalid.properties import Pair
from multivalid.properties.base import Array

Index = NDArray[np.intp]


@dataclass(frozen=True)
class PairCells:
    """Arrays of shape (m⁰, m¹, groups); 0 in cells without weight.

    Attributes
    ----------
    rows, mass : number of rows with weight, and share of the total weight
    first : mean V⁰ at the predictions
    seen : mean V¹ with γ⁰ the predictions f⁰
    second : mean V¹ with γ⁰ the true Γ⁰ of the cell's labels, as the definition asks
    first_gap, second_gap : mean prediction minus Γ⁰ and Γ¹ of the cell's labels
    first_variance, seen_variance : of the means `first` and `seen`, unbiased; 0 for cells of one row
    """

    rows: Array
    mass: Array
    first: Array
    seen: Array
    second: Array
    first_gap: Array
    second_gap: Array
    first_variance: Array
    seen_variance: Array

    def first_errors(self, values: Array | None = None) -> Array:
        """Condition 1, V-form, for each group: the largest, over γ¹, of Σ over γ⁰ of p·v²."""
        return _slices(self.mass, self.first if values is None else values, axis=0)

    def second_errors(self, values: Array | None = None) -> Array:
        """Condition 2, V-form, for each group: the largest, over γ⁰, of Σ over γ¹ of p·v²."""
        return _slices(self.mass, self.second if values is None else values, axis=1)

    def debiased(self) -> tuple[Array, Array]:
        """The two errors of each group with the noise of the means taken out; V¹ at the predicted γ⁰."""
        out = []
        for axis, v, variance in ((0, self.first, self.first_variance), (1, self.seen, self.seen_variance)):
            share = np.where(self.rows >= 2, self.mass * (v**2 - variance), 0.0)
            out.append(share.sum(axis=axis).max(axis=0))
        return out[0], out[1]


def _slices(mass: Array, v: Array, axis: int) -> Array:
    return np.asarray((mass * v**2).sum(axis=axis).max(axis=0))


def pair_cells(
    pair: Pair,
    labels: Array,
    predictions: Array,
    weights: Array,
    place: Index,
    shape: tuple[int, int],
    membership: Membership,
    *,
    solved: bool = True,
) -> PairCells:
    """One sorted pass per group; `place` is level⁰·m¹ + level¹. Without `solved` the Γ-form and `second` are left at `seen`."""
    order = np.lexsort((labels, place))
    order = order[weights[order] > 0]
    y, w, at, f = labels[order], weights[order], place[order], predictions[order]
    v0 = w * pair.first.identify(f[:, 0], y)
    v1 = w * pair.identify_second(f[:, 0], f[:, 1], y)
    total = float(weights.sum())
    cells = shape[0] * shape[1]
    out = np.zeros((9, cells, membership.groups))
    for g in range(membership.groups):
        kept = np.flatnonzero(membership.mask(g)[order])
        if kept.size == 0:
            continue
        here = at[kept]
        starts = np.flatnonzero(np.append(True, here[1:] != here[:-1]))
        out[:, here[starts], g] = _group(pair, y[kept], w[kept], f[kept], v0[kept], v1[kept], starts, solved)
    out[1] /= total
    return PairCells(*out.reshape(9, *shape, membership.groups))


def _group(pair: Pair, y: Array, w: Array, f: Array, v0: Array, v1: Array, starts: Index, solved: bool) -> Array:
    sizes = np.diff(np.append(starts, y.size))
    weight = np.add.reduceat(w, starts)

    def mean(values: Array) -> Array:
        return np.asarray(np.add.reduceat(values, starts) / weight)

    first, seen = mean(v0), mean(v1)
    variances = [_variance(v, m, w, weight, sizes, starts) for v, m in ((v0, first), (v1, seen))]
    if not solved:
        nothing = np.zeros_like(weight)
        return np.stack([sizes, weight, first, seen, seen, nothing, nothing, *variances])
    truth = pair.first.solve_segments(y, w, starts)
    value = pair.solve_second_segments(truth, y, w, starts)
    prediction0, prediction1 = mean(w * f[:, 0]), mean(w * f[:, 1])
    if pair.has_target:
        second = prediction1 - value
    else:
        second = mean(w * pair.identify_second(np.repeat(truth, sizes), f[:, 1], y))
    return np.stack([sizes, weight, first, seen, second, prediction0 - truth, prediction1 - value, *variances])


def _variance(wv: Array, mean: Array, w: Array, weight: Array, sizes: Index, starts: Index) -> Array:
    """Σw²(V − v)²/(Σw)² · n/(n − 1): the unbiased variance of a weighted mean; 0 for a single row."""
    spread = np.add.reduceat((wv - w * np.repeat(mean, sizes)) ** 2, starts)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(sizes > 1, spread / weight**2 * sizes / (sizes - 1), 0.0)
