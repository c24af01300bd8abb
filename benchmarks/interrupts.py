"""Signals sent to `multivalid fit` at moments spread over its whole life, from the start of Python to its end: how does it end?

`python -m benchmarks.interrupts 200` sends Ctrl-C, `python -m benchmarks.interrupts 200 --signal TERM` what a cluster sends. A fit that
was stopped ends with 130 (143) and leaves nothing: no model, no report, no copy of the rows. One that had its files in place ends with
0, and they are whole. Anything else is printed and is an error.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).parents[1]
FIT = ["fit", "--label", "y", "--prediction", "p", "--groups", "city", "--groups", "cross:city,hour", "--model", "m.json"]
# Where the time goes: into the search for patches, into queries of the engine, into the page.
KINDS = {
    "theorem mode, a CSV file": (["rows.csv", "--mode", "theorem"], 1_000),
    "default mode, Parquet, held-out rows": (["rows.parquet", "--holdout", "0.3"], 30_000),
    "quantile, a CSV file, a report": (["rows.csv", "--property", "quantile:0.9", "--report", "r.html"], 1_000),
}


def rows(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    city, hour = rng.choice(["Bonn", "Oslo", "Rome"], n), rng.integers(0, 24, n)
    late = 10 + 10 * (city == "Oslo") + 5 * (hour >= 18)
    return pd.DataFrame({"y": rng.exponential(1.0, n) * late, "p": 25.0 + rng.integers(0, 8, n), "city": city, "hour": hour})


def started(folder: Path, words: list[str]) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder / "tmp")}
    line = [sys.executable, "-m", "multivalid", *FIT[:1], *words, *FIT[1:]]
    return subprocess.Popen(line, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def left_over(folder: Path) -> list[str]:
    """What is there beside the data."""
    return sorted(
        path.name
        for path in (*folder.iterdir(), *(folder / "tmp").iterdir())
        if path.name not in ("rows.csv", "rows.parquet", "tmp")
    )


def ending(folder: Path, running: subprocess.Popen[bytes], number: int, wanted: list[str], said: bytes) -> tuple[str, bool]:
    """How it ended, in words, and whether that is as promised."""
    code, files = running.returncode, left_over(folder)
    stopped = code in (128 + number, -number)
    if stopped and not files:
        early = " (by the signal itself: Python had not begun, or was gone)" if code < 0 else ""
        quiet = code < 0 or b"nothing was written" in said
        return f"{128 + number}, nothing left{early}" + ("" if quiet else ", without a word"), quiet
    if code == 0 and files == wanted:
        import multivalid as mv

        mv.load(folder / "m.json")
        return "0, all files whole", True
    return f"{code}, left {' '.join(files) or 'nothing'}: {said.decode()[-300:]}", False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("times", type=int, nargs="?", default=200)
    parser.add_argument("--signal", choices=("INT", "TERM"), default="INT")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    number, rng, bad = signal.Signals[f"SIG{asked.signal}"], random.Random(asked.seed), 0
    signal.signal(
        number, signal.SIG_DFL
    )  # a shell starts jobs in the background with Ctrl-C ignored, and so would be those started here
    for kind, (words, n) in KINDS.items():
        with tempfile.TemporaryDirectory() as name:
            folder, ends = Path(name), Counter[str]()
            (folder / "tmp").mkdir()
            rows(n).to_csv(folder / "rows.csv", index=False)
            rows(n).to_parquet(folder / "rows.parquet")
            began = time.monotonic()
            whole = started(folder, words)
            said = whole.communicate()[1]
            assert whole.returncode == 0, said.decode()
            took, wanted = time.monotonic() - began, left_over(folder)
            times = asked.times // len(KINDS) + (kind == next(iter(KINDS))) * (asked.times % len(KINDS))
            for k in range(times):
                for file in left_over(folder):
                    (folder / file).unlink()
                running = started(folder, words)
                # One moment from each of so many equal stretches of its life, a little beyond its end too.
                time.sleep((k + rng.random()) / times * 1.1 * took)
                running.send_signal(number)
                told, fine = ending(folder, running, number, wanted, running.communicate(timeout=300)[1])
                ends[told] += 1
                bad += not fine
            print(f"{kind}: a fit takes {took:.1f} s; SIG{asked.signal} {times} times", flush=True)
            for told, count in ends.most_common():
                print(f"  {count:4} × {told}", flush=True)
    print(f"{bad} of {asked.times} not as promised")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
