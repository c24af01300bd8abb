"""Rows that stay in their engine, and parts of them: other predictions, rows to fit and rows to judge on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import narwhals as nw

from multivalid.atoms.names import BEFORE, PREDICTION
from multivalid.groups.family import FittedGroups
from multivalid.groups.remote import Frame, fetch
from multivalid.sources.holdout import held_out
from multivalid.sources.joined import add_predictions
from multivalid.sources.passing_rows import Copies, OutOfCopies, OutOfEngine, Passing
from multivalid.sources.predicting import Origin, Predicting
from multivalid.sources.totals import Totals

if TYPE_CHECKING:
    from multivalid.cells.sums import CellSums
    from multivalid.sources.guesses import Guesses
    from multivalid.sources.looked_up import Lines
    from multivalid.sources.sides import Marked, Side


@dataclass(frozen=True)
class EngineRows:
    """Columns of a lazy frame under fixed names, the groups fitted on it, and its totals.

    Attributes
    ----------
    guesses : how many combinations of values and of groups there are, made for all rows where these are a part of them
    plain : every weight is one
    cluster : the column of clusters, whose rows share their luck
    lines : what is looked up for the groups of a row, by keys that the frame has
    marked : which rows are held out, where that was asked when they were opened
    side : whether these are the rows to fit or those held out
    origin : the rows and the predictor that these predictions come from
    remembered : cells that were counted already
    copies : of the rows, by whether they are held out, where made
    """

    frame: Frame
    groups: FittedGroups
    totals: Totals
    guesses: Guesses = field(compare=False)
    plain: bool = False
    cluster: str | None = None
    lines: Lines | None = field(default=None, compare=False)
    marked: Marked | None = None
    side: Side | None = field(default=None, compare=False)
    origin: Origin | None = field(default=None, compare=False)
    remembered: dict[Any, CellSums] = field(default_factory=dict, compare=False)
    copies: Copies = field(default_factory=dict, compare=False)
    notes: list[str] = field(default_factory=list, compare=False)

    def __len__(self) -> int:
        return self.totals.rows

    @property
    def like(self) -> None:
        """None: tables are small and come as frames in memory."""
        return None

    @property
    def ends(self) -> tuple[tuple[float, float], ...]:
        """Least and largest prediction."""
        return ((self.totals.lowest, self.totals.highest),)

    @property
    def copied(self) -> bool:
        """Whether a sample of these rows costs little, and so does another."""
        return bool(self.copies)

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

    def levels_after(self, predictor: Predicting) -> None:
        """None: single rows are never seen."""
        return

    def passing(self) -> Passing | None:
        """The rows as they pass by; None where they cannot."""
        if self.lines is None or not self.lines.by_code:
            return None
        if self.copies:
            return OutOfCopies([copied for side in self.copies.values() for copied in side], self.lines)
        known = self.frame.implementation
        return OutOfEngine(self.frame, self.lines, plain=self.plain) if known.is_duckdb() or known.is_polars() else None

    # ---- other rows, other predictions -----------------------------------------------------------------------------
    def split(self, holdout: Any, seed: int) -> tuple[Self, Self | None]:
        """Rows to fit and rows to judge on; `holdout` is a predicate, a boolean column, or a share."""
        return held_out(self, holdout, seed)

    def column(self, k: int) -> Self:
        """Itself: rows that stay in an engine have one column of predictions."""
        return self

    def detached(self) -> Self:
        """These rows: nobody holds an array of them."""
        return self

    def with_predictions(self, frame: Frame) -> Self:
        """The same rows with other predictions, whose ends are not known; `frame` carries them under the fixed name."""
        totals = replace(self.totals, lowest=math.nan, highest=math.nan)
        return replace(self, frame=frame, totals=totals, origin=None, remembered={}, copies={})

    def predicted_by(self, predictor: Predicting, *, beside: bool = False) -> Self:
        """The same rows with the predictions that a predictor makes of theirs.

        With `beside`, whoever asks for the cells of the new predictions has those of the old ones, on the same levels, counted by the
        same look at the rows; they are remembered here.
        """
        frame = self.frame.with_columns(nw.col(PREDICTION).alias(BEFORE)) if beside else self.frame
        made = add_predictions(self, frame, predictor)
        lowest, highest = (math.nan, math.nan) if made.occurring is None else made.occurring.ends()
        known = self.with_predictions(made.frame)
        totals = replace(self.totals, lowest=lowest, highest=highest)
        return replace(known, totals=totals, origin=Origin(self, predictor, beside, made.occurring))
