"""A pytest plugin: which functions of the package each test calls, and how long it takes. Used by mutants.py.

    CALLED_FUNCTIONS=calls.json python -m pytest -p called_functions …

Functions, not lines: a hook that is called once per call of a function costs little, one per line several times the tests. A test that
takes more than SECONDS of CPU time is given up: it would be too slow for a mutant anyway.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SECONDS = 20
PACKAGE = str(Path.cwd() / "multivalid") + os.sep
calls: dict[str, list[str]] = {}
seconds: dict[str, float] = {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Collect the first line of every function that is entered while the test and its fixtures run."""
    entered: set[tuple[str, int]] = set()
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    sys.settrace(lambda frame, event, argument: entered.add((frame.f_code.co_filename, frame.f_code.co_firstlineno)))
    try:
        return (yield)
    finally:
        sys.settrace(None)
        signal.setitimer(signal.ITIMER_PROF, 0)
        calls[item.nodeid] = [f"{name.removeprefix(PACKAGE)}:{line}" for name, line in sorted(entered) if name.startswith(PACKAGE)]


def pytest_sessionstart() -> None:
    """A test is told that it took too long by failing."""
    signal.signal(signal.SIGPROF, lambda number, frame: pytest.fail("too slow to be a witness"))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Only tests that pass can notice anything."""
    if report.when == "call" and report.passed:
        seconds[report.nodeid] = report.duration


def pytest_sessionfinish() -> None:
    """Write {test: [seconds, functions]}."""
    found = {test: [seconds[test], calls[test]] for test in seconds}
    Path(os.environ["CALLED_FUNCTIONS"]).write_text(json.dumps(found), "utf-8")
