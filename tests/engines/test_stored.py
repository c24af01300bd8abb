"""A share of the rows of an engine is drawn once, written to a file and read from there; the answers are those without a file."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import multivalid as mv
from multivalid.atoms.names import LABEL, PREDICTION, WEIGHT
from multivalid.groups.remote import lazy_frame
from multivalid.sources import stored
from multivalid.sources.open import open_source

GROUPS = ["a", "b > 3", "site"]


def rows(n: int = 4_000) -> pl.DataFrame:
    """Few different labels and predictions, so that many rows are alike; one group is so far off that any order of the rows confirms it."""
    rng = np.random.default_rng(11)
    a, b = rng.integers(0, 5, n), rng.integers(0, 7, n)
    y = np.round(rng.gamma(2.0, 1.0, n) * (1 + 2.0 * (a == 2)), 1)
    return pl.DataFrame({
        "y": y, "p": np.round(1 + rng.random(n), 1), "w": rng.integers(1, 4, n).astype(float), "a": a, "b": b,
        "site": rng.choice(["x", "it's", "ü"], n), "unused": rng.random(n),
    })  # fmt: skip


def entered(data: pl.DataFrame, engine: str) -> Any:
    return data.lazy() if engine == "polars" else duckdb.connect().from_arrow(data.to_arrow())


def fitted(data: Any) -> mv.Calibration:
    return mv.multicalibrate("y", "p", groups=GROUPS, data=data, sample_weight="w", holdout=0.3, random_state=3)


def sides(data: Any) -> list[pl.DataFrame]:
    """The rows to fit and those held out, in an order of their own: an engine hands them out in any."""
    source = open_source("y", "p", groups=GROUPS, target=mv.Mean(), data=data, sample_weight="w")
    names = [LABEL, PREDICTION, WEIGHT, "a", "b", "site"]
    parts = [part.frame.select(names).collect().to_polars() for part in source.split(0.3, 3)]
    return [part.sort(names) for part in parts]


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_rows_in_a_file_are_the_same_rows(engine: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    data = rows()
    without = sides(entered(data, engine))
    monkeypatch.setattr(stored, "FEWEST", 0)
    for one, other in zip(sides(entered(data, engine)), without, strict=True):
        assert one.equals(other)
    place = tmp_path / "it's"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    made = fitted(entered(data, engine))
    assert [file.name for file in place.rglob("*.parquet")] == ["rows.parquet"]
    assert made.certificate.holdout_error is not None
    assert made.predictor.model is not None
    del made
    gc.collect()
    assert not list(place.rglob("*"))


def test_what_a_file_would_change_stays_in_its_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "FEWEST", 0)
    data = rows()
    lazy = data.lazy()
    frame, folder = stored.stored(lazy_frame(lazy), ["y", "a"], 4_000)
    assert folder is not None
    assert frame.collect_schema().names() == ["y", "a"]
    relation = duckdb.connect().from_arrow(data.to_arrow())
    wide = lazy_frame(relation.project("y, a::HUGEINT AS a"))
    frame, folder = stored.stored(wide, ["y", "a"], 4_000)
    assert folder is None
    assert frame is wide


def test_a_connection_without_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "FEWEST", 0)
    connection = duckdb.connect()
    relation = connection.from_arrow(rows().to_arrow())
    expected = fitted(relation)
    connection.execute("SET enable_external_access = false")
    made = fitted(relation)
    assert made._judged is not None
    assert expected._judged is not None
    np.testing.assert_array_equal(made._judged.table["rows"], expected._judged.table["rows"])
