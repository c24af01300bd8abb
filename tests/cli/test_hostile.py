"""Whatever is wrong: one line that says so, the right code, no traceback, no partial output."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from multivalid.storage import checksum
from tests.cli.conftest import Terminal, flights

COLUMNS = ["--label", "delay", "--prediction", "p"]


@pytest.fixture
def clean(tmp_path: Path) -> Terminal:
    flights(500).to_csv(tmp_path / "flights.csv", index=False)
    return Terminal(tmp_path)


def refused(terminal: Terminal, *words: str, code: int) -> str:
    before = set(terminal.folder.rglob("*"))
    text = terminal(*words, code=code)
    assert text.startswith("multivalid: ")
    assert text.count("\n") == 1
    assert set(terminal.folder.rglob("*")) == before
    return text


def test_a_csv_with_a_bad_row(clean: Terminal) -> None:
    with (clean.folder / "flights.csv").open("a") as file:
        file.write("not a number,26,JFK,3,1\n")
    assert "line 502" in refused(clean, "audit", "flights.csv", *COLUMNS, code=3)


def test_a_csv_with_a_short_row(clean: Terminal) -> None:
    text = (clean.folder / "flights.csv").read_text().splitlines()
    text[300] = "1.0,26"
    (clean.folder / "flights.csv").write_text("\n".join(text) + "\n")
    assert "line 301" in refused(clean, "fit", "flights.csv", *COLUMNS, "--model", "m.json", code=3)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["audit", "flights.csv", "--label", "dealy", "--prediction", "p"], 3, "did you mean 'delay'"),
        (["audit", "flights.csv", *COLUMNS, "--groups", "orgin == 'JFK'"], 3, "no column 'orgin'"),
        (["audit", "nothing.csv", *COLUMNS], 3, "nothing.csv does not exist"),
        (["audit", "*.parquet", *COLUMNS], 3, "no file matches"),
        (["audit", ".", *COLUMNS, "--property", "quantil:0.9"], 2, "did you mean 'quantile'"),
        (["audit", "flights.csv", *COLUMNS, "--groups", "__import__('os').system('touch x')"], 2, "calls are not part of the language"),
        (["audit", "flights.csv", *COLUMNS, "--groups", "bins:hour:many"], 2, "bins:hour:many"),
        (["audit", "flights.csv", *COLUMNS, "--memory", "lots"], 2, "not an amount"),
        (["fit", "flights.csv", *COLUMNS, "--mode", "magic"], 2, "practical, theorem, paper"),
        (["fit", "flights.csv", *COLUMNS, "--holdout", "1.5"], 2, "between 0 and 1"),
        (["fit", "flights.csv", *COLUMNS, "--model", "no/such/folder/m.json"], 2, "does not exist"),
        (["fit", "flights.csv", *COLUMNS, "--model", "m.pickle"], 2, "must end in .json"),
        (["fit", "flights.csv", *COLUMNS, "--model", "r.json", "--report", "r.json"], 2, "rename one of them"),
        (["apply", "flights.csv", "--model", "m.json", "-p", "p", "-o", "out.csv"], 3, "cannot read m.json"),
        (["apply", "flights.csv", "--model", "flights.csv", "-p", "p", "-o", "out.csv"], 3, "is not a model"),
        (["scope", "nonsense"], 2, "nonsense"),
    ],
)  # fmt: skip
def test_one_line_and_a_code(clean: Terminal, words: list[str], code: int, said: str) -> None:
    assert said in refused(clean, *words, code=code)


def test_a_folder_without_data(clean: Terminal) -> None:
    (clean.folder / "empty").mkdir()
    assert "folder without .parquet or .csv" in refused(clean, "audit", "empty", *COLUMNS, code=3)


@pytest.mark.parametrize("name", ["empty.csv", "empty.parquet"])
def test_an_empty_file(clean: Terminal, name: str) -> None:
    (clean.folder / name).touch()
    assert f"{name} is empty" in refused(clean, "audit", name, *COLUMNS, code=3)


def test_a_header_alone(clean: Terminal) -> None:
    (clean.folder / "head.csv").write_text("delay,p\n")
    refused(clean, "audit", "head.csv", *COLUMNS, code=3)


def test_a_file_that_is_not_what_it_says(clean: Terminal) -> None:
    (clean.folder / "odd.parquet").write_bytes(b"\x00\x01" * 100)
    assert "odd.parquet" in refused(clean, "audit", "odd.parquet", *COLUMNS, code=3)
    (clean.folder / "data.xlsx").write_bytes(b"PK")
    assert "neither .parquet nor .csv" in refused(clean, "audit", "data.xlsx", *COLUMNS, code=3)


def test_a_model_of_another_version(clean: Terminal) -> None:
    clean("fit", "flights.csv", *COLUMNS, "--model", "m.json")
    content = json.loads((clean.folder / "m.json").read_text())
    content.pop("checksum")
    content["version"] = 99
    (clean.folder / "m.json").write_text(json.dumps({**content, "checksum": checksum(content)}))
    words = ["apply", "flights.csv", "--model", "m.json", "--prediction", "p", "--output", "out.csv"]
    assert "version 99" in refused(clean, *words, code=3)


def test_an_output_that_is_a_folder(clean: Terminal) -> None:
    (clean.folder / "out.csv").mkdir()
    clean("fit", "flights.csv", *COLUMNS, "--model", "m.json")
    words = ["apply", "flights.csv", "--model", "m.json", "--prediction", "p", "--output", "out.csv"]
    assert "it is a folder" in refused(clean, *words, code=2)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_output_without_permission(clean: Terminal) -> None:
    (clean.folder / "closed").mkdir(mode=0o500)
    assert "permission denied" in refused(clean, "fit", "flights.csv", *COLUMNS, "--model", "closed/m.json", code=2)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder that nobody can write to")
def test_an_output_where_nobody_can_write(clean: Terminal) -> None:
    assert "cannot write /proc/m.json" in refused(clean, "fit", "flights.csv", *COLUMNS, "--model", "/proc/m.json", code=2)


def test_a_failing_apply_leaves_nothing(clean: Terminal) -> None:
    clean("fit", "flights.csv", *COLUMNS, "--groups", "origin", "--model", "m.json")
    flights(500).drop(columns="origin").to_csv(clean.folder / "narrow.csv", index=False)
    words = ["apply", "narrow.csv", "--model", "m.json", "--prediction", "p", "--output", "out.csv"]
    assert "origin" in refused(clean, *words, code=3)


def test_unknown_options_are_usage(clean: Terminal) -> None:
    clean("audit", "flights.csv", "--nonsense", code=2)
    clean("nonsense", code=2)
