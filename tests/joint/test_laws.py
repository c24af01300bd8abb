"""Laws that hold for single properties and for pairs alike, wherever the rows live."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import multivalid as mv

KINDS = {"single": ("mean", "p"), "pair": ("mean_variance", ["p", "q"])}
HOMES = ["memory", "polars lazy", "DuckDB"]


def table(n: int = 400, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    site = rng.choice(["a", "b", "c"], n)
    y = np.clip(rng.beta(2, 3, n) + 0.3 * (site == "c"), 0, 1)
    return pd.DataFrame({"y": y, "p": rng.random(n), "q": 0.2 * rng.random(n), "site": site, "w": rng.integers(1, 4, n) / 2.0})


def at_home(frame: pd.DataFrame, home: str) -> Any:
    if home == "memory":
        return frame
    return pl.from_pandas(frame).lazy() if home == "polars lazy" else duckdb.from_df(frame)


def collected(frame: Any) -> pd.DataFrame:
    if isinstance(frame, pl.LazyFrame):
        return frame.collect().to_pandas()
    return frame.df() if isinstance(frame, duckdb.DuckDBPyRelation) else frame


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", ["theorem", "practical"])
def test_weight_zero_means_the_row_is_not_there(kind: str, home: str, mode: str) -> None:
    text, columns = KINDS[kind]
    clean = table()
    junk = clean.head(40).assign(y=100.0, w=0.0)
    options: dict[str, Any] = {"groups": ["site"], "property": text, "sample_weight": "w", "mode": mode}
    if mode == "theorem":
        options["m"] = 12
    without = mv.multicalibrate("y", columns, data=at_home(clean, home), **options)
    having = mv.multicalibrate("y", columns, data=at_home(pd.concat([clean, junk], ignore_index=True), home), **options)
    assert having.grids == without.grids
    np.testing.assert_allclose(having.certificate.alpha, without.certificate.alpha, rtol=1e-6)
    np.testing.assert_allclose(having.certificate.error, without.certificate.error, rtol=1e-6)
    if mode == "theorem":
        assert list(having.patches) == list(without.patches)


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", ["theorem", "practical"])
def test_predictions_on_any_frame(kind: str, home: str, mode: str) -> None:
    text, columns = KINDS[kind]
    options: dict[str, Any] = {"m": 12} if mode == "theorem" else {}
    fitted = mv.multicalibrate("y", columns, data=table(), groups=["site"], property=text, mode=mode, **options)
    new = table(50, seed=1)
    names = "z" if kind == "single" else ("z", "s")
    out = collected(fitted.predict(columns, data=at_home(new, home), output=names))
    out = out.set_index("p").loc[new["p"]]  # an engine may return rows in another order
    expected = fitted.predict(columns, data=new).reshape(50, -1)
    np.testing.assert_allclose(out[[*names] if kind == "pair" else ["z"]].to_numpy(), expected, atol=1e-6)
    if home != "memory":
        made = fitted.predict(columns, data=at_home(new, home))
        assert type(made) is type(at_home(new, home))
        default = ["calibrated"] if kind == "single" else ["calibrated_first", "calibrated_second"]
        assert set(default) <= set(collected(made).columns)


@pytest.mark.parametrize("kind", KINDS)
def test_the_distance_from_the_ends_of_a_grid_counts(kind: str) -> None:
    # All levels lie in the middle: V is far from zero at the outermost ones, so no error below 8L²·(.45)² can be promised.
    text, columns = KINDS[kind]
    grid: Any = mv.Grid([0.45, 0.5, 0.55], lo=0, hi=1)
    grid = grid if kind == "single" else (grid, mv.Grid.uniform(0, 1, 20))
    made = mv.multicalibrate("y", columns, data=table(), groups=["site"], property=text, mode="theorem", grid=grid).certificate
    assert np.ravel(made.alpha)[0] == pytest.approx(8 * 0.45**2)
    assert not made.blocked


@pytest.mark.parametrize("number", [10**400, -(10**400), 1e308 * 10, True, "1", None, []])
@pytest.mark.parametrize("kind", KINDS)
def test_hostile_numbers_in_files(kind: str, number: Any) -> None:
    text, columns = KINDS[kind]
    fitted = mv.multicalibrate("y", columns, data=table(), groups=["site"], property=text, mode="theorem", m=6)
    for part, place in (("certificate", "updates"), ("certificate", "potential"), ("predictor", "patches")):
        content = fitted.to_json()
        value: Any = [number, number] if place == "updates" and kind == "pair" else number
        content[part][place] = [number] if place in ("potential", "patches") else value
        with pytest.raises(mv.errors.ModelFileError):
            type(fitted).from_json(content)
