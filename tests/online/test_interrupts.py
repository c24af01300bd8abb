"""Interrupted at any moment: file, memory and an uninterrupted run are the same."""

from __future__ import annotations

import contextlib
import json
import random
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import multivalid as mv
from multivalid.online import OnlineMulticalibrator, copy_state, durable_monitor
from multivalid.online.state import state_of

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
WANTED = 125  # interrupts of a learner, in three cases
RNG = np.random.default_rng(5)
ROWS, LABELS, BASE = RNG.random((60_000, 4)) < 0.4, RNG.random(60_000), RNG.random(60_000)


@contextlib.contextmanager
def timer() -> Iterator[Callable[..., bool]]:
    """Calls something with a timer running; whether an interrupt came out of it."""
    random.seed(3)

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    def run(verb: Callable[..., Any], *arguments: Any) -> bool:
        try:
            # One in five may come much later: a call that keeps a snapshot takes long, and would never end if all came before.
            signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-6, 6e-4 if random.random() < 0.8 else 1e-2))
            verb(*arguments)
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            return True
        return False

    before = signal.signal(signal.SIGALRM, stop)
    try:
        yield run
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture
def alarm() -> Iterator[Callable[..., bool]]:
    with timer() as run:
        yield run


def state(learner: OnlineMulticalibrator) -> str:
    return json.dumps({**state_of(learner), "pending": None, "draws": None})


def in_file(folder: Path) -> OnlineMulticalibrator:
    """What the file holds, read as another process would."""
    copy_state(folder / "s.db", folder / "copy.db")
    with OnlineMulticalibrator.open(folder / "copy.db") as found:
        return found


@pytest.mark.parametrize("options", [{"algorithm": "sharp", "labels": (0, 1)}, {"algorithm": "B", "m": 9, "seed": 4}])
def test_learner_at_once(tmp_path: Path, alarm: Callable[..., bool], options: dict[str, Any]) -> None:
    plain = OnlineMulticalibrator("quantile:0.8", 4, **options)
    kept = OnlineMulticalibrator.open(tmp_path / "s.db", "quantile:0.8", 4, **options)
    interrupts = done = 0
    while interrupts < WANTED and done < 30_000:
        if "seed" in options:  # an interrupt right after a prediction was drawn would have it drawn again: another stream
            kept.predict_one(ROWS[done], BASE[done])
        elif alarm(kept.predict_one, ROWS[done], BASE[done]):
            interrupts += 1
            continue
        while alarm(kept.learn_one, ROWS[done], LABELS[done]):
            interrupts += 1
            assert state(kept) == state(in_file(tmp_path))  # memory as it is, before any further call
            assert kept.rounds in (done, done + 1)
            if kept.rounds > done:
                break
        plain.predict_one(ROWS[done], BASE[done])
        plain.learn_one(ROWS[done], LABELS[done])
        done += 1
        assert kept.rounds == done
    assert interrupts >= WANTED
    assert json.dumps(state_of(kept)["engine"]) == json.dumps(state_of(plain)["engine"])
    assert state(kept) == state(plain) == state(in_file(tmp_path))
    kept.close()


def test_learner_later(tmp_path: Path, alarm: Callable[..., bool]) -> None:
    plain = OnlineMulticalibrator("mean", 4, labels=(0, 1))
    kept = OnlineMulticalibrator.open(tmp_path / "s.db", "mean", 4, labels=(0, 1))
    interrupts = asked = 0
    while interrupts < WANTED and asked < 20_000:
        while alarm(kept.ask, ROWS[asked]):
            interrupts += 1
            assert state(kept) == state(in_file(tmp_path))
            if asked in kept.outstanding:
                break
        plain.ask(ROWS[asked])
        asked += 1
        if asked % 3 == 0:
            number = plain.outstanding[asked % len(plain.outstanding)]
            verb = (kept.forget, (number,)) if asked % 21 == 0 else (kept.tell, (number, LABELS[number]))
            while alarm(verb[0], *verb[1]):
                interrupts += 1
                assert state(kept) == state(in_file(tmp_path))
                if number not in kept.outstanding:
                    break
            (plain.forget if asked % 21 == 0 else plain.tell)(number, *verb[1][1:])
            while len(plain.outstanding) > 12:
                for learner in (plain, kept):
                    learner.tell(learner.outstanding[0], 0.5)
    assert interrupts >= WANTED
    assert state(kept) == state(plain) == state(in_file(tmp_path))
    kept.close()


def test_monitor(tmp_path: Path, alarm: Callable[..., bool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(durable_monitor, "SNAPSHOT_UPDATES", 40)
    plain = mv.Monitor("mean", 4, window=20, buckets=3)
    kept = mv.Monitor.open(tmp_path / "s.db", "mean", 4, window=20, buckets=3)
    interrupts = done = 0
    while interrupts < 2 * WANTED and done < 50_000:
        size = 1 + done % 3
        part = slice(done, done + size)
        while alarm(kept.update_many, ROWS[part], BASE[part], LABELS[part]):
            interrupts += 1
            copy_state(tmp_path / "s.db", tmp_path / "copy.db")
            with mv.Monitor.open(tmp_path / "copy.db") as found:
                assert found._rounds == kept._rounds  # memory as it is, before any further call
                assert json.dumps(found.to_json()) == json.dumps(kept.to_json())
            if kept.rounds > done:
                break
        plain.update_many(ROWS[part], BASE[part], LABELS[part])
        done += size
        assert kept.rounds == done
    assert interrupts >= 2 * WANTED
    assert json.dumps(kept.to_json()) == json.dumps(plain.to_json())
    kept.close()
    with mv.Monitor.open(tmp_path / "s.db") as again:
        assert json.dumps(again.to_json()) == json.dumps(plain.to_json())


def test_interrupted_while_it_recovers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = mv.Monitor.open(tmp_path / "s.db", "mean", 1)
    kept.update([True], 0.3, 1)
    twice = [KeyboardInterrupt, KeyboardInterrupt]

    def interrupted(*_: Any) -> None:
        raise twice.pop()

    with monkeypatch.context() as patch:
        patch.setattr(mv.Monitor, "_add", interrupted)  # after the commit, and again when the file is read
        with pytest.raises(KeyboardInterrupt):
            kept.update([False], 0.3, 0)
    assert twice == []
    assert kept.rounds == 2  # read from the file on the next use
    kept.update([True], 0.3, 0)
    assert kept.rounds == 3
    kept.close()


def test_every_public_verb_is_guarded() -> None:
    from multivalid.online import durable

    keeping = {"close", "open", "setup", "property", "groups", "grid"}
    verbs = {name for name in dir(durable.DurableMulticalibrator) if not name.startswith("_")}
    assert verbs - keeping == {*durable.CHANGES, *durable.READS}
    watching = {name for name in dir(durable_monitor.DurableMonitor) if not name.startswith("_")}
    assert watching - keeping - {"update", "update_many", "copy"} == set(durable_monitor.READS)
