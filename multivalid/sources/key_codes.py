"""Columns of whole numbers as one code per row, and which combinations of their values occur how often, learned as rows pass by."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multivalid.kernels import library

MOST_CODES = 1 << 22  # codes that are counted in a table
MOST_TABLES = 4  # tables of counts that a lane keeps before they are added up
Values = NDArray[np.int64]
_SIZE, _POINTER = ctypes.c_size_t, ctypes.c_void_p


class KeyColumn(NamedTuple):
    """Whole numbers, and where they are missing (the number there means nothing), if anywhere."""

    values: NDArray[Any]
    missing: NDArray[np.bool_] | None


class Digit(NamedTuple):
    """A column's place in the code: its distance from the least value; the last digit where it is missing, if it is anywhere."""

    least: int
    size: int
    gaps: bool


Digits = tuple[Digit, ...]


def digits_of(columns: Sequence[KeyColumn]) -> Digits | None:
    """Digits that hold the values of some rows; None where there would be too many codes."""
    made, codes = [], 1
    for values, missing in columns:
        least, most = (int(values.min()), int(values.max())) if values.size else (0, 0)
        made.append(Digit(least, most - least + 1 + (missing is not None), missing is not None))
        codes *= made[-1].size
    return tuple(made) if codes <= MOST_CODES else None


def codes_of(columns: Sequence[KeyColumn], digits: Digits) -> NDArray[Any]:
    """The code of every row: the first column is the lowest digit."""
    size = int(np.prod([digit.size for digit in digits]))
    kind = np.uint8 if size <= 1 << 8 else np.uint16 if size <= 1 << 16 else np.uint32
    codes: NDArray[Any] = np.zeros(columns[0].values.size, dtype=kind)
    stride = 1
    for (values, missing), digit in zip(columns, digits, strict=True):
        if missing is not None:
            values = values.astype(np.uint64)
            values[missing] = (digit.least + digit.size - 1) % (1 << 64)
        _add_digit(values, digit.least, stride, codes)
        stride = min(stride * digit.size, size - 1)
    return codes


def _add_digit(values: NDArray[Any], least: int, stride: int, codes: NDArray[Any]) -> None:
    """Add distances from the least value, times the stride; unsigned arithmetic wraps around, and what comes out is below the size."""
    name = f"multivalid_add_digit_{values.dtype.kind}{values.itemsize}_{codes.itemsize}"
    compiled = library.function(name, (_POINTER, _SIZE, ctypes.c_uint32, ctypes.c_uint32, _POINTER))
    if compiled is None:
        kind = codes.dtype.type
        codes += (values.astype(kind, copy=False) - kind(least % (1 << 8 * codes.itemsize))) * kind(stride)
    else:
        values = np.ascontiguousarray(values)
        compiled(values.ctypes.data, values.size, least % (1 << 32), stride, codes.ctypes.data)


def values_of(codes: NDArray[Any], digits: Digits) -> Values:
    """Two lines per column: its value in each code, 0 where it is missing, and whether it is."""
    lines, left = [], np.asarray(codes, dtype=np.int64)
    for digit in digits:
        left, place = np.divmod(left, digit.size)
        missing = digit.gaps & (place == digit.size - 1)
        lines += [np.where(missing, 0, place + digit.least), missing.astype(np.int64)]
    return np.array(lines, dtype=np.int64).reshape(2 * len(digits), -1)


@dataclass
class Tally:
    """Which combinations of values occur, and how often; None in `lines` where they are too many."""

    most: int
    lines: Values | None = None  # `values_of` them, and the last line how many rows have them
    _counts: dict[Digits, NDArray[np.int64]] = field(default_factory=dict)

    def add(self, digits: Digits, codes: NDArray[Any]) -> bool:
        """Count the codes of some rows; whether combinations are still few enough."""
        known = digits in self._counts
        if not known:
            self._counts[digits] = np.zeros(int(np.prod([digit.size for digit in digits])), dtype=np.int64)
        _count(codes, self._counts[digits])
        return known or len(self._counts) <= MOST_TABLES or self.close()

    def plus(self, other: Tally) -> Tally:
        """Both together; these are used up."""
        parts = [one.lines for one in (self, other) if one.lines is not None]
        made = Tally(self.most, _merged(np.concatenate(parts, axis=1)) if parts else None, self._counts)
        for digits, counts in other._counts.items():
            made._counts[digits] = made._counts[digits] + counts if digits in made._counts else counts
        return made

    def close(self) -> bool:
        """Add up what was counted."""
        parts = [] if self.lines is None else [self.lines]
        for digits, counts in self._counts.items():
            codes = np.flatnonzero(counts)
            parts.append(np.concatenate([values_of(codes, digits), counts[None, codes]]))
        self._counts = {}
        if len(parts) > 1:
            self.lines = _merged(np.concatenate(parts, axis=1))
        elif parts:
            self.lines = parts[0]
        return self.lines is None or self.lines.shape[1] <= self.most


def _count(codes: NDArray[Any], counts: NDArray[np.int64]) -> None:
    compiled = library.function(f"multivalid_count_rows_{codes.itemsize}", (_POINTER, _SIZE, _POINTER))
    if compiled is None:
        counts += np.bincount(codes, minlength=counts.size)
    else:
        codes = np.ascontiguousarray(codes)
        compiled(codes.ctypes.data, codes.size, counts.ctypes.data)


def _merged(lines: Values) -> Values:
    """Lines that agree in all but their last as one, their last added up."""
    order = np.lexsort(lines[:-1])
    lines = lines[:, order]
    new = np.append(True, (lines[:-1, 1:] != lines[:-1, :-1]).any(axis=0))
    return np.concatenate([lines[:-1, new], np.add.reduceat(lines[-1], np.flatnonzero(new))[None]])
