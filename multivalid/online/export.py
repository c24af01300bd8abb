"""The transcript of a durable learner as a Parquet file."""

from __future__ import annotations

import importlib
import itertools
import json
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
    bucket and share (where the row counts; the rest of the row counts in the bucket above; null for algorithms that have none),
    groups (the names).
    """
    try:
        pa: Any = importlib.import_module("pyarrow")
        pq: Any = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise InputError("export writes Parquet and needs pyarrow; install it with: pip install 'multivalid[cli]'.") from None
    schema = pa.schema(
        [("id", pa.int64()), ("prediction", pa.float64()), ("y", pa.float64()), ("weight", pa.float64()), ("told", pa.int64()),
         ("bucket", pa.int64()), ("share", pa.float64()), ("groups", pa.list_(pa.string()))]
    )  # fmt: skip
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    names = np.array(learner.groups, dtype=object)
    history = learner.history()
    try:
        with pq.ParquetWriter(temporary, schema) as writer:
            while block := list(itertools.islice(history, BLOCK)):
                ids, blobs, written, told, y, weight = (list(column) for column in zip(*block, strict=True))
                groups = [names[learner._unpack(blob)].tolist() for blob in blobs]
                plays = [learner._engine.play_from_json(json.loads(text)) for text in written]
                buckets = [getattr(play, "buckets", ((None, None),))[0] for play in plays]
                columns = [
                    ids,
                    [play.prediction for play in plays],
                    y,
                    weight,
                    told,
                    *map(list, zip(*buckets, strict=True)),
                    groups,
                ]
                writer.write_table(pa.table(columns, schema=schema))
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
