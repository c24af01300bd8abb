"""Rows in memory: labels, predictions and weights as arrays, and the groups of every row."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from multivalid import validate
from multivalid.atoms.response import Response, response
from multivalid.atoms.table import Atoms, build
from multivalid.cells.clusters import ClusterSums, cluster_sums, level_blocks
from multivalid.cells.gather import ChanceTerms
from multivalid.cells.sums import CellSums
from multivalid.cells.tabulate import tabulate_groups, tabulate_terms
from multivalid.errors import InputError
from multivalid.evaluators import Arrays
from multivalid.grid import Grid
from multivalid.groups.family import FittedGroups
from multivalid.groups.membership import Membership
from multivalid.levels import ArrayValues, LevelPolicy
from multivalid.properties.base import Array
from multivalid.sources.laws import Laws, laws_of_rows
from multivalid.sources.marks import holds
from multivalid.sources.totals import Totals

if TYPE_CHECKING:
    from multivalid.properties import Property, Target
    from multivalid.properties.target import Coordinate
    from multivalid.sources.predicting import Predicting, Terms

Index = NDArray[np.intp]
MOMENT, LUCK = "moment ", "chance "  # what the names of these sums begin with


@dataclass(frozen=True)
class MemorySource:
    """Labels, predictions and weights of every row, and the groups it belongs to.

    Attributes
    ----------
    predictions : array (rows,), or (rows, columns) for a target of several coordinates
    groups, membership : the groups, and which rows belong to them
    frame : the frame that the rows came in, if any
    kept : positions of these rows among those given, where they are a part of them (rows without weight are not there, others were held
        out); None for all of them
    given : how many rows were given
    cluster : numbers of clusters whose rows share their luck; None where rows are independent
    """

    labels: Array
    predictions: Array
    weights: Array
    groups: FittedGroups
    membership: Membership
    frame: nw.DataFrame[Any] | None
    kept: Index | None = None
    given: int | None = None
    cluster: Index | None = None

    notes: ClassVar[list[str]] = []  # what was sampled or rounded on the way

    def __len__(self) -> int:
        return int(self.labels.size)

    @property
    def like(self) -> nw.DataFrame[Any] | None:
        """The frame whose kind tables are made in."""
        return self.frame

    @property
    def own_frame(self) -> nw.DataFrame[Any] | None:
        """The rows of the frame that are these."""
        return self.frame if self.frame is None or self.kept is None else self.frame[self.kept]

    # ---- what there is ---------------------------------------------------------------------------------------------
    @cached_property
    def columns(self) -> Array:
        """Predictions as (rows, columns), also for a single column."""
        return self.predictions.reshape(self.labels.size, -1)

    @cached_property
    def totals(self) -> Totals:
        """Of all rows: how many, Σw, Σw², and how far labels and predictions reach."""
        y, p, w = self.labels, self.columns, self.weights
        used = y[w > 0]
        return Totals(
            y.size, float(w.sum()), float(w @ w),
            float(p.min()), float(p.max()), float(y.min()), float(y.max()), float(used.min()), float(used.max()),
            binary=bool(((y == 0) | (y == 1)).all()),
        )  # fmt: skip

    @property
    def ends(self) -> tuple[tuple[float, float], ...]:
        """Least and largest prediction of every column."""
        return tuple((float(column.min()), float(column.max())) for column in self.columns.T)

    def count_outside(self, ends: Sequence[tuple[float, float]]) -> int:
        """How many rows have a prediction outside these ends."""
        low, high = np.array(ends).T
        return int(np.count_nonzero(((self.columns < low) | (self.columns > high)).any(axis=1)))

    def fingerprint(self) -> str:
        """SHA-256 of labels, predictions, weights and groups: equal for equal data."""
        digest = hashlib.sha256()
        for part in (self.labels, self.predictions, self.weights, self.membership.bits):
            digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()

    # ---- levels, cells, laws ---------------------------------------------------------------------------------------
    def levels(self, policy: LevelPolicy) -> tuple[Grid, ...]:
        """Levels of every column of the predictions, as the policy chooses them."""
        weights = None if self._plain else self.weights
        return tuple(policy.choose(ArrayValues(np.ascontiguousarray(column), weights)) for column in self.columns.T)

    def check(self, *grids: Grid) -> None:
        """Refuse predictions outside the grids' ranges."""
        for grid, column in zip(grids, self.columns.T, strict=True):
            values = column
            if self.kept is not None and self.given is not None:  # errors name rows as they were given
                values = np.full(self.given, grid.points[0])
                values[self.kept] = column
            grid.check(values)

    def cells(self, target: Target, grids: Sequence[Grid]) -> tuple[CellSums, ...]:
        """The sums of every coordinate over (place × group), a place being a combination of the levels of all columns."""
        place, places = self.place(grids)
        return tuple(self.coordinate_cells(coordinate, place, places) for coordinate in target.coordinates)

    def laws(self, target: Target, grids: Sequence[Grid]) -> Laws:
        """Γ of the labels of every (place, group) and of every group."""
        return self.laws_at(target, *self.place(grids))

    def laws_at(self, target: Target, place: Index, places: int) -> Laws:
        """Γ solved from the labels at given places of the rows."""
        return laws_of_rows(target, self.labels, self.columns, self.weights, self.membership, place, places)

    def place(self, grids: Sequence[Grid]) -> tuple[Index, int]:
        """The place of every row, and how many places there are."""
        place = grids[0].round(self.columns[:, 0])
        for k, grid in enumerate(grids[1:], 1):
            place = place * len(grid) + grid.round(self.columns[:, k])
        return place, int(np.prod([len(grid) for grid in grids]))

    @cached_property
    def _plain(self) -> bool:
        """Whether every weight is one: rows, weight and squared weight are then the same sum."""
        return bool((self.weights == 1).all())

    def coordinate_cells(self, coordinate: Coordinate, place: Index, places: int) -> CellSums:
        """The sums of one coordinate at given places of the rows."""
        v, said = self.residuals(coordinate), self.columns[:, coordinate.column]
        chance = ChanceTerms.of(
            coordinate, binary=self.totals.of_events, mean_weight=self.totals.weight / max(v.size, 1),
            largest=float(np.abs(v).max(initial=0.0)), ends=(float(said.min(initial=np.inf)), float(said.max(initial=-np.inf))),
        )  # fmt: skip
        found = tabulate_terms(self.membership, place, places, lambda rows: self._terms(coordinate, chance, rows, v[rows]))
        names = [name for name in found if name.startswith(MOMENT)]
        moments = np.stack([found["weight"], *(found.pop(name) for name in names)], axis=2) if names else None
        sums = {name.removeprefix(LUCK): found.pop(name) for name in [*found] if name.startswith(LUCK)}
        tables: dict[str, Any] = found
        return CellSums(**tables, moments=moments).with_chance(chance.law, sums, chance.mean_weight, chance.scale)

    def _terms(self, coordinate: Coordinate, chance: ChanceTerms, rows: slice, v: Array) -> dict[str, Array | None]:
        """Everything that is summed over a run of rows; None where it is 1 in each of them."""
        columns, w, labels = list(self.columns[rows].T), self.weights[rows], self.labels[rows]
        weight = None if self._plain else w
        summed = {"residual": v, "prediction": columns[coordinate.column]}
        if len(columns) == 1:
            found = coordinate.predicted.statistics(Arrays.ops, labels)
            if found is None and (moments := coordinate.predicted.moments(labels)) is not None:
                found = list(moments.T[1:])  # a user's property may know arrays only
            # t_1(y), t_2(y), … where Γ follows from their means.
            if found is not None and coordinate.predicted.solve_moments(np.ones((1, len(found) + 1))) is not None:
                summed |= {f"{MOMENT}{k}": np.ascontiguousarray(column) for k, column in enumerate(found)}
        summed = summed if self._plain else {name: w * column for name, column in summed.items()}
        terms: dict[str, Array | None] = {
            "rows": None if self._plain or bool(w.all()) else (w > 0).astype(np.float64),
            "weight": weight, "squares": None if self._plain else w * w,
            "residual_squares": summed["residual"] * summed["residual"],
        }  # fmt: skip
        terms |= summed
        luck = chance.terms(Arrays.ops, columns, labels, w, v, self._plain)
        return terms | {f"{LUCK}{name}": None if self._plain and term is w else term for name, term in luck.items()}

    def mean_score(self, coordinate: Coordinate) -> float:
        """Mean score of the predictions."""
        score = coordinate.scoring(Arrays.ops, list(self.columns.T), self.labels)
        return float(self.weights @ score / self.weights.sum())

    def clusters(self, coordinate: Coordinate, grid: Grid, sums: CellSums) -> ClusterSums | None:
        """Sums over the clusters of each group, on a few blocks of the levels of this coordinate; None where rows are independent."""
        if self.cluster is None or sums.chance is None:
            return None
        spread = sums.chance["u2q" if "u2q" in sums.chance else "x2"][:, 0]
        block = level_blocks(spread)[grid.round(self.columns[:, coordinate.column])]
        w = self.weights / (self.totals.weight / len(self))
        masks = [self.membership.mask(g) for g in range(self.membership.groups)]
        numbers = np.unique(self.cluster, return_inverse=True)[1].astype(np.intp)  # a selection of rows may leave gaps
        return cluster_sums(numbers, block, masks, w * self.residuals(coordinate) / sums.scale, w)

    def residuals(self, coordinate: Coordinate) -> Array:
        """V of every row; refused where it is not finite."""
        with np.errstate(all="ignore"):
            v = coordinate.residual(Arrays.ops, list(self.columns.T), self.labels)
        bad = np.flatnonzero(~np.isfinite(v))
        if bad.size:
            row = bad[0] if self.kept is None else self.kept[bad[0]]
            raise too_far_out(coordinate, int(bad.size), f"the first at row {row} ({self.columns[bad[0], coordinate.column]:g})")
        return np.asarray(v)

    # ---- atoms, and sums of any kind ---------------------------------------------------------------------------------
    def response(self, prop: Property, grid: Grid) -> Response:
        """How the property answers on the grid for these labels."""
        return response(prop, grid, self.labels)

    def atoms(self, prop: Property, grid: Grid, answer: Response) -> Atoms:
        """Rows that no algorithm can tell apart, bundled."""
        bins, moments = answer.encode(self.labels)
        sums = moments * self.weights[:, None]
        table, row_atom = build(self.membership.by_row(), grid.round(self.predictions), bins, sums, self.membership.groups)
        return Atoms(table, row_atom, *self.score_sums(prop, answer))

    def score_sums(self, prop: Property, answer: Response) -> tuple[float, float]:
        """Σw of the score's constant and of the best possible score."""
        best = prop.score(prop.solve_points(self.labels), self.labels)
        return float(self.weights @ answer.score_constant(self.labels)), float(self.weights @ best)

    def fold(self, kernel: Callable[[MemorySource], Array]) -> Array:
        """What `kernel` makes of all rows; tables that add up, so that an engine may call it batch by batch."""
        return kernel(self)

    def group_sums(self, predictor: Predicting, terms: Terms) -> Array:
        """Σ of every term over the rows of each group: (groups, terms); the terms know what a predictor makes of the rows."""
        made = predictor.predict(self.predictions, self.membership)
        columns = terms(Arrays(), self.predictions, made, self.labels, self.weights)
        sums = tabulate_groups(self.membership, np.zeros(len(self), dtype=np.intp), columns, 1)
        return np.asarray(np.stack(sums, axis=2)[0])

    def largest_residual(self, prop: Property, grid: Grid) -> float:
        """The largest |V| at the outermost levels of any label."""
        return float(np.abs(prop.identify(grid.points[[0, -1], None], self.labels)).max())

    # ---- other rows, other predictions -----------------------------------------------------------------------------
    def take(self, rows: Index) -> MemorySource:
        """A selection of rows."""
        return MemorySource(
            self.labels[rows], self.predictions[rows], self.weights[rows], self.groups, self.membership.take(rows), self.frame,
            kept=rows if self.kept is None else self.kept[rows], given=len(self) if self.given is None else self.given,
            cluster=None if self.cluster is None else self.cluster[rows],
        )  # fmt: skip

    def broken(self, target: Target) -> int:
        """How many rows break the target's constraint."""
        return int(np.count_nonzero(target.breaks(self.columns)))

    def column(self, k: int) -> MemorySource:
        """The same rows with one column of their predictions."""
        return replace(self, predictions=np.ascontiguousarray(self.columns[:, k]))

    def with_predictions(self, predictions: Array) -> MemorySource:
        """The same rows with other predictions."""
        return replace(self, predictions=predictions)

    def detached(self) -> MemorySource:
        """The same rows with labels and weights of their own: those given may be the caller's arrays, and change."""
        return replace(self, labels=self.labels.copy(), weights=self.weights.copy())

    def predicted_by(self, predictor: Predicting, *, beside: bool = False) -> MemorySource:
        """The same rows with the predictions that a predictor makes of theirs; `beside` is for engines, which look at rows seldom."""
        return replace(self, predictions=predictor.predict(self.predictions, self.membership))

    def levels_after(self, predictor: Predicting) -> Index:
        """The level that a predictor takes every row to."""
        return predictor.grid.round(predictor.predict(self.predictions, self.membership))

    def sample(self, rows: int, seed: int) -> tuple[MemorySource, bool]:
        """At most so many rows, and whether they are a random part; in memory there is no need to take fewer."""
        return self, True

    def split(self, holdout: Any, seed: int) -> tuple[MemorySource, MemorySource | None]:
        """Rows to fit and rows to judge on; `holdout` is a share, drawn at random, a mask of the rows given, or a predicate."""
        if holdout is None:
            return self, None
        if isinstance(holdout, str):
            holdout = holds(holdout, None if self.frame is None else self.frame.to_native(), "holdout")
        mask = self._drawn(holdout, seed) if np.ndim(holdout) == 0 else self._masked(np.asarray(holdout))
        kept, out = np.flatnonzero(~mask), np.flatnonzero(mask)
        for part, name in ((kept, "to fit"), (out, "held out")):
            if part.size == 0 or not self.weights[part].any():
                shown = holdout if np.ndim(holdout) == 0 else "mask"
                raise InputError(f"holdout={shown} leaves no rows {name}; there are {len(self)} rows.")
        return self.take(kept), self.take(out)

    def _drawn(self, share: Any, seed: int) -> NDArray[np.bool_]:
        part = validate.fraction(share, "holdout")
        units = np.arange(len(self)) if self.cluster is None else np.unique(self.cluster, return_inverse=True)[1]
        count = int(units.max()) + 1
        drawn = np.zeros(count, dtype=bool)
        drawn[np.random.default_rng(seed).permutation(count)[round(count * (1 - part)) :]] = True
        return np.asarray(drawn[units])  # whole clusters where rows share their luck

    def _masked(self, mask: NDArray[Any]) -> NDArray[np.bool_]:
        rows = len(self) if self.given is None else self.given
        if mask.dtype != np.bool_ or mask.shape != (rows,):
            raise InputError(
                f"holdout must be a share of the rows or {rows} booleans, got an array of {mask.dtype}, shape {mask.shape}."
            )
        return mask if self.kept is None else mask[self.kept]


def too_far_out(coordinate: Coordinate, count: int, where: str) -> InputError:
    """The error for predictions whose residual is no number."""
    return InputError(
        f"y_pred is too far out for {coordinate.predicted!r}: {count} predictions give no finite identification, {where}; "
        f"rescale labels and predictions."
    )
