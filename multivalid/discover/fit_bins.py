"""Choosing the bins of a column: edges at round numbers with about equal shares, a bin of its own for a value that many rows have."""

from __future__ import annotations

import datetime as dt
from typing import Any
from zoneinfo import ZoneInfo

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from multivalid.discover.bins import Bins, Categories, Ordered
from multivalid.discover.instants import DAY, coarsest_unit, instants
from multivalid.discover.rounding import shortest_between
from multivalid.groups.frames import numbers, text_values
from multivalid.groups.kinds import BOOLEAN, DATETIME, NUMBER, TEXT, kind_of_dtype

Values = NDArray[np.float64]
PROBE = 100_000  # rows that settle the edges
FEWEST = 20  # rows of a category that gets a code of its own
SAME_EVERYWHERE = "has the same value in every row"
IDENTIFIERS = 0.5  # distinct values per row from which on a text is taken for an identifier


def fit_bins(series: nw.Series[Any], most: int) -> Bins | str:
    """The bins of a column, or why it can tell nothing."""
    kind = kind_of_dtype(series.dtype)
    if kind is None:
        return f"has type {series.dtype}, in which groups are not searched; convert it to numbers, strings, booleans or dates"
    if kind == BOOLEAN:
        return _not_constant(Categories(series.name, kind, _booleans(series)), series)
    if kind == TEXT:
        return _fit_text(series, most)
    return _fit_ordered(series, kind, most)


def _not_constant(bins: Bins, series: nw.Series[Any]) -> Bins | str:
    codes = bins.codes(series)
    return SAME_EVERYWHERE if codes.size and codes.min() == codes.max() else bins


def _booleans(series: nw.Series[Any]) -> tuple[bool, ...]:
    flags = series.drop_nulls().to_numpy().astype(bool)
    return tuple(value for value in (False, True) if (flags == value).any())


def _fit_text(series: nw.Series[Any], most: int) -> Bins | str:
    present = text_values(series.drop_nulls())
    counted = present.value_counts(sort=True, name=f"{present.name} rows")
    names, often = counted.columns[0], np.asarray(counted[counted.columns[1]].to_numpy())
    if often.size > max(IDENTIFIERS * len(present), most):
        return f"has {often.size:,} different values in {len(present):,} rows, as identifiers do"
    kept = int(np.count_nonzero(often[:most] >= min(FEWEST, often[0] if often.size else 0)))
    if kept + (kept < often.size) + (len(present) < len(series)) < 2:
        return SAME_EVERYWHERE
    return Categories(series.name, TEXT, tuple(sorted(str(value) for value in counted[names].to_list()[:kept])))


def _fit_ordered(series: nw.Series[Any], kind: str, most: int) -> Bins | str:
    values = numbers(series) if kind == NUMBER else instants(series, kind)
    whole = series.dtype.is_integer() or kind != NUMBER
    zone = getattr(series.dtype, "time_zone", None) if kind == DATETIME else None
    seen = np.sort(values[np.isfinite(values)])
    if seen.size > PROBE:  # evenly spaced order statistics: the same quantiles, and both ends
        seen = seen[np.linspace(0, seen.size - 1, PROBE).astype(np.intp)]
    edges = fit_edges(seen, most, whole)
    if kind == DATETIME and edges.size:
        edges = np.unique([_start_of(edge, coarsest_unit(seen, kind), zone) for edge in edges])
        edges = edges[edges > seen[0]]
    return _not_constant(Ordered(series.name, kind, tuple(edges.tolist()), whole, zone), series)


def fit_edges(values: Values, most: int, whole: bool) -> Values:
    """Where sorted values are cut: at most `most` edges."""
    if not values.size:
        return np.zeros(0)
    starts = np.flatnonzero(np.diff(values, prepend=-np.inf))
    distinct, counts = values[starts], np.diff(starts, append=values.size)
    if distinct.size <= most:
        return np.array([_between(distinct[k - 1], distinct[k], whole) for k in range(1, distinct.size)])
    wanted = most
    while True:
        edges = _cut(values, distinct, counts, wanted, whole)
        if edges.size <= most:
            return edges
        wanted = wanted * most // (edges.size + 1)


def _cut(values: Values, distinct: Values, counts: NDArray[np.intp], bins: int, whole: bool) -> Values:
    rows = values.size
    heavy = distinct[counts >= 1.5 * rows / bins]
    ranks = np.arange(1, bins) / bins * (rows - 1)
    slack = rows / bins / 4
    low, high = values[np.floor(ranks - slack).astype(np.intp)], values[np.ceil(ranks + slack).astype(np.intp)]
    found = {_between(a, b, whole) for a, b in zip(low, high, strict=True) if a < b and not _holds(heavy, a, b)}
    found |= set(heavy.tolist()) | {float(v + 1 if whole else np.nextafter(v, np.inf)) for v in heavy}
    edges = np.array(sorted(found))
    inside: Values = edges[(edges > distinct[0]) & (edges <= distinct[-1])]
    return inside


def _holds(heavy: Values, low: float, high: float) -> bool:
    """Whether a frequent value lies here, which has edges of its own."""
    return bool(heavy.size) and bool(((heavy >= low) & (heavy <= high)).any())


def _between(low: float, high: float, whole: bool) -> float:
    edge = shortest_between(float(low), float(high))
    return float(np.ceil(edge)) if whole and np.ceil(edge) <= high else edge


def _start_of(edge: float, unit: float, zone: str | None) -> float:
    """The start of the day, hour, … of an instant, days by the clock of the column's own zone."""
    if zone is None or unit < DAY:
        return float(np.floor(edge / unit) * unit)
    local = (dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=edge)).astimezone(ZoneInfo(zone))
    midnight = local.replace(hour=0, minute=0, second=0, microsecond=0)
    return float(round(midnight.timestamp()) * 1e6)
