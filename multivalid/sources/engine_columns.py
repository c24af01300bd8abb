"""Predictions of several columns that stay in their engine: the same rows and groups, with one column of predictions after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from multivalid.atoms.frames import unknown
from multivalid.errors import InputError
from multivalid.groups.family import FittedGroups
from multivalid.groups.remote import Frame, fetch
from multivalid.properties.ops import expressions
from multivalid.sources.engine import EngineSource
from multivalid.sources.engine_opening import open_engine
from multivalid.sources.totals import Totals

if TYPE_CHECKING:
    from multivalid.cells.sums import CellSums
    from multivalid.grid import Grid
    from multivalid.properties import Target
    from multivalid.properties.target import Coordinate

CODE = "__mv_code"


@dataclass(frozen=True)
class EngineColumns:
    """One source per column; `breaking` is how many rows break the target's constraint."""

    parts: tuple[EngineSource, ...]
    breaking: int

    def __len__(self) -> int:
        return len(self.parts[0])

    @property
    def groups(self) -> FittedGroups:
        """Who is looked at."""
        return self.parts[0].groups

    @property
    def totals(self) -> Totals:
        """Of the rows, with the ends of the first column."""
        return self.parts[0].totals

    @property
    def like(self) -> None:
        """None: tables are small and come as frames in memory."""
        return None

    def fingerprint(self) -> None:
        """None: single rows are never seen."""
        return

    @property
    def notes(self) -> list[str]:
        """What is to be said of the rows."""
        return self.parts[0].notes

    cluster = None

    def clusters(self, coordinate: Coordinate, grid: Grid, sums: CellSums) -> None:
        """None: clusters are for rows in memory."""
        return

    def mean_score(self, coordinate: Coordinate) -> float:
        """Mean score of one column, by a pass of its own."""
        return self.parts[coordinate.column].mean_score(coordinate.predicted.coordinates[0])

    def broken(self, target: Target) -> int:
        """How many rows break the target's constraint."""
        return self.breaking

    def column(self, k: int) -> EngineSource:
        """The rows with one column of predictions."""
        return self.parts[k]


def open_columns(y_true: Any, y_pred: Any, *, groups: Any, frame: Frame, sample_weight: Any, target: Target) -> EngineColumns:
    """Check all columns, fit the groups once, and keep everything where it is."""
    width = len(target.coordinates)
    if isinstance(y_pred, str) or not isinstance(y_pred, (list, tuple)) or len(y_pred) != width:
        raise InputError(
            f"y_pred must name {width} columns of the lazy frame, one for each of {', '.join(target.keys)}, got {y_pred!r}."
        )
    coded = frame
    if target.names_labels:
        names = frame.collect_schema().names()
        if y_true not in names:
            raise unknown(y_true, names, "y_true")
        coded = frame.with_columns(target.label_code(expressions(), nw.col(y_true)).alias(CODE))
    parts: list[EngineSource] = []
    for column in y_pred:
        known = parts[0].groups if parts else groups
        label = CODE if target.names_labels else y_true
        parts.append(open_engine(label, column, groups=known, frame=coded, sample_weight=sample_weight))
    if target.names_labels and parts[0].totals.least < 0:
        raise _unknown_label(parts[0].frame, y_true, target)
    target.check_ends([(part.totals.lowest, part.totals.highest) for part in parts])
    columns = [nw.col(name).cast(nw.Float64) for name in y_pred]
    broken = expressions().number(target.breaking(expressions(), columns)).sum()
    return EngineColumns(tuple(parts), int(fetch(parts[0].frame.select(broken.alias("broken")))["broken"].item() or 0))


def _unknown_label(frame: Frame, y_true: str, target: Target) -> InputError:
    strange = frame.filter(nw.col(CODE) < 0)
    count = fetch(strange.select(nw.len().alias("n")))["n"].item()
    first = np.asarray(fetch(strange.select(nw.col(y_true)).head(1))[y_true].to_list(), dtype=object)[0]
    return InputError(
        f"y_true must hold one of the classes {', '.join(target.keys)}: {count} rows of {y_true!r} do not, {first!r:.60} for one; add it "
        f"to the classes, or leave those rows out."
    )
