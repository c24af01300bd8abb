"""A predicate in SQL picks the rows that it picks everywhere else."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from multivalid.groups.predicate import parse
from multivalid.sql.conditions import ConditionWriter
from multivalid.sql.dialects import dialect_of

from ..groups import frames
from ..groups.strategies import predicate_texts, rows

KINDS = {
    "i": "int",
    "small": "int",
    "n": "int",
    "f": "float",
    "g": "float",
    "s": "text",
    "t x": "text",
    "flag": "bool",
    "maybe": "bool",
}
CASES = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
TRUE = (True, 1, "t")


def picked(database: Any, table: frames.Rows, texts: list[str]) -> dict[str, list[bool]]:
    dialect = dialect_of(database.dialect)
    columns: dict[str, list[Any]] = {name: [row[name] for row in table] for name in KINDS}
    database.load("given", {"row": list(range(len(table))), **columns}, {"row": "int", **KINDS})
    writer = ConditionWriter(dialect, lambda name: "src." + dialect.quote(name))
    listed = ", ".join(writer.write(parse(text).condition) for text in texts)
    answer = database.query(f'SELECT src."row", {listed} FROM given AS src ORDER BY src."row"')
    assert all(value is not None for line in answer for value in line), "a condition was null"
    return {text: [line[k + 1] in TRUE for line in answer] for k, text in enumerate(texts)}


def sound(database: Any, table: frames.Rows, texts: list[str]) -> bool:
    """PostgreSQL raises an error where arithmetic overflows or loses its last digit, so huge numbers are kept from it."""
    if database.dialect != "postgres":
        return True
    huge = any(abs(row[name] or 0) > 1e300 for row in table for name in ("f", "g"))
    return not huge and not any("e+308" in text for text in texts)


@given(rows(), st.lists(predicate_texts(), min_size=1, max_size=4, unique=True))
@CASES
def test_sql_and_rows_agree(database: Any, table: frames.Rows, texts: list[str]) -> None:
    table = frames.as_stored(table)
    if sound(database, table, texts):
        for text, answer in picked(database, table, texts).items():
            assert answer == [parse(text).holds(row) for row in table], text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f in [0]", [True, True, False]),
        ("f in [0, 2.5]", [True, True, True]),
        ("f not in [0]", [False, False, True]),
        ("f == 0", [True, True, False]),
    ],
)
def test_both_zeros_are_zero(database: Any, text: str, expected: list[bool]) -> None:
    blank = {"i": 0, "small": 0, "n": 0, "g": 0.0, "s": "", "t x": "", "flag": True, "maybe": True}
    table = [{**blank, "f": value} for value in (0.0, -0.0, 2.5)]
    assert picked(database, table, [text])[text] == expected
