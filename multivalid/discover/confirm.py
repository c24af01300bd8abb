"""Are the slices off on rows that the search has not seen? Everything follows from sums over atoms: rows, or what an engine groups.

A slice counts as found when two things hold beyond chance: it is off, and it is off beyond the slices found before it (and beyond the
groups that were named). The second keeps out shadows: rows that are off only because they share a part with a slice told already.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multivalid.cells import tilt
from multivalid.cells.adjust import holm
from multivalid.cells.clusters import ClusterTest, cluster_sums
from multivalid.cells.residual import NoiseTest
from multivalid.cells.terms import Law, TwoValued
from multivalid.cells.two_valued import CoinTest
from multivalid.levels import SIGNIFICANCE
from multivalid.properties.base import Array

Mask = NDArray[np.bool_]
SWEEPS = 20
LEVELS = 20


@dataclass(frozen=True)
class Atoms:
    """Rows, or groups of rows that share level and groups, with the sums of each law's terms.

    Attributes
    ----------
    sums : one mapping per coordinate, from the name of a sum to one number per atom
    level : level of the prediction, per atom and coordinate
    found, named : masks
    cluster : number of each atom's cluster, None where rows are independent
    """

    sums: list[Mapping[str, Array]]
    level: list[NDArray[np.intp]]
    found: list[Mask]
    named: list[Mask]
    cluster: NDArray[np.intp] | None = None


@dataclass(frozen=True)
class Confirmed:
    """Per slice: rows, weight, gap with its interval, adjusted p (nan: cannot tell)."""

    rows: NDArray[np.int64]
    gap: Array
    low: Array
    high: Array
    p_adjusted: Array


def confirm(atoms: Atoms, laws: Sequence[Law], owner: Sequence[int], scale: Sequence[float]) -> Confirmed:
    """Test every slice on the coordinate that it was found for (`owner`); `scale` brings V back into the label's units."""
    p, gap, low, high = (np.full(len(owner), np.nan) for _ in range(4))
    tests = max(len(owner), 1)
    for k, law in enumerate(laws):
        mine = [i for i, one in enumerate(owner) if one == k]
        if not mine:
            continue
        masks = [atoms.found[i] for i in mine]
        one = _Coordinate(law, atoms.sums[k], atoms.level[k], atoms.named, atoms.cluster)
        p[mine] = one.p_values(masks)
        gap[mine], low[mine], high[mine] = (side * scale[k] for side in one.gaps(masks, SIGNIFICANCE / tests / 2))
    counts = [round(float(atoms.sums[0]["rows"][mask].sum())) for mask in atoms.found]
    return Confirmed(np.array(counts, dtype=np.int64), gap, low, high, holm(p, np.ones(p.size, dtype=bool)))


@dataclass(frozen=True)
class _Coordinate:
    law: Law
    sums: Mapping[str, Array]
    level: NDArray[np.intp]
    named: list[Mask]
    cluster: NDArray[np.intp] | None

    def p_values(self, masks: Sequence[Mask]) -> Array:
        """The larger of the p-value of being off (beyond the named groups) and of being off beyond the slices before."""
        return np.array(
            [max(self._off(mask, self.named), self._off(mask, [*self.named, *masks[:k]])) for k, mask in enumerate(masks)]
        )

    def gaps(self, masks: Sequence[Mask], level: float) -> tuple[Array, Array, Array]:
        """Mean V of each slice beyond the named groups, with limits each missed with probability `level`."""
        if isinstance(self.law, TwoValued) and not self.named and self.cluster is None:
            table = self._table(self.sums, masks)
            test = CoinTest(table)
            seen = _divide(np.clip(0.0, *test.ends(test.total)), test.total["weight"])
            low, high = (np.where(np.isnan(seen), np.nan, side) for side in tilt.gap_limits(table, level))
            return seen[1:], low[1:], high[1:]
        return self._normal_limits(masks, level)

    def _normal_limits(self, masks: Sequence[Mask], level: float) -> tuple[Array, Array, Array]:
        from scipy.special import ndtri

        left = self._left(self.named)
        test = NoiseTest(self._table(left, masks))
        weight = test.total["weight"]
        middle = _divide(test.total["v"], weight)
        spread = np.sqrt(test.centred_variance)
        if self.cluster is not None:
            by_cluster = self._clusters(left, self._with_everyone(masks))
            spread = np.maximum(spread, np.where(by_cluster.few(), np.nan, np.sqrt(by_cluster.centred())))
        half = -ndtri(level) * _divide(spread, weight)
        return middle[1:], (middle - half)[1:], (middle + half)[1:]

    def _off(self, mask: Mask, others: Sequence[Mask]) -> float:
        """p-value that V is zero on average in a slice, once the others are brought to zero; nan when the rows cannot tell."""
        if not mask.any():
            return float("nan")
        left = self._left(others)
        if self.cluster is not None:
            clusters = self._clusters(left, [mask])
            return float("nan") if clusters.few()[0] else float(clusters.gap()[0])
        table = self._table(left, [mask])
        if isinstance(self.law, TwoValued) and not others:
            coins = CoinTest(table)
            return float("nan") if coins.few()[1] else float(coins.gap()[1])
        noise = NoiseTest(table)
        return float("nan") if noise.few()[1] else float(noise.gap()[1])

    def _clusters(self, left: Mapping[str, Array], masks: Sequence[Mask]) -> ClusterTest:
        """The tests of slices with clusters as the unit of chance."""
        assert self.cluster is not None
        found = cluster_sums(self.cluster, np.zeros_like(self.cluster), list(masks), left["v"], left["weight"])
        weight, alone = (np.array([left[name][mask].sum() for mask in masks]) for name in ("weight", "x2"))
        return ClusterTest(found, weight, alone)

    def _left(self, others: Sequence[Mask]) -> Mapping[str, Array]:
        """The sums with V less what brings the others to mean zero; third and fourth powers hardly change, and stay."""
        sums = self.sums
        if not others:
            return sums
        shift = np.zeros(self.level.size)
        weight = sums["weight"]
        inside = [(np.flatnonzero(mask), float(weight[mask].sum())) for mask in others]
        for _ in range(SWEEPS):
            largest = 0.0
            for rows, total in inside:
                if total > 0:
                    step = float((sums["v"][rows] - shift[rows] * weight[rows]).sum()) / total
                    shift[rows] += step
                    largest = max(largest, abs(step))
            if largest < 1e-9:
                break
        squares = sums["x2"] - 2 * shift * sums["w2v"] + shift**2 * sums["weight2"]
        return {
            **sums,
            "v": sums["v"] - shift * weight,
            "x2": np.maximum(squares, 0.0),
            "w2v": sums["w2v"] - shift * sums["weight2"],
        }

    def _with_everyone(self, masks: Sequence[Mask]) -> list[Mask]:
        return [np.ones(self.level.size, dtype=bool), *masks]

    def _table(self, sums: Mapping[str, Array], masks: Sequence[Mask]) -> dict[str, Array]:
        """Sums by (level, group), everyone first."""
        made: dict[str, Array] = {}
        inside = [(np.flatnonzero(mask), self.level[mask]) for mask in self._with_everyone(masks)]
        for name, column in sums.items():
            made[name] = np.stack([np.bincount(level, column[rows], LEVELS).astype(np.float64) for rows, level in inside], axis=1)
        return made


def _divide(top: Array, bottom: Array) -> Array:
    """top/bottom, nan where a slice has no rows to test on."""
    return np.divide(top, bottom, out=np.full_like(top, np.nan), where=bottom > 0)
