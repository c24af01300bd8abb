"""Rows in memory, and parts of them: some rows, other predictions, rows to fit and rows to judge on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from multivalid import validate
from multivalid.errors import InputError
from multivalid.grid import Grid
from multivalid.groups.family import FittedGroups
from multivalid.groups.membership import Membership
from multivalid.properties.base import Array
from multivalid.sources.marks import holds
from multivalid.sources.totals import Totals

if TYPE_CHECKING:
    from multivalid.properties import Target
    from multivalid.sources.predicting import Predicting

Index = NDArray[np.intp]


@dataclass(frozen=True)
class MemoryRows:
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
    copied: ClassVar[bool] = False  # see `EngineRows`

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

    def check(self, *grids: Grid) -> None:
        """Refuse predictions outside the grids' ranges."""
        for grid, column in zip(grids, self.columns.T, strict=True):
            values = column
            if self.kept is not None and self.given is not None:  # errors name rows as they were given
                values = np.full(self.given, grid.points[0])
                values[self.kept] = column
            grid.check(values)

    # ---- other rows, other predictions -----------------------------------------------------------------------------
    def take(self, rows: Index) -> Self:
        """A selection of rows."""
        return type(self)(
            self.labels[rows], self.predictions[rows], self.weights[rows], self.groups, self.membership.take(rows), self.frame,
            kept=rows if self.kept is None else self.kept[rows], given=len(self) if self.given is None else self.given,
            cluster=None if self.cluster is None else self.cluster[rows],
        )  # fmt: skip

    def broken(self, target: Target) -> int:
        """How many rows break the target's constraint."""
        return int(np.count_nonzero(target.breaks(self.columns)))

    def column(self, k: int) -> Self:
        """The same rows with one column of their predictions."""
        return replace(self, predictions=np.ascontiguousarray(self.columns[:, k]))

    def with_predictions(self, predictions: Array) -> Self:
        """The same rows with other predictions."""
        return replace(self, predictions=predictions)

    def detached(self) -> Self:
        """The same rows with labels and weights of their own: those given may be the caller's arrays, and change."""
        return replace(self, labels=self.labels.copy(), weights=self.weights.copy())

    def predicted_by(self, predictor: Predicting, *, beside: bool = False) -> Self:
        """The same rows with the predictions that a predictor makes of theirs; `beside` is for engines, which look at rows seldom."""
        return replace(self, predictions=predictor.predict(self.predictions, self.membership))

    def levels_after(self, predictor: Predicting) -> Index:
        """The level that a predictor takes every row to."""
        return predictor.grid.round(predictor.predict(self.predictions, self.membership))

    # ---- rows to fit and rows to judge on ------------------------------------------------------------------------------
    def sample(self, rows: int, seed: int) -> tuple[Self, bool]:
        """At most so many rows, and whether they are a random part; in memory there is no need to take fewer."""
        return self, True

    def split(self, holdout: Any, seed: int) -> tuple[Self, Self | None]:
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
