"""The fit of `Shares`: log loss and ridge, minimised over the coefficients of all classes at once.

The loss is convex, and its gradient in the shift of (group, class) is ΣwV of that cell: at the minimum every class is right for every group
after the division, up to the ridge. Steps are those of L-BFGS in coordinates where the curvature of each class, Σw·p·x·x', is about the
identity: the blocks beside the diagonal are left to what the steps themselves show.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from multivalid.groups.membership import Membership
from multivalid.practical.blocks import Blocks, CodeBlock
from multivalid.practical.data import LinkRows, unit_numbers
from multivalid.practical.model import Model
from multivalid.practical.start import screen
from multivalid.properties.base import Array
from multivalid.several.descent import minimum
from multivalid.several.metric import Metric
from multivalid.several.shares import KNOTS, Directions, Shares

Single = NDArray[np.float32]  # features and residuals: single precision is exact enough and twice as fast
Free = NDArray[np.bool_]  # which coefficients of a class may move
CHUNK = 1 << 12
GUARD = 0.5  # over the root of its rows, the least ridge of a group: what few rows have not shown is not taken to be impossible
KEPT = 400_000_000  # bytes of features that stay in memory; beyond, they are made anew for each pass
CURVED_ROWS = 6_000  # the curvature needs fewer rows than the gradient
SETTLING = 20_000  # rows that settle directions and knots
MOST_CURVED = 5_000_000  # numbers in the curvature blocks of all classes; beyond, groups have a diagonal each
MOST_SLOPES = 1_200  # coefficients of a class up to which groups get slopes
STEPS = 60
TOLERANCE = 1 / 400  # gain of a step per coefficient, in units where noise gains 1/2


@dataclass(frozen=True)
class ClassRows:
    """Codes of the labels, weights of mean one, log-probabilities (rows, classes), groups, clusters; rows are in random order."""

    codes: NDArray[np.intp]
    weights: Array
    logs: Array
    membership: Membership
    cluster: NDArray[np.intp] | None = None

    def __len__(self) -> int:
        return int(self.codes.size)

    def take(self, rows: NDArray[np.intp]) -> ClassRows:
        """A selection of rows."""
        cluster = None if self.cluster is None else self.cluster[rows]
        return ClassRows(self.codes[rows], self.weights[rows], self.logs[rows], self.membership.take(rows), cluster)

    @cached_property
    def unit(self) -> NDArray[np.intp]:
        """Every row's unit of chance, numbered from 0: itself, or its cluster."""
        return unit_numbers(len(self), self.cluster)

    @cached_property
    def blocks(self) -> Blocks:
        """The groups as codes and lines."""
        return Blocks.of(self.membership)


@dataclass(frozen=True)
class Chunk:
    """Features of consecutive rows: (features × rows)."""

    logs: Single
    shared: Single
    along: Single  # ones, then z: what groups are multiplied by
    own: Single  # (classes, features, rows)
    lines: Single
    coded: tuple[CodeBlock, ...]
    both: Single
    rows: slice


