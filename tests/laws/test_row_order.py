"""The order of rows is no part of the data: what is added up in another order differs in its last digits alone, also at a threshold."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import multivalid as mv
from multivalid.audit import coordinate

COLUMNS = ["error", "gap", "gap_low", "gap_high", "rms", "rms_high", "p_value", "p_adjusted", "detectable"]


def everyone_at_the_clip() -> tuple[Any, ...]:
    """|V| is 0.3 in every row: eight of them carry exactly as much as a part of the test of the shape needs."""
    rng = np.random.default_rng(0)
    p, code = rng.choice(np.linspace(0.1, 0.9, 9), 1_500), rng.integers(0, 40, 1_500)
    return p + 2 * rng.choice([-1.0, 1.0], 1_500), p, code, mv.Huber(0.3), None


def fair_coins() -> tuple[Any, ...]:
    """Variances of 1/4: twenty coins carry exactly five."""
    rng = np.random.default_rng(1)
    p, code = rng.normal(size=2_000).round(1), rng.integers(0, 12, 2_000)
    return p + rng.normal(size=2_000), p, code, mv.Quantile(0.5), None


def weighted_amounts() -> tuple[Any, ...]:
    """Weights whose tenths are no binary fractions."""
    rng = np.random.default_rng(2)
    p, code = rng.random(1_200).round(1), rng.integers(0, 20, 1_200)
    return p + rng.choice([-0.1, 0.1], 1_200), p, code, mv.Mean(), rng.choice([0.1, 0.2, 0.7], 1_200)


@pytest.mark.parametrize("engine", ["memory", "polars", "duckdb"])
@pytest.mark.parametrize("world", [everyone_at_the_clip, fair_coins, weighted_amounts])
def test_an_audit_of_shuffled_rows_says_the_same(world: Any, engine: str) -> None:
    y, p, code, prop, weights = world()
    flag = np.random.default_rng(3).random(y.size) < 0.3
    whole = pl.DataFrame({"y": y, "p": p, "code": code, "flag": flag, "w": np.ones(y.size) if weights is None else weights})
    groups = ["code", mv.cross("code", "flag"), "flag and code > 5"]  # engines add up combinations first

    def audited(data: pl.DataFrame, engine: str) -> Any:
        rows: Any = data.lazy() if engine == "polars" else data
        if engine == "duckdb":
            rows = duckdb.from_arrow(data.to_arrow())
        return mv.audit("y", "p", groups=groups, data=rows, property=prop, sample_weight=None if weights is None else "w").table

    first = audited(whole, "memory")
    assert np.isfinite(np.asarray(first["p_value"])).sum() > 5
    for seed in range(3):
        other = audited(whole.sample(fraction=1.0, shuffle=True, seed=seed), engine)
        for name in COLUMNS:
            np.testing.assert_allclose(np.asarray(other[name]), np.asarray(first[name]), rtol=1e-8, atol=1e-11, err_msg=name)


@pytest.mark.parametrize("world", [everyone_at_the_clip, fair_coins, weighted_amounts])
def test_the_last_digits_of_sums_decide_nothing(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    y, p, code, prop, weights = world()
    given = {"groups": [code == k for k in range(12)], "property": prop, "sample_weight": weights}
    first, rng, build = mv.audit(y, p, **given).table, np.random.default_rng(4), coordinate.evidence

    def rounded_otherwise(law: Any, sums: Any, **other: Any) -> Any:
        moved = {name: column * (1 + 1e-14 * rng.normal(size=column.shape)) for name, column in sums.items() if name != "rows"}
        return build(law, moved | {"rows": sums["rows"]}, **other)

    monkeypatch.setattr(coordinate, "evidence", rounded_otherwise)
    for _ in range(3):
        other = mv.audit(y, p, **given).table
        for name in ("p_value", "p_adjusted"):
            np.testing.assert_allclose(np.asarray(other[name]), np.asarray(first[name]), rtol=1e-8, atol=1e-11, err_msg=name)
