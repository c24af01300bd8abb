"""What a row is looked up by in a table of predictions: the columns its groups use and its level, or its groups themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from multivalid.atoms.keys import Digits, place
from multivalid.atoms.names import PREDICTION
from multivalid.grid import Grid
from multivalid.groups.family import FittedGroups
from multivalid.groups.remote import Frame, schema_of

Members = tuple[NDArray[np.bool_], NDArray[np.intp]]
WHOLE = (nw.Int8, nw.Int16, nw.Int32, nw.Int64, nw.UInt8, nw.UInt16, nw.UInt32, nw.Boolean)


@dataclass(frozen=True)
class JoinKeys:
    """Key columns as expressions, and how to read groups (without everyone) and level off keys; None where they cannot be read."""

    expressions: list[nw.Expr]
    members: Callable[[nw.DataFrame[Any]], Members | None]


def by_columns(frame: Frame, groups: FittedGroups, grid: Grid) -> JoinKeys | None:
    """The columns that the groups use: predicates are then worked out once per combination of values, not once per row.

    Only columns of whole numbers, truth values and texts are keys that every engine matches alike, and only without missing values.
    """
    schema, known = frame.collect_schema(), frame.implementation
    if not (known.is_duckdb() or known.is_polars() or known.is_pyspark()):
        return None
    if not all(name in schema and schema[name] in (*WHOLE, nw.String) for name in groups.columns):
        return None
    names = list(groups.columns)
    keys = [nw.col(name) if schema[name] == nw.String else nw.col(name).cast(nw.Int64) for name in names]

    def members(seen: nw.DataFrame[Any]) -> Members | None:
        if any(int(seen[column].null_count()) for column in seen.columns):
            return None
        back = [
            nw.col(f"__mv_k{i}").cast(nw.Boolean).alias(name) if schema[name] == nw.Boolean else nw.col(f"__mv_k{i}").alias(name)
            for i, name in enumerate(names)
        ]
        masks = groups.masks(seen.select(*back).to_native() if back else None, n_rows=len(seen))
        dense = np.stack(list(masks)[1:], axis=1) if len(groups) > 1 else np.zeros((len(seen), 0), dtype=bool)
        return dense, np.asarray(seen[f"__mv_k{len(names)}"].to_numpy(), dtype=np.intp)

    return JoinKeys(_number([*keys, place(nw.col(PREDICTION), grid.boundaries)]), members)


def by_bits(frame: Frame, groups: FittedGroups, grid: Grid) -> JoinKeys:
    """The groups of each row and its level, packed into whole numbers."""
    flags = groups.expressions(schema_of(frame))[1:]
    digits = Digits((2,) * len(flags) + (len(grid),))

    def members(seen: nw.DataFrame[Any]) -> Members:
        *held, level = digits.unpack([np.asarray(seen[name].to_numpy(), dtype=np.int64) for name in seen.columns])
        return np.stack(held, axis=1) == 1 if held else np.zeros((len(seen), 0), dtype=bool), level

    return JoinKeys(_number(digits.pack([*flags, place(nw.col(PREDICTION), grid.boundaries)])), members)


def _number(keys: list[nw.Expr]) -> list[nw.Expr]:
    return [key.alias(f"__mv_k{i}") for i, key in enumerate(keys)]
