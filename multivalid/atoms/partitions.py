"""Rows that pass by in batches: each batch becomes a table of fixed size, and tables add up.

Where combinations of groups are nearly as many as rows, no GROUP BY makes them fewer. What an audit or a round of the batched
algorithm asks, sums over (group × level), is small all the same: it is added up batch by batch, and no batch is kept.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np

from multivalid.atoms.names import LABEL, PREDICTION, WEIGHT
from multivalid.errors import InputError
from multivalid.groups.family import FittedGroups
from multivalid.groups.membership import Membership
from multivalid.groups.remote import Frame, fetch
from multivalid.properties.base import Array
from multivalid.sources.memory import MemorySource as Rows

BATCH = 1 << 19  # rows in memory at a time
Kernel = Callable[[Rows], Array]


def fold(frame: Frame, groups: FittedGroups, kernel: Kernel) -> Array:
    """The sum of `kernel` over all batches; Spark runs it on its executors, where multivalid must then be installed too."""
    slim = frame.select(list(dict.fromkeys([LABEL, PREDICTION, WEIGHT, *groups.columns])))
    lean = replace(groups, notes=[])
    if frame.implementation.is_pyspark():
        return _on_spark(slim, lean, kernel)
    return _added(batches(slim), lean, kernel)


def batches(frame: Frame, rows: int | None = None) -> Iterator[nw.DataFrame[Any]]:
    """The rows, about so many at a time (of Dask a partition), each row once."""
    native, rows = frame.to_native(), BATCH if rows is None else rows
    if frame.implementation.is_polars():
        parts: Iterable[Any] = native.collect_batches(chunk_size=rows, maintain_order=False, engine="streaming")
    elif frame.implementation.is_duckdb():
        parts = _arrow_tables(native.to_arrow_reader(rows), rows)
    elif frame.implementation.is_dask():
        parts = (part.compute() for part in native.partitions)
    else:
        raise InputError(
            f"rows of {frame.implementation} cannot be streamed in batches; use polars, DuckDB, Spark or Dask, or groups with fewer "
            f"combinations."
        )
    for part in parts:
        opened = nw.from_native(part, eager_only=True)
        if len(opened):
            yield opened


def rows_of(batch: nw.DataFrame[Any], groups: FittedGroups) -> Rows:
    """A batch as rows in memory; what needs checking was checked on the whole frame."""
    labels, predictions, weights = (np.asarray(batch[name].to_numpy(), dtype=np.float64) for name in (LABEL, PREDICTION, WEIGHT))
    members = Membership.from_masks(groups.masks(batch.to_native(), n_rows=len(batch)), len(batch))
    return Rows(labels, predictions, weights, groups, members, None)


def _added(parts: Iterable[nw.DataFrame[Any]], groups: FittedGroups, kernel: Kernel) -> Array:
    total: Array | None = None
    for part in parts:
        made = kernel(rows_of(part, groups))
        total = made if total is None else np.add(total, made, out=total)
    return np.zeros(0) if total is None else total


def _arrow_tables(reader: Iterable[Any], rows: int) -> Iterator[Any]:
    """Record batches joined to tables of about so many rows: a call of the kernel costs the same however few rows it gets."""
    import pyarrow as pa

    waiting: list[Any] = []
    for batch in reader:
        waiting.append(batch)
        if sum(part.num_rows for part in waiting) >= 0.9 * rows:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)


def _on_spark(frame: Frame, groups: FittedGroups, kernel: Kernel) -> Array:
    """Each partition yields its own table, one line per number that is not zero; Spark adds the lines up."""
    shape = kernel(rows_of(fetch(frame.head(1)), groups)).shape  # one row, to see what the kernel makes of it

    def partial(incoming: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        opened = (nw.from_native(table, eager_only=True) for table in _arrow_tables(incoming, BATCH))
        flat = _added((part for part in opened if len(part)), groups, kernel).reshape(-1)
        used = np.flatnonzero(flat)
        yield pa.RecordBatch.from_pydict({"cell": pa.array(used, pa.int64()), "total": pa.array(flat[used], pa.float64())})

    with warnings.catch_warnings():  # Spark warns of a pandas it finds installed; no pandas is used here
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)
        lines: Frame = nw.from_native(frame.to_native().mapInArrow(partial, "cell long, total double"))
    try:
        merged = fetch(lines.group_by("cell").agg(nw.col("total").sum()))
    except Exception as error:
        if "ModuleNotFoundError" not in str(error):
            raise
        missing = str(error).partition("ModuleNotFoundError:")[2].strip().splitlines()[0]
        raise InputError(
            f"with so many combinations of groups the rows are read on Spark's executors, whose Python cannot run multivalid "
            f"({missing.rstrip('.')}); install multivalid there, and point PYSPARK_PYTHON to that Python."
        ) from None
    out = np.zeros(int(np.prod(shape)))
    out[np.asarray(merged["cell"].to_numpy(), dtype=np.intp)] = np.asarray(merged["total"].to_numpy(), dtype=np.float64)
    return out.reshape(shape)
