"""Families of groups: what each item becomes, what is left out, and the same answer by mask, expression and row."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from multivalid.errors import InputError, PredicateError
from multivalid.groups.family import FittedGroups, Groups
from multivalid.groups.items import bins, cross
from multivalid.groups.predicate import parse

from . import frames
from .strategies import predicate_texts, rows

PEOPLE = {
    "sex": ["F", "M", "F", None, "M", "F"],
    "region": ["N", "N", "S", "S", "S", "S"],
    "age": [18, 30, 45, 60, 75, 20],
    "income": [1.5, 2.5, None, 0.0, -1.0, 3.25],
    "member": [True, False, True, False, False, False],
}
CODED = [1.0, 2.0, None, 2.0, 1.0, 3.0]


def people(kind: str) -> Any:
    table = pl.DataFrame({**PEOPLE, "coded": CODED})
    if kind == "polars":
        return table
    if kind == "polars-categorical":
        return table.with_columns(pl.col("sex", "region").cast(pl.Categorical))
    if kind == "arrow":
        return table.to_arrow()
    frame = pd.DataFrame({**PEOPLE, "coded": CODED})
    if kind == "pandas-categorical":
        return frame.astype({"sex": "category", "region": "category"})
    return frame.convert_dtypes() if kind == "pandas-nullable" else frame


KINDS = ["pandas", "pandas-nullable", "pandas-categorical", "polars", "polars-categorical", "arrow"]


def members(groups: FittedGroups, *args: Any, **kwargs: Any) -> dict[str, list[int]]:
    masks = list(groups.masks(*args, **kwargs))
    assert all(mask.dtype == np.bool_ for mask in masks)
    return {name: np.flatnonzero(mask).tolist() for name, mask in zip(groups.names, masks, strict=True)}


@pytest.mark.parametrize("kind", KINDS)
def test_every_item_on_every_frame(kind: str) -> None:
    data = people(kind)
    groups = Groups(["sex", "member", "coded", "income > 0", bins("age", 3), cross("sex", "region")]).fit(data)
    assert members(groups, data) == {
        "everyone": [0, 1, 2, 3, 4, 5],
        "sex = F": [0, 2, 5],
        "sex = M": [1, 4],
        "sex is missing": [3],
        "member": [0, 2],
        "not member": [1, 3, 4, 5],
        "coded = 1": [0, 4],
        "coded = 2": [1, 3],
        "coded = 3": [5],
        "coded is missing": [2],
        "income > 0": [0, 1, 5],
        "age in [18, 30)": [0, 5],
        "age in [30, 60)": [1, 2],
        "age in [60, 75]": [3, 4],
        "sex = F & region = N": [0],
        "sex = F & region = S": [2, 5],
        "sex = M & region = N": [1],
        "sex = M & region = S": [4],
    }
    assert groups.columns == ("sex", "member", "coded", "income", "age", "region")
    assert len(groups) == 18
    assert groups.notes == ["group 'sex is missing & region = S' has the same rows as 'sex is missing': left out"]


@pytest.mark.parametrize("kind", KINDS)
def test_new_rows_use_the_categories_and_edges_seen_first(kind: str) -> None:
    items = ["sex", "coded", bins("age", 3), cross("sex", "region")]
    groups = Groups(items).fit(people(kind))
    new = pl.DataFrame(
        {
            "sex": ["X", "F", None, "M"],
            "region": ["N", "W", "N", "S"],
            "age": [-5.0, 200.0, float("nan"), 30.0],
            "coded": [2, 9, None, 1],
        }
    )
    found = members(groups, new)
    assert {name: where for name, where in found.items() if where} == {
        "everyone": [0, 1, 2, 3],
        "sex = F": [1],
        "sex = M": [3],
        "sex is missing": [2],
        "coded = 1": [3],
        "coded = 2": [0],
        "coded is missing": [2],
        "age in [18, 30)": [0],
        "age in [30, 60)": [3],
        "age in [60, 75]": [1],
        "sex = M & region = S": [3],
    }


def test_left_out_groups_are_named() -> None:
    data = pd.DataFrame({"x": [1, 1, 2, 3], "b": [True] * 4})
    groups = Groups(["x", "x == 1", "x > 9", "b", "x < 9"], min_size=2).fit(data)
    assert groups.names == ("everyone", "x = 1")
    assert groups.notes == [
        "group 'x == 1' has the same rows as 'x = 1': left out",
        "group 'x > 9' has no rows: left out",
        "group 'b' has the same rows as 'everyone': left out",
        "group 'not b' has no rows: left out",
        "group 'x < 9' has the same rows as 'everyone': left out",
        "2 groups have fewer rows than min_size=2: left out ('x = 2', 'x = 3')",
    ]
    assert members(groups, data) == {"everyone": [0, 1, 2, 3], "x = 1": [0, 1]}
    assert groups.row({"x": 2, "b": True}).tolist() == [True, False]
    assert groups.row({"x": 1}).tolist() == [True, True]


def test_a_group_that_equals_a_left_out_one_stays() -> None:
    groups = Groups(["x > 1", "x > 2"], min_size=2).fit(pd.DataFrame({"x": [1, 3]}))
    assert groups.names == ("everyone",)
    assert groups.notes == ["2 groups have fewer rows than min_size=2: left out ('x > 1', 'x > 2')"]


def test_names_are_unique_and_may_be_given() -> None:
    data = pl.DataFrame({"x": [1, 2, 3], "s": ["a", " ", "\n"]})
    assert Groups({"low": "x < 2", "place": "s"}).fit(data).names == ("everyone", "low", r"place = '\n'", "place = ' '")
    assert Groups(["x < 2", "x > 2"], names=["low", None]).fit(data).names == ("everyone", "low", "x > 2")
    assert Groups({"everyone": "x < 2"}).fit(data).names == ("everyone", "everyone (2)")
    assert Groups({"size": bins("x", 2)}).fit(data).names == ("everyone", "size in [1, 2)", "size in [2, 3]")
    with pytest.raises(InputError, match="names"):
        Groups(["x < 2", "x > 2"], names=["low", "low"])
    with pytest.raises(InputError, match="one name per item"):
        Groups(["x < 2", "x > 2"], names=["low"])


def test_a_column_name_wins_over_a_predicate() -> None:
    data = pd.DataFrame({"age > 3": [True, False], "age": [1, 5]})
    assert members(Groups("age > 3").fit(data), data)["age > 3"] == [0]


def test_arrays_in_every_form() -> None:
    table = np.array([[True, False], [False, True], [True, True]])
    forms: list[Any] = [
        table,
        np.asfortranarray(table),
        [table[:, 0], table[:, 1]],
        [table],
        [[True, False, True], [False, True, True]],
        [pd.Series(table[:, 0]), pl.Series(table[:, 1])],
    ]
    for form in forms:
        groups = Groups(form).fit(n_rows=3)
        assert groups.names == ("everyone", "group 1", "group 2")
        for again in (table, list(table.T)):
            assert members(groups, arrays=again) == {"everyone": [0, 1, 2], "group 1": [0, 2], "group 2": [1, 2]}
        assert groups.row([True, False]).tolist() == [True, True, False]
    assert Groups({"a": table[:, 0], "b": table}).fit().names == ("everyone", "a", "b 2")
    assert Groups(table, names=["a", "b"]).fit().names == ("everyone", "a", "b")
    assert Groups(pd.DataFrame(table, columns=["a", "b"])).fit().names == ("everyone", "a", "b")
    assert Groups([True, False, True]).fit().names == ("everyone", "group 1")


def test_left_out_arrays_are_still_counted() -> None:
    table = np.array([[True, True, False], [True, False, False], [True, False, True]])
    groups = Groups(table).fit()
    assert groups.names == ("everyone", "group 2", "group 3")
    assert members(groups, arrays=table) == {"everyone": [0, 1, 2], "group 2": [0], "group 3": [2]}
    assert groups.row(np.array([False, False, True])).tolist() == [True, False, True]
    with pytest.raises(InputError, match="3 boolean array columns, got 2"):
        groups.masks(arrays=table[:, 1:])


def test_many_array_columns_are_turned_correctly() -> None:
    table = np.random.default_rng(0).random((5000, 150)) < 0.3
    groups = Groups(table).fit()
    for expected, mask in zip(table.T, list(groups.masks(arrays=table))[1:], strict=True):
        np.testing.assert_array_equal(mask, expected)


def test_arrays_and_columns_together() -> None:
    data = people("polars")
    array = np.array([True, False, False, False, False, True])
    groups = Groups(["age > 40", array, "member"]).fit(data)
    assert groups.names == ("everyone", "age > 40", "group 1", "member", "not member")
    assert members(groups, data, arrays=array)["group 1"] == [0, 5]
    with pytest.raises(InputError, match="sequence of booleans"):
        groups.row({"age": 1, "member": True})
    with pytest.raises(InputError, match="must be a mapping"):
        groups.row([True])
    with pytest.raises(InputError, match="lazy"):
        groups.expressions(data.schema)


def test_bins() -> None:
    data = pd.DataFrame({"x": [0, 0, 0, 1, 2, 2], "f": [0.1, 0.25, 1 / 3, 1e20, np.nan, np.inf]})
    groups = Groups(bins("x", 5)).fit(data)
    assert groups.names == ("everyone", "x in [0, 1)", "x in [1, 2)", "x in [2, 2]")
    assert groups.notes == ["bins('x', 5): 3 bins instead of 5, because of equal values"]
    explicit = Groups(bins("x", edges=[-np.inf, 1, 1.5])).fit(data)
    assert explicit.names == ("everyone", "x < 1", "x >= 1")
    assert explicit.notes == [
        "bins('x', edges=[-inf, 1.0, 1.5]): 2 rows lie beyond the edges and count in the first or the last bin"
    ]
    assert members(explicit, data)["x >= 1"] == [3, 4, 5]
    close = Groups(bins("x", edges=[0.10001, 0.10002, 3])).fit(data)
    assert close.names == ("everyone", "x < 0.10002", "x >= 0.10002")
    whole = Groups(bins("f", edges=[0, 1])).fit(data)
    assert whole.names[1:2] == ("f is not missing",)
    assert whole.notes == [
        "bins('f', edges=[0.0, 1.0]) is one bin, in which every number of the column counts; edges=[-inf, 0.0, 1.0, inf] make 3 bins"
    ]
    assert Groups(bins("f", edges=[-np.inf, np.inf])).fit(data).notes == [
        "bins('f', edges=[-inf, inf]) is one bin, in which every number of the column counts"
    ]
    several = Groups(bins("x", edges=[0.5, 1, 1.5, 9])).fit(data)
    assert several.names == ("everyone", "x < 1", "x in [1, 1.5)", "x >= 1.5")  # and so they are, whatever lies beyond the edges
    assert members(several, data)["x < 1"] == [0, 1, 2]
    halves = Groups(bins("f", 2)).fit(data)
    assert [int(mask.sum()) for mask in halves.masks(data)] == [6, 2, 3, 1]
    assert halves.names[-1] == "f is missing"


@pytest.mark.parametrize("k", [2, 3, 7, 10])
def test_bins_of_distinct_values_have_equal_sizes(k: int) -> None:
    values = np.random.default_rng(k).permutation(k * 20).astype(float)
    data = pl.DataFrame({"x": values})
    sizes = [int(mask.sum()) for mask in Groups(bins("x", k)).fit(data).masks(data)][1:]
    assert len(sizes) == k
    assert max(sizes) - min(sizes) <= 2


def test_without_data_predicates_and_explicit_bins_can_be_fitted() -> None:
    items = ["age >= 18", "18 <= age", bins("age", edges=[0, 50, 100]), cross("member", bins("age", edges=[0, 50, 100]))]
    groups = Groups(items).fit()
    assert groups.names == (
        "everyone",
        "age >= 18",
        "age < 50",
        "age >= 50",
        "member & age < 50",
        "member & age >= 50",
    )
    assert groups.notes == ["group '18 <= age' is the same condition as 'age >= 18': left out"]
    assert groups.row({"age": 20, "member": True}).tolist() == [True, True, True, False, True, False]
    with pytest.raises(InputError, match="needs data to find its edges"):
        Groups(bins("age", 3)).fit()
    with pytest.raises(InputError, match="pass the frame that has them as data="):
        Groups(["age >= 18"]).fit(n_rows=3)


def test_categorical_numbers_compare_as_text() -> None:
    data = pd.DataFrame({"c": pd.Categorical([1, 2, None])})
    assert members(Groups("c").fit(data), data) == {"everyone": [0, 1, 2], "c = 1": [0], "c = 2": [1], "c is missing": [2]}


def test_object_columns_of_booleans() -> None:
    data = pd.DataFrame({"b": pd.Series([True, None, False], dtype=object)})
    expected = {"everyone": [0, 1, 2], "b": [0], "not b": [2], "b is missing": [1], "not b (2)": [1, 2]}
    assert members(Groups(["b", "not b"]).fit(data), data) == expected  # as a predicate, not b holds where nothing is known


def test_odd_column_names() -> None:
    data = pd.DataFrame({"a`b": [True, False], "c d": ["x", "y"], "__e__": [1, 2]})
    groups = Groups(["a`b", "c d", "__e__"]).fit(data)
    assert groups.names == ("everyone", "a`b", "not a`b")
    assert FittedGroups.from_json(groups.to_json()) == groups


BAD: list[tuple[Any, str]] = [
    (["agee"], "no column 'agee'.*'age'"),
    ([bins("agee", 3)], "no column 'agee'.*'age'"),
    ([cross("sex", "agee")], "no column 'agee'.*'age'"),
    (["income"], r"holds fractions.*mv\.bins"),
    ([bins("sex", 3)], "needs numbers"),
    (["day"], "cannot be split by value"),
    (["id"], "11,000 values"),
    ([cross("sex", "id")], "11,000 values"),
    ([cross("many", "more")], "combinations"),
    ([3], "an item is a predicate"),
    ([["sex"]], "an item is a predicate"),
    (None, "an item is a predicate"),
    ({1: "sex"}, "must be strings"),
    ([np.ones(3, dtype=int)], "must be boolean, got int64"),
    ([np.ones(3, dtype=object)], "must be boolean, got object"),
    ([np.ones((2, 2, 2), dtype=bool)], "rows × groups"),
    ([np.ones(3, dtype=bool)], "numbers of rows differ"),
    ([np.ones(3, dtype=bool), np.ones(4, dtype=bool)], "different numbers of rows"),
    ([pd.Series([1.0])], "is not boolean"),
    ([pl.Series([True, None])], "missing values"),
]


@pytest.mark.parametrize(("items", "message"), BAD)
def test_bad_items_are_named(items: Any, message: str) -> None:
    n = 11_000
    data = pl.DataFrame(
        {
            "sex": ["F", "M"] * (n // 2),
            "age": [1] * n,
            "income": [0.5] * n,
            "id": [f"i{i}" for i in range(n)],
            "many": [i % 110 for i in range(n)],
            "more": [i // 110 for i in range(n)],
            "day": pl.date_range(pl.date(2000, 1, 1), pl.date(2000, 1, 1), eager=True).extend_constant(None, n - 1),
        }
    )
    with pytest.raises(InputError, match=message):
        Groups(items).fit(data)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: bins("a"), "either k"),
        (lambda: bins("a", 3, edges=[1, 2]), "either k"),
        (lambda: bins("a", 0), "at least 1"),
        (lambda: bins("a", 10**6), "at most"),
        (lambda: bins(3, 3), "name of a column"),
        (lambda: bins("a", edges=[1]), "increasing"),
        (lambda: bins("a", edges=[2, 1]), "increasing"),
        (lambda: bins("a", edges=[1, float("nan")]), "increasing"),
        (lambda: bins("a", edges=["x", "y"]), "must be numbers"),
        (lambda: cross("a"), "at least two"),
        (lambda: cross("a", np.ones(2, dtype=bool)), "cross takes"),
        (lambda: Groups(["a"], min_size=-1), "min_size"),
        (lambda: FittedGroups.of_flags(["a", "a"]), "unique"),
        (lambda: FittedGroups.of_flags(0), "at least 1"),
    ],
)
def test_bad_arguments_are_named(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_bad_frames_are_named() -> None:
    groups = Groups(["sex"])
    for data in ({"sex": [1]}, [1, 2], "sex", pl.LazyFrame({"sex": ["a"]})):
        with pytest.raises(InputError, match="in memory"):
            groups.fit(data)
    with pytest.raises(InputError, match=r"unique column names|several columns"):
        groups.fit(pd.DataFrame([[1, 2]], columns=["sex", "sex"]))
    with pytest.raises(InputError, match="empty"):
        groups.fit(pd.DataFrame({"sex": pd.Series([], dtype=str)}))
    fitted = groups.fit(pd.DataFrame({"sex": ["F", "M"]}))
    with pytest.raises(InputError, match="'sex'"):
        fitted.masks()
    with pytest.raises(InputError, match="no column 'sex'"):
        fitted.masks(pd.DataFrame({"age": [1]}))
    with pytest.raises(InputError, match="held text values"):
        list(fitted.masks(pd.DataFrame({"sex": [1]})))
    with pytest.raises(InputError, match="held text values"):
        fitted.row({"sex": 1})
    with pytest.raises(InputError, match="no column 'sex' in the row"):
        fitted.row({"sx": "F"})
    with pytest.raises(InputError, match="numbers of rows differ"):
        fitted.masks(pd.DataFrame({"sex": ["F"]}), n_rows=2)


def test_a_misspelt_column_with_a_space_is_suggested() -> None:
    with pytest.raises(PredicateError, match="did you mean the column 'arr delay'"):
        Groups(["arr dely"]).fit(pd.DataFrame({"arr delay": [1]}))


@given(rows(), st.lists(predicate_texts(), max_size=4), st.integers(1, 4))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_masks_rows_and_expressions_agree(table: frames.Rows, texts: list[str], k: int) -> None:
    table = frames.as_stored([{**row, "small": row["small"] % 5} for row in table] + [dict.fromkeys(table[0], None) | {"small": 1}])
    table = [{**row, "i": row["i"] or 0, "g": 0.0 if row["g"] is None else row["g"], "flag": bool(row["flag"])} for row in table]
    items = ["s", "small", "maybe", bins("small", k), cross("t x", bins("small", edges=[0, 1.5, 9]), "maybe"), *texts]
    first = frames.polars(table)
    groups = Groups(items).fit(first)
    assert FittedGroups.from_json(json.loads(json.dumps(groups.to_json(), allow_nan=False))) == groups
    expected = np.array(list(groups.masks(first))).T
    for kind in (frames.arrow, frames.pandas_nullable, frames.pandas_plain, frames.pandas_categorical):
        np.testing.assert_array_equal(np.array(list(groups.masks(kind(table)))).T, expected)
    np.testing.assert_array_equal([groups.row(row) for row in table], expected)
    for native in (first.lazy(), frames.duck(table)):
        frame = nw.from_native(native)
        wanted = [one.alias(f"g{i}") for i, one in enumerate(groups.expressions(frame.collect_schema()))]
        answer = frame.with_columns(*wanted).select(*(f"g{i}" for i in range(len(wanted)))).collect()
        np.testing.assert_array_equal(answer.to_numpy(), expected)


def test_pickle_copy_and_repr() -> None:
    groups = Groups(["sex", "age > 20 and not member", bins("age", 2), cross("sex", "member")])
    assert repr(groups) == "Groups(['sex', 'age > 20 and not member', bins('age', 2), cross('sex', 'member')])"
    fitted = groups.fit(people("polars"))
    row = {"sex": "F", "age": 30, "member": True}
    expected = fitted.row(row).tolist()
    for again in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):  # noqa: S301 - our own bytes
        assert again == fitted
        assert again.row(row).tolist() == expected
    assert repr(copy.deepcopy(groups)) == repr(groups)


def test_groups_of_groups_and_of_predicate_objects() -> None:
    groups = Groups([parse("age > 20")], min_size=2)
    again = Groups(groups, min_size=1)
    assert again.min_size == 2
    assert again.fit(people("polars")).names == ("everyone", "age > 20")
    assert Groups([]).fit(n_rows=2).names == ("everyone",)


def test_whole_numbers_that_no_signed_64_bits_hold_are_refused() -> None:
    most = 2**63 - 1
    kept = Groups(["code"]).fit(pl.DataFrame({"code": pl.Series([most, 7], dtype=pl.UInt64)}))
    assert kept.names == ("everyone", "code = 7", f"code = {most}")
    with pytest.raises(InputError, match=r"column 'code' holds whole numbers beyond 64 bits; use mv\.bins"):
        Groups(["code"]).fit(pl.DataFrame({"code": pl.Series([most + 1, 7], dtype=pl.UInt64)}))
