"""One request at a time: `predict_one` against `predict` on a frame of one row, and a cold process.

python benchmarks/one_request.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

import multivalid as mv

ROWS, BITS = 50_000, 100_000
COLD = """
import time
start = time.process_time()
import multivalid as mv
model = mv.load({path!r})
answer = model.predict_one({prediction!r}, {row!r})
print(time.process_time() - start)
"""


def made() -> tuple[mv.Calibration, pd.DataFrame]:
    """44 groups from six columns."""
    rng = np.random.default_rng(0)
    n = BITS
    data = pd.DataFrame(
        {
            "site": rng.choice([f"s{k}" for k in range(16)], n),
            "kind": rng.choice(list("abcdef"), n),
            "age": rng.integers(18, 90, n),
            "income": np.round(np.exp(rng.normal(10, 0.7, n))),
            "member": rng.random(n) < 0.4,
            "x": rng.normal(size=n),
        }
    )
    z = rng.normal(size=n)
    off = 0.8 * (data["site"] == "s3") - 0.6 * (data["age"] > 60) + 0.5 * data["member"] - 0.4 * (data["kind"] == "c")
    data["p"] = 1 / (1 + np.exp(-1.5 * z))
    data["y"] = (rng.random(n) < 1 / (1 + np.exp(-z - off))).astype(float)
    items = ["site", "kind", mv.bins("age", 8), mv.bins("income", 8), "member", "x > 0", "x > 1", "x < -1"]
    return mv.multicalibrate("y", "p", groups=items, data=data.head(ROWS)), data


def best(call: object, times: int, turns: int = 5) -> float:
    """Least seconds per call over some turns."""
    return min(_turn(call, times) for _ in range(turns)) / times


def _turn(call: object, times: int) -> float:
    start = time.perf_counter()
    for k in range(times):
        call(k)  # type: ignore[operator]
    return time.perf_counter() - start


def main() -> None:
    model, data = made()
    records = data.drop(columns=["y"]).to_dict("records")
    one = best(lambda k: model.predict_one(records[k]["p"], records[k]), 5000)
    frame = best(lambda k: model.predict("p", data=data.iloc[k : k + 1]), 30, 3)
    print(f"{len(model.groups)} groups of {len(model.groups.columns)} columns")
    print(f"predict_one {one * 1e6:.1f} µs, a frame of one row {frame * 1e6:,.0f} µs: {frame / one:,.0f} ×")
    same = model.predict("p", data=data) == np.array([model.predict_one(record["p"], record) for record in records])
    print(f"equal to the last bit on {same.sum():,} of {same.size:,} rows")
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model.json")
        model.save(path)
        row = {name: value for name, value in records[0].items() if name != "p"}
        script = COLD.format(path=path, prediction=records[0]["p"], row=row)
        # As after an installation, where pip compiles all modules: the first run writes their bytecode, the least of the others counts.
        there = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        there["PYTHONPYCACHEPREFIX"] = str(Path(folder) / "bytecode")
        command = [sys.executable, "-c", script]
        seconds = min(
            float(subprocess.run(command, check=True, capture_output=True, text=True, env=there).stdout) for _ in range(6)
        )
    print(f"cold process, import + load + first answer: {seconds:.2f} CPU s")


if __name__ == "__main__":
    main()
