"""The predictions of rows in an engine as their levels are chosen from them: part by part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from multivalid.atoms.names import PREDICTION, WEIGHT
from multivalid.groups.remote import Frame, fetch
from multivalid.levels import ArrayValues, Cut, Histogram, Values
from multivalid.properties.base import Array
from multivalid.sources.engine_sample import draw_rows
from multivalid.sources.totals import Totals

if TYPE_CHECKING:
    from multivalid.sources.engine_rows import EngineRows

LEVEL_ROWS = 500_000  # rows from which the levels of new predictions are chosen, all where there are no more


def values_of(rows: EngineRows) -> Values:
    """The predictions that occur, where they are known; those of a sample, where a predictor makes them; else those of all rows."""
    origin = rows.origin
    if origin is None:
        return EngineValues(rows.frame, rows.totals)
    if origin.occurring is not None:
        return origin.occurring
    sample, _ = draw_rows(origin.source, LEVEL_ROWS, 0)
    return ArrayValues(origin.predictor.predict(sample.predictions, sample.membership), sample.weights)


class EngineValues:
    """The predictions of a lazy frame, looked at part by part."""

    def __init__(self, frame: Frame, totals: Totals) -> None:
        self.frame = frame.select(PREDICTION, WEIGHT).filter(nw.col(WEIGHT) > 0)
        self.totals = totals

    def ends(self, cut: Cut | None = None, part: int = 0) -> tuple[float, float]:
        p = nw.col(PREDICTION)
        if cut is None and self.totals.lowest <= self.totals.highest:
            return self.totals.lowest, self.totals.highest
        frame = self.frame if cut is None else self._inside(cut).filter(_part(cut) == part)
        lo, hi = fetch(frame.select(p.min().alias("a"), p.max().alias("b"))).row(0)
        return float(lo), float(hi)

    def histogram(self, cut: Cut) -> Histogram:
        counted = self._inside(cut).select(_part(cut).alias("part"), WEIGHT).group_by("part")
        found = fetch(counted.agg(nw.len().alias("rows"), nw.col(WEIGHT).sum()))
        part, rows, weight = (np.asarray(found[name].to_numpy()) for name in ("part", "rows", WEIGHT))
        order = np.argsort(part)
        return Histogram(part[order].astype(np.intp), rows[order].astype(np.float64), weight[order].astype(np.float64))

    def distinct(self, most: int) -> Array | None:
        found = fetch(self.frame.select(PREDICTION).unique().head(most + 1))[PREDICTION].to_numpy()
        return np.unique(np.asarray(found, dtype=np.float64)) if len(found) <= most else None

    def listed(self, cut: Cut, parts: Any) -> tuple[Array, Array]:
        kept = self._inside(cut).filter(_part(cut).is_in([int(part) for part in parts]))
        found = fetch(kept.group_by(PREDICTION).agg(nw.col(WEIGHT).sum()))
        return tuple(np.asarray(found[name].to_numpy(), dtype=np.float64) for name in (PREDICTION, WEIGHT))  # type: ignore[return-value]

    def _inside(self, cut: Cut) -> Any:
        p = nw.col(PREDICTION)
        whole = cut.lo <= self.totals.lowest and cut.hi >= self.totals.highest
        return self.frame if whole else self.frame.filter((p >= cut.lo) & (p <= cut.hi))


def _part(cut: Cut) -> nw.Expr:
    """The part of every value inside the cut."""
    part = ((nw.col(PREDICTION) - cut.lo) * cut.scale).floor()
    return nw.when(part < cut.parts - 1).then(part).otherwise(nw.lit(float(cut.parts - 1))).cast(nw.Int64)
