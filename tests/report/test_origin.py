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


def test_a_discovery_a_backtest_and_a_monitor(frame: pd.DataFrame, tmp_path: Path) -> None:
    mv.discover("y", "p", data=frame, features=["who"]).report(tmp_path / "d.html", settings={"model": "June's"})
    told = settings(tmp_path / "d.html")
    assert (told["data"], told["prediction"], told["model"], told["seed"]) == ("pandas DataFrame", "p", "June's", "0")
    losses = frame.assign(loss=frame.p, var=0.75, es=0.78)
    mv.backtest("loss", "var", "es", data=losses, tau=0.9, groups=["who"]).report(tmp_path / "b.html")
    assert settings(tmp_path / "b.html")["prediction"] == "var, es"
    watch = mv.Monitor("mean", mv.Groups(["who"]).fit(frame), labels=(0, 1))
    watch.update_many(frame, "p", "y")
    watch.report(tmp_path / "m.html", settings={"data": "the scores of June"})
    assert settings(tmp_path / "m.html")["rounds"] == 600


def test_the_command_line_names_its_files_in_every_report(frame: pd.DataFrame, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from multivalid.cli.app import app

    frame.to_csv(tmp_path / "claims.csv", index=False)
    rows = [str(tmp_path / "claims.csv"), "--label", "y", "--prediction", "p"]
    model = str(tmp_path / "model.json")
    for name, more in (
        ("discover", ["--features", "who"]),
        ("monitor", ["--groups", "who", "--low", "0", "--high", "1"]),
        ("fit", ["--groups", "who", "--model", model]),
    ):
        done = CliRunner().invoke(app, [name, *rows, *more, "--report", str(tmp_path / f"{name}.html")])
        assert done.exit_code in (0, 2), done.output
        assert settings(tmp_path / f"{name}.html")["data"].endswith("claims.csv")
    done = CliRunner().invoke(app, ["report", *rows, "--model", model, "--output", str(tmp_path / "report.html")])
    assert done.exit_code == 0, done.output
    assert settings(tmp_path / "report.html")["model"] == model
