"""The few things that engines do differently: fetching a result, drawing rows, writing a file, joining a small table of the driver's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from multivalid.errors import InputError
from multivalid.groups.engine_times import Instant, Nanoseconds

Frame = nw.LazyFrame[Any]
MOST_VALUES = 50_000_000  # fetched at once: 400 MB of numbers


def lazy_frame(data: Any) -> Frame | None:
    """The lazy frame behind `data` (polars LazyFrame, DuckDB relation, Spark, …); None when it is anything else.

    Examples
    --------
    >>> import polars as pl
    >>> lazy_frame(pl.DataFrame({"a": [1]})) is None, lazy_frame(pl.LazyFrame({"a": [1]})).collect_schema().names()
    (True, ['a'])
    """
    if data is None or isinstance(data, np.ndarray):
        return None
    try:
        opened = nw.from_native(data, pass_through=True)
    except TypeError:
        return None
    return opened if isinstance(opened, nw.LazyFrame) else None


def schema_of(frame: Frame) -> dict[str, nw.dtypes.DType]:
    """The columns and their types, with which conditions are compiled.

    DuckDB keeps an instant without a zone and shows it in that of the machine, so that a constant such as '2024-01-31' would mean
    another instant on another machine: it is read in UTC.
    """
    schema = dict(frame.collect_schema())
    if frame.implementation.is_duckdb():
        zoned = {name: kind for name, kind in schema.items() if isinstance(kind, nw.Datetime) and kind.time_zone is not None}
        schema |= {name: Instant(kind.time_unit, "UTC") for name, kind in zoned.items()}
        finest = [name for name, kind in schema.items() if kind == nw.Datetime("ns")]
        schema |= {name: Nanoseconds("ns") for name in finest}
        # A column of nothing has no type; one whose type has no name here (an identifier, an interval) must not pass for it.
        native = frame.to_native()
        types = dict(zip(native.columns, map(str, native.types), strict=True))
        schema |= {name: nw.Object() for name, kind in schema.items() if kind == nw.Unknown and types[name] != '"NULL"'}
    return schema


def fetch(frame: Frame) -> nw.DataFrame[Any]:
    """Run a query; polars does so in a stream, so that rows need not fit into memory."""
    if frame.implementation.is_polars():
        return frame.collect(engine="streaming")
    if frame.implementation.is_duckdb():
        return _in_utc(frame.collect())
    return frame.collect()


def _in_utc(fetched: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """Instants come in the zone of the machine; what is worked out from them must not depend on it."""
    zoned = [name for name, kind in fetched.schema.items() if isinstance(kind, nw.Datetime) and kind.time_zone not in (None, "UTC")]
    return fetched.with_columns(nw.col(*zoned).dt.convert_time_zone("UTC")) if zoned else fetched


def gather(frame: Frame, what: str) -> Any:
    """All rows in memory as a frame of the engine's own choice, for work that needs every label; refused where they are too many."""
    columns = frame.collect_schema().names()
    rows = int(fetch(frame.select(nw.len().alias("n")))["n"].item())
    if rows * len(columns) > MOST_VALUES:
        raise InputError(
            f"{what} in memory, and {rows:,} rows of {len(columns)} columns are more than the {MOST_VALUES:,} values that the driver "
            f"fetches; select the columns needed only, or draw a random sample of the rows."
        )
    return fetch(frame).to_native()


def draw(frame: Frame, rows: int, total: int, seed: int = 0) -> tuple[nw.DataFrame[Any], bool]:
    """About `rows` rows of `total`, in memory, and whether they were drawn at random (else they are the first ones)."""
    if rows >= total:
        return fetch(frame), True
    native = frame.to_native()
    if frame.implementation.is_duckdb():
        text = f"SELECT * FROM mv_rows USING SAMPLE {100 * rows / total:.9f} PERCENT (bernoulli, {seed})"
        return fetch(nw.from_native(native.query("mv_rows", text))), True
    if frame.implementation.is_pyspark():
        return fetch(nw.from_native(native.sample(rows / total, seed))), True
    if frame.implementation.is_polars():
        import polars as pl

        hashed = pl.int_range(pl.len()).hash(seed) < int(rows / total * 2**64)
        return fetch(nw.from_native(native.filter(hashed))), True
    return fetch(frame.head(rows)), False


def write(frame: Frame, path: Path) -> Frame | None:
    """The rows of DuckDB or polars as a Parquet file, as a frame of the same engine; None where it may not touch files."""
    native = frame.to_native()
    if frame.implementation.is_polars():
        import polars as pl

        native.sink_parquet(path)
        return _open(pl.scan_parquet(path))
    import duckdb

    try:
        native.write_parquet(str(path))
        return _open(native.query("mv_rows", f"SELECT * FROM read_parquet('{str(path).replace(chr(39), 2 * chr(39))}')"))
    except duckdb.Error:
        return None


def join(frame: Frame, keys: list[str], table: dict[str, NDArray[Any]]) -> Frame:
    """The frame with the other columns of a small table, matched on `keys` of whole numbers and texts without missing values."""
    native = frame.to_native()
    if frame.implementation.is_duckdb():
        return _open(_duckdb(native, keys, table))
    if frame.implementation.is_pyspark():
        from pyspark.sql import functions

        columns = [column.tolist() for column in table.values()]
        small = native.sparkSession.createDataFrame(list(zip(*columns, strict=True)), schema=list(table))
        return _open(native.join(functions.broadcast(small), on=keys, how="left"))
    if frame.implementation.is_polars():
        import polars as pl

        small = pl.LazyFrame({name: column.tolist() for name, column in table.items()})
        return _open(native.join(small, on=keys, how="left", maintain_order="left"))
    if frame.implementation.is_ibis():
        import ibis
        import pyarrow as pa

        return _open(native.left_join(ibis.memtable(pa.table(table)), keys))
    if frame.implementation.is_dask():
        import pandas as pd

        return _open(native.merge(pd.DataFrame(table), on=keys, how="left"))
    raise InputError(
        f"predict with a model of levels needs a join with a table of the driver's own, which is not supported on "
        f"{frame.implementation}; collect the rows, or use polars, DuckDB, Spark, Ibis or Dask."
    )


def _open(native: Any) -> Frame:
    opened: Frame = nw.from_native(native)
    return opened


def _duckdb(native: Any, keys: list[str], table: dict[str, NDArray[Any]]) -> Any:
    """A relation can only be joined with one of its own connection, and it does not say which that is.

    But a query of the relation sees the variables of its caller that hold Arrow tables; where that is turned off, the table is text.
    """
    import duckdb
    import pyarrow as pa

    __multivalid_table = pa.table(table)
    match = " AND ".join(f'mv_rows."{key}" = mv_table."{key}"' for key in keys)
    brought = ", ".join(f'mv_table."{name}"' for name in table if name not in keys)
    text = f"SELECT mv_rows.*, {brought} FROM mv_rows LEFT JOIN {{}} AS mv_table ON {match}"
    try:
        return native.query("mv_rows", text.format("__multivalid_table"))
    except duckdb.CatalogException:
        lists = ", ".join(f'unnest({_write_list(column)}) AS "{name}"' for name, column in table.items())
        return native.query("mv_rows", text.format(f"(SELECT {lists})"))


def _write_list(column: NDArray[Any]) -> str:
    """A list of SQL."""
    if column.dtype.kind in "iuf":
        return f"{column.tolist()}::{'DOUBLE' if column.dtype.kind == 'f' else 'BIGINT'}[]"
    return "[" + ", ".join("'" + str(value).replace("'", "''") + "'" for value in column.tolist()) + "]::VARCHAR[]"
