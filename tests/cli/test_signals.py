"""Signals at the moments that are hard to hit: twice, while files are put in their places, and while Python goes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from multivalid.cli import signals
from multivalid.cli.exits import guarded
from multivalid.cli.writing import outputs
from tests.cli.conftest import Terminal, flights

ROOT = str(Path(signals.__file__).parents[2])


def ended(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    (folder / "tmp").mkdir(exist_ok=True)
    environment = {**os.environ, "PYTHONPATH": ROOT, "TMPDIR": str(folder / "tmp")}
    return subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_second_signal_while_the_first_is_answered(tmp_path: Path, name: str, code: int) -> None:
    """Copies are removed, and the code is that of a stopped command, however often a key is pressed."""
    program = f"""
import os, signal, sys
signal.signal(signal.{name}, signal.SIG_DFL if "{name}" == "SIGHUP" else signal.getsignal(signal.{name}))  # a shell may have it ignored
from multivalid.cli import main, signals
from multivalid.cli.exits import guarded
from multivalid.cli.reading import _folder

@guarded
def command():
    try:
        with _folder() as folder:
            (folder / "copy").write_text("rows")
            os.kill(os.getpid(), signal.{name})
    finally:
        os.kill(os.getpid(), signal.{name})

def remove(self, folder):  # as if the second signal came first
    os.kill(os.getpid(), signal.{name})

signals.Watch.remove = remove
main._run = command
main.main()
"""
    done = ended(tmp_path, program)
    assert done.returncode == code, done.stderr
    assert done.stderr.strip() == "multivalid: interrupted; nothing was written."
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_signal_before_the_command_itself_begins(tmp_path: Path) -> None:
    """What reads the options has an answer of its own to Ctrl-C, without a word."""
    program = """
import functools, os, signal, sys
from multivalid.cli import app, main

@functools.wraps(app.app.registered_callback.callback)
def late(**options):
    os.kill(os.getpid(), signal.SIGINT)

app.app.registered_callback.callback = late
sys.argv[1:] = ["scope", "mean"]
main.main()
"""
    done = ended(tmp_path, program)
    assert done.returncode == 130, done.stderr
    assert done.stderr.strip() == "multivalid: interrupted; nothing was written."


def test_a_signal_while_files_are_put_in_place_comes_too_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace = os.replace

    def slow(made: Path, target: Path) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        replace(made, target)

    @guarded
    def command() -> None:
        with outputs() as out:
            out.place(tmp_path / "a.json").write_text("whole")
            monkeypatch.setattr(os, "replace", slow)

    command()  # ends well: it must not say that nothing was written
    assert (tmp_path / "a.json").read_text() == "whole"
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_a_program_that_goes_has_its_code(tmp_path: Path) -> None:
    flights(300).to_csv(tmp_path / "flights.csv", index=False)
    program = """
import atexit, os, signal, sys
from multivalid.cli.main import main
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    atexit.register(os.kill, os.getpid(), number)
sys.argv[1:] = "fit flights.csv --label delay --prediction p --groups origin --model m.json".split()
main()
"""
    done = ended(tmp_path, program)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "m.json").exists()


def test_a_monitor_whose_rows_are_in_its_file_ends_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import multivalid as mv

    flights(300).to_csv(tmp_path / "flights.csv", index=False)
    update = mv.Monitor.update_many

    def late(self: mv.Monitor, *given: object, **options: object) -> object:
        os.kill(os.getpid(), signal.SIGINT)
        return update(self, *given, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(mv.Monitor, "update_many", late)
    words = ["monitor", "flights.csv", "--label", "delay", "--prediction", "delay", "--high", "999", "--state", "s.db"]
    assert "300" in Terminal(tmp_path)(*words)
    with mv.Monitor.open(tmp_path / "s.db") as kept:
        assert kept.rounds == 300