class Passes:
    """Rows with their features, ready for pass after pass over them; `model` says which features there are.

    `shared`: among how many of its kind the memory is divided.
    """

    def __init__(self, rows: ClassRows, model: Shares, shared: int = 1) -> None:
        self.rows, self.model = rows, model
        classes, blocks = len(model.curve), rows.blocks
        numbers = classes * (2 + KNOTS) + model.curve.shape[1] + blocks.line_at.size + model.pairs.shape[1] + 4
        self._kept = list(self._made()) if 4 * numbers * len(rows) <= KEPT // shared else None
        self._last: tuple[Array, float, Array] | None = None

    @cached_property
    def guard(self) -> Array:
        """The least ridge of each coefficient of a class.

        Where a class never comes in a group of n rows, a ridge leaves it a probability of about ridge/n times the shift. None would
        leave nothing, however few the rows are; with this, what is left falls with n^(3/2), as for a share that is likely to be 0.
        """
        groups = self.rows.membership
        both = [np.count_nonzero(groups.mask(i + 1) & groups.mask(j + 1)) for i, j in self.model.pairs.T]
        counts = np.concatenate([np.tile(groups.sizes()[1:], self.model.groups.shape[1]), both])
        least = GUARD / np.sqrt(np.maximum(counts, 1.0))
        return np.concatenate([np.zeros(self.model.curve.shape[1] + self.model.own.shape[1]), least])

    def chunks(self) -> Iterator[Chunk]:
        """All rows, some at a time."""
        return iter(self._kept) if self._kept is not None else self._made()

    def _made(self) -> Iterator[Chunk]:
        for start in range(0, len(self.rows), CHUNK):
            yield self.chunk(slice(start, min(start + CHUNK, len(self.rows))))

    def chunk(self, part: slice) -> Chunk:
        """The features of some rows."""
        at, rows = self.model.directions, self.rows
        logs = rows.logs[part].T
        z = at.weights @ logs - at.center[:, None]
        hinges = np.maximum(z[:, None] - at.knots[:, :, None], 0.0).reshape(-1, z.shape[1])
        one = np.ones((1, z.shape[1]))
        alone = (logs - at.own_center[:, None]) / at.own_scale[:, None]
        own = np.concatenate([alone[:, None], np.maximum(alone[:, None] - at.own_knots[:, :, None], 0.0)], axis=1)
        here = rows.blocks.part(part)
        both = [here.holds(i) & here.holds(j) for i, j in self.model.pairs.T]
        return Chunk(
            logs.astype(np.float32),
            np.concatenate([one, z, hinges]).astype(np.float32),
            np.concatenate([one, z[: self.model.groups.shape[1] - 1]]).astype(np.float32),
            own.astype(np.float32),
            here.lines.astype(np.float32),
            here.coded,
            np.array(both, dtype=np.float32).reshape(len(both), z.shape[1]),
            part,
        )

    def eta(self, model: Shares, chunk: Chunk) -> Single:
        """Log-probabilities up to a number per row: (classes × rows)."""
        classes, width = model.groups.shape[:2]
        amounts = model.groups.reshape(classes * width, -1)
        pulls = amounts[:, self.rows.blocks.line_at].astype(np.float32) @ chunk.lines
        for block in chunk.coded:
            table = np.concatenate([np.zeros((len(amounts), 1)), amounts[:, block.groups]], axis=1).astype(np.float32)
            pulls += table[:, block.codes]
        eta = chunk.logs + model.curve.astype(np.float32) @ chunk.shared
        eta += (model.own[:, None].astype(np.float32) @ chunk.own)[:, 0]
        eta += (pulls.reshape(classes, width, -1) * chunk.along).sum(axis=1)
        return np.asarray(eta + model.crossings.astype(np.float32) @ chunk.both)

    def slope(self, chunk: Chunk, residual: Single) -> Array:
        """Σ residual·feature over the rows of a chunk: (classes × coefficients)."""
        classes, width, groups = self.model.groups.shape
        pulled = (residual[:, None] * chunk.along).reshape(classes * width, -1)
        sums = np.zeros((classes * width, groups))
        sums[:, self.rows.blocks.line_at] = pulled @ chunk.lines.T
        for block in chunk.coded:
            sums[:, block.groups] = block.sums_of_lines(pulled)
        parts = [residual @ chunk.shared.T, (chunk.own @ residual[:, :, None])[:, :, 0]]
        return np.concatenate([*parts, sums.reshape(classes, -1), residual @ chunk.both.T], axis=1).astype(np.float64)

    def evaluate(self, model: Shares) -> tuple[float, Array]:
        """The log loss of all rows, and its gradient; the next fit starts where the last one ended, and need not ask again."""
        if self._last is not None and np.array_equal(self._last[0], model.table):
            return self._last[1:]
        loss, gradient = 0.0, np.zeros(model.table.shape)
        for chunk in self.chunks():
            share, lost = _shares(self.eta(model, chunk), self.rows.codes[chunk.rows])
            weights = self.rows.weights[chunk.rows]
            loss += float(weights @ lost)
            share[self.rows.codes[chunk.rows], np.arange(lost.size)] -= 1
            gradient += self.slope(chunk, share * weights.astype(np.float32))
        self._last = model.table, loss, gradient
        return loss, gradient

    def shares(self, model: Shares) -> Array:
        """Probabilities of every class and row."""
        out = np.empty((len(model.curve), len(self.rows)))
        for chunk in self.chunks():
            out[:, chunk.rows] = _shares(self.eta(model, chunk), self.rows.codes[chunk.rows])[0]
        return out

    def residuals(self, model: Shares) -> Array:
        """w·V of every class and row."""
        out = self.shares(model)
        out[self.rows.codes, np.arange(len(self.rows))] -= 1
        return np.asarray(out * self.rows.weights)

    def curvature(self, model: Shares) -> list[Array]:
        """Σw·p·x·x' of each class, from the first rows scaled up; only the diagonal of groups where there are too many."""
        count = min(len(self.rows), CURVED_ROWS)
        few = model.curve.shape[1] + model.own.shape[1]
        size = model.table.shape[1]
        whole = len(model.curve) * size**2 <= MOST_CURVED
        sums = [np.zeros((size, size) if whole else (few, few)) for _ in model.curve]
        squares = np.zeros(model.table.shape)
        for start in range(0, count, CHUNK):
            chunk = self.chunk(slice(start, min(start + CHUNK, count)))
            share = _shares(self.eta(model, chunk), self.rows.codes[chunk.rows])[0]
            weights = share * self.rows.weights[chunk.rows].astype(np.float32)
            holds = self._lines(chunk) if whole else chunk.lines[:0]
            for k, root in enumerate(np.sqrt(weights)):
                parts = [chunk.shared, chunk.own[k]]
                if whole:
                    parts += [(holds[None] * chunk.along[:, None]).reshape(-1, root.size), chunk.both]
                features = np.concatenate(parts) * root
                sums[k] += features @ features.T
            if not whole:
                classes, width, groups = model.groups.shape
                pulled = (weights[:, None] * chunk.along**2).reshape(classes * width, -1)
                table = np.zeros((classes * width, groups))
                table[:, self.rows.blocks.line_at] = pulled @ chunk.lines.T
                for block in chunk.coded:
                    table[:, block.groups] = block.sums_of_lines(pulled)
                squares[:, few : few + width * groups] += table.reshape(classes, -1)
                squares[:, few + width * groups :] += weights @ chunk.both.T
        scale = len(self.rows) / count
        return [scale * (one if whole else _with_diagonal(one, squares[k, few:])) for k, one in enumerate(sums)]

    def _lines(self, chunk: Chunk) -> Single:
        """All groups as lines, those with codes too."""
        out = np.zeros((self.model.groups.shape[2], chunk.logs.shape[1]), dtype=np.float32)
        out[self.rows.blocks.line_at] = chunk.lines
        for block in chunk.coded:
            out[block.groups] = block.codes == np.arange(1, block.size + 1)[:, None]
        return out


