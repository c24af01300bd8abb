"""Arrays and columns become the same rows."""

from __future__ import annotations

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

import multivalid as mv
from multivalid.atoms import frames
from multivalid.errors import InputError
from multivalid.sources.rows import membership_of, open_rows

DATA = pd.DataFrame(
    {"y": [0.0, 1, 1], "p": [0.2, 0.9, 0.4], "q": [0.1, 0.1, 0.2], "w": [1, 2, 0], "sex": ["f", "m", "f"]}, index=[4, 4, 1]
)


def test_names_and_arrays_agree():
    named = open_rows("y", "p", groups=["sex"], data=DATA, sample_weight="w")
    given = open_rows(DATA.y.to_numpy(), list(DATA.p), groups=[np.array([True, False, True]), DATA.sex.to_numpy() == "m"],
                        sample_weight=pl.Series([1, 2, 0]))  # fmt: skip
    for name in ("labels", "predictions", "weights"):
        np.testing.assert_array_equal(getattr(named, name), getattr(given, name))
    np.testing.assert_array_equal(named.membership.bits, given.membership.bits)
    assert len(named) == 2  # the third has no weight
    np.testing.assert_array_equal(named.kept, [0, 1])
    assert named.given == 3


def test_take():
    part = open_rows("y", "p", groups=["sex"], data=DATA, sample_weight=[1, 2, 3]).take(np.array([2, 0]))
    np.testing.assert_array_equal(part.labels, [1, 0])
    np.testing.assert_array_equal(part.weights, [3, 1])
    assert part.membership.mask(1).all()


@pytest.mark.parametrize("pair", [["p", "q"], ("p", [0.1, 0.1, 0.2]), np.array([[0.2, 0.1], [0.9, 0.1], [0.4, 0.2]])], ids=str)
def test_two_predictions_a_row(pair):
    rows = open_rows("y", pair, groups=[], data=DATA, width=2)
    np.testing.assert_array_equal(rows.predictions, [[0.2, 0.1], [0.9, 0.1], [0.4, 0.2]])


def test_fitted_groups_on_other_rows():
    fitted = mv.Groups(["sex"]).fit(DATA)
    other = pd.DataFrame({"y": [1.0, 1], "p": [0.5, 0.5], "sex": ["x", "m"]})
    rows = open_rows("y", "p", groups=fitted, data=other)
    np.testing.assert_array_equal([rows.membership.mask(g) for g in range(3)], [[True, True], [False, False], [False, True]])
    assert membership_of(fitted, data=None, groups=rows.membership, rows=2) is rows.membership
    with pytest.raises(InputError, match=r"groups has 3 groups and 2 rows, expected 3 .* and 5"):
        membership_of(fitted, data=None, groups=rows.membership, rows=5)


def test_a_column_joins_a_filtered_frame_row_by_row():
    got = frames.with_column(nw.from_native(DATA, eager_only=True), "new", np.array([7.0, 8.0, 9.0]))
    assert list(got.new) == [7.0, 8.0, 9.0]
    assert list(got.index) == [4, 4, 1]
    assert "new" not in DATA.columns
    assert frames.with_column(nw.from_native(pl.DataFrame({"a": [1, 2]})), "a", np.array([3.0, 4.0]))["a"].to_list() == [3.0, 4.0]
