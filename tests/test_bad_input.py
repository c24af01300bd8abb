"""Bad input gives the library's own error, which names the argument, the value got and a way out; nothing else happens."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import multivalid as mv
from multivalid.errors import InputError, MultivalidError, PredicateError

GOOD = {"y_true": [0.0, 1.0, 1.0, 0.0], "y_pred": [0.2, 0.8, 0.6, 0.4], "groups": []}
FRAME = pd.DataFrame(
    {"outcome": [0.0, 1.0, 1.0, 0.0], "score": [0.2, 0.8, 0.6, 0.4], "region": ["n", "s", "n", "s"], "age": [1, 2, 3, 4]}
)
NAN, INF = np.nan, np.inf

CASES = {
    "NaN label": ({"y_true": [0, NAN, 1, NAN]}, r"y_true has 2 missing or infinite values, the first at row 1; drop"),
    "inf label": ({"y_true": [0, 1, INF, 0]}, r"y_true has 1 missing or infinite values, the first at row 2; drop"),
    "NaN prediction": ({"y_pred": [NAN, 0.1, 0.2, 0.3]}, r"y_pred has 1 missing .* first at row 0; drop those rows"),
    "inf prediction": ({"y_pred": [0.1, -INF, 0.2, INF]}, r"y_pred has 2 missing or infinite .* row 1"),
    "NaN weight": ({"sample_weight": [1, 1, 1, NAN]}, r"sample_weight has 1 missing or infinite .* row 3"),
    "inf weight": ({"sample_weight": [1, INF, 1, 1]}, r"sample_weight has 1 missing or infinite .* row 1"),
    "masked label": ({"y_true": np.ma.array([0, 1, 1, 0], mask=[0, 0, 1, 0])}, r"y_true has 1 missing .* row 2"),
    "null in polars": ({"y_true": pl.Series([0.0, None, 1.0, 0.0])}, r"y_true has 1 missing .* row 1"),
    "negative weight": ({"sample_weight": [1, -2, 1, -3]}, r"sample_weight must not be negative: 2 .* row 1 .*-2.*set the weight"),
    "zero weights": ({"sample_weight": [0, 0, 0, 0]}, r"sample_weight is zero for every row; at least one row needs"),
    "short prediction": ({"y_pred": [0.1, 0.2]}, r"y_pred has 2 rows but y_true has 4; both must describe the same rows"),
    "short weight": ({"sample_weight": [1]}, r"sample_weight has 1 rows but y_true has 4; both must"),
    "short group": ({"groups": [np.array([True, False])]}, r"groups.*2.*4|groups.*4.*2"),
    "frame of other length": ({"data": FRAME.iloc[:3]}, r"y_true has 4 rows but data has 3; both must"),
    "empty": ({"y_true": [], "y_pred": []}, r"y_true is empty: at least one row is needed"),
    "two-dimensional label": ({"y_true": [[0, 1], [1, 0]]}, r"y_true must be one-dimensional, got an array of shape \(2, 2\); pass"),
    "number as label": ({"y_true": 3.0}, r"y_true must be one-dimensional, got an array of shape \(\)"),
    "ragged label": ({"y_true": [[0, 1], [1]]}, r"y_true cannot be read as an array of numbers"),
    "label outside the domain": (
        {"y_true": [0, 1, 900, 0], "property": "entropic:1"},
        r"y_true must lie in \[-300, 300\] for Entropic\(theta=1.0\): 1 values do not, the first at row 2 \(900\); rescale",
    ),
    "denominator not positive": ({"property": "ratio:2:1"}, r"y_true must keep the denominator .* positive: 2 labels .* row 0"),
    "prediction beyond exp": ({"y_pred": [0.1, 0.2, 0.3, 5e3], "property": "entropic:1"}, r"y_pred is too far .* row 3 \(5000\); rescale"),
    "prediction outside the grid": (
        {"grid": mv.Grid.uniform(0, 0.5, 5)},
        r"y_pred must lie in the grid's range \[0, 0.5\]: 2 values do not, the first at row 1 \(0.8\); give a grid that covers",
    ),
    "grid of another kind": ({"grid": [0.1, 0.2]}, r"grid must be a Grid, got \[0.1, 0.2\]; use for example Grid.uniform"),
    "tau zero": ({"property": "quantile:0"}, r"tau must be strictly between 0 and 1, got 0.0; choose"),
    "tau in percent": ({"property": "expectile:80"}, r"tau must be strictly between 0 and 1, got 80.0; for 80 % write 0.8"),
    "unknown property": ({"property": "quantle:0.9"}, r"property 'quantle:0.9' is not known; did you mean 'quantile'"),
    "unknown label column": ({"y_true": "outcom", "data": FRAME}, r"y_true='outcom' is not a column of data; did you mean 'outcome'"),
    "unknown weight column": ({"sample_weight": "zzz", "data": FRAME}, r"sample_weight='zzz' is not a column of data; columns: outcome"),
    "unknown group column": ({"groups": ["regio"], "data": FRAME}, r"regio.*region"),
    "column of text": ({"y_true": "region", "data": FRAME}, r"y_true='region' must hold numbers, but the column has type String"),
    "nulls in a column": ({"y_true": "a", "data": pl.DataFrame({"a": [1, None, 0, 1]})}, r"y_true='a' has 1 missing values.* row 1; drop"),
    "name without data": ({"y_true": "outcome"}, r"y_true='outcome' is the name of a column, but data=None; pass the frame as data="),
    "object array": ({"y_true": np.array([0, 1, "x", None], dtype=object)}, r"y_true must hold numbers, got .* object; convert"),
    "strings": ({"y_pred": ["0.1", "0.2", "0.3", "0.4"]}, r"y_pred must hold numbers, got values of type <U3; convert"),
    "complex": ({"y_pred": [1j, 2, 3, 4]}, r"y_pred must hold numbers, got values of type complex128"),
    "dates": ({"y_true": np.array(["2020-01-01"] * 4, dtype="datetime64[D]")}, r"y_true must hold numbers, got values of type datetime64"),
    "data that is no frame": ({"data": {"a": [1]}}, r"data must be a data frame held in memory .* got dict; make a frame"),
    "array beside a lazy frame": ({"data": pl.DataFrame({"a": [1, 0, 1, 0]}).lazy()}, r"y_true must be the name of a column"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_audit_says_what_to_change(name):
    change, message = CASES[name]
    arguments = {**GOOD, **change}
    with pytest.raises(InputError, match=message):
        mv.audit(arguments.pop("y_true"), arguments.pop("y_pred"), **arguments)


# Without a grid of the user's own, `multicalibrate` rounds a far prediction to its outermost level.
@pytest.mark.parametrize("name", [n for n, (change, _) in CASES.items() if "data" not in change and n != "prediction beyond exp"])
def test_multicalibrate_refuses_the_same(name):
    change, _ = CASES[name]
    arguments = {**GOOD, **change}
    with pytest.raises(MultivalidError):
        mv.multicalibrate(arguments.pop("y_true"), arguments.pop("y_pred"), mode="theorem", m=5, **arguments)


@pytest.mark.parametrize(
    "text", ["age >", "age >= 2 and", "__import__('os')", "age.real > 1", "age[0] > 1", "(lambda: 1)()", "age = 2"]
)
def test_a_bad_predicate_points_at_the_place(text):
    with pytest.raises(PredicateError, match=r"\^|column \d+"):
        mv.audit("outcome", "score", data=FRAME, groups=[text])


def test_a_group_column_with_too_many_values():
    rows = 10_001
    data = pd.DataFrame({"id": [f"row {i}" for i in range(rows)], "y": np.zeros(rows), "p": np.full(rows, 0.5)})
    with pytest.raises(InputError, match=r"'?id'?.*10,?001.*10,?000"):
        mv.audit("y", "p", data=data, groups=["id"])


def test_every_error_is_a_value_error_too():
    assert issubclass(InputError, ValueError)
    assert issubclass(PredicateError, InputError)
