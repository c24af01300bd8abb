"""What does an audit of the groups of columns cost, compared with the plain counts that give the same sums?

Three columns, one with 200 categories, and a crossing of two: about 600 groups in four blocks. In memory the plain work is two `bincount`s
(weight and ΣV) per block over codes × levels, with codes and levels known already; in an engine it is one GROUPING SETS query for the
same sums (in polars one GROUP BY per block, collected together). Both run in one process, in turn; the ratio of the best times is printed.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import pandas as pd

import multivalid as mv

GROUPS = ["shop", "region", "product", mv.cross("region", "product")]
LEVELS = 20


def workload(rows: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    sizes = {"shop": 200, "region": 18, "product": 20}
    codes = {name: rng.integers(0, size, rows) for name, size in sizes.items()}
    columns = {
        name: pd.Categorical.from_codes(code, [f"{name} {k:03d}" for k in range(sizes[name])]) for name, code in codes.items()
    }
    prediction = rng.beta(2, 5, rows)
    label = (rng.random(rows) < np.clip(prediction + 0.01 * (codes["region"] == 3), 0, 1)).astype(float)
    return pd.DataFrame({"y": label, "p": prediction, **columns})


def timed(call, repeat: int) -> tuple[float, object]:
    best, result = np.inf, None
    for _ in range(repeat):
        start = time.perf_counter()
        result = call()
        best = min(best, time.perf_counter() - start)
    return best, result


def plain_numpy(data: pd.DataFrame, grid: mv.Grid):
    level, v = grid.round(data["p"].to_numpy()), data["p"].to_numpy() - data["y"].to_numpy()
    codes = [data[name].cat.codes.to_numpy().astype(np.intp) for name in ("shop", "region", "product")]
    codes.append(codes[1] * 20 + codes[2])
    sizes = [200, 18, 20, 360]

    def run():
        made = []
        for code, size in zip(codes, sizes, strict=True):
            key = code * len(grid) + level
            made.append((np.bincount(key, minlength=size * len(grid)), np.bincount(key, v, minlength=size * len(grid))))
        return made

    return run


def plain_duckdb(relation, grid: mv.Grid):
    sets = "(shop, l), (region, l), (product, l), (region, product, l)"
    cases = " ".join(f"WHEN p <= {float(edge)!r} THEN {k}" for k, edge in enumerate(grid.boundaries))
    text = (
        f"SELECT shop, region, product, l, count(*), sum(v) FROM (SELECT shop, region, product, p - y AS v, "
        f"CASE {cases} ELSE {len(grid) - 1} END AS l FROM mv_rows) GROUP BY GROUPING SETS ({sets})"
    )
    return lambda: relation.query("mv_rows", text).fetchall()


def plain_polars(frame, grid: mv.Grid):
    import polars as pl

    level = pl.col("p").cut(grid.boundaries.tolist()).to_physical().alias("l")
    slim = frame.with_columns(level, (pl.col("p") - pl.col("y")).alias("v"))
    keys = (["shop"], ["region"], ["product"], ["region", "product"])
    plans = [slim.group_by([*key, "l"]).agg(pl.len(), pl.col("v").sum()) for key in keys]
    return lambda: pl.collect_all(plans, engine="streaming")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--engines", nargs="*", default=["pandas", "duckdb", "polars"])
    args = parser.parse_args()
    data = workload(args.rows)
    grid = mv.Grid.quantile(data["p"].to_numpy(), LEVELS)
    for engine in args.engines:
        if engine == "pandas":
            rows, plain = data, plain_numpy(data, grid)
        elif engine == "duckdb":
            import duckdb
            import pyarrow as pa

            connection = duckdb.connect()
            connection.register("given", pa.Table.from_pandas(data))
            connection.sql("CREATE TABLE kept AS SELECT * FROM given")
            rows = connection.sql("SELECT * FROM kept")
            plain = plain_duckdb(rows, grid)
        else:
            import polars as pl

            rows = pl.from_pandas(data).lazy()
            plain = plain_polars(rows, grid)
        least, _ = timed(plain, args.repeat)
        ours, found = timed(lambda rows=rows: mv.audit("y", "p", data=rows, groups=GROUPS), args.repeat)
        print(
            f"{engine:<8} {args.rows:,} rows, {len(found.groups)} groups: plain {least:.3f} s, audit {ours:.3f} s, ratio {ours / least:.1f}"
        )


if __name__ == "__main__":
    main()
