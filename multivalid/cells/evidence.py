"""What the rows say about one coordinate: two kinds, by what is known of V when predictions are right."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from multivalid.cells import tilt
from multivalid.cells.clusters import ClusterSums, ClusterTest
from multivalid.cells.finite import finite_limits
from multivalid.cells.limits import ErrorLimits, Sums, coin_limits, noise_limits
from multivalid.cells.residual import EACH_SIDE, NoiseTest, ratio
from multivalid.cells.terms import Law, TwoValued
from multivalid.cells.two_valued import CoinTest, coin_tails, nearest_to_zero
from multivalid.levels import SIGNIFICANCE
from multivalid.properties.base import Array

POWER = 0.8  # a gap as large as `detectable` is found so often


class Evidence(ABC):
    """What the rows say about one coordinate.

    `scale` turns V of the sums into the label's units; `clusters` are given where rows share their luck.
    """

    def __init__(self, sums: Sums, scale: float = 1.0, clusters: ClusterSums | None = None) -> None:
        self.sums, self.scale = sums, scale
        self.weight = np.asarray(sums["weight"].sum(axis=0))
        self.clusters = None if clusters is None else ClusterTest(clusters, self.weight, self.row_variance)

    # ---- what a law must say --------------------------------------------------------------------------------------
    @property
    @abstractmethod
    def test(self) -> CoinTest | NoiseTest:
        """The tests for independent rows."""

    @property
    @abstractmethod
    def row_variance(self) -> Array:
        """Variance of each group's ΣwV when predictions are right and rows independent."""

    @property
    @abstractmethod
    def row_third(self) -> Array:
        """Third moment of each group's ΣwV when predictions are right and rows independent."""

    @abstractmethod
    def untestable(self, tests: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Groups for which the rows cannot tell, and those of them that still count as a test, as their labels made them so."""

    @abstractmethod
    def within_reach(self, gap: Array) -> NDArray[np.bool_]:
        """Whether predictions of each group could be off by such a gap, in units of the sums, and the test could say so."""

    @abstractmethod
    def row_interval(self, level: float) -> tuple[Array, Array]:
        """Limits of ΣwV/Σw for independent rows, each missed with probability `level`."""

    @abstractmethod
    def cell_z(self) -> Array:
        """How surprising each cell's ΣwV is, as a normal deviate."""

    @abstractmethod
    def cell_variance(self) -> Array:
        """Variance of each cell's ΣwV, whether or not predictions are right."""

    @cached_property
    @abstractmethod
    def errors(self) -> ErrorLimits:
        """Limits of E, in units of the sums."""

    # ---- what follows ------------------------------------------------------------------------------------------------
    @cached_property
    def stretch(self) -> Array:
        """How many times the variance of independent rows clusters give, at least 1."""
        if self.clusters is None:
            return np.ones_like(self.weight)
        return np.maximum(1.0, ratio(self.clusters.centred(), self.row_variance))

    def p_values(self) -> Array:
        """Gap and shape, twice the smaller of the two; the gap alone where there is one part only."""
        test = self.test if self.clusters is None else self.clusters
        gap, shape = test.gap(), test.shape()
        return np.asarray(np.where(np.isnan(shape), gap, np.minimum(2 * np.fmin(gap, shape), 1.0)))

    @property
    def gap(self) -> Array:
        """Mean V of each group, in the label's units; with ties, the end nearer to 0."""
        return np.where(self.weight > 0, ratio(self._sum_seen(), self.weight), np.nan) * self.scale

    def _sum_seen(self) -> Array:
        return np.asarray(self.sums["v"].sum(axis=0))

    def interval(self, level: float) -> tuple[Array, Array]:
        """Limits of the gap, each missed with probability `level`."""
        low, high = self.row_interval(level)
        if self.clusters is not None:  # which can only know less than as many independent rows
            least, most = self.possible()
            lower, higher = self.clusters.interval(ratio(self._sum_seen(), self.weight), self.row_third, level)
            low, high = np.fmin(low, np.maximum(lower, least)), np.fmax(high, np.minimum(higher, most))
        known = self._known()
        return np.where(known, low, np.nan) * self.scale, np.where(known, high, np.nan) * self.scale

    def possible(self) -> tuple[Array | float, Array | float]:
        """Least and largest mean V that labels could give, where that is known."""
        return -np.inf, np.inf

    def _known(self) -> NDArray[np.bool_]:
        rows = self.sums["rows"].sum(axis=0)
        return np.asarray(rows > 0 if self.clusters is None else ~self.clusters.few())

    def detectable(self, level: float) -> Array:
        """The gap that a test at `level`, two-sided, finds in four cases of five, in the label's units; nan where it finds none."""
        from scipy.special import ndtri

        reach = -ndtri(level / 2) + ndtri(POWER)
        found = reach * ratio(np.sqrt(self.row_variance * self.stretch), self.weight)
        return np.asarray(np.where((self.weight > 0) & self.within_reach(found), found, np.nan) * self.scale)

    def finite(self) -> Array:
        """Limits of each group's E that rest on no approximation; nan where V has no known range, or rows count unequally."""
        return np.full(self.weight.size, np.nan)

    def rms(self, e: Array) -> Array:
        """√(E/μ): how far predictions are off typically, along their own value, in the label's units."""
        return np.asarray(np.where(self.weight > 0, np.sqrt(ratio(np.maximum(e, 0.0), self.errors.mass)), np.nan) * self.scale)


class CoinEvidence(Evidence):
    """Two-valued V."""

    @cached_property
    def test(self) -> CoinTest:
        """Coins with known chances."""
        return CoinTest(self.sums)

    @property
    def row_variance(self) -> Array:
        """Σu²q."""
        return np.asarray(self.sums["u2q"].sum(axis=0))

    @property
    def row_third(self) -> Array:
        """Σu³q(1 − 2p), p the chance of the higher of the two values."""
        return np.asarray(self.sums["u3t"].sum(axis=0))

    def untestable(self, tests: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """No outcome could give a small enough p, or few heavy rows decide: known from predictions and weights alone."""
        few = self.test.few() | (self.test.smallest() > SIGNIFICANCE / max(tests, 1)) | (self.weight <= 0)
        few = few if self.clusters is None else few | self.clusters.few()
        return few, np.zeros_like(few)

    def within_reach(self, gap: Array) -> NDArray[np.bool_]:
        """A gap is largest when all coins are high, or all low."""
        t = self.test.total
        return np.asarray(gap * self.weight <= np.maximum(t["ur"], t["u"] - t["ur"]))

    def row_interval(self, level: float) -> tuple[Array, Array]:
        """By tilting the chances, and wider where outcomes vary more than that explains."""
        return tilt.gap_limits(self.sums, level)

    def possible(self) -> tuple[Array, Array]:
        """All low, or all high; what lies beyond the range of labels counts either way."""
        t = self.test.total
        high = t["ur"] + t["beyond"]
        return ratio(high - t["u"], self.weight), ratio(high, self.weight)

    def _sum_seen(self) -> Array:
        return nearest_to_zero(*self.test.ends(self.test.total))

    def cell_z(self) -> Array:
        """From the law of coins: one event where a thousandth was expected is no 30 standard errors."""
        from scipy.special import ndtri

        seen = nearest_to_zero(*self.test.ends(self.sums))
        low, high = (np.clip(tail, 1e-300, 0.5) for tail in coin_tails(self.sums, seen, self.test.unequal))
        return np.asarray(np.where(self.sums["u2q"] > 0, np.where(low < high, ndtri(low), -ndtri(high)), np.nan))

    def cell_variance(self) -> Array:
        """The larger of the variance that predictions give and the one seen."""
        return np.asarray(self.errors.row_variance(np.zeros_like(self.weight)))

    def finite(self) -> Array:
        """Where the two values of V differ by 1 (shares) and rows are independent and count alike."""
        sums = self.sums
        alike = np.allclose(sums["u"], sums["rows"]) and np.allclose(sums["weight"], sums["rows"])
        if not alike or self.clusters is not None:
            return super().finite()
        hits = np.clip(ratio(sums["v"] - sums["beyond"] + sums["u"] - sums["ur"], sums["u"]), 0.0, 1.0)
        return finite_limits(sums, hits * (1 - hits), 1.0, 1.0)

    @cached_property
    def errors(self) -> ErrorLimits:
        """From coins."""
        return coin_limits(self.sums, self.stretch)


class NoiseEvidence(Evidence):
    """Any other V."""

    @cached_property
    def test(self) -> NoiseTest:
        """Noise learned from everyone at the level."""
        return NoiseTest(self.sums)

    @property
    def row_variance(self) -> Array:
        """From everyone, widened where a group is noisier."""
        return self.test.variance

    @property
    def row_third(self) -> Array:
        """The group's own, or from everyone."""
        return np.asarray(self.test.skewness * self.test.variance**1.5)

    def untestable(self, tests: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Too few rows on one side of 0, or one row carries all; as labels decide this, such a group still counts as a test."""
        empty = self.weight <= 0
        few = self.test.few() | empty
        few = few if self.clusters is None else few | self.clusters.few()
        return few, few & ~empty

    def within_reach(self, gap: Array) -> NDArray[np.bool_]:
        """Any gap, where there are as many rows as the test asks for on either side."""
        return np.asarray(np.isfinite(gap) & (self.test.total["rows"] >= 2 * EACH_SIDE))

    def row_interval(self, level: float) -> tuple[Array, Array]:
        """Normal limits with the variance about the mean."""
        from scipy.special import ndtri

        middle = ratio(self._sum_seen(), self.weight)
        half = -ndtri(level) * ratio(np.sqrt(self.test.centred_variance), self.weight)
        return middle - half, middle + half

    def _known(self) -> NDArray[np.bool_]:
        return np.asarray(super()._known() & (self.sums["rows"].sum(axis=0) > 1))

    def cell_z(self) -> Array:
        """In standard errors."""
        variance = self.test.level_variance * self.test.noisier
        return np.asarray(np.where(variance > 0, ratio(self.sums["v"], np.sqrt(variance)), np.nan))

    def cell_variance(self) -> Array:
        """From everyone at the level about the mean, widened where the group is noisier."""
        return np.asarray(self.errors.row_variance(np.zeros_like(self.weight)))

    @cached_property
    def errors(self) -> ErrorLimits:
        """From noise."""
        return noise_limits(self.test, self.stretch)


def evidence(law: Law, sums: Sums, *, scale: float = 1.0, clusters: ClusterSums | None = None) -> Evidence:
    """The evidence that the sums of this law give."""
    return (CoinEvidence if isinstance(law, TwoValued) else NoiseEvidence)(sums, scale, clusters)
