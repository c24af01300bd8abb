"""Labels as people have them: classes by name, categories, booleans, and rows whose label is missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import multivalid as mv
from multivalid.errors import InputError
from tests.inputs.frames import ENGINES


def world(rows: int = 600) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    race = rng.choice(["a", "b", "c"], rows)
    p = rng.choice([0.2, 0.4, 0.7], rows)
    y = rng.random(rows) < np.where(race == "a", p * 0.5, p)
    income = np.where(y, ">50K", "<=50K").tolist()
    return pl.DataFrame({"race": race, "p": p, "y": y.astype(float), "income": income, "rich": y, "code": y.astype(int) + 1})


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("column", "positive"), [("income", ">50K"), ("rich", True), ("code", 2)])
def test_audit_of_classes_by_name_is_that_of_zeros_and_ones(engine: Any, column: str, positive: Any) -> None:
    frame = world()
    plain = mv.audit("y", "p", groups=["race"], data=engine(frame))
    named = mv.audit(column, "p", groups=["race"], data=engine(frame), positive=positive)
    assert named.error == pytest.approx(plain.error, abs=1e-15)
    assert named.groups.names == plain.groups.names


@pytest.mark.parametrize(
    "labels",
    [
        lambda f: f["income"].to_list(),
        lambda f: pd.Categorical(f["income"].to_list()),
        lambda f: pd.Series(f["income"].to_list(), dtype="category"),
        lambda f: np.array(f["income"].to_list(), dtype=object),
        lambda f: f["income"],
    ],
)
def test_arrays_of_classes(labels: Any) -> None:
    frame = world()
    plain = mv.audit(frame["y"], frame["p"], groups=["race"], data=frame)
    named = mv.audit(labels(frame), frame["p"], groups=["race"], data=frame, positive=">50K")
    assert named.error == plain.error


def test_categories_of_a_column() -> None:
    frame = world().to_pandas()
    frame["income"] = frame["income"].astype("category")
    assert mv.audit("income", "p", groups=[], data=frame, positive=">50K").error == mv.audit("y", "p", groups=[], data=frame).error


@pytest.mark.parametrize("engine", ENGINES)
def test_fit_of_classes_by_name(engine: Any) -> None:
    frame = world()
    plain = mv.multicalibrate("y", "p", groups=["race"], data=engine(frame), mode="theorem", m=10)
    named = mv.multicalibrate("income", "p", groups=["race"], data=engine(frame), mode="theorem", m=10, positive=">50K")
    at = frame.to_pandas()
    assert np.array_equal(named.predict(at["p"], data=at), plain.predict(at["p"], data=at))


def test_discover_leaves_the_label_out_of_the_search() -> None:
    frame = world(2000).drop("y", "rich", "code")
    found = mv.discover("income", "p", data=frame, positive=">50K")
    assert not any("income" in group for group in found.groups)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_positive_that_never_occurs_is_answered_with_the_values(engine: Any) -> None:
    with pytest.raises(InputError, match=r"positive='>50k' does not occur in y_true, whose values are '<=50K', '>50K'"):
        mv.audit("income", "p", groups=[], data=engine(world()), positive=">50k")
    with pytest.raises(InputError, match="positive=3 cannot occur"):
        mv.audit("income", "p", groups=[], data=engine(world()), positive=3)


@pytest.mark.parametrize("engine", ENGINES)
def test_texts_without_positive_are_told_of_it(engine: Any) -> None:
    with pytest.raises(InputError, match="take positive="):
        mv.audit("income", "p", groups=[], data=engine(world()))
    with pytest.raises(InputError, match="take positive="):
        mv.audit(["a", "b"], [0.1, 0.2], groups=[])


def with_gaps(frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Three labels missing, and the frame without these rows."""
    lost = pl.int_range(pl.len()).is_in([0, 7, 11])
    columns = [pl.when(~lost).then(pl.col(name)).alias(name) for name in ("y", "income")]
    return frame.with_columns(columns), frame.filter(~lost)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("column", "positive"), [("y", None), ("income", ">50K")])
