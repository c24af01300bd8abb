"""Random predicates and families of groups on random tables, answered by every evaluator in this process: all must say the same.

`python -m tests.groups.agreement 100000` runs that many pairs of a predicate and a table.
"""

from __future__ import annotations

import random
import sys
import time
from typing import Any

import duckdb
import narwhals as nw
import numpy as np

from multivalid.groups.family import FittedGroups, Groups
from multivalid.groups.frames import open_frame
from multivalid.groups.items import bins, cross
from multivalid.groups.predicate import parse
from multivalid.groups.remote import lazy_frame, schema_of
from multivalid.sql.conditions import ConditionWriter
from multivalid.sql.dialects import dialect_of
from tests.groups.awkward import INTS, LOST, WORDS, dict_rows, frames, table

ORDER = ["==", "!=", "<", "<=", ">", ">="]
NUMBERS = ("i", "small", "u", "f", "g", "d", "byte", "`and`", "`a.b`")
TEXTS = ("s", '`the "s"`')
CLOCKLESS, ZONED = ("t", "ms", "sec", "ns"), ("z", "paris")
CONSTANTS = {
    "number": [*map(str, INTS), "-0.0", "0.0", "0.1", "1.1", "2.5", "1e19", "9223372036854775807", "-128", "255"],
    "text": [repr(word) for word in WORDS],
    "day": ["'2024-01-31'", "'2024-02-01'", "'9999-12-31'", "'0001-01-01'"],
    "time": ["'2024-01-31'", "'2024-01-31T01:00'", "'2024-01-31T00:00:00.000001'", "'9999-12-31'", "'0001-01-01'", "'1969-12-31T23:59'"],
    "zoned": ["'2024-01-31'", "'2024-01-31T01:00+01:00'", "'2024-03-31T02:30'", "'2024-03-31T03:00'", "'2024-10-27T02:30'",
              "'9999-12-30'", "'0001-01-02'", "'9999-12-31T23:30'"],
    "flag": ["True", "False"],
}  # fmt: skip


def number_term(rng: random.Random, depth: int = 2) -> str:
    if depth == 0 or rng.random() < 0.6:
        return rng.choice(NUMBERS)
    right = number_term(rng, depth - 1) if rng.random() < 0.5 else rng.choice(["2", "0.5", "-3", "1e10"])
    return (
        f"({number_term(rng, depth - 1)} {rng.choice('+-*/')} {right})"
        if rng.random() < 0.85
        else f"-{number_term(rng, depth - 1)}"
    )


def date_part(rng: random.Random) -> str:
    """A condition on the calendar."""
    column = rng.choice(["day", *CLOCKLESS, *ZONED])
    part = rng.choice(["year", "month", "weekday"] if column == "day" else ["year", "month", "weekday", "hour"])
    numbers = {"year": ["2024", "9999"], "month": ["1", "2", "2.5"], "weekday": ["3", "4", "7"], "hour": ["0", "1", "23"]}[part]
    names = {"month": ["'January'", "'June'"], "weekday": ["'Wednesday'", "'Sunday'"]}.get(part, numbers)
    if rng.random() < 0.2:
        return f"{part}({column}) {rng.choice(['is', 'is not'])} None"
    if rng.random() < 0.3:
        return f"{part}({column}) {rng.choice(['in', 'not in'])} [{', '.join(rng.choice([numbers, names]))}]"
    if rng.random() < 0.3:
        return f"{part}({column}) {rng.choice(['-', '*', '/'])} 2 {rng.choice(ORDER)} {rng.choice(numbers)}"
    return f"{part}({column}) {rng.choice(ORDER)} {rng.choice(names)}"


def simple(rng: random.Random) -> str:
    if rng.random() < 0.12:
        return date_part(rng)
    kind = rng.choice(["number", "number", "number", "text", "day", "time", "zoned", "flag"])
    alike = {"number": (number_term(rng), number_term(rng)), "text": TEXTS, "time": CLOCKLESS, "zoned": ZONED}.get(kind, (kind,))
    column, constants, form = rng.choice(alike), CONSTANTS[kind], rng.randrange(5)
    if form == 0:
        return f"{column} {rng.choice(['is', 'is not'])} None"
    if form == 1:
        listed = ", ".join(rng.choice(constants) for _ in range(rng.randint(1, 4)))
        return f"{column} {rng.choice(['in', 'not in'])} [{listed}]"
    if form == 2 and kind != "flag":
        return f"{column} {rng.choice(ORDER)} {rng.choice(alike)}"
    if kind == "flag":
        return rng.choice(["flag", "not flag", f"flag {rng.choice(['==', '!='])} {rng.choice(constants)}"])
    return f"{column} {rng.choice(ORDER)} {rng.choice(constants)}"


def predicate(rng: random.Random, depth: int = 2) -> str:
    if depth == 0 or rng.random() < 0.5:
        return simple(rng)
    if rng.random() < 0.2:
        return f"not ({predicate(rng, depth - 1)})"
    return f"({predicate(rng, depth - 1)}) {rng.choice(['and', 'or'])} ({predicate(rng, depth - 1)})"


