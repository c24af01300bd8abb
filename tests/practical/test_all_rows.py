"""Rows that stay in an engine: the shape from a sample, the coefficients from all rows by one pass; as good as in memory."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import multivalid as mv
from multivalid.practical import all_rows, newton
from multivalid.practical import fit as practical
from multivalid.practical.all_rows import Pulls
from multivalid.practical.data import LinkRows, Matching
from multivalid.sources.engine import EngineSource
from multivalid.sources.open import open_source

GROUPS = ["a", "b", "a == 1 and b < 3", "b > 5"]


def rows(n: int, seed: int, prop: str, *, tied: bool) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    a, b, signal = rng.integers(0, 6, n), rng.integers(0, 12, n), rng.random(n)
    signal = np.round(signal * 20) / 20 if tied else signal
    effect = 0.4 * (a == 2) - 0.5 * (b > 8) + 0.3 * ((a == 1) & (b < 3))
    if prop == "mean":
        p = 1 / (1 + np.exp(1 - 2 * signal))
        y = (rng.random(n) < 1 / (1 + np.exp(1 - 2 * signal - effect))).astype(float)
    else:
        p, y = 2.3 * (0.5 + signal), rng.exponential(1, n) * np.exp(effect) * (0.5 + signal)
        y = np.round(y, 1) if tied else y
    return pd.DataFrame({"y": y, "p": p, "w": rng.integers(1, 5, n).astype(float), "a": a, "b": b})


def judged(made: Any, test: pd.DataFrame, weight: str | None) -> tuple[float, float]:
    """Mean score and worst group error on rows never seen."""
    found = mv.audit(
        "y", "q", groups=GROUPS, data=made.predict("p", data=test, output="q"), property=made.property, sample_weight=weight
    )
    return float(found.score), found.error


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("tied", [False, True], ids=["all different", "tied"])
@pytest.mark.parametrize("prop", ["mean", "quantile:0.9"])
def test_as_good_as_in_memory(prop: str, tied: bool, weight: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    fitting, test = rows(150_000, 1, prop, tied=tied), rows(150_000, 2, prop, tied=tied)
    options: dict[str, Any] = {"groups": GROUPS, "property": prop, "sample_weight": weight}
    whole = judged(mv.multicalibrate("y", "p", data=fitting, **options), test, weight)
    monkeypatch.setattr(practical, "SAMPLE", 15_000)
    made = mv.multicalibrate("y", "p", data=pl.from_pandas(fitting).lazy(), **options)
    part = mv.multicalibrate("y", "p", data=fitting.sample(15_000, random_state=0), **options)
    score, error = judged(made, test, weight)
    assert "fitted on all 150,000 rows by one pass of sums" in made.certificate.note
    assert "on a random sample of" in made.certificate.note
    lost = judged(part, test, weight)[0] - whole[0]
    assert lost > 0
    assert score - whole[0] < lost / 4  # of what fitting on the sample alone loses
    assert error < 1.5 * whole[1] + 1e-5


def test_a_pass_makes_the_same_sums_everywhere() -> None:
    data = rows(5_000, 3, "quantile:0.9", tied=True)
    made = mv.multicalibrate("y", "p", groups=GROUPS, data=data, property="quantile:0.9")
    assert made.predictor.model is not None
    terms = Pulls(made.property, made.predictor, made.predictor.model)
    found = [
        open_source("y", "p", groups=made.groups, target=made.property, data=where, sample_weight="w").group_sums(
            made.predictor, terms
        )
        for where in (data, pl.from_pandas(data).lazy())
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9, atol=1e-9)
    v = data["w"] * ((data["y"] <= made.predict("p", data=data)) - 0.9)
    assert found[0][0, 0] == pytest.approx(v.sum())
    assert found[0][list(made.groups.names).index("b > 5"), 0] == pytest.approx(v[data["b"] > 5].sum())


def sampled(made: Any) -> int:
    found = re.search(r"on a random sample of ([0-9,]+) of", made.certificate.note)
    assert found
    return int(found[1].replace(",", ""))


def test_half_of_the_sample_will_do_where_all_rows_move_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    data = pl.from_pandas(rows(100_000, 1, "mean", tied=True)).lazy()
    for size, most in ((20_000, 11_000), (30_000, 33_000)):  # a fifth of the rows, and more than a fourth
        monkeypatch.setattr(practical, "SAMPLE", size)
        made = mv.multicalibrate("y", "p", groups=GROUPS, data=data)
        assert made.predictor.model is not None
        assert not made.predictor.model.bends.size
        assert 0.8 * most < sampled(made) < most


def test_nothing_done_stays_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where rows held out confirm nothing, all rows change nothing either."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0.2, 0.8, 30_000)
    data = pl.DataFrame({"y": (rng.random(30_000) < p).astype(float), "p": p, "a": rng.integers(0, 3, 30_000)})
    monkeypatch.setattr(practical, "SAMPLE", 10_000)
    made = mv.multicalibrate("y", "p", groups=["a"], data=data.lazy())
    assert made.predictor.model is None
    assert "Fitted on a random sample of" in made.certificate.note


@pytest.mark.parametrize("shape", ["bend", "twist", "both"])
@pytest.mark.parametrize("pushed", [False, True], ids=["passing", "pushed down"])
def test_the_gradient_of_bent_shifts_is_exact_wherever_rows_live(shape: str, pushed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if pushed:
        monkeypatch.setattr(EngineSource, "passing", lambda source: None)
    data = rows(5_000, 4, "quantile:0.9", tied=True)
    made = mv.multicalibrate("y", "p", groups=GROUPS, data=data, property="quantile:0.9")
    model, rng = made.predictor.model, np.random.default_rng(0)
    assert model is not None
    if shape != "twist":
        model = replace(model, bend_knots=np.array([-0.2, 0.05, 0.3]), bends=np.array([0.3, -0.5, 0.2]))
    if shape != "bend":
        model = replace(model, twists=rng.normal(0, 0.1, (1 + model.bends.size) * (1 + model.knots.size)))
    predictor = replace(made.predictor, model=model)
    here, there = (
        open_source("y", "p", groups=made.groups, target=made.property, data=where, sample_weight="w")
        for where in (data, pl.from_pandas(data).lazy())
    )
    inner = LinkRows.of(here, predictor.link, np.arange(len(data)))
    exact = newton.sweep(model, inner, Matching(made.property, predictor.link))[2].sum(axis=0)
    free = all_rows._free(model)
    assert free.any()
    for source in (here, there):
        sums = source.group_sums(predictor, Pulls(made.property, predictor, model)) / data["w"].mean()
        np.testing.assert_allclose(all_rows._gradient(model, sums)[free], exact[free], rtol=1e-4, atol=0.02)


def test_a_bent_model_is_moved_by_all_rows_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Effects that add up before the curve bends them: what a sample finds of the bend stays, and the shifts move to their places."""

    def bent(n: int, seed: int) -> pd.DataFrame:
        rng = np.random.default_rng(seed)
        a, b, signal = rng.integers(0, 6, n), rng.integers(0, 12, n), rng.random(n)
        return pd.DataFrame(
            {"y": rng.exponential(1, n) * (0.3 + a + 0.5 * b) * (0.5 + signal), "p": 9 * (0.5 + signal), "a": a, "b": b}
        )

    fitting, test = bent(200_000, 1), bent(200_000, 2)
    monkeypatch.setattr(practical, "SAMPLE", 30_000)
    options: dict[str, Any] = {"groups": ["a", "b"], "property": "quantile:0.9"}
    part = mv.multicalibrate("y", "p", data=fitting.sample(30_000, random_state=0), **options)
    made = mv.multicalibrate("y", "p", data=pl.from_pandas(fitting).lazy(), **options)
    assert made.predictor.model is not None
    assert made.predictor.model.bends.size
    assert "fitted on all 200,000 rows by one pass of sums" in made.certificate.note
    assert 28_000 < sampled(made) < 32_000
    lost = [
        float(mv.audit("y", "q", groups=["a", "b"], data=one.predict("p", data=test, output="q"), property="quantile:0.9").score)
        for one in (made, part)
    ]
    assert lost[0] < lost[1]
