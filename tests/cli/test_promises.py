"""What the command line promises: exit codes that mean one thing, interrupts that leave nothing, files that do not eat each other."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

import multivalid as mv
from tests.cli.conftest import Terminal, flights

COLUMNS = ["--label", "delay", "--prediction", "p"]
ROOT = str(Path(mv.__file__).parents[1])


@pytest.fixture
def clean(tmp_path: Path) -> Terminal:
    flights(500).to_csv(tmp_path / "flights.csv", index=False)
    return Terminal(tmp_path)


def process(folder: Path, *words: str, **options: object) -> subprocess.Popen[bytes]:
    environment = {
        **os.environ,
        "PYTHONPATH": ROOT,
        "TMPDIR": str(folder / "tmp"),
        "PYTHONIOENCODING": str(options.pop("encoding", "utf-8")),
    }
    (folder / "tmp").mkdir(exist_ok=True)
    line = [sys.executable, "-m", "multivalid.cli.main", *words]
    return subprocess.Popen(line, cwd=folder, env=environment, stderr=subprocess.PIPE, **{"stdout": subprocess.PIPE, **options})  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("when", [0.5, 1.0, 2.0])
def test_a_stopped_fit_leaves_nothing(clean: Terminal, number: signal.Signals, code: int, when: float) -> None:
    flights(200_000).to_csv(clean.folder / "big.csv", index=False)
    words = [
        "fit",
        "big.csv",
        *COLUMNS,
        "--groups",
        "origin",
        "--groups",
        "cross:origin,hour",
        "--mode",
        "theorem",
        "--model",
        "m.json",
    ]
    running = process(clean.folder, *words)
    while not list((clean.folder / "tmp").iterdir()):  # it has begun: a folder for copies is there
        assert running.poll() is None
        time.sleep(0.02)
    time.sleep(when / 10)
    running.send_signal(number)
    _, said = running.communicate()
    assert running.returncode == code, said.decode()
    assert "nothing was written" in said.decode()
    assert sorted(path.name for path in clean.folder.iterdir()) == ["big.csv", "flights.csv", "tmp"]
    assert not list((clean.folder / "tmp").iterdir())


def test_a_query_of_the_engine_is_stopped(tmp_path: Path) -> None:
    code = """
import sys
from multivalid.cli.exits import guarded
from multivalid.cli.reading import Data
import pandas as pd
pd.DataFrame({"a": [1.0]}).to_parquet("a.parquet")

@guarded
def slow():
    with Data(["a.parquet"]).open() as store:
        print("ready", flush=True)
        store.connection.execute("select sum(a.range * b.range) from range(1000000) a, range(1000000) b").fetchall()

