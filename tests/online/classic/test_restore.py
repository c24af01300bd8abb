"""A learner that was saved, reopened or interrupted goes on as if nothing had happened, to the last bit."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

import multivalid as mv
from multivalid.errors import InputError, ModelFileError
from multivalid.online import load
from multivalid.online.classic.play import Play
from multivalid.online.state import from_json, to_json
from multivalid.properties.base import Property
from multivalid.properties.parse import register
from multivalid.storage import write_json
from tests.online.classic.make import classic
from tests.online.streams import run, same


@pytest.mark.parametrize("options", [{}, {"horizon": 500}, {"algorithm": "A"}, {"jitter": 0.05}, {"groups": 0}])
@pytest.mark.parametrize("spec", ["mean", "quantile:0.9"])
def test_identical_transcript_after_loading(tmp_path: Path, spec: str, options: dict[str, object]) -> None:
    options = {"groups": 7, **options}
    count = int(options["groups"])  # type: ignore[call-overload]
    straight, broken = (classic(spec, seed=9, **options) for _ in range(2))  # type: ignore[arg-type]
    first = [p for _, p, _ in run(straight, "iid", 400, seed=1, groups=max(count, 1))] if count else None
    if count == 0:
        for learner in (straight, broken):
            for y in np.random.default_rng(0).random(300):
                learner.learn_one([], float(y))
        broken.save(tmp_path / "s.json")
        assert same(straight, load(tmp_path / "s.json"))
        return
    rng = np.random.default_rng(1)
    second = []
    for t in range(400):
        x = rng.random(7) < 0.4
        second.append(broken.predict_one(x))
        if t % 37 == 0:  # between a prediction and its outcome, too
            broken.save(tmp_path / "s.json")
            broken = load(tmp_path / "s.json")
        broken.learn_one(x, float(0.6 * x.mean() + 0.4 * rng.random()))
    assert first == second
    assert same(straight, broken)
    assert straight.alarm.evidence == pytest.approx(broken.alarm.evidence, nan_ok=True)


def test_open_tickets_are_kept(tmp_path: Path) -> None:
    a = classic("mean", 2, seed=1)
    tickets = [a.ask([True, False]) for _ in range(3)]
    a.tell(tickets[1], 0.5)
    a.save(tmp_path / "s.json")
    b = load(tmp_path / "s.json")
    for learner in (a, b):
        learner.tell(tickets[2], 0.75)
        learner.tell(tickets[0].id, 0.25)
    assert same(a, b)


def test_extreme_weights_survive_and_restore() -> None:
    # A wrong bound on the slope for ever: one label always, between two levels.
    a = classic("quantile:0.5", 1, m=4, lipschitz=1e-6, seed=1)
    for _ in range(50):
        a.learn_one([True], 0.5)
    t = a._engine.transcript
    for scale in (1e4, 1e6, 1e9):  # as after that many rounds
        t.n[:] = scale
        t.r[:] = np.array([[-0.4], [-0.3], [0.3], [0.4]]) * scale
        a._engine.weights.rebuild()
        assert a._engine.weights._extreme > 0
        for _ in range(5):
            assert a.predict_one([True]) in (1 / 3, 2 / 3)
            a.learn_one([True], 0.5)
            c, log_scale = a._engine.weights.coefficients(np.array([0, 1]))
            assert np.isfinite(c).all()
            assert np.isfinite(log_scale).all()
            assert (np.sign(c) == [-1, -1, 1, 1]).all()
        b = from_json(json.loads(json.dumps(to_json(a))))
        for _ in range(20):
            assert a.predict_one([False]) == b.predict_one([False])
            a.learn_one([False], 0.5)
            b.learn_one([False], 0.5)
        assert same(a, b)
    assert a.alarm
    assert np.isfinite(a.alarm.evidence)


def test_in_and_out_of_extreme_weights() -> None:
    a = classic("quantile:0.5", 1, m=2, lipschitz=1e-6, seed=1)
    t = a._engine.transcript
    t.n[:], t.r[:] = 1e4, np.array([[-400.0], [420.0]])
    t.n[0, 0] = t.n[0, 1] = 2000.0
    t.r[0] = -530.0  # just below the limit: a few outcomes on either side cross it
    t.rounds = 12_000
    a._engine.weights.rebuild()
    seen = []
    for i in range(400):
        seen.append(a._engine.weights._extreme > 0)
        b = from_json(json.loads(json.dumps(to_json(a))))
        for learner in (a, b):  # the level that owes so much would not be drawn: played by hand
            learner._engine.settle(Play(np.array([0, 1]), 0, None, t.rounds, 0.0), 0.9 if (i // 100) % 2 == 0 else 0.0, 1.0)
        assert a.predict_one([True]) == b.predict_one([True])
        assert same(a, b)
        assert (a._engine.weights._plain == b._engine.weights._plain).all()
    assert seen[0] is False
    assert sum(x != y for x, y in itertools.pairwise(seen)) >= 2


def test_very_long_calm_streams_keep_their_signs() -> None:
    a = classic("mean", 1, m=4, seed=1)
    a._engine.transcript.n[:] = 1e12
    a._engine.transcript.r[:] = np.array([[-3e9], [-2e9], [2e9], [1e9]])
    a._engine.transcript.rounds = 4 * 10**12
    a._engine.weights.rebuild()
    c, _ = a._engine.weights.coefficients(np.array([0, 1]))
    assert (np.sign(c) == [-1, -1, 1, 1]).all()
    a.learn_one([True], 0.4)
    assert np.isfinite(a.error())


def test_rebuild_is_exact() -> None:
    learner = classic("expectile:0.7", 7, m=11, seed=2)
    for _ in run(learner, "drifting", 700, seed=5):
        pass
    experts = learner._engine.weights
    plain, masses = experts._plain.copy(), experts._masses.copy()
    experts.rebuild()
    assert (experts._plain == plain).all()
    assert (experts._masses == masses).all()


def test_bad_files(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    learner = classic("mean", 1, seed=1)
    learner.learn_one([True], 0.5)
    learner.ask([True])
    good = to_json(learner)
    state = good["state"]
    damages = [
        ({"kind": "other"}, "kind|holds a"),
        ({**good, "version": 99}, "version"),
        ({**good, "setup": {}}, "damaged"),
        ({**good, "seed": -1}, "damaged"),
        ({**good, "state": {**state, "engine": {**state["engine"], "cells": [10**6]}}}, "damaged"),
        ({**good, "state": {**state, "engine": {**state["engine"], "r": [1e999] * 2}}}, "damaged"),
        ({**good, "state": {**state, "open": {"0": [[7], 0, None, 0]}}}, "damaged"),
    ]
    for content, message in damages:
        with pytest.raises(ModelFileError, match=message):
            from_json(content)
    learner.save(path)
    whole = path.read_text()
    for text, message in (
        ("", "is not a model"),
        ("[1]", "checksum is missing"),
        (whole.replace('"late": 0', '"late": 1'), "edited"),
    ):
        assert text != whole
        path.write_text(text)
        for read in (load, mv.load):
            with pytest.raises(ModelFileError, match=message):
                read(path)
    with pytest.raises(ModelFileError, match="cannot read"):
        load(tmp_path / "absent.json")


def test_the_one_load_reads_every_kind(tmp_path: Path) -> None:
    learner = classic("mean", 1, seed=1)
    learner.learn_one([True], 0.5)
    learner.save(tmp_path / "s.json")
    assert same(mv.load(tmp_path / "s.json"), learner)
    mv.multicalibrate([0.0, 1.0], [0.5, 0.5], groups=[], mode="theorem", m=4).save(tmp_path / "m.json")
    assert isinstance(mv.load(tmp_path / "m.json"), mv.Calibration)
    write_json(tmp_path / "x.json", {"kind": "recipe"})
    with pytest.raises(ModelFileError, match=r"x\.json holds a 'recipe', not one of multivalid\.calibration"):
        mv.load(tmp_path / "x.json")
    with pytest.raises(ModelFileError, match="not a saved online learner"):
        load(tmp_path / "m.json")


def test_user_properties_need_a_name(tmp_path: Path) -> None:
    prop = Property.from_identification(lambda g, y: (y <= g) - 0.25)
    learner = classic(prop, 1, seed=1)
    learner.learn_one([True], 0.5)
    with pytest.raises(InputError, match="register"):
        learner.save(tmp_path / "s.json")
    assert not list(tmp_path.iterdir())
    register("first quarter", prop)
    learner.save(tmp_path / "s.json")
    assert same(load(tmp_path / "s.json"), learner)
    assert [p.name for p in tmp_path.iterdir()] == ["s.json"]
