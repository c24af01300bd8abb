"""Rows whose combinations of groups are nearly all distinct: `multivalid fit --batched` on Parquet, its speed and its peak memory.

    python benchmarks/crowded.py --rows 10000000

Sixty thresholds on twelve columns of noise give each row a combination of its own, so no GROUP BY makes the rows fewer. The same
fit without --batched must be refused before it starts.
"""

from __future__ import annotations

import argparse
import json
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

COLUMNS = 12
GROUPS = [f"x{k} > {cut}" for k in range(COLUMNS) for cut in (0.15, 0.3, 0.5, 0.7, 0.85)]


def write(path: Path, rows: int, part: int = 2_000_000) -> None:
    """Labels whose mean depends on two of the columns, which the prediction ignores."""
    connection = duckdb.connect()
    path.mkdir()
    for number, start in enumerate(range(0, rows, part)):
        size = min(part, rows - start)
        rng = np.random.default_rng(number)
        x = rng.random((COLUMNS, size)).astype(np.float32)
        p = rng.random(size)
        y = np.clip(0.1 + 0.6 * p + 0.2 * (x[0] > 0.5) * (x[1] > 0.3) + rng.normal(0, 0.1, size), 0, 1)
        table = pa.table({**{f"x{k}": column for k, column in enumerate(x)}, "p": p.astype(np.float32), "y": y.astype(np.float32)})
        connection.register("part", table)
        connection.execute(f"COPY part TO '{path / f'{number:03}.parquet'}' (FORMAT parquet)")
        connection.unregister("part")


def command(path: Path, *options: str) -> tuple[subprocess.CompletedProcess[str], float]:
    """The command's answer and its seconds."""
    groups = [word for item in GROUPS for word in ("--groups", item)]
    line = [sys.executable, "-m", "multivalid.cli.main", "fit", str(path), "--label", "y", "--prediction", "p", *groups, *options]
    start = time.perf_counter()
    done = subprocess.run([*line, "--mode", "theorem", "--json"], capture_output=True, text=True, check=False)
    return done, time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--property", default="mean")
    parser.add_argument("--levels", default="50")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="crowded_") as folder:
        path = Path(folder) / "rows"
        write(path, given.rows)
        what = ["--property", given.property, "--levels", given.levels]
        done, seconds = command(path, *what)
        print(f"one by one: code {done.returncode} after {seconds:.1f} s: {done.stderr.strip()}")
        done, seconds = command(path, *what, "--batched")
        if done.returncode:
            raise SystemExit(f"multivalid fit ended with {done.returncode}: {done.stderr}")
        certificate, peak = json.loads(done.stdout)["certificate"], resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6
        passes = int(certificate["note"].split("Batched rounds: ")[1].split()[0])
        print(
            f"batched: {given.rows:,} rows, {len(GROUPS)} predicates, {seconds:.1f} s, {passes} passes, "
            f"{passes * given.rows / seconds / 1e6:.2f} M rows/s and pass, peak {peak:.2f} GB; load {os.getloadavg()[0]:.1f}"
        )
        print(
            f"{certificate['updates']} updates, {certificate['status']}, error {certificate['error']:.2e} of {certificate['alpha']:.2e}"
        )


if __name__ == "__main__":
    main()
