"""What a user hands over becomes float64 vectors, without copies where none is needed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from multivalid import validate
from multivalid.errors import InputError


@pytest.mark.parametrize(
    "values",
    [
        [0, 1, 1], (0.0, 1.0, 1.0), [False, True, True], np.array([0, 1, 1], np.int8), np.array([0, 1, 1], np.float32),
        np.array([0, 1, 1], np.uint64), pd.Series([0, 1, 1], index=[5, 5, 7]), pd.Series([0, 1, 1], dtype="Int64"),
        pd.Series([False, True, True], dtype="boolean"), pl.Series([0, 1, 1]), pa.array([0, 1, 1]), pa.chunked_array([[0], [1, 1]]),
        np.ma.array([0, 1, 1]),
    ],
    ids=lambda values: type(values).__name__,
)  # fmt: skip
def test_vectors(values):
    got = validate.vector(values, "y_true")
    assert got.dtype == np.float64
    np.testing.assert_array_equal(got, [0.0, 1.0, 1.0])


def test_no_copy_of_what_is_right_already():
    values = np.arange(3.0)
    assert validate.vector(values, "y_true") is values


def test_weights_default_to_one():
    np.testing.assert_array_equal(validate.weights(None, 3), np.ones(3))


def test_columns_of_a_pair():
    np.testing.assert_array_equal(validate.columns([[1, 2], [3, 4]], "y_pred", 2), [[1, 2], [3, 4]])
    with pytest.raises(
        InputError, match=r"y_pred must have 2 columns, one per coordinate of the property, got an array of shape \(2, 3\)"
    ):
        validate.columns(np.ones((2, 3)), "y_pred", 2)
    with pytest.raises(InputError, match="y_pred has 1 missing or infinite values, the first at row 1"):
        validate.columns([[1, 2], [3, np.inf]], "y_pred", 2)
    with pytest.raises(InputError, match="y_pred is empty"):
        validate.columns(np.ones((0, 2)), "y_pred", 2)


@pytest.mark.parametrize("value", ["0.5", b"1", None, True, np.bool_(True), [0.5], np.array(0.5), 1j, 10**400])
def test_not_a_number(value):
    with pytest.raises(InputError, match="tau must be a number, got"):
        validate.fraction(value, "tau")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_not_finite(value):
    with pytest.raises(InputError, match="k must be finite, got"):
        validate.positive(value, "k")


def test_numbers_of_every_kind():
    assert validate.fraction(np.float32(0.5), "tau") == 0.5
    assert validate.positive(np.int64(3), "k") == 3.0
    assert validate.count(np.int16(3), "m") == 3
    assert validate.ends((0, np.float64(2)), "range") == (0.0, 2.0)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((1, 1), "low < high, got"),
        ((0, 1, 2), "must be a pair"),
        (5, "must be a pair"),
        (("a", "b"), r"range\[0\] must be a number"),
    ],
)
def test_bad_ends(values, message):
    with pytest.raises(InputError, match=message):
        validate.ends(values, "range")
