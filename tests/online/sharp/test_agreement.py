"""The sharp learner against one written from the definitions, and the compiled rounds against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from multivalid.kernels import library
from multivalid.online import OnlineMulticalibrator
from multivalid.online.sharp import bets
from multivalid.online.sharp.tables import NAMES
from multivalid.properties.parse import parse
from tests.kernels.both import loop  # noqa: F401
from tests.reference.online_sharp import Slow

LO, HI = -2.0, 5.0
BOUNDS = {"mean": (7.0, 7.0), "quantile:0.7": (0.7, 0.3), "quantile:0.1": (0.1, 0.9), "expectile:0.8": (11.2, 2.8)}


def stream(rows: int, seed: int) -> list[tuple[np.ndarray, float, float, float]]:
    """Skewed, weighted, with ties and labels at the ends, a law that changes."""
    rng = np.random.default_rng(seed)
    out = []
    for t in range(rows):
        x = rng.random(3) < (0.2, 0.5, 0.8)
        y = float(np.clip(rng.gamma(1.5, 0.8 + x[0]) - 2.0 + (t > rows // 2) * x[1], LO, HI))
        y = float(rng.choice([LO, HI, 0.5])) if rng.random() < 0.15 else y
        out.append((x, y, float(rng.uniform(-3, 5)), float(rng.choice([1.0, 0.5, 0.1]))))
    return out


@pytest.mark.usefixtures("loop")
@pytest.mark.parametrize("with_base", [False, True])
@pytest.mark.parametrize("spec", BOUNDS)
def test_same_plays_bets_and_guide(spec: str, with_base: bool) -> None:
    fast, prop = OnlineMulticalibrator(spec, 3, labels=(LO, HI)), parse(spec)
    lowest = LO - 7e-12 if spec.startswith("quantile") else LO
    slow = Slow(lambda p, y: float(prop.identify(p, y)), LO, HI, *BOUNDS[spec], lowest)
    t = fast._engine.tables
    for x, y, given, weight in stream(150, seed=4):
        base = given if with_base else None
        active = [0, *(1 + np.flatnonzero(x)).tolist()]
        play = slow.ask(active, base)
        assert fast.predict_one(x, base) == pytest.approx(play["p"], abs=1e-9)
        made = fast._pending
        assert {i: s for i, s in made.buckets if s > 1e-9} == pytest.approx(
            {i: s for i, s in play["cells"].items() if s > 1e-9}, abs=1e-6
        )
        np.testing.assert_allclose(made.numbers[16:], play["experts"], atol=1e-9)
        fast.learn_one(x, y, weight)
        slow.tell({**play, "p": made.prediction}, y, weight)
    for (g, i), n in slow.n.items():
        assert t.count[g, i] == pytest.approx(n, abs=1e-6)
        assert t.sum[g, i] == pytest.approx(slow.r[g, i], abs=1e-5)
    assert bets.total(t) == pytest.approx(slow.total(4) / (1 + 0.1 * 4 * 20), rel=1e-6)


@pytest.mark.skipif(not library.available(), reason="no compiled loops")
@pytest.mark.parametrize("with_base", [False, True])
@pytest.mark.parametrize("spec", [*BOUNDS, "huber:0.7", "event:0:1"])
def test_compiled_is_numpy(spec: str, with_base: bool) -> None:
    compiled = OnlineMulticalibrator(spec, 3, labels=(LO, HI))
    whole = OnlineMulticalibrator(spec, 3, labels=(LO, HI))
    with library.numpy_only():
        plain = OnlineMulticalibrator(spec, 3, labels=(LO, HI))
    rows = stream(1500, seed=9)
    for x, y, base, weight in rows:
        base = base if with_base else None
        assert compiled.predict_one(x, base) == pytest.approx(plain.predict_one(x, base), rel=1e-12, abs=1e-12)
        compiled.learn_one(x, y, weight)
        plain.learn_one(x, y, weight)
    x, y, base, weight = (np.array(column) for column in zip(*rows, strict=True))
    whole.replay(x, y, base=base if with_base else None, weight=weight)
    for name in NAMES:
        a, b, c = (getattr(one._engine.tables, name) for one in (compiled, plain, whole))
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12, err_msg=name)
        np.testing.assert_allclose(c, a, rtol=1e-10, atol=1e-12, err_msg=name)


@pytest.mark.usefixtures("loop")
def test_many_predictions_are_single_ones() -> None:
    learner = OnlineMulticalibrator("quantile:0.7", 3, labels=(LO, HI), batch=200)
    rows = stream(200, seed=2)
    x, y, base, _ = (np.array(column) for column in zip(*rows, strict=True))
    learner.replay(x, y, base=base)
    many = learner.predict_many(x[:50], base[:50])
    assert many.tolist() == [learner.predict_one(one, b) for one, b in zip(x[:50], base[:50].tolist(), strict=True)]
