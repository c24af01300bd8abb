"""What only lazy frames have: checks without row numbers, guesses of size, samples."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import multivalid as mv
from multivalid.atoms import predict
from multivalid.atoms.keys import Digits, place
from multivalid.errors import InputError
from multivalid.groups import lazy as lazy_groups
from multivalid.practical import fit as practical
from multivalid.sources import bundling, engine_laws, guesses
from tests.engines.conftest import collected, rows


def frame(**changes: Any) -> pl.LazyFrame:
    return pl.from_pandas(rows()).with_columns(**changes).lazy()


def test_missing_values_are_counted() -> None:
    hole = pl.when(pl.col("age") == 3).then(None).otherwise(pl.col("y"))
    count = int((rows()["age"] == 3).sum())
    with pytest.raises(InputError, match=f"y_true='y' has {count} missing or infinite values"):
        mv.audit("y", "p", groups=[], data=frame(y=hole))
    with pytest.raises(InputError, match="y_pred='p' has 3000 missing or infinite values"):
        mv.audit("y", "p", groups=[], data=frame(p=pl.lit(np.inf)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda f: mv.audit("z", "p", groups=[], data=f), "y_true='z' is not a column"),
        (lambda f: mv.audit("site", "p", groups=[], data=f), "must hold numbers"),
        (lambda f: mv.audit(np.zeros(3000), "p", groups=[], data=f), "must be the name of a column"),
        (lambda f: mv.audit("y", "p", groups=[np.ones(3000, dtype=bool)], data=f), "boolean arrays cannot be used on a lazy frame"),
        (lambda f: mv.audit("y", "p", groups=["nothing > 3"], data=f), "no column 'nothing'"),
        (lambda f: mv.audit("y", "p", groups=[], data=f, sample_weight=pl.lit(1)), "must be the name of a column"),
        (lambda f: mv.audit("y", "p", groups=[], data=f.with_columns(w=pl.lit(-1)), sample_weight="w"), "3000 negative values"),
        (lambda f: mv.audit("y", "p", groups=[], data=f.with_columns(w=pl.lit(0)), sample_weight="w"), "zero for every row"),
        (lambda f: mv.audit("y", "p", groups=[], data=f.filter(pl.col("age") > 1000)), "is empty"),
        (lambda f: mv.audit("y", "p", groups=[], data=f, grid=mv.Grid.uniform(0, 1, 5)), "must lie in the grid's range"),
        (lambda f: mv.audit("y", "p", groups=[], data=f, property="ratio:1:1"), "denominator"),
        (lambda f: mv.audit("y", "p", groups=[], data=f, property="lp_quantile:1.5:0.9"), "Collect the rows into memory"),
        (lambda f: mv.multicalibrate("y", "p", groups=[], data=f, holdout=1.5), "holdout"),
        (lambda f: mv.multicalibrate("y", "p", groups=[], data=f, holdout="age > 1000"), "leaves no rows held out"),
    ],
)  # fmt: skip
def test_errors_name_the_argument(call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call(frame(y=pl.col("y") - 50))


def test_too_many_atoms_are_refused_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundling, "SAFE_ROWS", 10)
    monkeypatch.setattr(bundling, "PROBE", 1000)
    monkeypatch.setattr(bundling, "MOST_ENTRIES", 100)
    with pytest.raises(InputError, match=r"3,000 rows fall into about .* use fewer or coarser groups"):
        mv.multicalibrate("y", "p", groups=["site", mv.bins("age", 20)], data=frame(), mode="theorem", m=50, property="median")


def test_keys_and_columns_make_the_same_atoms(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = ["site", mv.bins("age", 20), *(f"age > {k}" for k in range(60))]
    first = mv.multicalibrate("y", "p", groups=groups, data=frame(), mode="paper", m=20, alpha=0.05)
    monkeypatch.setattr(guesses, "expected_distinct", lambda often, rows: float("inf"))
    second = mv.multicalibrate("y", "p", groups=groups, data=frame(), mode="paper", m=20, alpha=0.05)
    assert first.patches
    # Two groups may have the same rows at a level: rounding decides which of them a patch names.
    assert [(one.source, one.target) for one in first.patches] == [(one.source, one.target) for one in second.patches]


def test_a_large_frame_is_sampled_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(practical, "SAMPLE", 1000)
    made = mv.multicalibrate("y", "p", groups=["site"], data=frame(), property="median")
    assert "itted on" in made.certificate.note
    assert "a random sample of" in made.certificate.note
    assert "of 3,000 rows" in made.certificate.note
    assert "Worst group error on all of them" in made.certificate.note


def test_label_bins_on_large_frames_are_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("SAFE_ROWS", 10), ("FEW_LABELS", 3), ("LABEL_BINS", 16)):
        monkeypatch.setattr(engine_laws, name, value)
    exact = mv.audit("y", "p", groups=["site"], data=rows(), property="median")
    found = mv.audit("y", "p", groups=["site"], data=frame(), property="median")
    assert any("label bins of about equal weight" in note for note in found.groups.notes)
    np.testing.assert_allclose(found.table["error"], exact.table["error"], rtol=1e-9)
    np.testing.assert_allclose(found.table["value"], exact.table["value"], atol=6)


def test_bin_edges_from_a_sample_are_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lazy_groups, "SAMPLE", 500)
    monkeypatch.setattr(lazy_groups, "FEW_VALUES", 10)
    # Whole numbers that are few are counted when the frame is opened, and need no sample.
    assert not mv.audit("y", "p", groups=[mv.bins("age", 4)], data=frame()).groups.notes
    found = mv.audit("y", "p", groups=[mv.bins("age", 4)], data=frame(age=pl.col("age").cast(pl.Float64)))
    assert any("edges come from a sample of" in note for note in found.groups.notes)


def test_digits_and_places() -> None:
    digits = Digits((2,) * 70 + (50, 51))
    made = pl.DataFrame({"x": np.linspace(-1, 2, 301)}).lazy()
    edges = np.linspace(0, 1, 50)
    import narwhals as nw

    found = nw.from_native(made).select(place(nw.col("x"), edges).alias("k")).collect()["k"].to_numpy()
    assert found.tolist() == np.searchsorted(edges, np.linspace(-1, 2, 301), side="left").tolist()
    numbers = [np.arange(6) % size for size in digits.sizes]
    keys = []
    for part in digits.split:
        key, factor = np.zeros(6, dtype=np.int64), 1
        for i in part:
            key, factor = key + numbers[i] * factor, factor * digits.sizes[i]
        keys.append(key)
    assert all(np.array_equal(a, b) for a, b in zip(digits.unpack(keys), numbers, strict=True))


@pytest.mark.parametrize("holes", [False, True])
def test_joined_on_columns_or_on_groups_alike(holes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns with missing values are no keys to join on; the groups themselves then are. Texts may hold quotes."""
    given = rows()
    given["site"] = given["site"].replace({"a": "it's", "b": 'a "b"'})
    if holes:
        given.loc[given["age"] < 9, "site"] = None
    made = mv.multicalibrate(
        "y", "p", groups=["site", "age > 40"], data=given, mode="paper", alpha=0.05, grid=mv.Grid(range(0, 100, 4))
    )
    expected = given.assign(better=made.predict("p", data=given))["better"].to_numpy()
    joined: list[int] = []
    join = predict.join
    monkeypatch.setattr(predict, "join", lambda frame, keys, *rest: (joined.append(len(keys)), join(frame, keys, *rest))[1])
    connection = duckdb.connect()
    connection.register("given", pa.Table.from_pandas(given, preserve_index=False))
    for data in (pl.from_pandas(given).lazy(), connection.sql("SELECT * FROM given")):
        found = collected(made.predict("p", data=data, output="better"))["better"].to_numpy()
        np.testing.assert_array_equal(np.sort(found), np.sort(expected))
    assert made.patches
    assert joined == ([1, 1] if holes else [3, 3])  # one packed number, or site, age and level
