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
@pytest.mark.parametrize("name", ["__rows", "rows", "n", "mv_held_out", "filename", 'a "b"'])
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
