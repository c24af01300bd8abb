"""Both conditions of joint multicalibration on every cell (group, level⁰, level¹), with Γ⁰ of the cell solved from its labels."""

from __future__ import annotations

from collections.abc import Iterator
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
    pair: Pair, labels: Array, predictions: Array, weights: Array, place: Index, shape: tuple[int, int], membership: Membership
) -> PairCells:
    """One sorted pass per group; `place` is level⁰·m¹ + level¹."""
    order = _order(labels, weights, place)
    y, w, at, f0, f1 = labels[order], weights[order], place[order], predictions[order, 0], predictions[order, 1]
    columns = [y, w, w * pair.first.identify(f0, y), w * pair.identify_second(f0, f1, y), w * f0, w * f1]
    out = np.zeros((9, shape[0] * shape[1], membership.groups))
    for g, kept, starts in _segments(at, order, membership):
        out[:, at[kept[starts]], g] = _group(pair, [column[kept] for column in columns], starts)
    out[1] /= float(weights.sum())
    return PairCells(*out.reshape(9, *shape, membership.groups))


def solved_cells(pair: Pair, labels: Array, weights: Array, place: Index, second: Array, membership: Membership) -> Array:
    """Γ⁰, Γ¹ and mean V¹ at the true Γ⁰ of the labels of every (place, group), where place j predicts second[j]: (3, places, groups)."""
    order = _order(labels, weights, place)
    y, w, at = labels[order], weights[order], place[order]
    out = np.zeros((3, second.size, membership.groups))
    for g, kept, starts in _segments(at, order, membership):
        cells, sizes = at[kept[starts]], np.diff(np.append(starts, kept.size))
        labels_here, weights_here = y[kept], w[kept]
        truth = pair.first.solve_segments(labels_here, weights_here, starts)
        value = pair.solve_second_segments(truth, labels_here, weights_here, starts)
        if pair.has_target:
            v = second[cells] - value
        else:
            row_v = pair.identify_second(np.repeat(truth, sizes), np.repeat(second[cells], sizes), labels_here)
            v = np.add.reduceat(weights_here * row_v, starts) / np.add.reduceat(weights_here, starts)
        out[:, cells, g] = truth, value, v
    return out


def _order(labels: Array, weights: Array, place: Index) -> Index:
    """Rows with weight, by place and then by label."""
    by_label = np.argsort(labels, kind="stable")
    small = np.uint16 if place.size and place.max() < 1 << 16 else np.int64  # sorting short integers is linear in the rows
    order = by_label[np.argsort(place[by_label].astype(small), kind="stable")]
    return np.asarray(order[weights[order] > 0])


def _segments(at: Index, order: Index, membership: Membership) -> Iterator[tuple[int, Index, Index]]:
    """For each group that has rows: their positions in the order, and where each place begins among them."""
    change = np.append(True, at[1:] != at[:-1])
    run = np.cumsum(change, dtype=np.int32)
    for g in range(membership.groups):
        kept = np.flatnonzero(membership.mask(g)[order])
        if kept.size:
            here = run[kept]
            yield g, kept, np.flatnonzero(np.append(True, here[1:] != here[:-1]))


def _group(pair: Pair, columns: list[Array], starts: Index) -> Array:
    """The nine numbers of every cell of one group; v0, v1, f0, f1 come multiplied by the weights."""
    y, w, v0, v1, f0, f1 = columns
    sizes = np.diff(np.append(starts, y.size))
    weight = np.add.reduceat(w, starts)

    def mean(values: Array) -> Array:
        return np.asarray(np.add.reduceat(values, starts) / weight)

    first, seen, prediction0, prediction1 = (mean(values) for values in (v0, v1, f0, f1))
    variances = [_variance(v, m, w, weight, sizes, starts) for v, m in ((v0, first), (v1, seen))]
    truth = pair.first.solve_segments(y, w, starts)
    value = pair.solve_second_segments(truth, y, w, starts)
    second = prediction1 - value if pair.has_target else mean(w * pair.identify_second(np.repeat(truth, sizes), f1 / w, y))
    return np.stack([sizes, weight, first, seen, second, prediction0 - truth, prediction1 - value, *variances])


def _variance(wv: Array, mean: Array, w: Array, weight: Array, sizes: Index, starts: Index) -> Array:
    """Σw²(V − v)²/(Σw)² · n/(n − 1): the unbiased variance of a weighted mean; 0 for a single row."""
    spread = np.add.reduceat((wv - w * np.repeat(mean, sizes)) ** 2, starts)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(sizes > 1, spread / weight**2 * sizes / (sizes - 1), 0.0)
