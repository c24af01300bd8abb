"""Rows as the fit sees them: predictions on the link scale, groups as codes or bits, weights of mean one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from multivalid.groups.membership import Membership
from multivalid.groups.recode import with_codes
from multivalid.practical.blocks import Blocks
from multivalid.practical.link import Link
from multivalid.properties.base import Array, Property
from multivalid.sources.memory import MemorySource

ORDINARY_V = 1e12  # V of a size between 1 / this and this is used as it is
CHUNK = 1024  # rows at a time, or a multiple of them; a multiple of 8, so that bits are cut between bytes
MOST_CHUNKS = 8  # at a time, where few features are evaluated for each row
FEATURES = 1 << 16  # numbers in the features of the rows at a time: about as many as stay in the cache


Picked: TypeAlias = slice | NDArray[np.intp]


@dataclass(frozen=True)
class Outcomes:
    """Labels and weights: all that V needs besides a prediction."""

    labels: Array
    weights: Array

    def __len__(self) -> int:
        return int(self.labels.size)

    def pick(self, rows: slice | NDArray[np.intp]) -> Outcomes:
        """A selection of rows."""
        return Outcomes(self.labels[rows], self.weights[rows])


@dataclass(frozen=True)
class LinkRows(Outcomes):
    """Labels and weights with base predictions on the link scale, and who belongs to which group.

    `cluster` numbers clusters whose rows share their luck; they stand together (see `shuffle`).
    """

    base: Array
    membership: Membership
    cluster: NDArray[np.intp] | None = None

    @classmethod
    def of(cls, rows: MemorySource, link: Link, order: NDArray[np.intp]) -> LinkRows:
        """Rows of a source in this order, which leaves out those without weight."""
        weights = rows.weights[order]
        cluster = None if rows.cluster is None else rows.cluster[order]
        members = with_codes(rows.membership).take(order)
        return cls(rows.labels[order], weights / weights.mean(), link.forward(rows.predictions[order]), members, cluster)

    def take(self, rows: NDArray[np.intp]) -> LinkRows:
        """A selection of rows."""
        cluster = None if self.cluster is None else self.cluster[rows]
        return LinkRows(self.labels[rows], self.weights[rows], self.base[rows], self.membership.take(rows), cluster)

    def part(self, start: int, stop: int) -> LinkRows:
        """Consecutive rows (they are shuffled, so this is a sample); from a multiple of 64, so that nothing is copied."""
        cut = slice(start, stop)
        cluster = None if self.cluster is None else self.cluster[cut]
        return LinkRows(self.labels[cut], self.weights[cut], self.base[cut], self.membership.part(start, stop), cluster)

    @cached_property
    def blocks(self) -> Blocks:
        """The groups as codes and lines."""
        return Blocks.of(self.membership)

    def chunks(self, rows: slice | None = None) -> Iterator[slice]:
        """Consecutive rows, some at a time, of all or of those in `rows`."""
        start, stop = (0, len(self)) if rows is None else (rows.start, rows.stop)
        lines = 1 + self.blocks.line_at.size  # coded groups have none
        size = CHUNK * max(1, min(MOST_CHUNKS, FEATURES // (CHUNK * lines)))
        return (slice(first, min(first + size, stop)) for first in range(start, stop, size))


def shuffle(rows: NDArray[np.intp], cluster: NDArray[np.intp] | None, random: np.random.Generator) -> NDArray[np.intp]:
    """These rows in random order; clusters in random order, each kept together, where rows share their luck.

    Examples
    --------
    >>> cluster = np.array([0, 1, 2, 0, 1, 2])
    >>> order = shuffle(np.arange(6), cluster, np.random.default_rng(0))
    >>> bool((cluster[order][::2] == cluster[order][1::2]).all())
    True
    """
    if cluster is None:
        return random.permutation(rows)
    mixed = random.permutation(rows)
    _, place = np.unique(cluster[mixed], return_inverse=True)
    return mixed[np.argsort(random.permutation(int(place.max(initial=0)) + 1)[place], kind="stable")]


def unit_numbers(rows: int, cluster: NDArray[np.intp] | None) -> NDArray[np.intp]:
    """Every row's unit of chance, numbered from 0 in the order of the rows: itself, or its cluster (whose rows stand together)."""
    if cluster is None:
        return np.arange(rows)
    return np.asarray(np.cumsum(np.append(False, np.diff(cluster) != 0)), dtype=np.intp)


def folds(rows: int, count: int) -> list[slice]:
    """Consecutive rows (they are shuffled) cut into `count` folds, each of whole chunks; some are empty where rows are few."""
    starts = np.arange(0, rows, CHUNK)
    cuts = np.minimum(np.searchsorted(starts * count // rows, np.arange(count + 1)) * CHUNK, rows)
    return [slice(int(first), int(last)) for first, last in pairwise(cuts)]


@dataclass
class Matching:
    """V on the link scale: the derivative of the loss M(η, y) = ∫ V(link⁻¹(t), y) dt that the fit minimises.

    M is convex in η for every nondecreasing V, and its gradient in the shift of a group is ΣwV over the group: at the minimum the
    group is right on average, whatever the property. For means on the log-odds scale M is the log loss. Only V is ever evaluated;
    the slope of V is a difference over ±`window`, which for quantiles is a smoothing window.
    """

    prop: Property
    link: Link
    window: float = 1e-3

    @cached_property
    def unit(self) -> float:
        """What V is divided by, as sums are taken in single precision: a power of two of its size, or 1 where that is ordinary."""
        lower, middle, upper = self.link.inverse(np.array([-1.0, 0.0, 1.0]))[:, None]
        with np.errstate(all="ignore"):
            rise = float((self.prop.identify(upper, middle) - self.prop.identify(lower, middle))[0])
        if not np.isfinite(rise) or rise <= 0 or 1 / ORDINARY_V < rise < ORDINARY_V:
            return 1.0
        return float(np.ldexp(1.0, int(np.frexp(rise)[1])))

    def identify(self, eta: Array, rows: Outcomes, part: Picked = slice(None)) -> Array:
        """w·V at η, in units of V."""
        found = np.asarray(rows.weights[part] * self.prop.identify(self.link.inverse(eta), rows.labels[part]))
        return found if self.unit == 1 else found / self.unit

    def slope(self, eta: Array, rows: Outcomes, part: Picked = slice(None)) -> Array:
        """w·∂V/∂η, as a difference over the window."""
        rise = self.identify(eta + self.window, rows, part) - self.identify(eta - self.window, rows, part)
        return np.asarray(rise / (2 * self.window))

    def widen(self, eta: Array, rows: Outcomes, share: float) -> None:
        """Set the window to the smallest over which V changes for `share` of the rows: tiny where V is smooth."""
        probe = slice(0, 10_000)
        for window in 1e-3 * 2.0 ** np.arange(14):
            self.window = float(window)
            if np.mean(self.slope(eta[probe], rows, probe) > 0) >= share:
                return
