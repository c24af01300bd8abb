"""Every report says where its numbers come from: the frame or file, the columns, the day, the version."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import multivalid as mv


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"p": rng.uniform(0.2, 0.8, 600), "who": rng.choice(["a", "b"], 600), "w": 1.0})
    rows["y"] = (rng.random(600) < rows.p).astype(int)
    return rows


def settings(path: Path) -> dict[str, str]:
    told = json.loads(path.with_suffix(".report.json").read_text("utf-8"))["settings"]
    assert told["written"] == datetime.now(UTC).date().isoformat()
    assert told["multivalid"] == mv.__version__
    page = path.read_text("utf-8")
    assert all(str(told[name]) in page for name in ("written", "data"))
    return told


def test_an_audit(frame: pd.DataFrame, tmp_path: Path) -> None:
    mv.audit("y", "p", data=frame, groups=["who"], sample_weight="w").report(tmp_path / "a.html")
    told = settings(tmp_path / "a.html")
    assert (told["data"], told["outcome"], told["prediction"], told["weight"]) == ("pandas DataFrame", "y", "p", "w")


def test_a_calibration(frame: pd.DataFrame, tmp_path: Path) -> None:
    fitted = mv.multicalibrate("y", "p", data=frame, groups=["who"])
    fitted.report(tmp_path / "a.html", "y", "p", data=frame, settings={"model": "today's"})
    told = settings(tmp_path / "a.html")
    assert (told["data"], told["outcome"], told["model"]) == ("pandas DataFrame", "y", "today's")


def test_the_command_line_names_its_files(frame: pd.DataFrame, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from multivalid.cli.app import app

    frame.to_csv(tmp_path / "claims.csv", index=False)
    given = [str(tmp_path / "claims.csv"), "--label", "y", "--prediction", "p", "--groups", "who"]
    done = CliRunner().invoke(app, ["audit", *given, "--report", str(tmp_path / "a.html")])
    assert done.exit_code == 0, done.output
    assert settings(tmp_path / "a.html")["data"].endswith("claims.csv")