def fit(passes: Passes, start: Shares, ridge: float, curvature: list[Array], free: Free) -> Shares:
    """The coefficients of least log loss plus ridge, from `start`; those that are not free stay."""
    both = np.outer(free, free)
    metric = Metric([np.where(both, block, 0.0) for block in curvature], np.maximum(ridge * start.penalty, passes.guard))
    pull = np.maximum(ridge * start.penalty, passes.guard) * free

    def moved(flat: Array) -> Array:
        return np.asarray(start.table + metric.back(flat.reshape(start.table.shape)))

    def evaluate(flat: Array) -> tuple[float, Array]:
        table = moved(flat)
        loss, gradient = passes.evaluate(start.holding(table))
        return loss + float(np.sum(pull * table**2)) / 2, metric.slope(gradient * free + pull * table).ravel()

    still = np.zeros(start.table.size)
    least = TOLERANCE * still.size / max(len(passes.rows), 1)
    return start.holding(moved(minimum(evaluate, still, steps=STEPS, tolerance=least)))


def _with_diagonal(block: Array, rest: Array) -> Array:
    out = np.zeros((len(block) + rest.size,) * 2)
    out[: len(block), : len(block)] = block
    places = np.arange(len(block), len(out))
    out[places, places] = rest
    return out


def _shares(eta: Single, codes: NDArray[np.intp]) -> tuple[Single, Array]:
    """Probabilities (classes × rows), and the log loss of every row."""
    eta = eta - eta.max(axis=0)
    up = np.exp(eta)
    total = up.sum(axis=0)
    lost = np.log(total) - eta[codes, np.arange(codes.size)]
    return up / total, lost.astype(np.float64)


def slopes_of(model: Shares) -> int:
    """Along how many directions groups may have slopes: all, or as many as there is room for."""
    return min(model.directions.count, max(MOST_SLOPES // max(int(model.groups.shape[2]), 1) - 1, 0))


def crossings_of(passes: Passes, model: Shares) -> NDArray[np.intp]:
    """Pairs of groups whose crossing goes with what is left of some class's V beyond chance."""
    rows, groups = passes.rows, model.groups.shape[2]
    found: dict[tuple[int, int], None] = {}
    known = set(map(tuple, model.pairs.T.tolist()))
    for k, residual in enumerate(passes.residuals(model)):
        base = np.ascontiguousarray(rows.logs[:, k])
        one = LinkRows((rows.codes == k).astype(np.float64), rows.weights, base, rows.membership)
        pairs = screen(Model.new(base, groups), one, residual)
        found |= dict.fromkeys((i, j) for i, j in pairs.T.tolist() if j < groups and (i, j) not in known)
    return np.array(list(found), dtype=np.intp).reshape(-1, 2).T


def directions_of(rows: ClassRows) -> Directions:
    """From at most so many rows as settle it."""
    return Directions.of(rows.logs[:SETTLING], rows.weights[:SETTLING])
