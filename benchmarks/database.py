"""A model as SQL in DuckDB: rows per second of the statement that `to_sql` writes, beside a plain scan of the same columns.

python benchmarks/database.py --rows 10000000

100 groups of six columns: values, bins, predicates and a crossing; the statement's sum over all rows is what is timed, so that every
prediction is made and nothing is written.
"""

from __future__ import annotations

import argparse
import time

import duckdb
import numpy as np
import pandas as pd

import multivalid as mv

FIT = 200_000


def made(rows: int, seed: int = 0) -> pd.DataFrame:
    """Columns as a warehouse has them."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=rows)
    data = pd.DataFrame(
        {
            "site": np.array([f"s{k}" for k in range(24)])[rng.integers(0, 24, rows)],
            "kind": np.array(list("abcdef"))[rng.integers(0, 6, rows)],
            "age": rng.integers(18, 90, rows),
            "income": np.round(np.exp(rng.normal(10, 0.7, rows))),
            "member": rng.random(rows) < 0.4,
            "x": rng.normal(size=rows),
            "p": 1 / (1 + np.exp(-1.5 * z)),
        }
    )
    off = 0.8 * (data["site"] == "s3") - 0.6 * (data["age"] > 60) + 0.5 * data["member"] - 0.4 * (data["kind"] == "c")
    data["y"] = (rng.random(rows) < 1 / (1 + np.exp(-z - off))).astype(float)
    return data


def groups() -> list[object]:
    """About a hundred of them."""
    predicates = ["x > 0", "x > 1", "x < -1", "age > 60 and member", "income / age > 500", "kind in ['a', 'b'] and x > 0"]
    return ["site", "kind", mv.bins("age", 10), mv.bins("income", 10), "member", mv.cross("kind", mv.bins("age", 7)), *predicates]


def timed(connection: duckdb.DuckDBPyConnection, query: str, turns: int = 3) -> tuple[float, tuple[float, ...]]:
    """Least seconds, and the row it answers."""
    seconds, answer = float("inf"), ()
    for _ in range(turns):
        start = time.perf_counter()
        answer = connection.execute(query).fetchone()
        seconds = min(seconds, time.perf_counter() - start)
    return seconds, answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    given = parser.parse_args()
    fitting = made(FIT)
    model = mv.multicalibrate("y", "p", groups=groups(), data=fitting)
    connection = duckdb.connect()
    block = made(min(given.rows, 1_000_000), seed=1).drop(columns="y")
    connection.register("block", block)
    copies = -(-given.rows // len(block))
    connection.execute(f"CREATE TABLE scores AS SELECT block.* FROM block, range({copies})")
    rows = connection.execute("SELECT count(*) FROM scores").fetchone()[0]
    text = model.to_sql("scores", "p")
    print(f"{len(model.groups) - 1} groups, {len(text):,} characters of SQL, {rows:,} rows")
    scan, _ = timed(connection, "SELECT sum(length(site) + length(kind) + age + income + member::INT + x + p) FROM scores")
    seconds, (total,) = timed(connection, f"SELECT sum(calibrated) FROM ({text})")
    expected = float(model.predict("p", data=block).sum()) * copies
    print(f"calibrated in {seconds:.2f} s: {rows / seconds / 1e6:.1f} M rows/s; a scan of the columns {scan:.2f} s")
    print(f"mean {total / rows:.12f}, by predict {expected / rows:.12f}")


if __name__ == "__main__":
    main()
