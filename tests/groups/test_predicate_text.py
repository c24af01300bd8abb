"""The predicate language: what is read, what is refused and where the caret points. Any text gives one or the other."""

from __future__ import annotations

import contextlib
import pickle
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from multivalid.errors import PredicateError
from multivalid.groups.family import FittedGroups, Groups
from multivalid.groups.nodes import render
from multivalid.groups.predicate import Predicate, parse

from .strategies import predicate_texts

HOSTILE = [
    "__import__('os').system('touch /tmp/owned')",
    "().__class__.__bases__[0].__subclasses__()",
    "x == __import__('os')",
    "(lambda: 1)() == x",
    "[y for y in x] == x",
    "{y: 1 for y in x}",
    "f'{x}' == 'a'",
    "(y := 1) > x",
    "x if y else z",
    "x ** 999999999 > 1",
    "9**9**9**9 > x",
    "x // 2 == 1",
    "x % 2 == 1",
    "x @ y == 1",
    "x & y",
    "x | y",
    "x ^ y > 1",
    "x << 3 > 1",
    "~x",
    "+x > 1",
    "x.real > 1",
    "x[0] > 1",
    "print(x)",
    "x; y",
    "import os",
    "x = 1",
    "x, y",
    "*x",
    "await x",
    "yield",
    "...",
    "x == ...",
    "x == 1j",
    "x == b'a'",
    "x == 1e999",
    "x == -1e999",
    "x > 1e308 * 10",
    "x > 1 / 0",
    "x / 0 > 1",
    "x == 9223372036854775808",
    "x == 1" + "0" * 5000,
    "x == " + "9" * 400,
    "x == None",
    "x is True",
    "x in [None]",
    "x in []",
    "x in y",
    "'a' in x",
    "x in [y]",
    "x in [1, 'a']",
    "x in [[1]]",
    "1 < 2",
    "1",
    "'a'",
    "True",
    "None",
    "-x",
    "x + 1",
    "x + 'a' == 'b'",
    "(x > 1) == (y > 2)",
    "(x > 1) + 1 > 2",
    "",
    "   ",
    "# x > 1",
    "x > 1 # why",
    "x > \\\n 1",
    "`x > 1",
    "``  > 1",
    "x == 'a",
    "x == '''a'''",
    r"x == '\d'",
    r"x == '\ud800'",
    "x == '\ud800'",
    "`\ud800` > 1",
    "\ud800",
    "x\x00 > 1",
    "x == 'a\x00'",
    "__x__ > 1",
    "__x > 1",
    "`__x__` > 1",
    "1or x",
    "0777 > x",
    "(" * 5000,
    "(" * 150 + "x" + ")" * 150 + "(",
    "not " * 2000 + "x",
    "-" * 9000 + "x > 1",
    "x" + " + x" * 2400 + " > 1",
    "x < " * 2400 + "x)",
    "[" * 300 + "]" * 300,
    "x" * 10_001,
    "x and " * 1500,
    "`a`b > 3",
    "`a``b` > 3",
    "x`a` > 3",
    "x == 'JFK' 'LGA'",
    "origin in ['JFK' 'LGA']",
    "x == r'a'",
    "x > 0x1f",
    "x < y in [1]",
    "x is None is None",
    "x / (" * 12,
    "x / (" * 1500,
    "race = Caucasian",
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text[:30]))
def test_text_outside_the_language_is_refused(text: str) -> None:
    with pytest.raises(PredicateError) as caught:
        parse(text)
    str(caught.value).encode()  # any terminal can show it


@pytest.mark.parametrize("value", [None, 3, b"x > 1", ["x"]])
def test_only_strings_are_read(value: object) -> None:
    with pytest.raises(PredicateError, match="a predicate is a string"):
        parse(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("age > max(x)", 6),
        ("  age > max(x)", 8),
        ("age > 18 and origin.upper == 'A'", 13),
        ("`arr delay` > 3 and x[0] > 1", 20),
        ("é == 'ü' and f(x)", 13),
        ("größe > 1 and 日本 in ['x', 2]", 20),
        ("a > 1 and\n b % 2 == 1", 11),
        ("a == 'it", 5),
        ("a > 1 ; b", 6),
        ("a > 99999999999999999999", 4),
        ("a in [1, None]", 9),
        ("a > 1 and 'x'", 10),
        ("a > 1 and __b__", 10),
        ("a\x00 > 1", 1),
    ],
)
def test_the_caret_points_at_the_column(text: str, at: int) -> None:
    with pytest.raises(PredicateError) as caught:
        parse(text)
    first, shown, caret, hint = str(caught.value).split("\n")
    assert f"column {at + 1}:" in first
    assert caret == " " * (4 + at) + "^"
    assert len(shown) == 4 + len(text)
    assert hint.startswith("  Hint: ")


