"""Rows are looked at once: totals, combinations of values and the copies that later looks read are those of the rows themselves."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import multivalid as mv
from multivalid.errors import InputError
from multivalid.groups.lazy import COUNT
from multivalid.groups.remote import lazy_frame
from multivalid.sources import engine_look, key_codes
from multivalid.sources.copied import Copied, draw
from multivalid.sources.engine_opening import open_engine
from multivalid.sources.key_codes import KeyColumn, Tally, codes_of, digits_of, values_of
from multivalid.sources.lanes import in_lanes
from multivalid.sources.passing_rows import OutOfCopies
from tests.kernels.both import loop

__all__ = ["loop"]

GROUPS = ["a", "b > 3", "flag"]


def rows(n: int = 5_000) -> pl.DataFrame:
    rng = np.random.default_rng(2)
    a, b = rng.integers(-3, 3, n), rng.integers(0, 7, n)
    y = rng.gamma(2.0, 1.0, n) * (1 + 0.5 * (a == 2))
    return pl.DataFrame({
        "y": y.astype(np.float32), "p": 1 + rng.random(n), "w": rng.integers(0, 4, n), "a": pl.Series(a, dtype=pl.Int8),
        "b": pl.Series([None if i % 11 == 0 else int(v) for i, v in enumerate(b)], dtype=pl.Int64), "flag": rng.random(n) < 0.3,
        "out": rng.random(n) < 0.4,
    })  # fmt: skip


def entered(data: pl.DataFrame, engine: str) -> Any:
    return lazy_frame(data.lazy() if engine == "polars" else duckdb.connect().from_arrow(data.to_arrow()))


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_rows_that_pass_by_and_queries_say_the_same(engine: str, weight: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    options: Any = {"groups": GROUPS, "sample_weight": weight, "holdout": "out"}
    seen = open_engine("y", "p", frame=entered(rows(), engine), copying=True, **options)
    assert set(seen.copies) == {False, True}
    monkeypatch.setattr(engine_look, "_passing", lambda *asked: None)
    asked = open_engine("y", "p", frame=entered(rows(), engine), copying=True, **options)
    assert asked.copies == {}
    assert seen.totals == asked.totals
    assert seen.marked == asked.marked
    assert seen.groups.names == asked.groups.names
    keys = ["a", "b", "flag"]
    counted = [one.guesses.tallied.to_polars().select(*keys, COUNT).sort(keys) for one in (seen, asked)]
    assert counted[0].equals(counted[1])


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_copies_are_the_rows(engine: str) -> None:
    data = rows()
    source = open_engine("y", "p", groups=GROUPS, frame=entered(data, engine), sample_weight="w", holdout="out", copying=True)
    for side, part in zip(source.split("out", 0), (data.filter(~pl.col("out")), data.filter("out")), strict=True):
        assert side is not None
        assert isinstance(side.passing(), OutOfCopies)
        sample, at_random = side.sample(10_000, 0)
        kept = part.filter(pl.col("w") > 0)
        expected = mv.Groups(GROUPS).fit(data.filter(pl.col("w") > 0)).membership(kept, n_rows=len(kept))
        assert at_random
        order, other = np.lexsort((sample.predictions, sample.labels)), np.lexsort((kept["p"].to_numpy(), kept["y"].to_numpy()))
        np.testing.assert_array_equal(sample.labels[order], kept["y"].to_numpy()[other])
        np.testing.assert_array_equal(sample.predictions[order], kept["p"].to_numpy()[other])
        np.testing.assert_array_equal(sample.weights[order], kept["w"].to_numpy()[other])
        for group in range(len(side.groups)):
            np.testing.assert_array_equal(sample.membership.mask(group)[order], expected.mask(group)[other])
        some, _ = side.sample(500, 0)
        assert 350 < len(some) < 650


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_wrong_values_are_counted_as_they_pass_by(engine: str) -> None:
    data = rows()
    for column, value, words in (
        ("y", None, "2 missing or infinite"),
        ("p", np.inf, "2 missing or infinite"),
        ("w", -1, "2 negative"),
    ):
        wrong = data.with_columns(pl.when(pl.int_range(pl.len()).is_in([7, 4_000])).then(value).otherwise(column).alias(column))
        with pytest.raises(InputError, match=words):
            open_engine("y", "p", groups=GROUPS, frame=entered(wrong, engine), sample_weight="w")
    with pytest.raises(InputError, match="is zero for every row"):
        open_engine("y", "p", groups=GROUPS, frame=entered(data.with_columns(w=0), engine), sample_weight="w")
    with pytest.raises(InputError, match="y_true is empty"):
        open_engine("y", "p", groups=GROUPS, frame=entered(data.head(0), engine), sample_weight=None)


def test_a_copy_goes_when_nobody_reads_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    copied = Copied(("a",))
    digits = digits_of([KeyColumn(np.array([1, 2]), None)])
    assert digits is not None
    assert copied.append([np.array([0.5, 1.5]), np.array([1, 2], dtype=np.int8), np.array([0, 1], dtype=np.uint8)], digits)
    file = copied._file
    (run,) = copied.runs
    assert [column.tolist() for column in copied.read(run)] == [[0.5, 1.5], [1, 2], [0, 1]]
    ((_, columns),) = draw([copied], 5, 0)
    assert columns[0].tolist() == [0.5, 1.5]
    del copied
    gc.collect()
    assert file.closed
    assert not list(tmp_path.iterdir())


def test_no_room_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def write(self, data: Any) -> int:
            raise OSError(28, "No space left on device")

        def close(self) -> None:
            pass

    monkeypatch.setattr("tempfile.TemporaryFile", lambda **given: Full())
    data = rows()
    made = mv.multicalibrate("y", "p", groups=GROUPS, data=data.lazy(), holdout="out")
    assert made.certificate.holdout_error is not None


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64])
@pytest.mark.parametrize("spread", [2, 9, 90])  # codes of one, two and four bytes
@pytest.mark.usefixtures("loop")
def test_codes_and_back(kind: Any, spread: int) -> None:
    rng, least, most = np.random.default_rng(0), int(np.iinfo(kind).min), min(int(np.iinfo(kind).max), np.iinfo(np.int64).max)
    columns = [
        KeyColumn((most - rng.integers(0, spread, 500)).astype(kind), None),
        KeyColumn((least + rng.integers(0, 4, 1_000)).astype(kind)[::2], rng.random(500) < 0.2),
        KeyColumn((most - rng.integers(0, 4, 500)).astype(kind), rng.random(500) < 0.2),
        KeyColumn(np.full(500, -5), None),
        KeyColumn(rng.integers(10**12, 10**12 + spread, 500), None),
    ]
    digits = digits_of(columns)
    assert digits is not None
    codes = codes_of(columns, digits)
    found = values_of(codes, digits)
    for k, (values, missing) in enumerate(columns):
        gone = np.zeros(500, dtype=bool) if missing is None else missing
        np.testing.assert_array_equal(found[2 * k], np.where(gone, 0, values.astype(np.int64)))
        np.testing.assert_array_equal(found[2 * k + 1], gone)
    assert digits_of([KeyColumn(np.array([0, 1 << 40]), None)]) is None


@pytest.mark.usefixtures("loop")
def test_combinations_add_up_whatever_their_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_codes, "MOST_TABLES", 2)
    rng, tally, every = np.random.default_rng(1), Tally(1_000), []
    for k in range(9):  # values that rise with time, so that no two parts have the same digits
        columns = [KeyColumn(rng.integers(k, k + 4, 200), None), KeyColumn(rng.integers(0, 3, 200), rng.random(200) < 0.1)]
        digits = digits_of(columns)
        assert digits is not None
        assert tally.add(digits, codes_of(columns, digits))
        every.append(values_of(codes_of(columns, digits), digits))
    assert tally.close()
    assert tally.lines is not None
    expected, often = np.unique(np.concatenate(every, axis=1), axis=1, return_counts=True)
    assert sorted(map(tuple, tally.lines.T.tolist())) == sorted(
        (*line, n) for line, n in zip(expected.T.tolist(), often.tolist(), strict=True)
    )
    few = Tally(3)
    few.add(digits, np.arange(np.prod([digit.size for digit in digits]), dtype=np.uint8))
    assert not few.close()
    both = tally.plus(tally)
    assert both.lines is not None
    np.testing.assert_array_equal(both.lines[:-1], tally.lines[:-1])
    np.testing.assert_array_equal(both.lines[-1], 2 * tally.lines[-1])


def test_lanes_keep_the_order_and_hand_on_errors() -> None:
    done: dict[int, list[int]] = {0: [], 1: []}
    assert list(in_lanes(range(50), lambda lane, item: (done[lane].append(item), item)[1])) == list(range(50))
    assert done == {0: list(range(0, 50, 2)), 1: list(range(1, 50, 2))}
    with pytest.raises(ZeroDivisionError):
        list(in_lanes([1, 0, 1], lambda lane, item: 1 / item))
