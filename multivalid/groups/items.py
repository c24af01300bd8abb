"""What a user may list as groups, before any data is seen."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from multivalid.errors import InputError
from multivalid.groups.calendar import PARTS
from multivalid.groups.kept import MOST_GROUPS
from multivalid.groups.predicate import Predicate
from multivalid.validate import count

Mask: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True)
class Bins:
    """A numeric column cut into intervals, or dates by their year, month, weekday or hour; made with `bins`."""

    column: str
    k: int | None = None
    edges: tuple[float, ...] | None = None
    part: str | None = None

    def __repr__(self) -> str:
        how = repr(self.part or self.k) if self.edges is None else f"edges={list(self.edges)}"
        return f"bins({self.column!r}, {how})"


@dataclass(frozen=True)
class Cross:
    """Every combination of some groups; made with `cross`."""

    parts: tuple[str | Predicate | Bins, ...]

    def __repr__(self) -> str:
        return f"cross({', '.join(repr(part) for part in self.parts)})"


@dataclass(frozen=True, eq=False)
class Flags:
    """Boolean columns handed over as arrays: rows × groups, and a name for each where there is one."""

    array: Mask
    names: tuple[str | None, ...]

    def __repr__(self) -> str:
        rows, groups = self.array.shape
        return f"<boolean array, {rows} rows × {groups} groups>"


Item: TypeAlias = str | Predicate | Bins | Cross | Flags


@dataclass(frozen=True)
class Entry:
    """An item and the name the user gave it, if any."""

    item: Item
    label: str | None = None

    def __repr__(self) -> str:
        return repr(self.item) if self.label is None else f"{self.label!r}: {self.item!r}"


def bins(column: str, k: int | str | None = None, *, edges: Sequence[float] | None = None) -> Bins:
    """Cut a column into parts, each of which becomes a group: numbers into intervals, dates and times by the calendar.

    Parameters
    ----------
    column : str
        A column of numbers, dates or times.
    k : int or str, optional
        Numbers: how many bins of about equal size; their edges are values of the data the groups are fitted on. Ties may make it fewer.
        Dates and times: "year", "month", "weekday", "hour", as the clock shows it in the column's own zone (in UTC where an engine or a
        database keeps no zone). Months are those of any year: ``month(t) = January``.
    edges : sequence of increasing numbers, optional
        The edges instead of `k`; the first and the last may be infinite.

    Notes
    -----
    Bins are half-open, ``[edge, next edge)``, the last one is closed. The first and the last reach out to infinity, so a new
    value beyond the edges falls into the nearest bin; a missing value falls into none (but see ``missing`` of `Groups`).

    Examples
    --------
    >>> bins("age", 5), bins("age", edges=[0, 18, 65, 120]), bins("sold", "weekday")
    (bins('age', 5), bins('age', edges=[0.0, 18.0, 65.0, 120.0]), bins('sold', 'weekday'))
    """
    if not isinstance(column, str):
        raise InputError(f"bins: column must be the name of a column, got {column!r}.")
    if (k is None) == (edges is None):
        raise InputError(f"bins({column!r}): give either k, the number of bins, or edges=, got k={k!r} and edges={edges!r}.")
    if isinstance(k, str):
        if k not in PARTS:
            raise InputError(f"bins({column!r}): k must be a number of bins, or one of {', '.join(PARTS)}, got {k!r}.")
        return Bins(column, part=k)
    if edges is None:
        number = count(k, "k, the number of bins,")
        if number > MOST_GROUPS:
            raise InputError(f"bins({column!r}): k may be at most {MOST_GROUPS:,}, got {number:,}.")
        return Bins(column, number)
    return Bins(column, None, _check_edges(column, edges))


def cross(*parts: str | Predicate | Bins) -> Cross:
    """Every combination of groups that occurs in the data: ``cross("sex", "region")`` gives ``sex = F & region = N`` and so on.

    Parameters
    ----------
    *parts : column names, predicates or bins
        At least two. A predicate takes part with the rows where it is true.

    Examples
    --------
    >>> cross("sex", bins("age", 3))
    cross('sex', bins('age', 3))
    """
    if len(parts) < 2:
        raise InputError(f"cross needs at least two items, got {len(parts)}; name a single column without cross.")
    for part in parts:
        if not isinstance(part, str | Predicate | Bins):
            raise InputError(f"cross takes column names, predicates and bins, got {_describe(part)}.")
    return Cross(parts)


def entries(items: Any, names: Sequence[str | None] | None = None) -> tuple[Entry, ...]:
    """Whatever the user gave as groups, as a list of entries: a list, a dict, one item, a boolean array or frame."""
    given: list[tuple[Any, str | None]]
    if isinstance(items, Mapping):
        for name in items:
            if not isinstance(name, str):
                raise InputError(f"groups: the names in a dict of groups must be strings, got {name!r}.")
        given = [(item, name) for name, item in items.items()]
    elif isinstance(items, list | tuple) and not _is_booleans(items):
        given = [(item, None) for item in items]
    else:
        columns = named_columns(items)
        given = [(items, None)] if columns is None else [(name, None) for name in columns]
    listed = tuple(
        Entry(item if isinstance(item, str | Predicate | Bins | Cross | Flags) else _must_be_flags(item), name)
        for item, name in given
    )
    return listed if names is None else _rename(listed, list(names))


def _rename(listed: tuple[Entry, ...], names: list[str | None]) -> tuple[Entry, ...]:
    """The entries with the names that the user gave beside them."""
    repeated = {name for name in names if name is not None and names.count(name) > 1} if len(names) < 1000 else set()
    if repeated or any(name is not None and not isinstance(name, str) for name in names):
        raise InputError(f"names must be different strings (or None), got {names!r}.")
    if len(listed) == 1 and isinstance(listed[0].item, Flags) and len(names) == len(listed[0].item.names):
        return (Entry(Flags(listed[0].item.array, tuple(names))),)
    if len(names) != len(listed):
        raise InputError(f"names has {len(names)} entries but there are {len(listed)} items; give one name per item.")
    return tuple(Entry(entry.item, entry.label if name is None else name) for entry, name in zip(listed, names, strict=True))


def named_columns(items: Any) -> tuple[str, ...] | None:
    """The names of the columns of a frame in memory that are not all boolean, such as ``df[["race", "sex"]]``; else None.

    Boolean columns are groups by themselves, whatever other data there is.
    """
    if isinstance(items, str | Predicate | Bins | Cross | Flags | np.ndarray | Mapping | list | tuple):
        return None
    opened = nw.from_native(items, allow_series=False, eager_only=True, pass_through=True)
    if not isinstance(opened, nw.DataFrame) or all(kind == nw.Boolean for kind in opened.schema.values()):
        return None
    return tuple(opened.columns)


def _must_be_flags(item: Any) -> Flags:
    flags = flags_of(item)
    if flags is None:
        raise InputError(
            f"groups: an item is a predicate, a column name, bins(...), cross(...) or a boolean array, got {_describe(item)}."
        )
    return flags


def flags_of(item: Any) -> Flags | None:
    """Boolean arrays, series, lists and frames as `Flags`; None when it is none of these."""
    if isinstance(item, list | tuple) and _is_booleans(item):
        item = np.array(item, dtype=np.bool_)
    if isinstance(item, np.ndarray):
        return _flags_of_array(item)
    opened = nw.from_native(item, allow_series=True, eager_only=True, pass_through=True)
    if isinstance(opened, nw.Series):
        return Flags(_flags_of_series(opened)[:, None], (None,))
    if isinstance(opened, nw.DataFrame):
        columns = [_flags_of_series(opened[name]) for name in opened.columns]
        if not columns:
            raise InputError("groups: the frame of boolean columns has no columns.")
        return Flags(np.asfortranarray(np.column_stack(columns)), tuple(str(name) for name in opened.columns))
    return None


def _flags_of_array(array: NDArray[Any]) -> Flags:
    if array.dtype != np.bool_:
        raise InputError(
            f"groups: an array must be boolean, got {array.dtype}; convert it with .astype(bool), or compare it with something."
        )
    if array.ndim not in (1, 2):
        raise InputError(f"groups: a boolean array is rows, or rows × groups, got shape {array.shape}.")
    table = array[:, None] if array.ndim == 1 else array
    return Flags(table, (None,) * table.shape[1])


def _flags_of_series(series: nw.Series[Any]) -> Mask:
    if series.dtype != nw.Boolean:
        name = series.name or "column"
        raise InputError(
            f"groups: column {name!r} of type {series.dtype} is not boolean; for a group per value write groups=df[[{name!r}]] "
            f"or, with data=df, groups=[{name!r}]; for a single group compare it with something."
        )
    if series.is_null().any():
        raise InputError(f"groups: boolean column {series.name!r} has missing values; fill them with True or False.")
    return np.asarray(series.to_numpy(), dtype=np.bool_)


def _check_edges(column: str, edges: Sequence[float]) -> tuple[float, ...]:
    try:
        values = tuple(float(edge) for edge in edges)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"bins({column!r}): edges must be numbers, got {edges!r}.") from None
    rising = all(a < b for a, b in itertools.pairwise(values))
    if not 2 <= len(values) <= MOST_GROUPS + 1 or not rising or any(math.isnan(value) for value in values):
        raise InputError(f"bins({column!r}): edges must be at least two increasing numbers, got {edges!r}.")
    return values


def _is_booleans(items: Sequence[Any]) -> bool:
    return len(items) > 0 and all(isinstance(item, bool | np.bool_) for item in items)


def _describe(item: Any) -> str:
    text = repr(item)
    return f"{text if len(text) < 60 else text[:57] + '...'} of type {type(item).__name__}"
