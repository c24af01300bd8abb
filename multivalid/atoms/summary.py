"""The first look at a lazy frame: are the columns there, are all values numbers, and how far do they reach?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw

from multivalid.atoms.frames import unknown
from multivalid.errors import InputError
from multivalid.groups.remote import Frame, fetch

LABEL, PREDICTION, WEIGHT = "__mv_label", "__mv_prediction", "__mv_weight"


@dataclass(frozen=True)
class Totals:
    """Of all rows: how many, Σw, Σw², ends of the predictions and of the labels (`used_*`: of rows with weight)."""

    rows: int
    weight: float
    squares: float
    lowest: float
    highest: float
    least: float
    most: float
    used_least: float
    used_most: float

    @property
    def effective(self) -> float:
        """Kish's effective number of rows."""
        return self.weight**2 / self.squares


def checked(frame: Frame, y_true: Any, y_pred: Any, sample_weight: Any) -> tuple[Frame, Totals]:
    """The frame with labels, predictions and weights as float64 under fixed names; missing values are refused."""
    columns = {LABEL: (y_true, "y_true"), PREDICTION: (y_pred, "y_pred")}
    if sample_weight is not None:
        columns[WEIGHT] = (sample_weight, "sample_weight")
    schema = frame.collect_schema()
    opened = frame.with_columns(*(_number(schema, *given).alias(name) for name, given in columns.items()))
    if sample_weight is None:
        opened = opened.with_columns(nw.lit(1.0, dtype=nw.Float64).alias(WEIGHT))
    _complete(opened, columns)
    totals = totals_of(opened)
    if sample_weight is not None:
        _weights(opened, totals)
    return opened, totals


def totals_of(frame: Frame) -> Totals:
    """One pass of sums, least and greatest."""
    y, p, w = nw.col(LABEL), nw.col(PREDICTION), nw.col(WEIGHT)
    used = nw.when(w > 0).then(y)
    aims = [nw.len(), w.sum(), (w * w).sum(), p.min(), p.max(), y.min(), y.max(), used.min(), used.max()]
    row = fetch(frame.select(*(aim.alias(f"a{i}") for i, aim in enumerate(aims)))).row(0)
    return Totals(int(row[0]), *(float("nan") if value is None else float(value) for value in row[1:]))


def _number(schema: Any, name: Any, argument: str) -> nw.Expr:
    if not isinstance(name, str):
        raise InputError(f"{argument} must be the name of a column when data is a lazy frame, got {type(name).__name__}.")
    if name not in schema.names():
        raise unknown(name, schema.names(), argument)
    dtype = schema[name]
    if not (dtype.is_numeric() or dtype == nw.Boolean):
        raise InputError(f"{argument}={name!r} must hold numbers, but the column has type {dtype}; convert it first.")
    column = nw.col(name)
    return column if dtype == nw.Float64 else (column.cast(nw.Int64) if dtype == nw.Boolean else column).cast(nw.Float64)


def _complete(frame: Frame, columns: dict[str, tuple[Any, str]]) -> None:
    missing = [nw.col(name).is_null().cast(nw.Int64).sum().alias(f"m{i}") for i, name in enumerate(columns)]
    odd = [(~nw.col(name).is_finite()).cast(nw.Int64).sum().alias(f"o{i}") for i, name in enumerate(columns)]
    row = fetch(frame.select(nw.len().alias("rows"), *missing, *odd)).row(0)
    if row[0] == 0:
        raise InputError("y_true is empty: at least one row is needed.")
    for i, (name, argument) in enumerate(columns.values()):
        count = int(row[1 + i] or 0) + int(row[1 + len(columns) + i] or 0)
        if count:
            raise InputError(
                f"{argument}={name!r} has {count} missing or infinite values; drop those rows or fill them in before calling."
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
    _complete(opened, {PREDICTION: (y_pred, "y_pred")})
    return opened
