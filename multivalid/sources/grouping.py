"""Several GROUP BYs of the same rows: as grouping sets of one query where the engine has them, else side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw

from multivalid.groups.remote import Frame, fetch

TOGETHER = 24  # sets in one query


def grouping_sets(frame: Frame, sets: Sequence[Sequence[str]], sums: Sequence[str]) -> list[nw.DataFrame[Any]]:
    """For each set of key columns, the sums of columns over the rows that share their keys; missing keys are keys too.

    Examples
    --------
    >>> import polars as pl
    >>> rows = nw.from_native(pl.LazyFrame({"a": ["x", "y", "y"], "b": [1, 1, None], "v": [1.0, 2.0, 4.0]}))
    >>> [sorted(found["v"].to_list()) for found in grouping_sets(rows, [["a"], ["b"]], ["v"])]
    [[1.0, 6.0], [3.0, 4.0]]
    >>> import duckdb
    >>> lines = rows.collect().to_native()
    >>> rows = nw.from_native(duckdb.sql("SELECT * FROM lines"))
    >>> [sorted(found["v"].to_list()) for found in grouping_sets(rows, [["a", "b"], ["b", "a"]], ["v"])]
    [[1.0, 2.0, 4.0], [1.0, 2.0, 4.0]]
    """
    if frame.implementation.is_duckdb():
        parts = (sets[start : start + TOGETHER] for start in range(0, len(sets), TOGETHER))
        return [found for part in parts for found in _duckdb(frame, part, sums)]
    plans = [frame.group_by(list(keys)).agg(*(nw.col(name).sum() for name in sums)) for keys in sets]
    if frame.implementation.is_polars():
        import polars as pl

        return [nw.from_native(found) for found in pl.collect_all([plan.to_native() for plan in plans], engine="streaming")]
    return [fetch(plan) for plan in plans]


def _duckdb(frame: Frame, sets: Sequence[Sequence[str]], sums: Sequence[str]) -> list[nw.DataFrame[Any]]:
    keys = list(dict.fromkeys(name for one in sets for name in one))
    different = {frozenset(one): one for one in sets}.values()  # a set that is asked for twice would come twice, under one mark
    listed = ", ".join(_quoted(name) for name in keys)
    grouped = ", ".join(f"({', '.join(_quoted(name) for name in one)})" for one in different)
    totals = ", ".join(f"sum({_quoted(name)}) AS {_quoted(name)}" for name in sums)
    text = f"SELECT {listed}, GROUPING({listed}) AS __set, {totals} FROM mv_rows GROUP BY GROUPING SETS ({grouped})"
    found = fetch(nw.from_native(frame.to_native().query("mv_rows", text)))
    # GROUPING is a binary number with a digit per key, the first the highest: 1 where the key was not grouped by.
    marks = [sum((name not in one) << (len(keys) - 1 - k) for k, name in enumerate(keys)) for one in sets]
    return [found.filter(nw.col("__set") == mark) for mark in marks]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
