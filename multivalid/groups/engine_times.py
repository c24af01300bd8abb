"""Types of times whose parts an engine would not give as they are."""

from __future__ import annotations

import narwhals as nw


class Instant(nw.Datetime):
    """The type of a point in time that an engine keeps without a zone and shows in that of the machine; it is read in UTC."""


class Nanoseconds(nw.Datetime):
    """The type of times whose parts an engine would take from the nearest microsecond, which may lie in the next hour."""
