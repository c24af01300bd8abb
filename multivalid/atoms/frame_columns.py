"""Labels, predictions and weights of a lazy frame: are the columns there, are all values numbers, and how far do they reach?"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from multivalid.atoms.frames import unknown
from multivalid.atoms.names import HELD, LABEL, PREDICTION, WEIGHT
from multivalid.atoms.seen import Seen, complete
from multivalid.errors import InputError
from multivalid.groups.lazy import COUNT
from multivalid.groups.remote import Frame, fetch
from multivalid.sources.totals import Totals
from multivalid.validate import CLASSES


def checked(frame: Frame, y_true: Any, y_pred: Any, sample_weight: Any) -> tuple[Frame, Totals]:
    """The frame with labels, predictions and weights as float64 under fixed names; missing values are refused."""
    opened = renamed(frame, y_true, y_pred, sample_weight)
    look = Look.at(opened, [], plain=sample_weight is None)
    look.seen().check(y_true, y_pred, sample_weight)
    if look.seen().weightless:  # a row of weight 0 is not there
        opened = opened.filter(nw.col(WEIGHT) > 0)
        look = Look.at(opened, [], plain=False)
    return opened, look.seen().totals()


def renamed(frame: Frame, y_true: Any, y_pred: Any, sample_weight: Any) -> Frame:
    """The frame with labels, predictions and weights as float64 under fixed names."""
    columns = {LABEL: (y_true, "y_true"), PREDICTION: (y_pred, "y_pred")}
    if sample_weight is not None:
        columns[WEIGHT] = (sample_weight, "sample_weight")
    schema = frame.collect_schema()
    opened = frame.with_columns(*(_number(schema, *given).alias(name) for name, given in columns.items()))
    return opened if sample_weight is not None else opened.with_columns(nw.lit(1.0, dtype=nw.Float64).alias(WEIGHT))


def as_given(frame: Frame, y_true: Any, y_pred: Any, sample_weight: Any) -> list[nw.Expr]:
    """Labels, predictions and weights, if there are any, under fixed names in the types that they have, where NumPy has these too."""
    schema, columns = frame.collect_schema(), {LABEL: y_true, PREDICTION: y_pred}
    if sample_weight is not None:
        columns[WEIGHT] = sample_weight
    return [(nw.col(given) if schema[given] in NARROW else nw.col(name)).alias(name) for name, given in columns.items()]


NARROW = (nw.Float32, nw.Int8, nw.Int16, nw.Int32, nw.UInt8, nw.UInt16, nw.UInt32)  # float64 holds what these hold


class Look(NamedTuple):
    """How many rows there are, what is missing and how far values reach, for the rows that share their keys; by one look at all rows."""

    lines: nw.DataFrame[Any]

    @classmethod
    def at(cls, opened: Frame, keys: Sequence[str], *, plain: bool) -> Look:
        """At a frame with fixed names; the keys are columns that take few values together, `plain` says that every weight is one."""
        aims = [*_aims(plain), *_missing([LABEL, PREDICTION])] if plain else [*_aims(), *_wrong()]
        if not keys:
            return cls(fetch(opened.select(_rows(), *(aim.of(aim.term) for aim in aims))))
        # Terms are columns first: some engines (Dask) take nothing but plain sums and ends of columns in a GROUP BY.
        lines = opened.select(*keys, *(aim.term.alias(aim.name) for aim in aims)).group_by(list(keys))
        return cls(fetch(lines.agg(_rows(), *(aim.of(nw.col(aim.name)) for aim in aims))))

    def seen(self, held: bool | None = None) -> Seen:
        """Of all rows, or of those that are kept out of the fit (or not)."""
        lines = self.lines if held is None else self.lines.filter(nw.col(HELD) if held else ~nw.col(HELD))
        columns = [_column(lines, _aim(i)) for i in range(AIMS)]
        if not len(lines) or not columns[0].any():
            return Seen()
        with warnings.catch_warnings():  # no row has weight: there is no least label among those that do
            warnings.simplefilter("ignore", RuntimeWarning)
            made = [(np.nanmin if i in LEAST else np.nanmax if i in MOST else np.sum)(column) for i, column in enumerate(columns)]
        missing = [_column(lines, _bad(i)).sum() for i in range(4)]
        return Seen(*(float(value) for value in (*made, *missing)))

    def counted(self, keys: Sequence[str]) -> nw.DataFrame[Any]:
        """The combinations of keys, and how many rows have each."""
        lines = self.lines.select(*keys, nw.col(_aim(0)).cast(nw.Int64).alias(COUNT))
        return lines.group_by(list(keys)).agg(nw.col(COUNT).sum())


class _Aim(NamedTuple):
    """A sum, a least or a largest value of a term, and what it is called: not as any column of a user's."""

    name: str
    how: Literal["sum", "min", "max"]
    term: nw.Expr

    def of(self, column: nw.Expr) -> nw.Expr:
        """The same of a column that holds the term."""
        made: nw.Expr = getattr(column, self.how)()
        return made.alias(self.name)


