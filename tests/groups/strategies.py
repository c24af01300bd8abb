"""Random predicates over a frame that has everything engines disagree about."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import strategies as st

WORDS = ["", "a", "b", "it's", 'say "x"', "ünï", "日本", "a b", "\\", "%", "NaN", "None"]
INTS = [-(2**53) - 1, -7, -1, 0, 1, 2, 3, 100, 2**53 + 1]
FLOATS = [-1e308, -2.5, -1.0, -0.0, 0.0, 0.1, 0.5, 1.0, 2.0, 3.0, 1e308, math.inf, -math.inf, math.nan]

ROW = st.fixed_dictionaries(
    {
        "i": st.sampled_from(INTS),
        "small": st.integers(-128, 127),
        "n": st.none() | st.sampled_from(INTS),
        "f": st.none() | st.sampled_from(FLOATS),
        "g": st.sampled_from(FLOATS),
        "s": st.none() | st.sampled_from(WORDS),
        "t x": st.sampled_from(WORDS),
        "flag": st.booleans(),
        "maybe": st.none() | st.booleans(),
    }
)

number_columns = st.sampled_from(["i", "small", "n", "f", "g"])
number_constants = st.one_of(
    st.sampled_from([n for n in INTS if n]), st.sampled_from([f for f in FLOATS if math.isfinite(f) and f]), st.integers(1, 200)
).map(repr)
text_columns = st.sampled_from(["s", "`t x`"])
text_constants = st.sampled_from(WORDS).map(repr)
flags = st.sampled_from(["flag", "maybe"])
comparisons = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])


def _calculated(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    binary = st.builds(lambda a, op, b: f"({a} {op} {b})", inner, st.sampled_from("+-*/"), inner | number_constants)
    return binary | inner.map(lambda a: f"-{a}")


numbers = st.recursive(number_columns, _calculated, max_leaves=3)


def _listed(constants: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(constants, min_size=1, max_size=4).map(lambda values: f"[{', '.join(values)}]")


def _members(column: st.SearchStrategy[str], constants: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(lambda a, word, b: f"{a} {word} {b}", column, st.sampled_from(["in", "not in"]), _listed(constants))


simple = st.one_of(
    flags,
    st.builds(lambda a, op, b: f"{a} {op} {b}", numbers, comparisons, numbers | number_constants),
    st.builds(lambda a, op, b: f"{a} {op} {b}", number_constants, comparisons, number_columns),
    st.builds(lambda a, op, b: f"{a} {op} {b}", text_columns, comparisons, text_columns | text_constants),
    st.builds(lambda a, op, b: f"{a} {op} {b}", flags, st.sampled_from(["==", "!="]), flags | st.sampled_from(["True", "False"])),
    st.builds(lambda a, b, c: f"{a} < {b} <= {c}", number_constants, number_columns, number_constants),
    _members(number_columns, number_constants),
    _members(text_columns, text_constants),
    _members(flags, st.sampled_from(["True", "False"])),
    st.builds(lambda a, word: f"{a} {word} None", numbers | text_columns | flags, st.sampled_from(["is", "is not"])),
)


def _joined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    binary = st.builds(lambda a, word, b: f"({a} {word} {b})", inner, st.sampled_from(["and", "or"]), inner)
    return binary | inner.map(lambda a: f"(not {a})")


def predicate_texts() -> st.SearchStrategy[str]:
    """Texts in the language over the columns of `ROW`."""
    return st.recursive(simple, _joined, max_leaves=4)


def rows() -> st.SearchStrategy[list[dict[str, Any]]]:
    """A small table as a list of dict rows."""
    return st.lists(ROW, min_size=1, max_size=8)