def test_missing_labels_are_refused_or_counted_and_left_out(engine: Any, column: str, positive: Any) -> None:
    gaps, rest = with_gaps(world())
    with pytest.raises(InputError, match=r'3 missing.*missing_rows="drop"'):
        mv.audit(column, "p", groups=["race"], data=engine(gaps), positive=positive)
    found = mv.audit(column, "p", groups=["race"], data=engine(gaps), positive=positive, missing_rows="drop")
    assert found.error == pytest.approx(mv.audit("y", "p", groups=["race"], data=engine(rest)).error, abs=1e-15)
    assert "3 rows have no label and are left out" in found.summary()
    fitted = mv.multicalibrate(
        column, "p", groups=["race"], data=engine(gaps), positive=positive, missing_rows="drop", mode="theorem", m=10
    )
    other = mv.multicalibrate("y", "p", groups=["race"], data=engine(rest), mode="theorem", m=10)
    assert fitted.predictor == other.predictor


def test_every_argument_with_a_value_per_row_is_cut() -> None:
    gaps, rest = with_gaps(world())
    given = gaps.to_pandas()
    mask = (given["race"] == "a").to_numpy()
    weights, days, held = np.arange(1.0, 601.0), np.arange(600) // 10, np.arange(600) % 3 == 0
    left = ~gaps["y"].is_null().to_numpy()
    found = mv.audit(given["y"], given["p"], groups=[mask], sample_weight=weights, cluster=days, missing_rows="drop")
    other = mv.audit(rest["y"], rest["p"], groups=[mask[left]], sample_weight=weights[left], cluster=days[left])
    assert found.error == other.error
    assert np.array_equal(found.table["p_value"], other.table["p_value"])
    fitted = mv.multicalibrate(given["y"], given["p"], groups=[mask], holdout=held, missing_rows="drop", mode="theorem", m=10)
    again = mv.multicalibrate(rest["y"], rest["p"], groups=[mask[left]], holdout=held[left], mode="theorem", m=10)
    assert fitted.predictor == again.predictor


def test_bad_options_are_named() -> None:
    with pytest.raises(InputError, match='missing_rows must be "refuse" or "drop"'):
        mv.audit([0, 1], [0.5, 0.5], groups=[], missing_rows="ignore")
    with pytest.raises(InputError, match="positive must be a value of y_true"):
        mv.audit([0, 1], [0.5, 0.5], groups=[], positive=[1])
    with pytest.raises(InputError, match="every one is missing"):
        mv.audit([np.nan, np.nan], [0.5, 0.5], groups=[], missing_rows="drop")


def test_a_frame_of_columns_as_groups() -> None:
    frame = world().to_pandas().assign(sex=lambda f: np.where(np.arange(len(f)) % 2, "f", "m"))
    named = mv.audit("y", "p", groups=["race", "sex"], data=frame)
    assert mv.audit("y", "p", groups=frame[["race", "sex"]], data=frame).groups.names == named.groups.names
    assert mv.audit(frame["y"], frame["p"], groups=frame[["race", "sex"]]).error == named.error
    with pytest.raises(InputError, match="not those of data"):
        mv.audit("y", "p", groups=frame[["race", "sex"]].iloc[::-1], data=frame)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda frame: mv.audit(frame.y, frame.p, groups=frame["race"]), r"groups=df\[\['race'\]\]"),
        (lambda frame: mv.audit(frame.y, np.c_[1 - frame.p, frame.p], groups=[]), r"predict_proba\(X\)\[:, 1\]"),
        (
            lambda frame: mv.audit("y", "p", groups=["mixed"], data=frame),
            "column 'mixed' of type Object cannot be split by value; convert",
        ),
        (
            lambda frame: mv.audit("y", "p", groups=["wait"], data=frame),
            "column 'wait' of type Duration.* cannot be split by value; convert",
        ),
        (lambda frame: mv.audit("y", "p", groups=[], data=frame.to_dict()), "polars LazyFrame, DuckDB, Spark.*got dict"),
    ],
)
def test_near_misses_are_answered_with_what_to_write(call: Any, message: str) -> None:
    n = 40
    frame = pd.DataFrame({"y": [0.0, 1.0] * 20, "p": [0.5] * n, "race": ["a", "b"] * 20, "mixed": [1, "a"] * 20})
    frame["wait"] = pd.to_timedelta(range(n), unit="D")
    with pytest.raises(ValueError, match=message):
        call(frame)
