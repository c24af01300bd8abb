"""Groups fitted where the rows live: distinct values and distinct combinations are asked of the engine, rows never move."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from multivalid.errors import InputError
from multivalid.groups.blocks import Block
from multivalid.groups.engine import code_expression, condition_expression
from multivalid.groups.family import MISSING, FittedGroups, Groups
from multivalid.groups.fitting import Fitter, _digits, not_numbers
from multivalid.groups.frames import has_missing, numbers, text_values
from multivalid.groups.items import Bins, Cross, Flags
from multivalid.groups.kept import EVERYONE, MOST_GROUPS, Kept, Span
from multivalid.groups.kinds import NUMBER, kind_of_dtype, unknown_column
from multivalid.groups.nodes import Column, Missing, render
from multivalid.groups.remote import Frame, draw, fetch, schema_of
from multivalid.groups.selection import TooFew, _blocks, _kept

SAMPLE = 500_000  # with at most this many rows bin edges are exact; beyond it only where a sample shows few values
FEW_VALUES = 20_000
COUNT = "__mv_count"  # how many rows a line stands for


class Survey(NamedTuple):
    """Of all groups, everyone first: rows of each, and the first group that holds the same rows."""

    sizes: Sequence[int]
    twins: Sequence[int]


class RemoteColumns:
    """Columns of an engine's frame whose lines stand for `COUNT` rows each, of `rows` in all: their distinct values, asked for once.

    Where combinations are `tallied`, the lines are few: nothing is sampled.
    """

    def __init__(self, frame: Frame, rows: int, tallied: bool) -> None:
        self.frame, self.rows, self.tallied, self.schema = frame, rows, tallied, schema_of(frame)
        self.sampled: dict[str, int] = {}
        self._counted: dict[str, nw.DataFrame[Any]] = {}

    def __getitem__(self, name: str) -> nw.Series[Any]:
        """The distinct values: categories need no more."""
        if name not in self.schema:
            raise unknown_column(name, list(self.schema))
        values = self.counted(name)[name]
        if name in self.sampled:
            raise InputError(
                f"groups: column {name!r} has over {FEW_VALUES:,} values, at most {MOST_GROUPS:,} can become groups; "
                f"is it an identifier? Cut a number into intervals with mv.bins, or join rare values first."
            )
        return values

    def texts(self, name: str) -> tuple[None, list[str]]:
        """The texts that occur in a column; rows are not numbered."""
        return None, text_values(self[name].drop_nulls()).unique().to_list()

    def counted(self, name: str) -> nw.DataFrame[Any]:
        """Distinct values and how often they occur; of a sample where they are too many to fetch."""
        if name not in self._counted:
            column = self.frame.select(name, COUNT)
            many = self.rows > SAMPLE and self.schema[name] != nw.Boolean and not self.tallied
            sample = draw(column, SAMPLE, self.rows)[0] if many else None
            if sample is not None and sample[name].n_unique() > FEW_VALUES:
                self.sampled[name] = len(sample)
                column = sample.lazy()
            self._counted[name] = fetch(column.group_by(name).agg(nw.col(COUNT).sum().alias(f"{name} rows")))
        return self._counted[name]

    def lacks(self, name: str) -> bool:
        """Whether some row has no value."""
        if name in self._counted and name not in self.sampled:
            return has_missing(self._counted[name][name])
        missing = Missing(Column(name))
        there = condition_expression(missing, self.schema, render(missing)).cast(nw.Int64).max().alias("there")
        return bool(fetch(self.frame.select(there))["there"].item())


@dataclass
class LazyFitter(Fitter):
    """The same fitting with the columns asked of an engine."""

    data: RemoteColumns

    def _has_missing(self, column: str) -> bool:
        return self.missing and self.data.lacks(column)

    def _type(self, name: str) -> nw.dtypes.DType:
        return self.data.schema[name]

    def _asked(self, expression: nw.Expr, column: str) -> nw.Series[Any]:
        return fetch(self.data.frame.select(expression.alias("v")).unique())["v"]

    def _fitted_edges(self, item: Bins) -> tuple[float, ...]:
        """Bin edges as in memory, from distinct values and how often they occur."""
        if item.edges is not None:
            return item.edges
        if item.column not in self.columns:
            raise unknown_column(item.column, self.columns)
        dtype = self.data.schema[item.column]
        if kind_of_dtype(dtype) != NUMBER:
            raise not_numbers(item, dtype)
        counted = self.data.counted(item.column)
        values, often = numbers(counted[item.column]), np.asarray(counted[f"{item.column} rows"].to_numpy(), dtype=np.int64)
        if item.column in self.data.sampled:
            seen = self.data.sampled[item.column]
            self.notes.append(f"{item!r}: edges come from a sample of {seen:,} of {self.data.rows:,} rows")
        kept = np.isfinite(values)
        values, often = values[kept], often[kept]
        if not values.size:
            raise InputError(f"groups: {item!r} has nothing to go by, column {item.column!r} holds no finite number.")
        assert item.k is not None
        order = np.argsort(values, kind="stable")
        values, upto = values[order], np.cumsum(often[order])
        inner = np.unique(values[np.searchsorted(upto, _ranks(item.k, int(upto[-1])), side="right")])
        inner = inner[inner > values[0]]
        if inner.size < item.k - 1:
            self.notes.append(f"{item!r}: {inner.size + 1} bins instead of {item.k}, because of equal values")
        return (float(values[0]), *inner.tolist(), float(values[-1]))

    def _seen(self, parts: Sequence[Block], possible: int, item: Cross) -> list[tuple[int, ...]]:
        sizes = tuple(part.size for part in parts)
        codes = [code_expression(part, self.data.schema).alias(f"c{i}") for i, part in enumerate(parts)]
        seen = fetch(self.data.frame.select(*codes).unique().head(4 * MOST_GROUPS))
        table = np.stack([np.asarray(seen[f"c{i}"].to_numpy(), dtype=np.int64) for i in range(len(parts))])
        table = table[:, (table >= 0).all(axis=0)]
        keys = np.zeros(table.shape[1], dtype=np.int64)
        for column, size in zip(table, sizes, strict=True):
            keys = keys * size + column
        if keys.size > MOST_GROUPS:
            raise InputError(
                f"groups: {item!r} has over {MOST_GROUPS:,} combinations, at most {MOST_GROUPS:,} can become groups; "
                f"cross fewer columns."
            )
        return [_digits(int(key), sizes) for key in np.unique(keys)]


def fit_lazy(
    groups: Groups, frame: Frame, rows: int, survey: Callable[[FittedGroups], Survey], *, tallied: bool = False
) -> FittedGroups:
    """Groups fitted on a lazy frame whose lines stand for `COUNT` rows each, the same as on the collected frame."""
    if any(isinstance(entry.item, Flags) for entry in groups.entries):
        raise InputError("groups: boolean arrays cannot be used on a lazy frame; make them columns of the frame.")
    columns = RemoteColumns(frame, rows, tallied)
    fitter = LazyFitter(columns, list(columns.schema), groups.missing == MISSING[0])
    fitted, names = [], []
    for block, texts in _blocks(groups.entries, fitter):
        assert not isinstance(block, Span)
        fitted.append(Kept(block, tuple(range(block.size))))
        names += texts
    found = survey(FittedGroups((EVERYONE, *names), tuple(fitted)))
    chosen, kept = _kept(fitted, names, _reasons(found, (EVERYONE, *names), groups.min_size), fitter.notes)
    return FittedGroups(chosen, kept, 0, [*groups.notes, *fitter.notes])


def _reasons(found: Survey, names: Sequence[str], min_size: int) -> Iterator[str | None]:
    for g, (size, twin) in enumerate(zip(found.sizes, found.twins, strict=True)):
        if g == 0:
            continue
        if size == 0:
            yield "has no rows"
        elif size < min_size:
            yield TooFew(size, min_size)
        elif twin != g:
            yield f"has the same rows as {names[twin]!r}"
        else:
            yield None


def _ranks(k: int, rows: int) -> NDArray[np.int64]:
    """Places, in sorted order, of the k-quantiles that `numpy.quantile(method="higher")` picks."""
    return np.ceil(np.arange(1, k) / k * (rows - 1)).astype(np.int64)