slow()
"""
    running = subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, env={**os.environ, "PYTHONPATH": ROOT}, stdout=subprocess.PIPE
    )
    assert running.stdout is not None
    assert running.stdout.readline() == b"ready\n"
    time.sleep(0.3)
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=60)
    assert running.returncode in (130, -signal.SIGINT)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_an_output_that_cannot_be_written_is_not_a_finding(clean: Terminal) -> None:
    with open("/dev/full", "wb") as full:
        running = process(clean.folder, "audit", "flights.csv", *COLUMNS, stdout=full)
        _, said = running.communicate()
    assert running.returncode == 2, said
    assert b"cannot be written" in said


def test_a_reader_that_leaves_is_not_a_finding(clean: Terminal) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    running = process(clean.folder, "audit", "flights.csv", *COLUMNS, stdout=writing)
    os.close(writing)
    running.communicate()
    assert running.returncode == 141


def test_a_terminal_without_unicode(clean: Terminal) -> None:
    frame = flights(500)
    frame["origin"] = frame["origin"].replace("JFK", "Zürich")
    frame.to_csv(clean.folder / "names.csv", index=False)
    for extra in ([], ["--json"]):
        running = process(clean.folder, "audit", "names.csv", *COLUMNS, "--groups", "origin", *extra, encoding="ascii")
        out, said = running.communicate()
        assert running.returncode == 0, said
        assert b"rich" in out


@pytest.mark.parametrize(
    "words",
    [
        ["fit", "flights.csv", *COLUMNS, "--seed", "-1"],
        ["fit", "flights.csv", *COLUMNS, "--alpha", "-1"],
        ["fit", "flights.csv", *COLUMNS, "--property", "quantile:95"],
        ["backtest", "flights.csv", "--label", "delay", "--var", "p", "--es", "p", "--tau", "97.5"],
        ["audit", "flights.csv", *COLUMNS, "--fail-above", "nan"],
        ["audit", "flights.csv", *COLUMNS, "--encoding", "ebcdic"],
        ["audit", "flights.csv", *COLUMNS, "--encoding", "cp1252"],
        ["fit", "flights.csv", *COLUMNS, "--levels", "100000000"],
    ],
)
def test_bad_options_have_one_code(clean: Terminal, words: list[str]) -> None:
    clean(*words, code=2)


def test_a_report_does_not_take_the_place_of_a_model(clean: Terminal) -> None:
    clean("fit", "flights.csv", *COLUMNS, "--groups", "origin", "--model", "q.json")
    before = (clean.folder / "q.json").read_bytes()
    clean("report", "flights.csv", *COLUMNS, "--model", "q.json", "--output", "q.html")
    assert (clean.folder / "q.json").read_bytes() == before
    assert (clean.folder / "q.report.json").exists()
    assert "holds a saved model" in clean("audit", "flights.csv", *COLUMNS, "--report", "q.json", code=2)
    assert (clean.folder / "q.json").read_bytes() == before


def test_a_report_does_not_take_the_place_of_what_the_same_command_writes(clean: Terminal) -> None:
    """The numbers beside a page are a file as well."""
    fit = ["fit", "flights.csv", *COLUMNS, "--groups", "origin"]
    assert "also the --model" in clean(*fit, "--model", "a.report.json", "--report", "a.html", code=2)
    assert "also the --model" in clean(*fit, "--model", "a.json", "--report", "a.json", code=2)
    watch = ["monitor", "flights.csv", *COLUMNS, "--high", "999"]
    assert "also the --state" in clean(*watch, "--state", "s.report.json", "--report", "s.html", code=2)
    assert sorted(path.name for path in clean.folder.iterdir()) == ["flights.csv"]
    clean(*fit, "--model", "b.report.json")
    before = (clean.folder / "b.report.json").read_bytes()
    assert "holds a saved model" in clean("audit", "flights.csv", *COLUMNS, "--report", "b.html", code=2)
    with pytest.raises(ValueError, match="holds a saved model"):
        mv.audit([0, 1], [0.5, 0.5], groups=[]).report(clean.folder / "b.html")
    assert (clean.folder / "b.report.json").read_bytes() == before


def test_names_of_files(clean: Terminal) -> None:
    flights(300).to_csv(clean.folder / "x[1].csv", index=False)
    flights(200).to_csv(clean.folder / "x1.csv", index=False)
    assert clean.json("audit", "x[1].csv", *COLUMNS)["groups"]["rows"][0] == 300
    clean("fit", "flights.csv", *COLUMNS, "--groups", "origin", "--model", "m.json")
    (clean.folder / "link.csv").symlink_to("flights.csv")
    clean("apply", "flights.csv", "--model", "m.json", "--prediction", "p", "--output", "link.csv")
    assert (clean.folder / "link.csv").is_symlink()
    assert "calibrated" in pd.read_csv(clean.folder / "flights.csv").columns  # its own input, through a link


def test_names_that_an_engine_keeps_for_itself(clean: Terminal) -> None:
    frame = (
        flights(500)
        .rename(columns={"delay": 'the "delay"', "w": "filename", "hour": "file_row_number"})
        .assign(mv_held_out=1, held_out=2)
    )
    frame.to_csv(clean.folder / "reserved.csv", index=False)
    words = ["reserved.csv", "--label", 'the "delay"', "--prediction", "p", "--groups", "filename", "--groups", "file_row_number"]
    assert clean.json("fit", *words, "--holdout", "0.3")["held_out"]["before"]["rows"][0] > 100
    assert clean.json("online", "replay", "reserved.csv", "--label", 'the "delay"', "--levels", "5")["rounds"] == 500


@pytest.mark.parametrize("kind", ["semicolons", "commas", "bom", "latin", "gz"])
def test_csv_as_people_have_it(clean: Terminal, kind: str) -> None:
    frame, path, options = flights(500), clean.folder / "odd.csv", []
    frame["origin"] = frame["origin"].replace("JFK", "Zürich")
    text = frame.to_csv(index=False, sep=";" if kind in ("semicolons", "commas") else ",", decimal="," if kind == "commas" else ".")
    if kind == "gz":
        path = clean.folder / "odd.csv.gz"
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding={"bom": "utf-8-sig", "latin": "latin-1"}.get(kind, "utf-8"))
    if kind in ("commas", "latin"):
        options = ["--decimal", ","] if kind == "commas" else ["--encoding", "latin-1"]
        assert " ".join(options) in clean("audit", path.name, *COLUMNS, "--groups", "origin", code=3)
    found = clean.json("audit", path.name, *COLUMNS, "--groups", "origin", *options)["groups"]
    assert found["rows"][0] == 500
    assert "origin = Zürich" in found["name"]


def test_csv_in_two_bytes_per_letter(clean: Terminal) -> None:
    flights(300).to_csv(clean.folder / "wide.csv", index=False, encoding="utf-16")
    assert "add --encoding utf-16" in clean("audit", "wide.csv", *COLUMNS, code=3)
    assert clean.json("audit", "wide.csv", *COLUMNS, "--encoding", "UTF16")["groups"]["rows"] == [300]


def test_texts_that_stand_for_missing_values(clean: Terminal) -> None:
    rows = flights(300).astype({"delay": object, "hour": object})
    rows.loc[5, "delay"], rows.loc[7:60, "hour"] = "NA", "?"
    rows.to_csv(clean.folder / "gaps.csv", index=False)
    said = clean("audit", "gaps.csv", *COLUMNS, code=3)
    assert "line 7: column 'delay' holds 'NA'" in said
    assert "add --null NA" in said
    words = ["audit", "gaps.csv", *COLUMNS, "--groups", "bins:hour:2", "--null", "NA", "--null", "?"]
    assert "--missing-rows drop" in clean(*words, code=3)
    found = clean.json(*words, "--missing-rows", "drop")["groups"]
    assert dict(zip(found["name"], found["rows"], strict=True))["hour is missing"] == 54


def test_marks_between_thousands_are_not_taken_for_decimals(clean: Terminal) -> None:
    rows = flights(300)
    rows.assign(delay=[f"{1000 * value:,.1f}" for value in rows["delay"]]).to_csv(clean.folder / "marks.csv", index=False)
    assert "without marks between thousands" in clean("audit", "marks.csv", *COLUMNS, code=3)


def test_a_column_that_is_not_there_is_answered_with_those_of_the_user(clean: Terminal) -> None:
    assert clean("audit", "flights.csv", *COLUMNS, "--groups", "zzz", code=3).endswith("Columns: delay, p, origin, hour, w.\n")


def test_a_header_with_a_name_twice(clean: Terminal) -> None:
    (clean.folder / "twice.csv").write_text("delay,p,p\n1,2,3\n")
    assert "'p' more than once" in clean("audit", "twice.csv", *COLUMNS, code=3)
    (clean.folder / "capital.csv").write_text("delay,P,p\n1,2,3\n")
    assert "'p' and 'P', which differ in capital letters alone" in clean("audit", "capital.csv", *COLUMNS, code=3)


def test_tables_that_are_piped_are_not_cut(clean: Terminal) -> None:
    frame = flights(500)
    frame["a long name of a column of a table " * 3 + "x"] = frame["origin"] + " and a long value with a difference at its end" * 2
    frame.to_csv(clean.folder / "wide.csv", index=False)
    text = clean("audit", "wide.csv", *COLUMNS, "--groups", frame.columns[-1])
    assert all(f"{frame.columns[-1]} = {value}" in text for value in frame[frame.columns[-1]].unique())


def test_the_command_line_takes_what_audit_takes(clean: Terminal) -> None:
    assert clean.json("audit", "flights.csv", *COLUMNS, "--property", "quantile_mix:0.9:1")["error"] > 0


def test_piped_tables_have_names_in_full(clean: Terminal) -> None:
    long = "origin in ['JFK', 'LGA', 'somewhere else', 'another place', 'nowhere at all'] and hour >= 18"
    assert long in clean("audit", "flights.csv", *COLUMNS, "--groups", long)
    rows = flights(500).assign(es=60.0, var=50.0)
    rows.to_csv(clean.folder / "risk.csv", index=False)
    words = ["--label", "delay", "--var", "var", "--es", "es", "--tau", "0.9", "--groups", long]
    assert long in clean("backtest", "risk.csv", *words)
    pair = ["--label", "delay", "--prediction", "var,es", "--property", "quantile_cvar:0.9", "--groups", long]
    assert long in clean("audit", "risk.csv", *pair)
