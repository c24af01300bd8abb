"""Learners and monitors that are killed or interrupted: is the file what memory was, and both what a run without interruption gives?

    python benchmarks/online_durable.py [kills] [interrupts]      (50 and 250; some minutes)

Runs the tests of the same with these numbers (pytest must be there) and says what they counted; a difference ends it with an error.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.online import test_crash, test_interrupts


def held(what: str, check: Callable[[Path], object]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        check(Path(folder))
    print(f"{what}: file = memory = uninterrupted run", flush=True)


def main(kills: int, interrupts: int) -> None:
    for mode in ("at once", "later"):
        held(
            f"learner, outcomes {mode}, {kills} SIGKILLs",
            lambda folder, mode=mode: test_crash.test_killed_learners_lose_nothing(folder, mode, kills),
        )
    held(f"monitor, {kills} SIGKILLs", lambda folder: test_crash.test_killed_monitors_lose_nothing(folder, kills))
    test_interrupts.WANTED = interrupts
    settings = {"labels": (0, 1), "algorithm": "sharp"}
    with test_interrupts.timer() as alarm, pytest.MonkeyPatch.context() as patch:
        held(
            f"learner, outcomes at once, {interrupts} interrupts",
            lambda f: test_interrupts.test_learner_at_once(f, alarm, settings),
        )
        held(f"learner, outcomes later, {interrupts} interrupts", lambda f: test_interrupts.test_learner_later(f, alarm))
        test_interrupts.WANTED = (interrupts + 1) // 2  # the test of the monitor asks for twice that
        held(f"monitor, {interrupts} interrupts", lambda f: test_interrupts.test_monitor(f, alarm, patch))


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:]]
    main(*(numbers + [50, 250][len(numbers) :]))
