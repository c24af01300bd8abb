"""Rows that stay in their engine: the same verbs as in memory, answered by queries whose results are small."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals as nw
import numpy as np

from multivalid.atoms.partitions import fold, rows_of
from multivalid.atoms.response import Response, response
from multivalid.atoms.summary import LABEL, PREDICTION, WEIGHT
from multivalid.atoms.table import Atoms
from multivalid.cells.clusters import ClusterSums
from multivalid.cells.gather import ChanceTerms
from multivalid.cells.sums import CellSums
from multivalid.errors import InputError
from multivalid.grid import Grid
from multivalid.groups.family import FittedGroups
from multivalid.groups.remote import Frame, draw, fetch, schema_of
from multivalid.levels import ArrayValues, LevelPolicy
from multivalid.properties import Property
from multivalid.properties.base import Array
from multivalid.properties.ops import expressions
from multivalid.sources.bundling import Grouped, bundle
from multivalid.sources.draws import Side
from multivalid.sources.engine_atoms import bundled_atoms, score_sums
from multivalid.sources.engine_laws import largest_residual, laws_of
from multivalid.sources.engine_tables import BEFORE, tabulate_cells, tabulate_terms
from multivalid.sources.engine_units import sums_of_clusters
from multivalid.sources.engine_values import EngineValues
from multivalid.sources.guesses import Guesses
from multivalid.sources.holdout import held_out
from multivalid.sources.joined import joined
from multivalid.sources.laws import Laws
from multivalid.sources.looked_up import Lines
from multivalid.sources.memory import MemorySource, too_far_out
from multivalid.sources.passing_rows import Copies, OutOfCopies, OutOfEngine, Passing
from multivalid.sources.sets import Asked, tabulate_sets
from multivalid.sources.totals import Totals

if TYPE_CHECKING:
    from multivalid.properties import Target
    from multivalid.properties.target import Coordinate
    from multivalid.sources.predicting import Predicting, Terms

LEVEL_ROWS = 1_000_000  # rows from which the levels of new predictions are chosen, all where there are no more


class Marked(NamedTuple):
    """Which rows are held out, and the totals of the others and of these."""

    holdout: str
    fitted: Totals
    held: Totals


class Origin(NamedTuple):
    """The rows with their own predictions, who made others of them, and whether the cells of both are wanted."""

    source: EngineSource
    predictor: Predicting
    beside: bool


@dataclass(frozen=True)
class EngineSource:
    """Columns of a lazy frame under fixed names, the groups fitted on it, and its totals."""

    frame: Frame
    groups: FittedGroups
    totals: Totals
    patterns: int | None = None  # how many combinations of groups there are, where that is known
    crowded: bool = False  # there are too many combinations of values of the columns that the groups use
    guesses: Guesses | None = field(default=None, compare=False)  # made for all rows, where these are a part of them
    occurring: ArrayValues | None = field(default=None, compare=False)  # the predictions and their weight, where they are known
    notes: list[str] = field(default_factory=list, compare=False)
    plain: bool = False  # every weight is one
    cluster: str | None = None  # the frame has a column of clusters, whose rows share their luck
    marked: Marked | None = None  # which rows are held out, where that was asked when they were opened
    lines: Lines | None = field(
        default=None, compare=False
    )  # what is looked up for the groups of a row, by keys that the frame has
    side: Side | None = field(default=None, compare=False)  # whether these are the rows to fit or those held out
    origin: Origin | None = field(default=None, compare=False)  # the rows and the predictor that these predictions come from
    remembered: dict[Any, CellSums] = field(default_factory=dict, compare=False)  # cells that were counted already
    copies: Copies = field(default_factory=dict, compare=False)  # of the rows, by whether they are held out, where made

    def __len__(self) -> int:
        return self.totals.rows

    @property
    def like(self) -> None:
        """None: tables are small and come as frames in memory."""
        return None

    @cached_property
    def _guesses(self) -> Guesses:
        return self.guesses if self.guesses is not None else Guesses(self.frame, len(self))

    @property
    def combinations(self) -> float:
        """About how many combinations of values of the groups' columns there are."""
        return math.inf if self.crowded else self._guesses.combinations(self.groups.columns)

    @property
    def likely(self) -> float:
        """About how many combinations of groups there are."""
        return self._guesses.patterns(self.groups)

    def tabulate(self, *asked: Asked) -> list[Array]:
        """Σ of every term over the rows of each (number, group), one table for each; see `tabulate_sets`."""
        return tabulate_sets(self.frame, self.groups, asked, self._guesses.combinations, len(self), self.lines)

    @property
    def flags(self) -> list[nw.Expr]:
        """One boolean expression per group but everyone."""
        return self.groups.expressions(schema_of(self.frame))[1:]

    @property
    def ends(self) -> tuple[tuple[float, float], ...]:
        """Least and largest prediction."""
        return ((self.totals.lowest, self.totals.highest),)

    def count_outside(self, ends: Sequence[tuple[float, float]]) -> int:
        """How many rows have a prediction outside these ends."""
        ((low, high),) = ends
        if self.totals.lowest >= low and self.totals.highest <= high:
            return 0
        outside = (nw.col(PREDICTION) < low) | (nw.col(PREDICTION) > high)
        return int(fetch(self.frame.select(outside.cast(nw.Int64).sum().alias("n")))["n"].item() or 0)

    def fingerprint(self) -> None:
        """None: single rows are never seen."""
        return

    def levels(self, policy: LevelPolicy) -> tuple[Grid, ...]:
        """Levels of the predictions, as the policy chooses them; from a sample where a predictor makes them and rows are many."""
        if self.occurring is None and self.origin is not None:
            rows, _ = self.origin.source.sample(LEVEL_ROWS, 0)
            made = self.origin.predictor.predict(rows.predictions, rows.membership)
            return (policy.choose(ArrayValues(made, rows.weights)),)
        return (policy.choose(EngineValues(self.frame, self.totals) if self.occurring is None else self.occurring),)

    def cells(self, target: Target, grids: Sequence[Grid]) -> tuple[CellSums, ...]:
        """The sums of the coordinate over (level × group)."""
        coordinate, grid = target.coordinates[0], grids[0]
        known = (repr(coordinate.predicted), grid.points.tobytes(), grid.boundaries.tobytes())
        if known not in self.remembered:
            self.remembered[known], *before = tabulate_cells(self, coordinate, grid)
            if before and self.origin is not None:
                self.origin.source.remembered[known] = before[0]
        made = self.remembered[known]
        if not np.isfinite(made.residual).all():
            self._refuse(coordinate)
        return (made,)

    def clusters(self, coordinate: Coordinate, grid: Grid, sums: CellSums) -> ClusterSums | None:
        """Sums over the clusters of each group, on a few blocks of the levels; None where rows are independent."""
        if self.cluster is None or sums.chance is None:
            return None
        return sums_of_clusters(self, coordinate, grid, sums)

    def chance(self, coordinate: Coordinate) -> ChanceTerms:
        """What is known of V when predictions are right, and the units of its sums."""
        ends = [self.totals.least, self.totals.most, self.totals.lowest, self.totals.highest]
        largest = max((abs(end) for end in ends if math.isfinite(end)), default=1.0)
        mean_weight, said = self.totals.weight / max(len(self), 1), (self.totals.lowest, self.totals.highest)
        return ChanceTerms.of(coordinate, binary=self.totals.of_events, mean_weight=mean_weight, largest=largest, ends=said)

    def mean_score(self, coordinate: Coordinate) -> float:
        """Mean score of the predictions, by a pass of its own."""
        w = nw.col(WEIGHT)
        score = coordinate.scoring(expressions(), [nw.col(PREDICTION)], nw.col(LABEL))
        return float(fetch(self.frame.select((w * score).sum().alias("s")))["s"].item() / self.totals.weight)

    def laws(self, target: Target, grids: Sequence[Grid]) -> Laws:
        """Γ of the labels of every (level, group) and of every group, with a note where that is not exact."""
        return laws_of(self, target.coordinates[0].predicted, grids[0])

    # ---- other rows, other predictions -----------------------------------------------------------------------------
    def on(self, frame: Frame) -> EngineSource:
        """The same rows with further columns."""
        return replace(self, frame=frame)

    def having(self, side: Side, totals: Totals, holdout: Any, name: str) -> EngineSource:
        """The rows to fit, or those held out, whose totals are known."""
        if totals.weight == 0:
            raise InputError(f"holdout={holdout!r} leaves no rows {name}; there are {len(self)} rows.")
        copies = {side.held: self.copies[side.held]} if side.held in self.copies else {}
        frame = self.frame.filter(side.condition)
        return replace(self, frame=frame, totals=totals, marked=None, side=side, remembered={}, copies=copies)

    def predicting(self, frame: Frame) -> EngineSource:
        """The same rows with other predictions, whose ends are not known; `frame` carries them under the fixed name."""
        totals = replace(self.totals, lowest=math.nan, highest=math.nan)
        return replace(self, frame=frame, totals=totals, occurring=None, origin=None, remembered={}, copies={})

    with_predictions = predicting

    def detached(self) -> EngineSource:
        """These rows: nobody holds an array of them."""
        return self

    def predicted_by(self, predictor: Predicting, *, beside: bool = False) -> EngineSource:
        """The same rows with the predictions that a predictor makes of theirs.

        With `beside`, whoever asks for the cells of the new predictions has those of the old ones, on the same levels, counted by the
        same look at the rows; they are remembered here.
        """
        frame = self.frame.with_columns(nw.col(PREDICTION).alias(BEFORE)) if beside else self.frame
        made, occurring = self.made(frame, predictor, PREDICTION)
        known = self.predicting(made)
        ends = (math.nan, math.nan) if occurring is None else occurring.ends()
        return replace(
            known, totals=replace(self.totals, lowest=ends[0], highest=ends[1]), occurring=occurring,
            origin=Origin(self, predictor, beside),
        )  # fmt: skip

    def made(self, frame: Frame, predictor: Predicting, output: str) -> tuple[Frame, ArrayValues | None]:
        """A frame of these rows with what a predictor makes of them, and which predictions occur, where that is known."""
        found = joined(frame, self.groups, predictor, self._guesses.combinations, output)
        if found is not None:
            return found.frame, found.occurring
        return predictor.on_frame(frame, self.groups, output, self.lines), None

    def levels_after(self, predictor: Predicting) -> None:
        """None: single rows are never seen."""
        return

    def split(self, holdout: Any, seed: int) -> tuple[EngineSource, EngineSource | None]:
        """Rows to fit and rows to judge on; `holdout` is a predicate, a boolean column, or a share."""
        return held_out(self, holdout, seed)

    def column(self, k: int) -> EngineSource:
        """Itself: rows that stay in an engine have one column of predictions."""
        return self

    def sample(self, rows: int, seed: int) -> tuple[MemorySource, bool]:
        """About so many rows in memory, all where there are no more, and whether they were drawn at random."""
        rows_passing = self.passing()
        if isinstance(rows_passing, OutOfCopies):
            return rows_passing.sample(self.groups, rows, seed), True
        needed = list(dict.fromkeys([LABEL, PREDICTION, WEIGHT, *self.groups.columns]))
        shared = None if self.side is None else self.side.draws.draw(needed, rows, len(self), self.side.held, seed)
        drawn, at_random = shared or draw(self.frame.select(needed), rows, len(self), seed)
        return rows_of(drawn, self.groups), at_random

    def passing(self) -> Passing | None:
        """The rows as they pass by; None where they cannot."""
        if self.lines is None or not self.lines.by_code:
            return None
        if self.copies:
            return OutOfCopies(list(self.copies.values()), self.lines)
        known = self.frame.implementation
        return OutOfEngine(self.frame, self.lines, plain=self.plain) if known.is_duckdb() or known.is_polars() else None

    def check(self, *grids: Grid) -> None:
        """Refuse predictions outside the grid's range."""
        (grid,) = grids
        if self.totals.lowest < grid.lo or self.totals.highest > grid.hi:
            raise InputError(
                f"y_pred must lie in the grid's range [{grid.lo:g}, {grid.hi:g}], but it goes from {self.totals.lowest:g} to "
                f"{self.totals.highest:g}; give a grid that covers it, or leave grid=None."
            )

    # ---- atoms -----------------------------------------------------------------------------------------------------
    def grouped(self, numbers: Sequence[tuple[nw.Expr, int]], sums: Sequence[nw.Expr], *, labels: bool = False) -> Grouped:
        """See `bundle`."""
        return bundle(self, numbers, sums, labels=labels)

    def response(self, prop: Property, grid: Grid) -> Response:
        """How the property answers on the grid; by sums of moments, or the property was refused."""
        return response(prop, grid, np.array([self.totals.least, self.totals.most]))

    def atoms(self, prop: Property, grid: Grid, answer: Response) -> Atoms:
        """Rows that no algorithm can tell apart, bundled by the engine."""
        return bundled_atoms(self, prop, grid, answer)

    def score_sums(self, prop: Property, answer: Response) -> tuple[float, float]:
        """Σw of the score's constant and of the best possible score, by a pass of their own."""
        return score_sums(self.frame, prop, answer)

    def fold(self, kernel: Callable[[MemorySource], Array]) -> Array:
        """The sum of what `kernel` makes of batches of rows that pass by."""
        return fold(self.frame, self.groups, kernel)

    def group_sums(self, predictor: Predicting, terms: Terms) -> Array:
        """Σ of every term over the rows of each group: (groups, terms); the terms know what a predictor makes of the rows."""
        return tabulate_terms(self, predictor, terms)

    def largest_residual(self, prop: Property, grid: Grid) -> float:
        """The largest |V| at the outermost levels of any label."""
        return largest_residual(self, prop, grid)

    def _refuse(self, coordinate: Any) -> None:
        v = coordinate.residual(expressions(), [nw.col(PREDICTION)], nw.col(LABEL))
        bad = nw.when(v.is_finite()).then(0).otherwise(1).sum()
        count, lowest, highest = fetch(
            self.frame.select(bad.alias("n"), nw.col(PREDICTION).min().alias("a"), nw.col(PREDICTION).max().alias("b"))
        ).row(0)
        raise too_far_out(coordinate, int(count), f"which go from {lowest:g} to {highest:g}")
