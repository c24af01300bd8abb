"""Γ of the labels of every (place, group) and of every group, from the labels themselves or from sums of their moments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multivalid.groups.membership import Coded, Membership
from multivalid.properties.base import Array

if TYPE_CHECKING:
    from multivalid.properties import Property, Target

Index = NDArray[np.intp]


@dataclass(frozen=True)
class Laws:
    """What the predictions should have been; NaN where there are no rows.

    Attributes
    ----------
    cells : array (n, places, groups)
        Γ of every coordinate on every cell, and what else the target solves there (`solve_cells`).
    groups : array (coordinates, groups)
        The same of every group as a whole.
    note : str
        How exact it is, where that is not to rounding.
    """

    cells: Array
    groups: Array
    note: str = ""

    @classmethod
    def unknown(cls, coordinates: int, places: int, groups: int) -> Laws:
        """Nothing was asked."""
        return cls(np.full((coordinates, places, groups), np.nan), np.full((coordinates, groups), np.nan))


def laws_of_rows(
    target: Target, labels: Array, predictions: Array, weights: Array, membership: Membership, place: Index, places: int
) -> Laws:
    """Every law solved from its sorted labels."""

    def solved(solve: Any, at: Index, size: int) -> Array:
        out: Array | None = None
        for found in segments(labels, weights, membership, at):
            rows = found.order
            values = solve(labels[rows], predictions[rows], weights[rows], found.starts)
            out = np.full((values.shape[0], size, membership.groups), np.nan) if out is None else out
            out[:, found.place, found.group] = values
        assert out is not None
        return out

    together = np.zeros(labels.size, dtype=np.intp)
    return Laws(solved(target.solve_cells, place, places), solved(target.solve_groups, together, 1)[:, 0])


def laws_of_moments(prop: Property, moments: Array) -> Laws:
    """Γ from sums Σw·t_k(y) (places, groups, K), for properties whose moments decide it."""
    found = []
    for sums in (moments, moments.sum(axis=0)):
        filled = sums[..., 0] > 0
        out = np.full(filled.shape, np.nan)
        if filled.any():
            out[filled] = prop.solve_moments(sums[filled] / sums[filled][:, :1])
        found.append(out[None])
    return Laws(found[0], found[1])


class Segments(NamedTuple):
    """Rows in an order that makes every (place, group) a run sorted by label, where runs start, and which cell each is."""

    order: Index
    starts: Index
    place: Index
    group: NDArray[Any]


def segments(labels: Array, weights: Array, membership: Membership, place: Index) -> Iterator[Segments]:
    """All cells: at once for groups that exclude each other, group by group for others; rows without weight are left out."""
    by_label = np.argsort(labels, kind="stable")
    order = by_label[_small_order(place[by_label])]
    if not weights.all():
        order = order[weights[order] > 0]
    first = 0
    for part in membership.parts:
        if isinstance(part, Coded):
            code = part.codes[order]
            inside = order[np.argsort(code, kind="stable")][np.count_nonzero(code == 0) :]
            if inside.size:
                group = part.codes[inside].astype(np.intp) - 1 + first
                yield _runs(inside, place[inside], group)
        else:
            for g in range(part.size):
                inside = order[part.mask(g)[order]]
                if inside.size:
                    yield _runs(inside, place[inside], np.full(inside.size, first + g))
        first += part.size


def _runs(order: Index, place: Index, group: Index) -> Segments:
    change = np.append(True, (place[1:] != place[:-1]) | (group[1:] != group[:-1]))
    starts = np.flatnonzero(change)
    return Segments(order, starts, place[starts], group[starts])


def _small_order(place: Index) -> Index:
    """A stable order by place: sorting short integers is linear in the rows."""
    small = np.uint16 if place.size and place.max() < 1 << 16 else np.int64
    return np.argsort(place.astype(small), kind="stable")