def test_reading_is_linear() -> None:
    """Counted in steps of the interpreter, not in seconds: ten times the text, about ten times the steps."""

    def steps(text: str) -> int:
        count = 0

        def tracer(*_: object) -> object:
            nonlocal count
            count += 1
            return tracer

        before = sys.gettrace()
        sys.settrace(tracer)
        try:
            with contextlib.suppress(PredicateError):
                parse(text)
        finally:
            sys.settrace(before)
        return count

    for piece in ("x / (", "x > 1 and ", "x in [1, 2, 3] or ", "not ", "(", "x < ", "`a b` == 'c' and ", "- "):
        short, long = piece * (900 // len(piece)), piece * (9000 // len(piece))
        assert steps(long) < 13 * steps(short) + 1000, piece


def test_the_name_of_a_group_is_answered_with_its_predicate() -> None:
    with pytest.raises(PredicateError, match="write race == 'Caucasian'"):
        parse("race = Caucasian")
    with pytest.raises(PredicateError, match="write `arr delay` == 3"):
        parse("`arr delay` = 3")


def test_a_long_list_can_be_stored_and_read_again() -> None:
    text = f"x in [{','.join(str(i) for i in range(1000, 2990))}]"
    assert len(text) < 10_000 < len(parse(text).text)
    groups = Groups([text]).fit(pd.DataFrame({"x": [1001, 5]}))
    again = FittedGroups.from_json(groups.to_json())
    assert again == groups
    assert pickle.loads(pickle.dumps(parse(text))) == parse(text)  # noqa: S301 - our own bytes


def test_threads_that_read_leave_the_warning_filters_alone() -> None:
    before = list(warnings.filters)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(parse, [f"x > {i} and y == 'a'" for i in range(2000)]))
    assert warnings.filters == before


def test_the_caret_of_a_long_text_comes_with_a_window() -> None:
    text = "a > 1 and " * 500 + "f(b)" + " and a > 1" * 50
    with pytest.raises(PredicateError) as caught:
        parse(text)
    _, shown, caret, _ = str(caught.value).split("\n")
    assert shown[caret.index("^") :].startswith("f(b)")
    assert len(shown) < 110


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("age>=18", "age >= 18"),
        ("18 <= age < 65", "age >= 18 and age < 65"),
        ("(a > 1 and (b > 2 and c > 3))", "a > 1 and b > 2 and c > 3"),
        ("(a or b) and not (c and d)", "(a or b) and not (c and d)"),
        ("not a in {1, 2, 2}", "not a in [1, 2]"),
        ("a not in (1,)", "a not in [1]"),
        ("`a` > 1", "a > 1"),
        ("`arr delay` is not None", "`arr delay` is not None"),
        ("`class` == 'x'", "`class` == 'x'"),
        ("a - (b - c) > -2 * 3", "a - (b - c) > -6"),
        ("-(a + b) * c / 2 == 0.5", "-(a + b) * c / 2 == 0.5"),
        ("x == -9223372036854775808", "x == -9223372036854775808"),
        ('x == "it\'s"', 'x == "it\'s"'),
        ("\n  x\t== 'a'\n", "x == 'a'"),
        ("ﬁ > 1", "ﬁ > 1"),  # Python's parser would have made it "fi"
        ("True == flag", "flag == True"),
    ],
)
def test_canonical_text(text: str, canonical: str) -> None:
    predicate = parse(text)
    assert predicate.text == canonical
    assert parse(canonical) == predicate
    assert hash(parse(canonical)) == hash(predicate)


def test_columns_in_order_of_first_use() -> None:
    assert parse("b > a and `c d` in ['x'] or a + e > 1 or f is None or g").columns == ("b", "a", "c d", "e", "f", "g")


