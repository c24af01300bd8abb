"""Saved groups come back the same; anything else in the file is refused."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from multivalid.errors import ModelFileError
from multivalid.groups.family import FittedGroups, Groups
from multivalid.groups.items import bins, cross


@pytest.fixture(scope="module")
def fitted() -> FittedGroups:
    data = pd.DataFrame(
        {
            "s": ["ü", "it's", "\n", None],
            "n": [3, -1, 2**53 + 1, 3],
            "b": [True, False, False, True],
            "x": [0.1, 1 / 3, 5e-324, 7.0],
        }
    )
    array = np.array([[True, False], [True, True], [False, False], [True, True]])
    items = ["s", "n", "b", "x > 0.2", bins("x", edges=[-np.inf, 0.2, 1.0]), array, cross("s", bins("x", 2), "b")]
    return Groups(items, min_size=1).fit(data)


def test_round_trip_is_lossless(fitted: FittedGroups) -> None:
    text = json.dumps(fitted.to_json(), allow_nan=False)
    again = FittedGroups.from_json(json.loads(text))
    assert again == fitted
    assert again.notes == fitted.notes
    assert json.dumps(again.to_json(), allow_nan=False) == text
    assert [type(value) for one in again.kept for value in getattr(one.block, "values", ())] == [str] * 3 + [int] * 3 + [bool] * 2


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*path, key))


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    value = copy.deepcopy(value)
    inner = value
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = new
    return value


def test_a_wrong_type_anywhere_is_refused(fitted: FittedGroups) -> None:
    saved = fitted.to_json()
    for path in places(saved):
        for new in (None, {"a": 1}, True, 1e300, [[]]):
            inner = saved
            for key in path:
                inner = inner[key]
            if inner is True and new is True:
                continue
            try:
                again = FittedGroups.from_json(replaced(saved, path, new))
            except ModelFileError:
                continue
            assert again.to_json() != saved, path  # an edge may be any number, if it is in order
            assert isinstance(new, float), (path, new)


def test_a_missing_or_unknown_field_is_refused(fitted: FittedGroups) -> None:
    saved = fitted.to_json()
    for path in places(saved):
        inner = saved
        for key in path:
            inner = inner[key]
        if isinstance(inner, dict):
            with pytest.raises(ModelFileError, match="unknown field 'extra'"):
                FittedGroups.from_json(replaced(saved, path, {**inner, "extra": 1}))
            for key in inner:
                if key == "missing":  # which files of earlier versions do not have; the groups then are others, or too many
                    continue
                with pytest.raises(ModelFileError):
                    FittedGroups.from_json(replaced(saved, path, {name: one for name, one in inner.items() if name != key}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"names": ["all"]}, "everyone"),
        ({"names": ["everyone", "a", "a"]}, "unique"),
        ({"names": ["everyone", "a"]}, "as many names"),
        ({"blocks": [{"kind": "spell", "codes": [0]}]}, "unknown kind"),
        ({"blocks": [{"kind": "predicate", "text": "f(x)", "codes": [0]}]}, "calls are not"),
        ({"blocks": [{"kind": "predicate", "text": "x > 1", "codes": [1]}]}, "codes"),
        ({"blocks": [{"kind": "values", "column": "x", "type": "text", "values": ["b", "a"], "codes": [0]}]}, "order"),
        ({"blocks": [{"kind": "values", "column": "x", "type": "number", "values": [True], "codes": [0]}]}, "int only"),
        ({"blocks": [{"kind": "values", "column": "x", "type": "number", "values": [2**63], "codes": [0]}]}, "64 bits"),
        ({"blocks": [{"kind": "bins", "column": "x", "edges": [1.0], "codes": [0]}]}, "edges"),
        ({"blocks": [{"kind": "bins", "column": "x", "edges": [2.0, 1.0], "codes": [0]}]}, "edges"),
        ({"blocks": [{"kind": "bins", "column": "x", "edges": ["nan", 1.0], "codes": [0]}]}, "edge"),
        ({"blocks": [{"kind": "arrays", "start": 1, "size": 1, "codes": [0]}]}, "order"),
        ({"blocks": [{"kind": "arrays", "start": 0, "size": 1, "codes": [0]}]}, "array columns"),
    ],
)
def test_a_damaged_file_is_refused(change: dict[str, Any], message: str) -> None:
    saved = {"names": ["everyone", "a"], "blocks": [], "arrays": 0, "notes": []} | change
    with pytest.raises(ModelFileError, match=message):
        FittedGroups.from_json(saved)
