from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

for package in ("typer", "rich", "duckdb"):
    pytest.importorskip(package, reason=f"the command line needs {package}: pip install 'multivalid[cli]'")


class Terminal:
    """Runs the command line in a folder with data; in this process, because starting one takes longer than most commands."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *words: str, code: int = 0) -> str:
        from multivalid.cli.app import run

        out, err, ended = io.StringIO(), io.StringIO(), 0
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                run(words)
            except SystemExit as stop:  # anything else is a traceback, and fails the test
                ended = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
        assert ended == code, f"{ended}\n{out.getvalue()}\n{err.getvalue()}"
        if code >= 2:
            assert out.getvalue() == ""
        return out.getvalue() if code == 0 else err.getvalue()

    def json(self, *words: str) -> Any:
        return json.loads(self(*words, "--json"))


def flights(n: int = 4000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    origin, hour = rng.choice(["JFK", "LGA", "EWR"], n), rng.integers(0, 24, n)
    late = 10 + 10 * (origin == "JFK") + 5 * (hour >= 18)
    return pd.DataFrame(
        {
            "delay": (rng.exponential(1.0, n) * late).round(1),
            "p": 25.0 + rng.integers(0, 8, n),
            "origin": origin,
            "hour": hour,
            "w": rng.integers(1, 3, n),
        }
    )


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("cli")
    flights().to_csv(made / "flights.csv", index=False)
    rng = np.random.default_rng(1)
    var = rng.uniform(1, 2, 2000)
    losses = pd.DataFrame(
        {"loss": rng.exponential(1.0, 2000) * var / 3.7, "var": var, "es": var * 1.3, "desk": rng.choice(["a", "b"], 2000)}
    )
    losses.to_csv(made / "losses.csv", index=False)
    said, age = rng.uniform(0.1, 0.9, 2000), rng.integers(18, 90, 2000)
    daily = pd.DataFrame({"y": (rng.random(2000) < said).astype(float), "p": said, "day": np.arange(2000) // 20, "age": age})
    daily.assign(region=rng.choice(["north", "south"], 2000)).to_parquet(made / "data.parquet", index=False)
    (made / "parts").mkdir()
    for k in range(3):
        flights().iloc[k::3].to_parquet(made / "parts" / f"{k}.parquet", index=False)
    return made


@pytest.fixture(scope="session")
def terminal(folder: Path) -> Terminal:
    return Terminal(folder)
