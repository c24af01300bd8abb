"""Columns that tell nothing new: copies of the predictions, and numbers that count the rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import multivalid as mv
from multivalid.discover.sentences import interval
from multivalid.errors import InputError


def world(rows=1500, seed=0):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame({"age": rng.integers(18, 90, rows), "x": rng.normal(size=rows)})
    data["p"] = 1 / (1 + np.exp(-data["x"]))
    data["y"] = (rng.random(rows) < 1 / (1 + np.exp(-data["x"] - 1.5 * (data["age"] > 60)))).astype(float)
    return data.assign(copy=data["p"], short=data["p"].astype(np.float32), number=np.arange(rows))


REPEATS = (
    "column 'copy' repeats the predictions or only rises or falls with them, which are looked at anyway: left out of the search"
)


def test_a_copy_of_the_predictions_is_left_out_of_a_fit_with_a_note():
    data = world()
    made = mv.multicalibrate("y", "p", groups=[], data=data, features=["age", "copy", "short"])
    assert REPEATS in made.certificate.note
    assert "column 'short' repeats" in made.certificate.note
    assert "found in 1 column" in made.certificate.note
    assert np.isfinite(made.predict("p", data=data[["age", "p"]])).all()
    given = mv.multicalibrate(data["y"], data["p"], groups=[], data=data, features=["age", "p"])
    assert "column 'p' repeats" in given.certificate.note
    with pytest.raises(InputError, match="'copy' repeats the predictions; name at least one column"):
        mv.multicalibrate("y", "p", groups=[], data=data, features=["copy"])


@pytest.mark.parametrize("lazy", [False, True])
def test_discover_looks_at_the_prediction_once(lazy):
    data = world()
    frame = pl.from_pandas(data).lazy() if lazy else data
    made = mv.discover("y", "p", data=frame, features=["age", "copy"])
    assert REPEATS in made.notes
    assert not any("copy" in name for name in made.candidates["name"])


def test_discover_keeps_the_first_column_that_is_the_prediction_where_none_was_named():
    data = world()
    made = mv.discover(data["y"], data["p"], data=data[["copy", "age", "p"]])
    assert [note for note in made.notes if "repeats" in note] == [REPEATS.replace("copy", "p")]


def test_whole_numbers_that_differ_in_every_row_are_pointed_at():
    made = mv.discover("y", "p", data=world(), features=["age", "number"])
    assert any("column 'number' has another whole number in every row" in note for note in made.notes)
    assert not any("'age'" in note for note in made.notes)


def test_a_pair_is_told_the_way_out():
    data = world().assign(spread=0.3)
    with pytest.raises(InputError, match=r"one coordinate after the other: name the groups that it finds, `\.groups`, in groups="):
        mv.multicalibrate("y", ["p", "spread"], groups=[], data=data, property="mean_variance", features=["age"])


def test_an_interval_around_zero_keeps_its_signs_and_says_why():
    assert interval(0.5, 2.0, False) == interval(-2.0, -0.5, False) == "95 % interval 0.5 to 2"
    assert interval(-0.5, 2.0, False).startswith("95 % interval -0.5 to +2: it holds for all groups at once")


def test_a_column_that_only_rises_or_falls_with_the_predictions_is_left_out_with_a_note():
    data = world().assign(odds=lambda d: -np.log(d["p"] / (1 - d["p"])), noisy=lambda d: d["p"] + 1e-3 * np.sin(d["number"]))
    made = mv.multicalibrate("y", "p", groups=[], data=data, features=["age", "odds", "noisy"])
    assert REPEATS.replace("copy", "odds") in made.certificate.note
    assert "'noisy' repeats" not in made.certificate.note
