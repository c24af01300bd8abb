"""What is refused, and how it is said."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest

import multivalid as mv

Y, F = np.array([0.0, 1.0, 0.5, 0.2]), np.array([0.1, 0.9, 0.5, 0.5])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"m": 0}, r"m must be a whole number of at least 1, got 0"),
        ({"m": 2.5}, r"m must be a whole number"),
        ({"m": True}, r"m must be a whole number"),
        ({"alpha": 0.0}, r"alpha must be positive, got 0\.0"),
        ({"alpha": -1}, r"alpha must be positive"),
        ({"alpha": float("nan")}, r"alpha must be finite"),
        ({"lipschitz": 0}, r"lipschitz must be positive"),
        ({"mode": "fast"}, r"mode must be one of practical, theorem, paper, got 'fast'"),
        ({"max_updates": -1}, r"max_updates must be a whole number of at least 0"),
        ({"grid": [0.1, 0.2]}, r"grid must be a Grid"),
        ({"grid": mv.Grid.uniform(0.3, 1, 5)}, r"grid covers \[0\.3, 1\], but Mean\(\) of these labels can be anywhere in \[0, 1\]; use Grid\.uniform\(0, 1, m\)"),  # noqa: E501
        ({"grid": mv.Grid.uniform(0, 1, 5), "y_pred": F + 1}, r"y_pred must lie in the grid's range \[0, 1\]: 4 values do not"),
        ({"grid": mv.Grid.uniform(0, 1, 5), "m": 6}, r"m=6 contradicts grid, which has 5 points"),
        ({"property": "quantil:0.9"}, r"property 'quantil:0\.9' is not known; did you mean 'quantile'"),
        ({"y_true": Y[:3]}, r"y_pred has 4 rows but y_true has 3"),
        ({"y_true": [0, 1, np.nan, 1]}, r"y_true has 1 missing or infinite values, the first at row 2"),
        ({"y_pred": [0, 1, np.inf, 1]}, r"y_pred has 1 missing or infinite values"),
        ({"y_true": "label"}, r"y_true='label' is the name of a column, but data=None"),
        ({"sample_weight": [1, 1, -1, 1]}, r"sample_weight must not be negative"),
        ({"sample_weight": [0, 0, 0, 0]}, r"sample_weight is zero for every row"),
        ({"y_true": [], "y_pred": []}, r"y_true is empty"),
        ({"groups": [np.ones(3, dtype=bool)]}, r"numbers of rows differ"),
        ({"property": "ratio:2:1", "y_true": Y - 1}, r"ratio|Ratio"),
    ],
)  # fmt: skip
def test_arguments(change: dict[str, Any], message: str) -> None:
    options: dict[str, Any] = {"y_true": Y, "y_pred": F, "groups": [], "mode": "theorem", **change}
    with pytest.raises(mv.MultivalidError, match=message):
        mv.multicalibrate(**options)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
class TestFrames:
    columns: ClassVar[dict[str, list[Any]]] = {
        "y": [0.0, 1.0, 0.2, 0.9, 0.1, 0.8],
        "p": [0.5] * 6,
        "site": ["a", "b", "a", "b", "a", "b"],
        "age": [10, 70, 30, 60, 20, 80],
    }

    def fitted(self, frame: Any) -> mv.Calibration:
        return mv.multicalibrate("y", "p", groups=["site", "age >= 50"], data=frame, mode="theorem", m=20)

    def test_names_decide_not_positions(self, kind: Any) -> None:
        frame = kind(self.columns)
        fitted = self.fitted(frame)
        straight = fitted.predict("p", data=frame)
        assert straight[0] < 0.5 < straight[1]
        moved = kind({name: self.columns[name] for name in ("age", "site", "y", "p")})
        np.testing.assert_array_equal(fitted.predict("p", data=moved), straight)

    def test_missing_columns(self, kind: Any) -> None:
        fitted = self.fitted(kind(self.columns))
        with pytest.raises(mv.MultivalidError, match="site"):
            fitted.predict("p", data=kind({"p": [0.5], "age": [3]}))
        with pytest.raises(mv.MultivalidError, match="y_pred='q' is not a column of data"):
            fitted.predict("q", data=kind(self.columns))
        with pytest.raises(mv.MultivalidError, match=r"site|data"):
            fitted.predict([0.5])

    def test_output_column(self, kind: Any) -> None:
        frame = kind(self.columns)
        fitted = self.fitted(frame)
        found = fitted.predict("p", data=frame, output="fair")
        assert type(found) is type(frame)
        np.testing.assert_array_equal(np.asarray(found["fair"]), fitted.predict("p", data=frame))
        with pytest.raises(mv.MultivalidError, match="output='fair' needs data="):
            mv.multicalibrate(Y, F, groups=[], mode="theorem").predict([0.1], output="fair")


class TestPredict:
    fitted = mv.multicalibrate(Y, F, groups=[np.array([True, False, True, False])], mode="theorem", m=5)

    def test_array_groups_must_be_given_again(self) -> None:
        with pytest.raises(mv.MultivalidError, match="1 boolean array columns, got 0"):
            self.fitted.predict([0.1])

    def test_packed_groups_must_fit(self) -> None:
        members = mv.Membership.from_dense(np.array([[True], [False]]))
        assert self.fitted.predict([0.1, 0.2], groups=members).shape == (2,)
        with pytest.raises(mv.MultivalidError, match="groups has 2 groups and 2 rows, expected 2"):
            self.fitted.predict([0.1], groups=members)

    def test_predictions_must_be_numbers(self) -> None:
        with pytest.raises(mv.MultivalidError, match="y_pred has 1 missing"):
            self.fitted.predict([np.nan], groups=[np.array([True])])

    def test_repr_and_summary(self) -> None:
        assert "Calibration of Mean() for 2 groups: vacuous" in repr(self.fitted)
        assert str(self.fitted.certificate) == self.fitted.certificate.summary()
        assert "at most" in self.fitted.certificate.summary()
