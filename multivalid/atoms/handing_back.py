"""A frame in memory, handed back as the kind of lazy frame that the user works with."""

from __future__ import annotations

from typing import Any

import narwhals as nw

from multivalid.errors import InputError
from multivalid.groups.remote import Frame


def as_lazy(native: Any, like: Frame) -> Any:
    """`native`, a frame in memory, as a native lazy frame of the engine of `like`.

    Examples
    --------
    >>> import polars as pl
    >>> type(as_lazy(pl.DataFrame({"a": [1]}), nw.from_native(pl.LazyFrame({"a": [1]})))).__name__
    'LazyFrame'
    """
    made = nw.from_native(native, eager_only=True)
    if like.implementation.is_polars():
        return made.to_polars().lazy()
    if like.implementation.is_duckdb():
        import duckdb

        return duckdb.from_arrow(made.to_arrow())
    if like.implementation.is_pyspark():
        return like.to_native().sparkSession.createDataFrame(made.to_pandas())
    if like.implementation.is_dask():
        import dask.dataframe as dd

        return dd.from_pandas(made.to_pandas(), npartitions=1)
    if like.implementation.is_ibis():
        import ibis

        return ibis.memtable(made.to_arrow())
    raise InputError(f"predictions of a pair cannot be handed back as a frame of {like.implementation}; collect the rows first.")
