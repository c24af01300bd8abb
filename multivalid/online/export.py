"""The transcript of a durable learner as a Parquet file."""

from __future__ import annotations

import importlib
import itertools
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from multivalid.errors import InputError

if TYPE_CHECKING:
    from multivalid.online.durable import DurableMulticalibrator

BLOCK = 50_000


def write_parquet(learner: DurableMulticalibrator, path: str | Path) -> None:
    """One row per round, in blocks, under a temporary name until complete.

    Columns: id, prediction, y and weight (null while the outcome is outstanding), told (1 for the first outcome that came, and so on),
    groups (the names).
    """
    try:
        pa: Any = importlib.import_module("pyarrow")
        pq: Any = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise InputError("export writes Parquet and needs pyarrow; install it with: pip install 'multivalid[cli]'.") from None
    schema = pa.schema(
        [("id", pa.int64()), ("prediction", pa.float64()), ("y", pa.float64()), ("weight", pa.float64()), ("told", pa.int64()),
         ("groups", pa.list_(pa.string()))]
    )  # fmt: skip
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    names = np.array(learner.groups, dtype=object)
    history = learner.history()
    try:
        with pq.ParquetWriter(temporary, schema) as writer:
            while block := list(itertools.islice(history, BLOCK)):
                ids, blobs, levels, told, y, weight = (list(column) for column in zip(*block, strict=True))
                groups = [names[learner._unpack(blob)].tolist() for blob in blobs]
                prediction = learner.grid.points[np.asarray(levels)]
                writer.write_table(pa.table([ids, prediction, y, weight, told, groups], schema=schema))
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
