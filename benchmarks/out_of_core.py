"""A table larger than memory: `multivalid fit` on Parquet through DuckDB, its speed and its peak memory.

    python benchmarks/out_of_core.py --rows 100000000

writes the rows (about 4 bytes each on disk) to a temporary folder, runs the command line in a process of its own, and deletes them
again. Modules are compiled beforehand, by a fit of a few rows, as an installer does. It also says how long DuckDB itself takes to read the
same columns once. With --check (the default for 10⁷ rows or fewer) the same
rows are also fitted in memory, and both must agree exactly. With --mode practical the default mode runs instead, with 30 % of the rows held
out; --groups columns takes the 300 values of three columns in place of 30 predicates.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

import multivalid as mv

GROUPS = [
    *(f"region == {k}" for k in range(8)),
    *(f"product == {k}" for k in range(6)),
    *(f"hour >= {3 * k} and hour < {3 * k + 3}" for k in range(8)),
    "region == 0 and hour >= 18", "region == 1 and product == 2", "region in [2, 3] and hour < 6", "product == 0 and hour < 12",
    "weekend", "weekend and region == 5", "weekend and hour >= 20", "product in [3, 4] and region > 4",
]  # fmt: skip
COLUMNS = ["store", "line", "hour"]  # 200 + 76 + 24 values
USED = {"predicates": ["region", "product", "hour", "weekend"], "columns": COLUMNS}
ALPHA = 3e-5
SETTINGS = {
    "paper": ["--mode", "paper", "--alpha", str(ALPHA), "--levels", "50"],
    "practical": ["--holdout", "0.3"],  # as a user would: the default mode, judged on rows held out
}


def write(path: Path, rows: int, groups: str = "predicates", part: int = 5_000_000) -> None:
    """Skewed labels whose 0.9-quantile depends on crossings of columns that the prediction ignores; rounded, so that they pack."""
    connection = duckdb.connect()
    path.mkdir()
    for number, start in enumerate(range(0, rows, part)):
        size = min(part, rows - start)
        rng = np.random.default_rng(number)
        region, product = rng.integers(0, 8, size, dtype=np.int8), rng.integers(0, 6, size, dtype=np.int8)
        hour, weekend = rng.integers(0, 24, size, dtype=np.int8), rng.random(size) < 2 / 7
        scale = 1 + 0.1 * region + 0.3 * (product == 2) * (region == 1) + 0.4 * (hour >= 18) * (region == 0) + 0.2 * weekend
        columns = {"region": region, "product": product, "hour": hour, "weekend": weekend}
        if groups == "columns":
            store, line = rng.integers(0, 200, size, dtype=np.int16), rng.integers(0, 76, size, dtype=np.int8)
            scale = scale + 0.3 * (store % 7 == 0) - 0.2 * (line > 60)
            columns |= {"store": store, "line": line}
        signal = rng.integers(0, 64, size) / 64
        y = np.round(rng.exponential(1.0, size) * scale * (0.5 + signal), 2)
        p = np.round(3.3 * (0.5 + signal), 2)
        columns |= {"y": np.minimum(y, 12).astype(np.float32), "p": np.minimum(p, 12).astype(np.float32)}
        table = pa.table(columns)
        connection.register("part", table)
        connection.execute(f"COPY part TO '{path / f'{number:03}.parquet'}' (FORMAT parquet, COMPRESSION zstd)")
        connection.unregister("part")


def scan(path: Path, groups: str) -> float:
    """Seconds that DuckDB takes to read the columns once and add them up."""
    sums = ", ".join(f"sum({name}::DOUBLE)" for name in ["y", "p", *USED[groups]])
    connection = duckdb.connect()
    seconds = []
    for _ in range(2):  # the files are in the cache of the system when the command runs
        start = time.perf_counter()
        connection.execute(f"SELECT {sums} FROM '{path}/*.parquet'").fetchall()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def compiled(folder: Path, mode: str, named: str) -> dict[str, str]:
    """The environment of a command whose modules were compiled by another before it."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment = kept | {"PYTHONPYCACHEPREFIX": str(folder / "compiled")}
    write(folder / "few", 100_000, named)
    command(folder / "few", folder / "few.json", mode, named, environment)
    return environment


def command(path: Path, model: Path, mode: str, named: str, environment: dict[str, str]) -> tuple[float, float, float, str]:
    """Seconds, CPU seconds, peak memory in GB, and what the command printed."""
    groups = [word for item in (GROUPS if named == "predicates" else COLUMNS) for word in ("--groups", item)]
    line = [
        sys.executable,
        "-m",
        "multivalid.cli.main",
        "fit",
        str(path),
        "--label",
        "y",
        "--prediction",
        "p",
        *groups,
        *SETTINGS[mode],
    ]
    line += ["--property", "quantile:0.9"]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([*line, "--model", str(model)], capture_output=True, text=True, check=False, env=environment)
    seconds = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(f"multivalid fit ended with {done.returncode}: {done.stderr}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime, used.ru_maxrss / 1e6, done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--mode", choices=list(SETTINGS), default="paper")
    parser.add_argument("--groups", choices=list(USED), default="predicates")
    parser.add_argument("--check", action="store_true", help="also fit in memory and compare")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="out_of_core_") as folder:
        path, model = Path(folder) / "rows", Path(folder) / "model.json"
        write(path, given.rows, given.groups)
        size = sum(file.stat().st_size for file in path.iterdir()) / 1e9
        told = f"{len(GROUPS)} predicates" if given.groups == "predicates" else "300 values of three columns"
        print(f"{given.rows:,} rows, {told}, 0.9-quantile, {given.mode} mode; {size:.2f} GB; {os.cpu_count()} cores")
        environment = compiled(Path(folder), given.mode, given.groups)
        read = scan(path, given.groups)
        seconds, cpu, peak, found = command(path, model, given.mode, given.groups, environment)
        rate, possible = given.rows / seconds / 1e6, 2 * given.rows / cpu / 1e6
        print(
            f"multivalid fit: {seconds:.1f} s, {rate:.2f} M rows/s, peak {peak:.2f} GB; load of the machine {os.getloadavg()[0]:.1f}"
        )
        print(f"DuckDB alone reads these columns once in {read:.2f} s: {seconds / read:.1f} times that")
        print(f"CPU time {cpu:.1f} s: {possible:.2f} M rows/s if two cores had been free")
        print(found)
        if given.mode == "paper" and given.groups == "predicates" and (given.check or given.rows <= 10_000_000):
            compare(path, model)


def compare(path: Path, model: Path) -> None:
    """The same rows in memory."""
    table = duckdb.sql(f"SELECT * FROM '{path}/*.parquet'").to_arrow_table()
    start = time.perf_counter()
    local = mv.multicalibrate("y", "p", groups=GROUPS, data=table, property="quantile:0.9", mode="paper", alpha=ALPHA, m=50)
    print(f"in memory: {time.perf_counter() - start:.1f} s")
    stored = mv.load(model)
    assert stored.patches == local.patches, "the patches differ"
    assert stored.grid == local.grid, "the levels differ"
    same = np.array_equal(stored.predict("p", data=table), local.predict("p", data=table))
    assert same, "the predictions differ"
    print(f"in memory and out of core agree: {len(local.patches)} patches and all predictions are the same")


if __name__ == "__main__":
    main()
