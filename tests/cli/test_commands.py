"""Each command does what the library does."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import multivalid as mv
from tests.cli.conftest import Terminal, flights

COLUMNS = ["--label", "delay", "--prediction", "p"]
QUANTILE = ["--property", "quantile:0.9"]


def test_audit_is_the_library_s(terminal: Terminal) -> None:
    found = terminal.json(
        "audit", "flights.csv", *COLUMNS, *QUANTILE, "--groups", "origin", "--groups", "bins:hour:4", "--weight", "w"
    )
    frame = flights()
    expected = mv.audit("delay", "p", groups=["origin", mv.bins("hour", 4)], data=frame, property="quantile:0.9", sample_weight="w")
    assert found["groups"]["name"] == expected.table["name"].tolist()
    np.testing.assert_allclose(found["groups"]["error"], expected.table["error"], rtol=1e-9)
    np.testing.assert_allclose(found["groups"]["value"], expected.table["value"], rtol=1e-9)


@pytest.mark.parametrize("source", ["parts", "parts/*.parquet", "flights.csv"])
def test_folders_patterns_and_files_are_the_same_rows(terminal: Terminal, source: str) -> None:
    assert terminal.json("audit", source, *COLUMNS, "--groups", "origin")["groups"]["rows"][0] == 4000


def test_batched_rounds(terminal: Terminal, folder: Path) -> None:
    made = terminal.json("fit", "flights.csv", *COLUMNS, "--groups", "origin", "--mode", "theorem", "--levels", "60", "--batched",
                         "--model", "rounds.json")  # fmt: skip
    expected = mv.multicalibrate("delay", "p", groups=["origin"], data=flights(), mode="theorem", m=60, batched=True)
    assert made["patches"] == len(expected.patches) > 0
    assert mv.load(folder / "rounds.json").patches == expected.patches
    assert "not the paper's" in made["certificate"]["note"]
    assert "--batched goes with --mode theorem" in terminal("fit", "flights.csv", *COLUMNS, "--batched", code=2)


def test_fit_then_apply(terminal: Terminal, folder: Path) -> None:
    groups = ["--groups", "origin", "--groups", "cross:origin,hour >= 18"]
    made = terminal.json("fit", "flights.csv", *COLUMNS, *QUANTILE, *groups, "--mode", "paper", "--alpha", "1e-4", "--levels", "20",
                         "--model", "m.json")  # fmt: skip
    frame = flights()
    expected = mv.multicalibrate(
        "delay",
        "p",
        groups=["origin", mv.cross("origin", "hour >= 18")],
        data=frame,
        property="quantile:0.9",
        mode="paper",
        alpha=1e-4,
        m=20,
    )
    assert made["patches"] == len(expected.patches) > 0
    assert mv.load(folder / "m.json").patches == expected.patches
    for name in ("better.csv", "better.parquet"):
        terminal("apply", "flights.csv", "--model", "m.json", "--prediction", "p", "--output", name)
        written = pd.read_csv(folder / name) if name.endswith("csv") else pd.read_parquet(folder / name)
        assert written["delay"].tolist() == frame["delay"].tolist()  # rows keep their order
        np.testing.assert_allclose(written["calibrated"], expected.predict("p", data=frame), rtol=1e-12)


def test_fit_in_words(terminal: Terminal) -> None:
    text = terminal("fit", "parts", *COLUMNS, *QUANTILE, "--groups", "origin", "--holdout", "0.3", "--model", "practical.json")
    assert "Worst group error on 1," in text
    assert "covered before" in text
    assert "origin = JFK" in text
    assert "Model: practical.json" in text


def test_holdout_by_predicate_and_share(terminal: Terminal) -> None:
    by_predicate = terminal.json("fit", "flights.csv", *COLUMNS, "--groups", "origin", "--holdout", "hour >= 20")
    assert by_predicate["held_out"]["before"]["rows"][0] == int((flights()["hour"] >= 20).sum())
    share = terminal.json("fit", "flights.csv", *COLUMNS, "--groups", "origin", "--holdout", "0.25")
    again = terminal.json("fit", "flights.csv", *COLUMNS, "--groups", "origin", "--holdout", "0.25")
    assert share == again
    assert abs(share["held_out"]["before"]["rows"][0] - 1000) < 120


def test_fail_above(terminal: Terminal) -> None:
    words = ["audit", "flights.csv", *COLUMNS, *QUANTILE, "--groups", "origin", "--fail-above"]
    terminal(*words, "0.9")
    assert "above --fail-above" in terminal(*words, "1e-6", code=1)


def test_scope(terminal: Terminal) -> None:
    assert terminal.json("scope", "quantile:0.9")["status"] == "alone"
    assert "variance" in terminal("scope", "variance").lower()


@pytest.mark.skipif(not hasattr(mv, "backtest"), reason="this build has no backtest")
def test_backtest(terminal: Terminal) -> None:
    words = ["backtest", "losses.csv", "--label", "loss", "--var", "var", "--es", "es", "--tau", "0.975", "--groups", "desk"]
    found = terminal.json(*words)
    assert len(found["groups"]["name"]) == 3
    weighted = terminal.json(*words, "--weight", "loss")  # positive, so it can serve as a weight
    assert weighted["groups"]["p_value"] != found["groups"]["p_value"]
    clustered = terminal.json(*words, "--cluster", "desk")
    assert clustered["groups"]["p_value"] != found["groups"]["p_value"]


def test_a_backtest_can_fail_a_build_and_write_a_page(terminal: Terminal, folder: Path) -> None:
    losses = pd.read_csv(folder / "losses.csv")
    losses.assign(es=losses["var"] * 1.0001).to_csv(folder / "understated.csv", index=False)
    words = ["backtest", "understated.csv", "--label", "loss", "--var", "var", "--es", "es", "--tau", "0.975", "--groups", "desk"]
    assert terminal(*words)  # nothing was asked for, so nothing fails
    said = terminal(*words, "--fail-if-off", "--report", "risk.html", code=1)
    assert "off beyond chance (--fail-if-off)" in said
    assert "<html" in (folder / "risk.html").read_text("utf-8").lower()


@pytest.mark.skipif(not hasattr(mv, "OnlineMulticalibrator"), reason="this build has no online learner")
def test_online_replay(terminal: Terminal, folder: Path) -> None:
    words = ["online", "replay", "flights.csv", "--label", "delay", "--groups", "origin", *QUANTILE, "--levels", "10"]
    assert terminal.json(*words, "--output", "online.csv")["rounds"] == 4000
    assert "predicted" in pd.read_csv(folder / "online.csv").columns


@pytest.mark.skipif(not hasattr(mv.Audit, "report"), reason="this build has no reports")
def test_report(terminal: Terminal, folder: Path) -> None:
    terminal("report", "flights.csv", *COLUMNS, *QUANTILE, "--groups", "origin", "--output", "r.html")
    assert "<html" in (folder / "r.html").read_text().lower()


def test_report_of_a_pair(terminal: Terminal, folder: Path) -> None:
    words = ["report", "losses.csv", "--label", "loss", "--output", "pair.html", "--prediction"]
    pair = ["--property", "quantile_cvar:0.975", "--groups", "desk"]
    terminal(*words, "var,es", *pair)
    losses = pd.read_csv(folder / "losses.csv")
    found = mv.audit("loss", ["var", "es"], data=losses, groups=["desk"], property="quantile_cvar:0.975")
    told = {row["name"]: row["now"] for row in json.loads((folder / "pair.report.json").read_text())["headline"]}
    assert told["first_worst_error"] == pytest.approx(found.errors[0], rel=1e-12)
    assert told["second_worst_error"] == pytest.approx(found.errors[1], rel=1e-12)
    fitted = mv.multicalibrate("loss", ["var", "es"], data=losses, groups=["desk"], property="quantile_cvar:0.975")
    fitted.save(folder / "pair_model.json")
    terminal(*words, "var,es", "--model", "pair_model.json")
    assert "before" in json.loads((folder / "pair.report.json").read_text())["headline"][0]
    assert "two columns" in terminal(*words, "var", *pair, code=2)


@pytest.mark.skipif(not hasattr(mv.Audit, "report"), reason="this build has no reports")
def test_the_main_job(terminal: Terminal, folder: Path) -> None:
    words = ["fit", "parts", *COLUMNS, *QUANTILE, "--groups", "origin", "--groups", "hour >= 18", "--holdout", "0.3"]
    text = terminal(*words, "--model", "main_model.json", "--report", "main.html")
    assert "Report: main.html" in text
    assert "<html" in (folder / "main.html").read_text().lower()
    assert mv.load(folder / "main_model.json").certificate.holdout_error is not None


def test_json_is_one_line_and_alone(terminal: Terminal) -> None:
    text = terminal("audit", "flights.csv", *COLUMNS, "--json")
    assert text.count("\n") == 1
    json.loads(text)


def helps() -> dict[str, str]:
    from typer.main import get_command

    from multivalid.cli.app import app
    from multivalid.cli.reference import leaves

    return {" ".join(path): command.help or "" for path, command in leaves(get_command(app))}


def examples() -> list[str]:
    return [
        line.removeprefix("Example: ") for text in helps().values() for line in text.splitlines() if line.startswith("Example: ")
    ]


@pytest.mark.parametrize("line", examples())
def test_examples_in_the_help_run(terminal: Terminal, line: str) -> None:
    program, *words = shlex.split(line)
    assert program == "multivalid"
    needs = {
        "backtest": hasattr(mv, "backtest"),
        "online": hasattr(mv, "OnlineMulticalibrator"),
        "report": hasattr(mv.Audit, "report"),
    }
    if words[0] == "demo":
        pytest.skip("the demonstration needs data from the package index; make demo runs it")
    if not needs.get(words[0], True):
        pytest.skip(f"this build has no {words[0]}")
    terminal(*words)


def test_every_command_has_an_example() -> None:
    assert len(helps()) >= 11
    assert [name for name, text in helps().items() if text.count("Example: ") != 1] == []


def test_as_a_process(folder: Path) -> None:
    line = [sys.executable, "-m", "multivalid.cli.main", "audit", "flights.csv", "--label", "delay", "--prediction", "missing"]
    root = str(Path(mv.__file__).parents[1])
    done = subprocess.run(line, capture_output=True, text=True, cwd=folder, env={**os.environ, "PYTHONPATH": root}, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("multivalid: y_pred='missing' is not a column of data")


def test_completion_can_be_shown(terminal: Terminal) -> None:
    assert "multivalid" in terminal("--version")
    assert "--install-completion" in terminal("--help")
