"""Dates and times as numbers (days, or microseconds, since 1970) and back as text that our language reads."""

from __future__ import annotations

import datetime as dt
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from multivalid.groups.kinds import DATE
from multivalid.lazy_names import narwhals as nw

DAY = 86_400_000_000  # microseconds
_START = dt.datetime(1970, 1, 1)


def instants(series: nw.Series[Any], kind: str) -> NDArray[np.float64]:
    """Days or microseconds since 1970 (times with a zone: the instant in UTC), NaN where missing; exact for 285 years either way."""
    missing = series.is_null().to_numpy().astype(bool)
    if series.dtype == nw.Date:
        series = series.cast(nw.Datetime("us"))
    stamps = series.dt.timestamp("us").fill_null(0)
    values = np.array(stamps.to_numpy(), dtype=np.float64)
    if kind == DATE:
        values = np.floor(values / DAY)
    values[missing] = np.nan
    return values


def instant_text(value: float, kind: str, zone: str | None) -> str:
    """ISO text that a comparison with the column reads back as exactly this instant.

    Examples
    --------
    >>> instant_text(19782.0, "date", None), instant_text(1709247600e6, "datetime", "Europe/Berlin")
    ('2024-02-29', '2024-03-01T00:00:00+01:00')
    """
    if kind == DATE:
        return (_START + dt.timedelta(days=int(value))).date().isoformat()
    when = _START + dt.timedelta(microseconds=int(value))
    if zone is None:
        return when.isoformat()
    return when.replace(tzinfo=dt.UTC).astimezone(ZoneInfo(zone)).isoformat()


def coarsest_unit(values: NDArray[np.float64], kind: str) -> float:
    """The largest of day, hour, minute and second in which values still differ enough to be cut; for dates a day."""
    if kind == DATE:
        return 1.0
    span = float(values.max() - values.min()) if values.size else 0.0
    for unit in (DAY, DAY / 24, DAY / 1440, 1e6):
        if span >= 32 * unit:
            return float(unit)
    return 1.0