def test_equal_constants_of_different_type_make_different_predicates() -> None:
    assert len({parse("x == 1"), parse("x == 1.0"), parse("x == True")}) == 3


def test_pickle_and_repr() -> None:
    predicate = parse("x == 'a' and y > 1")
    assert predicate.holds({"x": "a", "y": 2})
    assert pickle.loads(pickle.dumps(predicate)) == predicate  # noqa: S301 - our own bytes
    assert repr(predicate) == "Predicate(\"x == 'a' and y > 1\")"


_PIECES = (
    "( ) [ ] { } , . : ; ' \" ` # \\ @ $ ! \x00 \ud800 \n \t == != < <= > >= + - * / ** // % & | ~ ^ = := -> and or not in is if "
    "else lambda for None True False x y `a b` __import__('os') ().__class__ x.y x[0] f(x) f'{x}' b'a' 'a' \"b\" '\\d' 1 1.5 1e999 "
    "1j 0x1f 9223372036854775808 _ é 日本 ﬁ \xa0"
)
PIECES = st.sampled_from(_PIECES.split(" "))


@given(
    st.one_of(
        st.text(),
        st.text(alphabet=st.characters(), max_size=40),
        st.lists(PIECES, max_size=30).map(" ".join),
        st.lists(PIECES, max_size=30).map("".join),
        st.builds(
            lambda text, at, piece: text[: at % (len(text) + 1)] + piece + text[at % (len(text) + 1) :],
            predicate_texts(),
            st.integers(0, 500),
            PIECES,
        ),
        st.builds(lambda piece, n: piece * n, PIECES, st.integers(0, 3000)),
    )
)
@example("x" + "\x00")
@settings(max_examples=600, deadline=None)
def test_any_text_is_a_predicate_or_our_error(text: str) -> None:
    try:
        predicate = parse(text)
    except PredicateError as error:
        str(error).encode()
    else:
        assert isinstance(predicate, Predicate)
        assert parse(predicate.text) == predicate
        assert parse(predicate.text).text == predicate.text


@given(predicate_texts())
@settings(max_examples=300, deadline=None)
def test_canonical_text_round_trips(text: str) -> None:
    predicate = parse(text)
    again = parse(predicate.text)
    assert again.text == predicate.text
    assert again.condition == predicate.condition


def test_reading_never_runs_code() -> None:
    """Not one of the hostile texts, read, reaches the interpreter's hooks for running or importing code."""
    seen: list[str] = []
    active = True

    def hook(event: str, _: object) -> None:
        if active and event in ("exec", "import", "os.system", "subprocess.Popen", "open"):
            seen.append(event)

    sys.addaudithook(hook)  # cannot be taken away again, hence `active`
    try:
        for text in HOSTILE:
            with contextlib.suppress(PredicateError):
                parse(text)
    finally:
        active = False
    assert seen == []


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("(a + b) * c > 1", "(a + b) * c > 1"),
        ("a + (b * c) > 1", "a + b * c > 1"),
        ("(a * b) + c > 1", "a * b + c > 1"),
        ("(a - b) - c > 0", "a - b - c > 0"),
        ("a - (b - c) > 0", "a - (b - c) > 0"),
        ("(a / b) * c > 0", "a / b * c > 0"),
        ("a / (b * c) > 0", "a / (b * c) > 0"),
        ("-(a + b) > 1", "-(a + b) > 1"),
        ("(-a) * b > 1", "-a * b > 1"),
        ("(a + b) > (c - 1)", "a + b > c - 1"),
        ("(a + b) is None", "a + b is None"),
        ("(a * 2) in [2, 4]", "a * 2 in [2, 4]"),
        ("not (a > 1)", "not a > 1"),
        ("not (a > 1 and b > 1)", "not (a > 1 and b > 1)"),
        ("(not a > 1) and b > 1", "not a > 1 and b > 1"),
        ("(a > 1 and b > 1) or c > 1", "a > 1 and b > 1 or c > 1"),
        ("a > 1 and (b > 1 or c > 1)", "a > 1 and (b > 1 or c > 1)"),
        ("not (not a > 1)", "not not a > 1"),
    ],
)
def test_parentheses_stay_where_they_matter_and_only_there(text: str, canonical: str) -> None:
    made = parse(text)
    assert render(made.condition) == canonical
    assert parse(canonical) == made
