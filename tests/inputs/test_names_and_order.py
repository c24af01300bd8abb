"""Lazy frames: rows come back in their order, and no name of a column is special."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import multivalid as mv
from tests.inputs.frames import ENGINES


def world(name: str, rows: int = 400) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    return pl.DataFrame(
        {name: rng.choice([1, 2, 3], rows), "p": rng.choice([0.2, 0.4], rows), "y": (rng.random(rows) < 0.6).astype(float)}
    )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["__rows", "rows", "n", "a0", "m1", "count", "mv_held_out", "filename", 'a "b"'])
def test_any_name_is_an_ordinary_column(engine: Any, name: str) -> None:
    frame, plain = world(name), world("plain")
    found = mv.audit("y", "p", groups=[name, mv.bins(name, 2)], data=engine(frame))
    other = mv.audit("y", "p", groups=["plain", mv.bins("plain", 2)], data=engine(plain))
    assert found.error == pytest.approx(other.error, abs=1e-15)


def test_lazy_predictions_keep_the_order_of_rows() -> None:
    frame = world("g", 5000).with_columns(i=pl.int_range(5000))
    fitted = mv.multicalibrate("y", "p", groups=["g"], data=frame, mode="theorem", m=10)
    told = fitted.predict("p", data=frame.lazy()).collect()
    assert told["i"].to_list() == list(range(5000))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["mv_held_out", "filename", "file_row_number", "__rows", 'a "b"'])
def test_fits_take_any_name(engine: Any, name: str) -> None:
    told = []
    for column in (name, "plain"):
        frame = world(column)
        fitted = mv.multicalibrate("y", "p", groups=[column], data=engine(frame), mode="theorem", m=10, holdout=0.3)
        made = fitted.predict("p", data=engine(frame), output="q")
        rows = (
            made.collect() if isinstance(made, pl.LazyFrame) else made.to_arrow_table() if hasattr(made, "to_arrow_table") else made
        )
        assert column in (rows.column_names if hasattr(rows, "column_names") else rows.columns)  # it is still there
        told.append(np.asarray(rows["q"]))
    assert np.array_equal(*told)


@pytest.mark.parametrize("mode", ["theorem", "practical"])
def test_both_kinds_of_model_keep_the_order_of_a_lazy_frame(mode: str) -> None:
    frame = world("g", 3000).with_columns(i=pl.int_range(3000))
    fitted = mv.multicalibrate("y", "p", groups=["g"], data=frame, mode=mode, m=10)
    told = fitted.predict("p", data=frame.lazy().filter(pl.col("i") % 7 != 0)).collect()
    assert told["i"].is_sorted()
    assert told["calibrated"].to_numpy() == pytest.approx(fitted.predict("p", data=frame.filter(pl.col("i") % 7 != 0)), abs=1e-12)
