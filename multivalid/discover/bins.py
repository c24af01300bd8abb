"""Columns as small whole numbers: every value of a column falls into one bin, and any set of bins is a condition of our language.

An ordered column (numbers, dates, times) is cut at edges; code k holds the values with `edges[k-1] <= value < edges[k]`. A column of
categories has one code per frequent value and one for every other value, seen or not. Both keep a code for missing values. The codes in
memory and the conditions on an engine must agree on every row: that is what the tests of this file are about.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from multivalid.discover.instants import instant_text, instants
from multivalid.errors import InputError
from multivalid.groups.frames import numbers, text_values
from multivalid.groups.kinds import BOOLEAN, NUMBER, TEXT, kind_of_dtype
from multivalid.groups.nodes import And, Column, Compare, Condition, Literal, Member, Missing, Or, Scalar
from multivalid.lazy_names import narwhals as nw

Codes = NDArray[np.uint8]
Chosen = NDArray[np.bool_]  # one flag per code
MOST_CODES = 250
EXACT = 2**53  # whole numbers up to here are floats without rounding


class Bins(Protocol):
    """The bins of one column."""

    @property
    def column(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def size(self) -> int:
        """Number of codes; the last is for missing values."""
        ...

    @property
    def ordered(self) -> bool: ...
    def codes(self, series: nw.Series[Any]) -> Codes: ...
    def condition(self, chosen: Chosen) -> Condition:
        """The rows whose code is among `chosen` (neither none nor all of them)."""
        ...


@dataclass(frozen=True)
class Ordered:
    """Numbers, dates or times, cut at edges (dates as days, times as microseconds since 1970).

    Attributes
    ----------
    whole : bool
        The column holds whole numbers, so that "below 36" may be said of a value of 35.
    zone : str or None
        Time zone of a column of times.
    """

    column: str
    kind: str
    edges: tuple[float, ...]
    whole: bool = False
    zone: str | None = None

    ordered = True

    @property
    def size(self) -> int:
        return len(self.edges) + 2

    def codes(self, series: nw.Series[Any]) -> Codes:
        _check_kind(self.column, series.dtype, self.kind)
        return self.codes_of(numbers(series) if self.kind == NUMBER else instants(series, self.kind))

    def codes_of(self, values: NDArray[np.float64]) -> Codes:
        """Codes of plain numbers, NaN standing for missing."""
        codes = np.searchsorted(np.array(self.edges), values, side="right").astype(np.uint8)
        codes[np.isnan(values)] = self.size - 1
        return codes

    def condition(self, chosen: Chosen) -> Condition:
        present, missing = chosen[:-1], bool(chosen[-1])
        column = Column(self.column)
        if not present.any():
            return Missing(column)
        if present.all():
            return Missing(column, negated=True)
        changes = np.flatnonzero(np.diff(present.astype(np.int8), prepend=0, append=0))
        runs = [self._run(int(a), int(b)) for a, b in zip(changes[::2], changes[1::2], strict=True)]
        parts = ([Missing(column)] if missing else []) + runs
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def _run(self, first: int, stop: int) -> Condition:
        """Codes first … stop − 1."""
        column = Column(self.column)
        if first > 0 and stop <= len(self.edges) and self._only(first, stop):
            return Compare("==", column, self._literal(self.edges[first - 1]))
        low = [self._at_least(self.edges[first - 1])] if first > 0 else []
        high = [self._below(self.edges[stop - 1])] if stop <= len(self.edges) else []
        both = [*low, *high]
        return both[0] if len(both) == 1 else And(tuple(both))

    def _only(self, first: int, stop: int) -> bool:
        """Whether these codes hold one value alone."""
        low, high = self.edges[first - 1], self.edges[stop - 1]
        return self.kind == NUMBER and (high == low + 1 if self.whole else high == np.nextafter(low, np.inf))

    def _at_least(self, edge: float) -> Condition:
        previous = float(np.nextafter(edge, -np.inf))
        if self._is_just_above(previous, edge):
            return Compare(">", Column(self.column), self._literal(previous))
        return Compare(">=", Column(self.column), self._literal(edge))

    def _below(self, edge: float) -> Condition:
        previous = float(np.nextafter(edge, -np.inf))
        if self._is_just_above(previous, edge):
            return Compare("<=", Column(self.column), self._literal(previous))
        return Compare("<", Column(self.column), self._literal(edge))

    def _is_just_above(self, previous: float, edge: float) -> bool:
        """An edge one step above a number that is written more shortly stands for 'above that number'."""
        return self.kind == NUMBER and len(repr(previous)) < len(repr(edge))

    def _literal(self, edge: float) -> Literal:
        if self.kind != NUMBER:
            return Literal(instant_text(edge, self.kind, self.zone))
        return Literal(int(edge) if edge.is_integer() and abs(edge) <= EXACT else edge)


@dataclass(frozen=True)
class Categories:
    """Texts or booleans: a code per value in `values`, one for every other value, one for missing."""

    column: str
    kind: str
    values: tuple[Scalar, ...]

    ordered = False

    @property
    def size(self) -> int:
        return len(self.values) + 2

    @cached_property
    def _places(self) -> dict[Scalar, int]:
        return {value: code for code, value in enumerate(self.values)}

    def codes(self, series: nw.Series[Any]) -> Codes:
        _check_kind(self.column, series.dtype, self.kind)
        missing = series.is_null().to_numpy().astype(bool)
        if self.kind == BOOLEAN:
            flags = series.fill_null(False).to_numpy().astype(bool)
            other = len(self.values)
            codes = np.where(flags, self._places.get(True, other), self._places.get(False, other)).astype(np.uint8)
        else:
            codes = _text_codes(text_values(series), self._places, len(self.values))
        codes[missing] = self.size - 1
        return codes

    def condition(self, chosen: Chosen) -> Condition:
        listed, other, missing = chosen[:-2], bool(chosen[-2]), bool(chosen[-1])
        column = Column(self.column)
        named = tuple(value for value, taken in zip(self.values, listed, strict=True) if taken != other)
        here: Condition | None = None
        if named:
            here = self._among(named, negated=other)
        elif other:
            here = Missing(column, negated=True)
        parts = ([Missing(column)] if missing else []) + ([here] if here is not None else [])
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def _among(self, named: tuple[Scalar, ...], negated: bool) -> Condition:
        column = Column(self.column)
        if len(named) == 1:
            return Compare("!=" if negated else "==", column, Literal(named[0]))
        return Member(column, named, negated)


def _text_codes(series: nw.Series[Any], places: dict[Scalar, int], other: int) -> Codes:
    if not places:
        return np.full(len(series), other, dtype=np.uint8)
    known = list(places)
    found = series.replace_strict(known, list(range(len(known))), default=other, return_dtype=nw.Int16)
    # A missing text may come back as missing; the caller overwrites its code.
    return np.nan_to_num(np.asarray(found.to_numpy(), dtype=np.float64), nan=float(other)).astype(np.uint8)


def _check_kind(column: str, dtype: nw.dtypes.DType, kind: str) -> None:
    found = kind_of_dtype(dtype)
    if found != kind:
        raise InputError(
            f"features: column {column!r} held {kind} values when groups were searched in it, but now has type {dtype}; "
            f"convert it to what it was."
        )


def encode(bins: Sequence[Bins], frame: nw.DataFrame[Any]) -> Codes:
    """Codes of every row, (rows, columns): the codes of one row lie side by side, where a split looks for them."""
    out = np.empty((len(frame), len(bins)), dtype=np.uint8)
    for place, one in enumerate(bins):
        if one.column not in frame.columns:
            raise InputError(
                f"features: there is no column {one.column!r} in the data, in which groups were found at the fit; add it (missing "
                f"values are allowed)."
            )
        out[:, place] = one.codes(frame[one.column])
    return out


__all__ = ["BOOLEAN", "MOST_CODES", "TEXT", "Bins", "Categories", "Codes", "Ordered", "encode"]
