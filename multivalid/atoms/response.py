"""How a property answers on a grid, given only sums over label bins.

An *entry* is a bundle of rows that share a label bin; it carries Σw·t_k(y) for the K moments of the property. A response turns
entries into Σw·V at a level, and sums of entries into ΣwV and ΣwS on the whole grid, exactly.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from multivalid.grid import Grid
from multivalid.properties import Property
from multivalid.properties.base import Array
from multivalid.properties.ops import NUMPY, Ops

Index = NDArray[np.intp]
LARGEST_OPERATOR = 1 << 18  # numbers: 2 MB, so that it stays in cache
LARGEST_TABLE = 1 << 24  # numbers kept of V and of S over (level, label): 128 MB each
Bins = Index


class Response(Protocol):
    """What the algorithms ask of a property on a grid."""

    bins: int
    width: int

    def encode(self, labels: Array) -> tuple[Bins, Array]:
        """Label bin and moments (rows, K) of each label."""

    def identify(self, bins: Bins, moments: Array, level: int) -> Array:
        """ΣwV(γ_level, ·) of each entry."""

    def on_grid(self, sums: Array) -> tuple[Array, Array]:
        """ΣwV and ΣwS at every level, from sums of shape (bins, K); S up to the constant that no prediction changes."""

    def score_constant(self, labels: Array) -> Array:
        """That constant, label by label."""


def response(prop: Property, grid: Grid, labels: Array) -> Response:
    """The response of `prop` on `grid` for data with these labels."""
    # Sums about the middle of the grid keep digits when labels share a large offset (a price level, a year).
    origin = float(grid.points[len(grid) // 2]) if prop.shift_invariant else 0.0
    if prop.pieces(grid.points - origin) is not None:
        return Piecewise(prop, grid, origin)
    return Tabulated(prop, grid, labels)


class Piecewise:
    """For properties with moments: label bins are cut at the breakpoints of V, right-closed."""

    def __init__(self, prop: Property, grid: Grid, origin: float) -> None:
        raw, pieces = prop.pieces(grid.points), prop.pieces(grid.points - origin)
        assert raw is not None
        assert pieces is not None
        self.prop, self.origin = prop, origin
        # Labels are compared with breakpoints in raw units: after a shift, a label just above a level could round onto it.
        self.edges = np.unique(raw.breaks)
        self.bins = self.edges.size + 1
        self._identify, self._score = pieces.identify, pieces.score
        self.levels, self.width = self._identify.shape[1:]
        # A label in bin b lies at or below breakpoint r of level j exactly when b ≤ cut[r, j].
        self.cut = np.searchsorted(self.edges, raw.breaks)

    def encode(self, labels: Array) -> tuple[Bins, Array]:
        moments = self.prop.moments(labels - self.origin)
        assert moments is not None
        bins = np.searchsorted(self.edges, labels, side="left") if self.edges.size else np.zeros(labels.size, np.intp)
        return bins, moments

    def identify(self, bins: Bins, moments: Array, level: int) -> Array:
        if not self.cut.size:
            return np.asarray(moments @ self._identify[0, level])
        values = moments @ self._identify[0, level]
        for cut, coefficients in zip(self.cut[:, level], self._identify[1:, level], strict=True):
            values = np.where(bins > cut, moments @ coefficients, values)
        return np.asarray(values)

    def marks(self, level: int) -> tuple[Index, Array]:
        """Positions in a running sum over bins where the pieces of V at `level` end, and V's coefficients on each piece."""
        return np.concatenate([[0], self.cut[:, level] + 1, [self.bins]]), self._identify[:, level]

    def on_grid(self, sums: Array) -> tuple[Array, Array]:
        if self.operator is not None:
            both = self.operator @ sums.reshape(-1)
            return both[: both.size // 2], both[both.size // 2 :]
        return self._on_grid(sums, self._identify), self._on_grid(sums, self._score)

    @cached_property
    def operator(self) -> Array | None:
        """V and S on the grid are linear in the sums: the matrix that does both, while it is small."""
        levels = self.levels
        if 2 * levels * self.bins * self.width > LARGEST_OPERATOR:
            return None
        piece = (np.arange(self.bins)[:, None] > self.cut[:, None, :]).sum(axis=0)  # (bins, levels)
        rows = [coefficients[piece, np.arange(levels)].transpose(1, 0, 2) for coefficients in (self._identify, self._score)]
        return np.concatenate(rows).reshape(2 * levels, -1)

    def score_constant(self, labels: Array) -> Array:
        return np.asarray(self.scoring_constant(NUMPY, labels))

    def scoring_constant(self, ops: Ops, label: Any) -> Any:
        """The part of S that the moments leave out, as a formula."""
        prop = self.prop
        if not self.origin:
            return prop.scoring_constant(ops, label)
        shifted = label - self.origin
        # V ignores the shift, but S may change by an amount that depends on the label alone (a quantile's does).
        return prop.scoring_constant(ops, shifted) + (prop.scoring(ops, label, label) - prop.scoring(ops, shifted, shifted))

    def _on_grid(self, sums: Array, coefficients: Array) -> Array:
        running = np.concatenate([np.zeros((1, self.width)), np.cumsum(sums, axis=0)])
        # running[c + 1] is everything up to and including bin c; pieces are differences of consecutive cuts.
        levels = coefficients.shape[1]
        ends = np.zeros((levels, self.width)), np.broadcast_to(running[-1], (levels, self.width))
        below = [ends[0], *(running[c + 1] for c in self.cut), ends[1]]
        pieces = zip(pairwise(below), coefficients, strict=True)
        return np.asarray(sum(((hi - lo) * c).sum(axis=1) for (lo, hi), c in pieces))


class Tabulated:
    """For properties without moments: every distinct label is its own bin, and V and S are tabulated over (level, label)."""

    def __init__(self, prop: Property, grid: Grid, labels: Array) -> None:
        self.prop, self.points = prop, grid.points
        self.labels = np.unique(labels)
        self.bins, self.width = self.labels.size, 1
        self._rows: dict[tuple[str, int], Array] = {}

    def encode(self, labels: Array) -> tuple[Bins, Array]:
        return np.searchsorted(self.labels, labels), np.ones((labels.size, 1))

    def identify(self, bins: Bins, moments: Array, level: int) -> Array:
        return np.asarray(self._row("identify", level)[bins] * moments[:, 0])

    def on_grid(self, sums: Array) -> tuple[Array, Array]:
        return self._on_grid("identify", sums), self._on_grid("score", sums)

    def score_constant(self, labels: Array) -> Array:
        return np.zeros_like(labels)

    def _on_grid(self, verb: str, sums: Array) -> Array:
        if self.bins * self.points.size <= LARGEST_TABLE:
            return np.array([self._row(verb, level) @ sums[:, 0] for level in range(self.points.size)])
        used = np.flatnonzero(sums[:, 0])
        return np.array([sums[used, 0] @ getattr(self.prop, verb)(p, self.labels[used]) for p in self.points])

    def _row(self, verb: str, level: int) -> Array:
        """V or S at one level for every distinct label, computed once."""
        if (verb, level) not in self._rows:
            self._rows[verb, level] = getattr(self.prop, verb)(self.points[level], self.labels)
        return self._rows[verb, level]
