"""Rows that share their luck: a day of flights, a customer's claims. The unit of chance is then the cluster.

u_c = Σ wV over a cluster's rows in a group. Clusters are independent, whatever happens inside one; Σu_c² is the variance of ΣwV.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multivalid.cells.merge import ALMOST
from multivalid.cells.residual import larger_skewness, ratio, skewed_tails
from multivalid.cells.two_valued import two_sided
from multivalid.properties.base import Array

Index = NDArray[np.intp]

BLOCKS = 5  # parts of the levels on which the shape is tested
FEWEST = 5.0  # effective clusters below which nothing can be said


def level_blocks(variance: Array, most: int = BLOCKS) -> Index:
    """The block of every level: at most `most` runs of levels, of about equal variance.

    Examples
    --------
    >>> level_blocks(np.array([1.0, 1, 1, 1, 4, 4]), most=3)
    array([0, 0, 0, 0, 1, 2])
    """
    total = variance.sum()
    if total <= 0:
        return np.zeros(variance.size, dtype=np.intp)
    middle = (np.cumsum(variance) - variance / 2) / total
    raw = np.minimum((middle * most / ALMOST).astype(np.intp), most - 1)
    return np.unique(raw, return_inverse=True)[1].astype(np.intp)


@dataclass(frozen=True)
class ClusterSums:
    """Sums over the clusters of each group.

    Attributes
    ----------
    count : number of clusters with rows in the group
    products : Σ_c u_c u_c' over blocks of levels, (groups, J, J)
    totals : Σ_c u_c, (groups, J)
    weighted : Σ_c u_c·W_c, W_c the cluster's weight in the group
    squares : Σ_c W_c²
    cubes : Σ_c of the products of three, (groups, J, J, J)
    """

    count: Array
    products: Array
    totals: Array
    weighted: Array
    squares: Array
    cubes: Array


def cluster_sums(cluster: Index, block: Index, masks: list[NDArray[np.bool_]], x: Array, weight: Array) -> ClusterSums:
    """From rows, or from sums over rows that share cluster, block and groups; `cluster` and `block` are numbers from 0."""
    clusters, blocks = int(cluster.max(initial=-1)) + 1, int(block.max(initial=0)) + 1
    found = []
    for inside in masks:
        mine, w = cluster[inside], weight[inside]
        u = np.bincount(mine * blocks + block[inside], weights=x[inside], minlength=clusters * blocks).reshape(clusters, blocks)
        size = np.bincount(mine, weights=w, minlength=clusters)
        cubes = np.stack([(u * u[:, k : k + 1]).T @ u for k in range(blocks)])
        found.append(((size > 0).sum(), u.T @ u, u.sum(axis=0), u.sum(axis=1) @ size, size @ size, cubes))
    return ClusterSums(*(np.array(column, dtype=np.float64) for column in zip(*found, strict=True)))


@dataclass(frozen=True)
class ClusterTest:
    """Tests and standard errors with clusters as the unit; `row_variance` is the variance that independent rows would have."""

    sums: ClusterSums
    weight: Array
    row_variance: Array

    @property
    def effective(self) -> Array:
        """So many clusters of equal weight would tell as much."""
        return ratio(self.weight**2, self.sums.squares)

    @property
    def freedom(self) -> Array:
        """Degrees of freedom of the gap's t."""
        return np.maximum(self.effective - 1, 1.0)

    def few(self) -> NDArray[np.bool_]:
        """Whether there are too few clusters."""
        return np.asarray(self.effective < FEWEST * ALMOST)

    def gap(self) -> Array:
        """Two-sided p-value of ΣwV: Student's law, or wider on the side where clusters as skewed as those seen make it so."""
        from scipy.special import stdtr

        square = np.maximum(self.sums.products.sum(axis=(1, 2)), self.row_variance)
        z = ratio(self.sums.totals.sum(axis=1), np.sqrt(square))
        wide = skewed_tails(z, larger_skewness(self.sums.cubes.sum(axis=(1, 2, 3)), square), 1.0)
        low, high = (np.maximum(tail, stdtr(self.freedom, side * z)) for tail, side in zip(wide, (1, -1), strict=True))
        return np.asarray(np.where(square > 0, two_sided(low, high), np.nan))

    def shape(self) -> Array:
        """Hotelling's test that every block's mean is 0; nan with one block or too few clusters.

        It is right for clusters with a symmetric law. Where they are skewed (good days are a little good, bad ones very bad) means and
        variances err together, and the statistic is too large: second moments about 0, not about the mean, and what the third moments
        add to it on average bring it back.
        """
        from scipy.special import fdtrc

        out = np.full(self.weight.size, np.nan)
        for g, count in enumerate(self.sums.count):
            total, products = self.sums.totals[g], self.sums.products[g]
            used = np.diag(products) > 0
            blocks = int(used.sum())
            if blocks < 2 or count < 3 * blocks:
                continue
            unit = np.sqrt(np.diag(products)[used])
            inverse = np.linalg.pinv(products[np.ix_(used, used)] / np.outer(unit, unit), rcond=1e-9, hermitian=True)
            third = self.sums.cubes[g][np.ix_(used, used, used)] / np.multiply.outer(np.outer(unit, unit), unit)
            lean = float(np.einsum("ijk,lmn,il,jm,kn->", third, third, inverse, inverse, inverse, optimize=True))
            square = float((total[used] / unit) @ inverse @ (total[used] / unit)) / (1 + 2 * lean / blocks)
            out[g] = fdtrc(blocks, count - blocks, square * (count - blocks) / (blocks * (count - 1)))
        return out

    def interval(self, middle: Array, row_third: Array, level: float) -> tuple[Array, Array]:
        """Limits about each group's mean V: Student's, and farther out on the side where clusters as skewed as those seen make it so.

        Hall's correction of a studentised mean: its quantile z moves by (2z² + 1)/6 times the skewness of the sum. Only outwards, for
        the skewness seen in few clusters is too small more often than too large. `row_third` is the third moment that independent rows
        would have.
        """
        from scipy.special import ndtri, stdtrit

        lean = self._skewness(row_third) * (2 * ndtri(level) ** 2 + 1) / 6
        reach, spread = stdtrit(self.freedom, 1 - level), ratio(np.sqrt(self.centred()), self.weight)
        return middle - (reach + np.maximum(-lean, 0.0)) * spread, middle + (reach + np.maximum(lean, 0.0)) * spread

    def _skewness(self, row_third: Array) -> Array:
        """Of each group's sum about its mean, the largest in size of three.

        As seen; as independent rows would have it; and as of so many clusters that are as skewed as everyone's, more so where the group's
        own vary less than luck that all rows of a cluster share lets them. None of them varies less than independent rows.
        """
        squares, variance = self.sums.squares, np.maximum(self.centred(), self.row_variance)
        own = ratio(self._centred_third(), variance**1.5)
        usual = variance[:1] * ratio(squares, np.broadcast_to(squares[:1], squares.shape))
        shared = own[:1] * np.sqrt(ratio(self.effective[:1], self.effective) * np.maximum(ratio(usual, variance), 1.0))
        three = np.stack([own, shared, ratio(row_third, variance**1.5)])
        return np.asarray(np.take_along_axis(three, np.abs(three).argmax(axis=0)[None], axis=0)[0])

    def _centred_third(self) -> Array:
        """Third moment of ΣwV about the group's own mean, as if its clusters had equal weights."""
        s = self.sums
        shift = ratio(s.totals.sum(axis=1), self.weight) * ratio(s.squares, self.weight)
        return np.asarray(s.cubes.sum(axis=(1, 2, 3)) - 3 * shift * s.products.sum(axis=(1, 2)) + 2 * s.count * shift**3)

    def centred(self) -> Array:
        """Variance of ΣwV about the group's own mean, from clusters."""
        s = self.sums
        mean = ratio(s.totals.sum(axis=1), self.weight)
        square = s.products.sum(axis=(1, 2)) - 2 * mean * s.weighted + mean**2 * s.squares
        return np.asarray(np.maximum(square, 0.0) * ratio(s.count, s.count - 1))
