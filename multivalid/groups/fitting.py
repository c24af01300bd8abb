"""Items meet data: categories, bin edges and combinations are those of the frame seen first."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from multivalid.errors import InputError, PredicateError
from multivalid.groups.blocks import LARGEST_TABLE, Block, DateParts, Holds, Intervals, Product, Simple, Values
from multivalid.groups.calendar import PARTS
from multivalid.groups.columns import Columns
from multivalid.groups.frames import has_missing, numbers
from multivalid.groups.items import Bins, Cross
from multivalid.groups.kept import MOST_GROUPS
from multivalid.groups.kinds import BOOLEAN, DATE, DATETIME, NUMBER, TEXT, kind_of_dtype, unknown_column
from multivalid.groups.membership import count_codes
from multivalid.groups.nodes import Column, DatePart, write_name
from multivalid.groups.predicate import Predicate, parse


@dataclass
class Fitter:
    """Turns items into blocks and the names of their groups, for one frame (or none)."""

    data: Columns | Any
    columns: Sequence[str]  # their names
    missing: bool = True  # whether rows without a value become a group
    notes: list[str] = field(default_factory=list)

    def fit(self, item: str | Predicate | Bins, label: str | None = None) -> tuple[Simple, list[str]]:
        """The block of an item and one readable name per group."""
        if isinstance(item, Bins):
            return self._bins(item, label) if item.part is None else self._dates(item, item.part, label)
        if isinstance(item, Predicate):
            return Holds(item.condition), [label or item.text]
        if item in self.columns:
            return self._column(item, label)
        predicate = self._parsed(item)
        shown = item.strip()
        return Holds(predicate.condition), [label or (shown if shown.isprintable() else predicate.text)]

    def _parsed(self, text: str) -> Predicate:
        try:
            return parse(text)
        except PredicateError as error:
            near = get_close_matches(text, self.columns, n=1)
            if near:
                raise PredicateError(f"{error}\n  Or did you mean the column {near[0]!r}?") from None
            raise

    def _column(self, name: str, label: str | None) -> tuple[Values, list[str]]:
        series = self.data[name]
        kind = kind_of_dtype(series.dtype)
        title = label or name
        values: tuple[str, ...] | tuple[int, ...]
        if kind == BOOLEAN:
            values = (True, False)
        elif kind == TEXT:
            values = tuple(sorted(self.data.texts(name)[1]))
        elif kind == NUMBER and not series.dtype.is_decimal():
            values = self._whole_values(name, series)
        else:
            raise InputError(f"groups: column {name!r} of type {series.dtype} cannot be split by value; {_instead(name, kind)}")
        if len(values) > MOST_GROUPS:
            raise _too_many(name, len(values))
        names = [title, f"not {title}"] if kind == BOOLEAN else [f"{title} = {_shown(value)}" for value in values]
        missing = self._has_missing(name)
        return Values(name, values, kind or TEXT, missing), [*names, *([f"{title} is missing"] if missing else [])]

    def _dates(self, item: Bins, name: str, label: str | None) -> tuple[DateParts, list[str]]:
        part, title = PARTS[name], label or f"{name}({write_name(item.column)})"
        found = part.every
        missing = False
        if self.data is not None:
            self._check_dates(item, name)
            seen = self._date_values(DatePart(name, Column(item.column)))
            found, missing = tuple(sorted(value for value in seen if value is not None)), self.missing and None in seen
        if found is None:
            raise InputError(f"groups: {item!r} needs data to know which values there are; pass data=.")
        names = [f"{title} = {part.shown(value)}" for value in found]
        return DateParts(item.column, name, found, missing), names + ([f"{label or item.column} is missing"] if missing else [])

    def _check_dates(self, item: Bins, part: str) -> None:
        if item.column not in self.columns:
            raise unknown_column(item.column, self.columns)
        dtype = self._type(item.column)
        kind = kind_of_dtype(dtype)
        if kind != DATETIME and (kind != DATE or part == "hour"):
            needed = "times" if part == "hour" else "dates or times"
            raise InputError(f"groups: {item!r} needs {needed}, column {item.column!r} is of type {dtype}; convert it first.")

    def _date_values(self, term: DatePart) -> set[int | None]:
        """The values that occur, None where there is none."""
        name = term.column.name
        found = self._asked(PARTS[term.part].expression(nw.col(name), self._type(name)), name)
        return {None if value is None or value != value else int(value) for value in found.to_list()}

    def _asked(self, expression: nw.Expr, column: str) -> nw.Series[Any]:
        """The distinct values of an expression."""
        found: nw.Series[Any] = self.data.frame([column]).select(expression.alias("v")).unique()["v"]
        return found

    def _has_missing(self, column: str) -> bool:
        """Whether the rows without a value become a group."""
        return self.missing and self.data is not None and has_missing(self.data[column])

    def _type(self, name: str) -> nw.dtypes.DType:
        """The type of a column."""
        dtype: nw.dtypes.DType = self.data[name].dtype
        return dtype

    def _whole_values(self, name: str, series: nw.Series[Any]) -> tuple[int, ...]:
        present = series.drop_nulls()
        if series.dtype.is_float():
            floats = numbers(present.unique())
            floats = floats[~np.isnan(floats)]
            if not np.all(np.isfinite(floats)) or np.any(floats != np.floor(floats)) or np.any(np.abs(floats) > 2.0**53):
                raise InputError(
                    f"groups: column {name!r} holds fractions, so its values are no groups; "
                    f'cut it into intervals with mv.bins("{name}", 5).'
                )
            return tuple(int(value) for value in np.unique(floats))
        values = tuple(sorted(int(value) for value in present.unique().to_list()))
        if values and (values[-1] >= 2**63):
            raise InputError(f"groups: column {name!r} holds whole numbers beyond 64 bits; use mv.bins for it.")
        return values

    def _bins(self, item: Bins, label: str | None) -> tuple[Intervals, list[str]]:
        edges = item.edges
        if self.data is None:
            if edges is None:
                raise InputError(f"groups: {item!r} needs data to find its edges; pass data=, or edges= instead of {item.k}.")
        else:
            edges = self._fitted_edges(item)
        if item.edges is not None and len(edges) == 2:
            self.notes.append(_one_bin(item, edges))
        name, missing = label or item.column, self._has_missing(item.column)
        names = _outward_names(name, edges) if item.edges is not None else _interval_names(name, edges)
        return Intervals(item.column, edges, missing), [*names, f"{name} is missing"] if missing else names

    def _fitted_edges(self, item: Bins) -> tuple[float, ...]:
        series = self.data[item.column]
        if kind_of_dtype(series.dtype) != NUMBER:
            raise not_numbers(item, series.dtype)
        values = numbers(series)
        values = values[~np.isnan(values)]
        if item.edges is not None:
            outside = int(np.sum((values < item.edges[0]) | (values > item.edges[-1])))
            if outside and len(item.edges) > 2:
                self.notes.append(f"{item!r}: {outside:,} rows lie beyond the edges and count in the first or the last bin")
            return item.edges
        values = values[np.isfinite(values)]
        if not values.size:
            raise InputError(f"groups: {item!r} has nothing to go by, column {item.column!r} holds no finite number.")
        assert item.k is not None
        # "higher" makes every edge a value of the data, and bins of equal size when there are no ties.
        inner = np.unique(np.quantile(values, np.arange(1, item.k) / item.k, method="higher"))
        inner = inner[inner > values.min()]
        if inner.size < item.k - 1:
            self.notes.append(f"{item!r}: {inner.size + 1} bins instead of {item.k}, because of equal values")
        return (float(values.min()), *inner.tolist(), float(values.max()))

    def cross(self, item: Cross, label: str | None) -> tuple[Product, list[str]]:
        """The block of combinations and one readable name for each."""
        fitted = [self.fit(part) for part in item.parts]
        parts = tuple(block for block, _ in fitted)
        possible = math.prod(part.size for part in parts)
        if possible >= 2**62:
            raise InputError(f"groups: {item!r} has more combinations than can be counted; cross fewer columns.")
        combinations = self._seen(parts, possible, item)
        prefix = "" if label is None else f"{label}: "
        names = [
            prefix + " & ".join(names[code] for (_, names), code in zip(fitted, combination, strict=True))
            for combination in combinations
        ]
        return Product(parts, tuple(combinations)), names

    def _seen(self, parts: Sequence[Block], possible: int, item: Cross) -> list[tuple[int, ...]]:
        sizes = tuple(part.size for part in parts)
        if self.data is None:
            number = possible
        else:
            keys = _occurring(self.data.keys(tuple(parts)), possible)
            number = keys.size
        if number > MOST_GROUPS:
            raise InputError(
                f"groups: {item!r} has {number:,} combinations, at most {MOST_GROUPS:,} can become groups; cross fewer columns."
            )
        if self.data is None:
            return list(itertools.product(*(range(size) for size in sizes)))
        return [_digits(int(key), sizes) for key in keys]


def _occurring(keys: NDArray[Any], space: int) -> NDArray[Any]:
    """The keys that occur, sorted; -1 is none."""
    if space <= LARGEST_TABLE:
        return np.flatnonzero(count_codes(keys, space + 1, -1)[1:])
    found = np.unique(keys)
    return found[found >= 0]


def _digits(key: int, sizes: Sequence[int]) -> tuple[int, ...]:
    digits = []
    for size in reversed(sizes):
        key, digit = divmod(key, size)
        digits.append(digit)
    return tuple(reversed(digits))


def _instead(name: str, kind: str | None) -> str:
    """What to do with a column that is no list of categories."""
    if kind in (DATE, DATETIME):
        return f'group it by the calendar, as in mv.bins("{name}", "month").'
    if kind is None:
        return "convert it to numbers, strings, booleans or dates first."
    return "write predicates for it, or make a text column of it."


def not_numbers(item: Bins, dtype: nw.dtypes.DType) -> InputError:
    """The error for bins of something else."""
    dates = f'; for dates write mv.bins("{item.column}", "month")' if kind_of_dtype(dtype) in (DATE, DATETIME) else ""
    return InputError(f"groups: {item!r} needs numbers, column {item.column!r} is of type {dtype}{dates}.")


def _too_many(name: str, count: int) -> InputError:
    """The error for a column of so many values that it is rather an identifier."""
    return InputError(
        f"groups: column {name!r} has {count:,} values, at most {MOST_GROUPS:,} can become groups; "
        f"is it an identifier? Cut a number into intervals with mv.bins, or join rare values first."
    )


def _shown(value: str | int) -> str:
    text = str(value)
    return text if text.strip() and text.isprintable() else repr(value)


def _interval_names(name: str, edges: Sequence[float]) -> list[str]:
    """Bins from the least value of the data to the largest."""
    names = [f"{name} in [{a}, {b})" for a, b in itertools.pairwise(_edge_texts(edges))]
    return [*names[:-1], names[-1][:-1] + "]"]


def _outward_names(name: str, edges: Sequence[float]) -> list[str]:
    """Bins by edges that the user gave: values may lie beyond, so the first and the last have one side only."""
    inner = _edge_texts(edges)[1:-1]
    if not inner:
        return [f"{name} is not missing"]
    between = [f"{name} in [{a}, {b})" for a, b in itertools.pairwise(inner)]
    return [f"{name} < {inner[0]}", *between, f"{name} >= {inner[-1]}"]


def _one_bin(item: Bins, edges: Sequence[float]) -> str:
    """Two edges are often meant as two cuts."""
    wished = [*([-math.inf] if math.isfinite(edges[0]) else []), *edges, *([math.inf] if math.isfinite(edges[1]) else [])]
    more = f"; edges={wished} make {len(wished) - 1} bins" if len(wished) > 2 else ""
    return f"{item!r} is one bin, in which every number of the column counts{more}"


def _edge_texts(edges: Sequence[float]) -> list[str]:
    short = [f"{edge:.0f}" if edge == int(edge) and abs(edge) < 1e15 else f"{edge:.4g}" for edge in map(_finite, edges)]
    short = [text if math.isfinite(edge) else f"{edge:g}" for text, edge in zip(short, edges, strict=True)]
    return short if len(set(short)) == len(set(edges)) else [repr(edge) for edge in edges]


def _finite(edge: float) -> float:
    return edge if math.isfinite(edge) else 0.0
