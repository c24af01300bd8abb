"""Rows that pass by, sums that are pushed down, and rows in memory give the same tables; one look serves both sides of a comparison."""

from __future__ import annotations

import contextlib
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import multivalid as mv
from multivalid.audit.audit import audit_source
from multivalid.kernels import library
from multivalid.practical.all_rows import Pulls
from multivalid.sources import counting, engine_tables, passing_tables
from multivalid.sources.engine import EngineSource
from multivalid.sources.open import open_source
from tests.kernels.both import loop

__all__ = ["loop"]

GROUPS = ["a", "b == 2 or b == 5", "b > 5", mv.cross("a", "c"), "c is None and a > 0", "flag"]
WITH_TEXT = [*GROUPS, "site"]


def rows(n: int = 6_000) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    a, b, signal = rng.integers(-2, 4, n), rng.integers(0, 9, n), rng.random(n)
    effect = 0.4 * (a == 2) - 0.5 * (b > 5)
    c = pd.array(np.where(rng.random(n) < 0.2, -1, rng.integers(0, 3, n)), dtype="Int64")
    c[c == -1] = pd.NA
    return pd.DataFrame({
        "y": np.round(rng.exponential(1, n) * np.exp(effect) * (0.5 + signal), 1), "p": 2.3 * (0.5 + np.round(signal, 2)),
        "w": rng.integers(1, 5, n).astype(float), "a": a, "b": b, "c": c, "flag": rng.random(n) < 0.3,
        "site": rng.choice(["x", "y ' z", "ü"], n), "out": rng.random(n) < 0.4,
    })  # fmt: skip


def entered(data: pd.DataFrame, engine: str) -> Any:
    frame = pl.from_pandas(data)
    return frame.lazy() if engine == "polars" else duckdb.sql("SELECT * FROM frame")


def model(data: pd.DataFrame, groups: list[Any], prop: str, weight: str | None) -> Any:
    made = mv.multicalibrate("y", "p", groups=groups, data=data, property=prop, sample_weight=weight)
    assert made.predictor.model is not None
    return made


@pytest.mark.parametrize("groups", [GROUPS, WITH_TEXT], ids=["numbers", "texts"])
@pytest.mark.parametrize("way", ["passing", "blocks", "pushed"])
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("prop", ["quantile:0.8", "mean"])
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_every_way_gives_the_tables_of_memory(
    engine: str,
    prop: str,
    weight: str | None,
    way: str,
    groups: list[Any],
    loop: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = rows()
    made = model(data, groups, prop, weight)
    if way == "blocks":  # as where lines are too many to be counted
        monkeypatch.setattr(counting, "MOST_CELLS", 0)
    if way == "pushed":
        if loop == "NumPy":
            pytest.skip("the engine adds up: no loop of ours runs")
        monkeypatch.setattr(EngineSource, "passing", lambda source: None)
    here, there = (
        open_source("y", "p", groups=groups, target=made.property, data=where, sample_weight=weight)
        for where in (data, entered(data, engine))
    )
    assert there.groups.names == here.groups.names
    assert there.lines is not None
    assert there.lines.by_code == (groups is GROUPS)
    terms = Pulls(made.property, made.predictor, made.predictor.model)
    found = [one.group_sums(made.predictor, terms) for one in (here, there)]
    np.testing.assert_allclose(found[1][0], found[0][0], rtol=1e-9, atol=1e-9)
    by_group = found[0].shape[1] - terms.whole
    np.testing.assert_allclose(found[1][:, :by_group], found[0][:, :by_group], rtol=1e-9, atol=1e-9)
    after = [audit_source(one.predicted_by(made.predictor, beside=True), made.property, values=False) for one in (here, there)]
    assert after[0].grids == after[1].grids
    before = [audit_source(one, made.property, after[0].grids[0], beyond=True, values=False) for one in (here, there)]
    for one, other in (after, before):
        for name in ("rows", "error", "gap", "gap_low", "gap_high", "p_value", "prediction"):
            np.testing.assert_allclose(other.table[name], one.table[name], rtol=1e-7, atol=1e-10, err_msg=name)
        assert other.score == pytest.approx(one.score, rel=1e-9)


def test_both_sides_of_a_comparison_come_from_one_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """The audit before the fit, at the levels of the one after it, asks the engine for nothing."""
    looks = []
    monkeypatch.setattr(
        engine_tables, "cells_passing",
        lambda *asked: (looks.append(1), passing_tables.cells_passing(*asked))[1],
    )  # fmt: skip
    data = rows()
    made = mv.multicalibrate("y", "p", groups=GROUPS, data=entered(data, "polars"), property="quantile:0.8", holdout="out")
    assert made._rows is not None
    assert made._judged is not None
    assert len(looks) == 1
    before = audit_source(made._rows, made.property, made._judged.grids[0], beyond=True, values=False)
    assert len(looks) == 1
    held = data[data["out"]]
    plain = mv.audit("y", "p", groups=made.groups, data=held, property="quantile:0.8", grid=made._judged.grids[0])
    np.testing.assert_allclose(before.table["error"], plain.table["error"], rtol=1e-9)
    assert int(before.table["rows"][0]) == int(data["out"].sum())


def test_many_codes_are_searched_for(monkeypatch: pytest.MonkeyPatch) -> None:
    from multivalid.sources import looked_up

    data = rows().assign(b=lambda frame: frame["b"] * 1_000_003)
    groups = ["a", "b"]
    made = model(data, groups, "mean", None)
    source = open_source("y", "p", groups=groups, target=made.property, data=entered(data, "polars"))
    codes = source.lines.table[looked_up.CODE]
    assert codes.max() > looked_up.LARGEST_TABLE
    np.testing.assert_array_equal(source.lines.numbers(codes), np.arange(codes.size))


class Beyond:
    """Terms that no step can be made of: NumPy's own function of a column."""

    whole = 0

    def __call__(self, by: Any, prediction: Any, made: Any, label: Any, weight: Any, members: Any) -> list[Any]:
        return [weight * np.sqrt(label), made]


@pytest.mark.parametrize("weight", [None, "w"])
def test_both_loops_give_the_same_bits_and_what_is_no_step_is_worked_out_with_arrays(weight: str | None) -> None:
    data = rows()
    made = model(data, GROUPS, "quantile:0.8", weight)
    found: dict[str, list[Any]] = {}
    for name, only in (("compiled", contextlib.nullcontext()), ("NumPy", library.numpy_only())):
        with only:
            there = open_source("y", "p", groups=GROUPS, target=made.property, data=entered(data, "duckdb"), sample_weight=weight)
            terms = Pulls(made.property, made.predictor, made.predictor.model)
            pulls = there.group_sums(made.predictor, terms)
            cells = there.predicted_by(made.predictor, beside=True)
            audited = audit_source(cells, made.property, values=False)
            found[name] = [
                pulls[:, : pulls.shape[1] - terms.whole],
                pulls[0],
                audited.table["error"],
                there.group_sums(made.predictor, Beyond()),
            ]
    one, other = found["compiled"], found["NumPy"]
    for k in (0, 2, 3):
        np.testing.assert_array_equal(one[k], other[k])
    np.testing.assert_allclose(one[1], other[1], rtol=1e-11)
    here = open_source("y", "p", groups=GROUPS, target=made.property, data=data, sample_weight=weight)
    np.testing.assert_allclose(one[3], here.group_sums(made.predictor, Beyond()), rtol=1e-11)
