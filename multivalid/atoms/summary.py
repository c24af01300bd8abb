"""The first look at a lazy frame: are the columns there, are all values numbers, and how far do they reach?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw

from multivalid.atoms.frames import unknown
from multivalid.atoms.names import LABEL as LABEL
from multivalid.atoms.names import PREDICTION as PREDICTION
from multivalid.atoms.names import WEIGHT as WEIGHT
from multivalid.errors import InputError
from multivalid.groups.remote import Frame, fetch
from multivalid.sources.totals import Totals
from multivalid.validate import CLASSES, UNKNOWN


def checked(frame: Frame, y_true: Any, y_pred: Any, sample_weight: Any) -> tuple[Frame, Totals]:
    """The frame with labels, predictions and weights as float64 under fixed names; missing values are refused."""
    columns = {LABEL: (y_true, "y_true"), PREDICTION: (y_pred, "y_pred")}
    if sample_weight is not None:
        columns[WEIGHT] = (sample_weight, "sample_weight")
    schema = frame.collect_schema()
    opened = frame.with_columns(*(_number(schema, *given).alias(name) for name, given in columns.items()))
    if sample_weight is None:
        opened = opened.with_columns(nw.lit(1.0, dtype=nw.Float64).alias(WEIGHT))
    row = fetch(opened.select(*_aims(), *_missing(columns))).row(0)
    _complete(row[0], row[AIMS:], columns)
    totals = _totals(row[:AIMS])
    if sample_weight is not None:
        _weights(opened, totals)
        if row[AIMS - 1]:  # a row of weight 0 is not there
            opened = opened.filter(nw.col(WEIGHT) > 0)
            totals = totals_of(opened)
    return opened, totals


AIMS = 11


def totals_by(frame: Frame, flag: str) -> dict[bool, Totals]:
    """The same for the rows where a boolean column holds and for the others, in one pass."""
    found = fetch(frame.group_by(flag).agg(*_aims()))
    names = [f"a{i}" for i in range(AIMS)]
    return {bool(held): _totals(row) for held, row in zip(found[flag].to_list(), found.select(names).rows(), strict=True)}


def totals_of(frame: Frame) -> Totals:
    """One pass of sums, least and greatest."""
    return _totals(fetch(frame.select(*_aims())).row(0)[:AIMS])


def _aims() -> list[nw.Expr]:
    y, p, w = nw.col(LABEL), nw.col(PREDICTION), nw.col(WEIGHT)
    used = nw.when(w > 0).then(y)
    other = nw.when((y == 0.0) | (y == 1.0)).then(0).otherwise(1)
    weightless = nw.when(w > 0).then(0).otherwise(1)
    aims = [
        nw.len(),
        w.sum(),
        (w * w).sum(),
        p.min(),
        p.max(),
        y.min(),
        y.max(),
        used.min(),
        used.max(),
        other.sum(),
        weightless.sum(),
    ]
    return [aim.alias(f"a{i}") for i, aim in enumerate(aims)]


def _totals(row: Sequence[Any]) -> Totals:
    rows, *numbers, others, _ = row
    weight, squares, lowest, highest, least, most, used_least, used_most = (
        float("nan") if value is None else float(value) for value in numbers
    )
    ends = (lowest, highest, least, most, used_least, used_most)
    return Totals(int(rows), weight, squares, *ends, binary=others == 0)


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


def _missing(columns: dict[str, tuple[Any, str]]) -> list[nw.Expr]:
    bad = (nw.when(nw.col(name).is_finite()).then(0).otherwise(1) for name in columns)  # a null is not finite either
    return [value.sum().alias(f"m{i}") for i, value in enumerate(bad)]


def _complete(rows: int, missing: Sequence[Any], columns: dict[str, tuple[Any, str]]) -> None:
    if rows == 0:
        raise InputError("y_true is empty: at least one row is needed.")
    for count, (name, argument) in zip(missing, columns.values(), strict=True):
        if count:
            raise InputError(
                f"{argument}={name!r} has {count} missing or infinite values; drop those rows or fill them in before calling"
                f"{UNKNOWN if argument == 'y_true' else ''}."
            )


def _weights(frame: Frame, totals: Totals) -> None:
    negative = fetch(frame.select((nw.col(WEIGHT) < 0).cast(nw.Int64).sum().alias("n")))["n"].item()
    if negative:
        raise InputError(f"sample_weight must not be negative: {negative} negative values; set rows to leave out to 0.")
    if totals.weight == 0:
        raise InputError("sample_weight is zero for every row; at least one row needs a positive weight.")


def complete_predictions(frame: Frame, y_pred: Any) -> Frame:
    """The frame with predictions as float64 under the fixed name; missing values are refused."""
    opened = frame.with_columns(_number(frame.collect_schema(), y_pred, "y_pred").alias(PREDICTION))
    column = {PREDICTION: (y_pred, "y_pred")}
    rows, *missing = fetch(opened.select(nw.len().alias("rows"), *_missing(column))).row(0)
    _complete(rows, missing, column)
    return opened