def family(rng: random.Random) -> list[Any]:
    """Items that make blocks: values, bins, parts of dates, crossings."""
    cut = [
        bins(rng.choice(["f", "g", "d", "i", "u", "small", "a.b"]), edges=[-2.5, rng.choice([-0.0, 0.0]), 0.5, 2.0]),
        bins(rng.choice(["day", "t", "ns", "z", "ms", "paris"]), rng.choice(["year", "month", "weekday"])),
        bins(rng.choice(["t", "ns", "z", "sec", "paris"]), "hour"),
    ]
    whole = [rng.choice(["s", 'the "s"']), "flag", rng.choice(["small", "byte", "i", "and"])]
    return [*cut, *whole, cross(rng.choice(cut), rng.choice(whole)), cross(*rng.sample(whole, 2))]


def answers(native: Any, texts: list[str]) -> list[list[bool]]:
    """One list of rows per text."""
    lazy = lazy_frame(native)
    frame: Any = open_frame(native) if lazy is None else lazy
    schema = frame.schema if lazy is None else schema_of(lazy)
    return _lists(frame.select(*(parse(text).expression(schema).alias(f"p{k}") for k, text in enumerate(texts))), len(texts))


def answers_in_sql(native: Any, texts: list[str]) -> list[list[bool]]:
    """The same from the text of SQL."""
    dialect = dialect_of("duckdb")
    writer = ConditionWriter(dialect, lambda name: "src." + dialect.quote(name))
    listed = ", ".join(f"{writer.write(parse(text).condition)} AS p{k}" for k, text in enumerate(texts))
    found = native.query("src", f"SELECT {listed} FROM src").fetchall()
    return [[row[k] for row in found] for k in range(len(texts))]


def _in_sql(text: str) -> bool:
    """Text of SQL does not know types: the engine cuts constants to the unit of a column, and refuses years that it does not reach."""
    used = set(parse(text).columns)
    if used & {"ms", "sec"} and ".000001" in text:
        return False
    return "ns" not in used or not (used & {"t", "ms", "sec"} or "'9999" in text or "'0001" in text)


def memberships(groups: FittedGroups, native: Any) -> list[list[bool]]:
    """One list of rows per group."""
    lazy = lazy_frame(native)
    if lazy is None:
        return [mask.tolist() for mask in groups.masks(native)]
    marks = [expression.alias(f"p{k}") for k, expression in enumerate(groups.expressions(schema_of(lazy)))]
    return _lists(lazy.select(*marks), len(marks))


def _lists(found: Any, size: int) -> list[list[bool]]:
    if isinstance(found, nw.LazyFrame):
        found = found.collect()
    return [found[f"p{k}"].to_list() for k in range(size)]


def _odd(name: str, texts: list[str], wanted: list[list[bool]], got: list[list[bool]], rows: list[dict[str, Any]]) -> list[str]:
    odd = []
    for text, expected, found in zip(texts, wanted, got, strict=True):
        if found != expected:
            k = next(i for i, (a, b) in enumerate(zip(found, expected, strict=True)) if a != b)
            odd.append(f"{name}: {text} is {found[k]}, expected {expected[k]} on {rows[k]}")
    return odd


def disagreements(cases: int, seed: int, together: int = 50, rows: int = 12) -> list[str]:
    """Cases in which an evaluator differs from the dict rows; the zone of the engine's session is drawn, too."""
    rng, connection, odd = random.Random(seed), duckdb.connect(), []
    connection.execute("SET threads=1")
    connection.execute(f"SET TimeZone='{rng.choice(['UTC', 'Asia/Tokyo', 'America/New_York'])}'")
    for _ in range(-(-cases // together)):
        columns = table(rng, rows)
        texts = [predicate(rng) for _ in range(together)]
        one_by_one, kinds = dict_rows(columns), frames(columns, connection)
        groups = Groups(family(rng)).fit(kinds["polars"])
        with np.errstate(all="ignore"):
            expected = {
                text: [parsed.holds(row) for row in one_by_one] for text, parsed in zip(texts, map(parse, texts), strict=True)
            }
            members = np.array([groups.row(row) for row in one_by_one]).T.tolist()
            for name, native in kinds.items():
                asked = [text for text in texts if not LOST.get(name, set()) & set(parse(text).columns)]
                wanted = [expected[text] for text in asked]
                odd += _odd(name, asked, wanted, answers(native, asked), one_by_one)
                if name.startswith("duckdb"):
                    asked = [text for text in asked if _in_sql(text)]
                    wanted = [expected[text] for text in asked]
                    odd += _odd(f"sql on {name}", asked, wanted, answers_in_sql(native, asked), one_by_one)
                if not LOST.get(name, set()) & set(groups.columns):
                    odd += _odd(name, list(groups.names), members, memberships(groups, native), one_by_one)
    return odd


if __name__ == "__main__":
    # Cases, the first seed, and how many tables of 12 rows each predicate meets (put under each other, as evaluation costs per text).
    wanted, seed, tables = (int(word) for word in (*sys.argv[1:], *("100000", "0", "10")[len(sys.argv) - 1 :]))
    done = found = 0
    while done < wanted:
        odd = disagreements(1000 // tables, seed=seed + done, rows=12 * tables)
        done, found = done + 1000, found + len(odd)
        print(f"{done:,} cases, {found} disagreements, {time.process_time():.0f} CPU s", *odd[:5], sep="\n", flush=True)
    sys.exit(int(found > 0))