def _aim(i: int) -> str:
    return f"__mv_a{i}"


def _bad(i: int) -> str:
    return f"__mv_m{i}"


AIMS = 11
LEAST, MOST = (3, 5, 7), (4, 6, 8)  # which of them are least and largest values; the others add up


PLAIN = {_aim(i): _aim(same) for i, same in ((1, 0), (2, 0), (7, 5), (8, 6))}  # where every weight is one, these are the same


def _column(lines: nw.DataFrame[Any], name: str) -> NDArray[np.float64]:
    if name not in lines.columns:
        return _column(lines, PLAIN[name]) if name in PLAIN else np.zeros(len(lines))
    return np.array([math.nan if value is None else value for value in lines[name].to_list()], dtype=np.float64)


def _rows() -> nw.Expr:
    return nw.len().alias(_aim(0))


def _aims(plain: bool = False) -> list[_Aim]:
    y, p, w = nw.col(LABEL), nw.col(PREDICTION), nw.col(WEIGHT)
    used = nw.when(w > 0).then(y)
    other = nw.when((y == 0.0) | (y == 1.0)).then(0).otherwise(1)
    weightless = nw.when(w > 0).then(0).otherwise(1)
    terms = {1: w, 2: w * w, 3: p, 4: p, 5: y, 6: y, 7: used, 8: used, 9: other, 10: weightless}
    wanted = (3, 4, 5, 6, 9) if plain else terms
    return [_Aim(_aim(i), "min" if i in LEAST else "max" if i in MOST else "sum", terms[i]) for i in wanted]


def _number(schema: Any, name: Any, argument: str) -> nw.Expr:
    if not isinstance(name, str):
        raise InputError(f"{argument} must be the name of a column when data is a lazy frame, got {type(name).__name__}.")
    if name not in schema.names():
        raise unknown(name, schema.names(), argument)
    dtype = schema[name]
    if not (dtype.is_numeric() or dtype == nw.Boolean):
        raise InputError(
            f"{argument}={name!r} must hold numbers, but the column has type {dtype}; convert it first"
            f"{CLASSES if argument == 'y_true' else ''}."
        )
    column = nw.col(name)
    return column if dtype == nw.Float64 else (column.cast(nw.Int64) if dtype == nw.Boolean else column).cast(nw.Float64)


def _wrong() -> list[_Aim]:
    """How many labels, predictions and weights are missing or infinite, and how many weights are negative."""
    negative = _Aim(_bad(3), "sum", nw.when(nw.col(WEIGHT) < 0).then(1).otherwise(0))
    return [*_missing([LABEL, PREDICTION, WEIGHT]), negative]


def _missing(columns: Iterable[str]) -> list[_Aim]:
    bad = (nw.when(nw.col(name).is_finite()).then(0).otherwise(1) for name in columns)  # a null is not finite either
    return [_Aim(_bad(i), "sum", value) for i, value in enumerate(bad)]


def complete_predictions(frame: Frame, y_pred: Any) -> Frame:
    """The frame with predictions as float64 under the fixed name; missing values are refused."""
    opened = frame.with_columns(_number(frame.collect_schema(), y_pred, "y_pred").alias(PREDICTION))
    rows, missing = fetch(opened.select(_rows(), *(aim.of(aim.term) for aim in _missing([PREDICTION])))).row(0)
    complete(rows, [(y_pred, "y_pred", missing or 0)])
    return opened
