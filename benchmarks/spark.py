"""What a fit costs per row on Spark: a local session with two cores, the rows of out_of_core.py, CPU time of the Java process.

python benchmarks/spark.py --rows 4000000
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

from out_of_core import ALPHA, GROUPS, write
from pyspark.sql import SparkSession

import multivalid as mv


def cpu(pid: int) -> float:
    """CPU seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=4_000_000)
    given = parser.parse_args()
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.driver.memory", "3g")
    session = builder.config("spark.sql.shuffle.partitions", "8").config("spark.driver.host", "127.0.0.1").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    java = session.sparkContext._gateway.proc.pid
    with tempfile.TemporaryDirectory(prefix="spark_cost_") as folder:
        cost = {}
        for rows in (100_000, given.rows // 8, given.rows):  # the first warms Java up and is not used
            path = Path(folder) / str(rows)
            write(path, rows, part=1_000_000)
            frame = session.read.parquet(str(path))
            start, used = time.perf_counter(), cpu(java)
            made = mv.multicalibrate("y", "p", groups=GROUPS, data=frame, property="quantile:0.9", mode="paper", alpha=ALPHA, m=50)
            seconds, fitting = time.perf_counter() - start, cpu(java) - used
            used = cpu(java)
            made.predict("p", data=frame, output="better").write.parquet(str(Path(folder) / f"out{rows}"))
            cost[rows] = fitting, cpu(java) - used
            print(
                f"{rows:,} rows: fit {seconds:.1f} s ({fitting:.1f} CPU s), scoring {cost[rows][1]:.1f} CPU s, {len(made.patches)} patches"
            )
    few, many = given.rows // 8, given.rows
    for k, what in enumerate(("fit", "scoring")):
        slope = (cost[many][k] - cost[few][k]) / (many - few)  # what a further row costs; the rest is plans, compilation, warm-up
        fixed = cost[many][k] - slope * many
        print(f"{what}: {slope * 1e6:.2f} CPU µs per further row and {fixed:.1f} CPU s however few, "
              f"{slope * 1e9 / 3600:.2f} core hours per 10⁹ rows")  # fmt: skip
    session.stop()


if __name__ == "__main__":
    main()
