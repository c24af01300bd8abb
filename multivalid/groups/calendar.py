"""Parts of a date or a time by which rows are grouped: year, month, weekday, hour."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from multivalid.lazy_names import narwhals as nw

FEW = 1000  # possible values that may all become groups, without any data
_HOUR = 3_600_000_000  # microseconds
_FROM_YEAR_ONE = 719_162 * 24 * _HOUR  # to 1970, so that nothing is negative, which engines divide differently


@dataclass(frozen=True)
class CalendarPart:
    """A whole number that a date or a time has, from `least` to `most`, and the names that people know its values by, if any."""

    name: str
    least: int
    most: int
    names: tuple[str, ...] = ()

    @property
    def every(self) -> tuple[int, ...] | None:
        """All possible values, where these are few."""
        return tuple(range(self.least, self.most + 1)) if self.most - self.least < FEW else None

    def shown(self, value: int) -> str:
        """A value as people say it.

        Examples
        --------
        >>> PARTS["weekday"].shown(1), PARTS["hour"].shown(9)
        ('Monday', '9')
        """
        return self.names[value - 1] if self.names else str(value)

    def number(self, name: str) -> int | None:
        """The value that is known by this name, None when there is none."""
        return self.names.index(name) + 1 if name in self.names else None

    def of(self, when: dt.date) -> int:
        """The part of one date or time."""
        number: int = when.isoweekday() if self.name == "weekday" else getattr(when, self.name)
        return number

    def expression(self, column: nw.Expr, dtype: nw.dtypes.DType) -> nw.Expr:
        """The part as an expression in float64 (pandas has no other numbers with gaps), null or NaN where the column is null."""
        from multivalid.groups.engine_times import Instant, Nanoseconds

        if isinstance(dtype, Instant):
            # Asked directly, the engine would answer in the zone of the machine; hours since the year 1 have no zone.
            hours = (column.dt.total_microseconds() + _FROM_YEAR_ONE) // _HOUR
            column = nw.lit(dt.datetime(1, 1, 1)) + hours * nw.lit(dt.timedelta(hours=1))
        elif isinstance(dtype, Nanoseconds):
            near = column.cast(nw.Datetime("us"))
            column = nw.when(near > column).then(near - dt.timedelta(microseconds=1)).otherwise(near)
        number: nw.Expr = getattr(column.dt, self.name)()
        return number / 1


_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
PARTS = {
    part.name: part
    for part in (
        CalendarPart("year", -(2**31), 2**31),
        CalendarPart("month", 1, 12, _MONTHS),
        CalendarPart("weekday", 1, 7, _WEEKDAYS),
        CalendarPart("hour", 0, 23),
    )
}
