"""Formulas noted as steps and run by the compiled loop give the numbers of NumPy, to the last bit, row by row."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from multivalid.evaluators import Arrays, Evaluator
from multivalid.kernels import library
from multivalid.practical.link import KINDS
from multivalid.properties.base import Array
from multivalid.properties.ops import NUMPY
from multivalid.steps.program import LANES, Loop, Program, Sums
from multivalid.steps.symbols import Code, Steps, Symbol, Symbols

from ..properties.registry import REGISTRY, Case

Formula = Callable[[Evaluator, list[Any]], list[Any]]
FORMULAS = [case for case in REGISTRY if case.prop.statistics(NUMPY, np.array([1.0])) is not None and case.text]

compiled = pytest.mark.skipif(not library.available(), reason="no compiled loops: there was no C compiler at installation")


def each_row(formula: Formula, columns: Sequence[Array], at_a_time: int = 1_000) -> Array:
    """The answers of a formula for every row, through the loop: every row is a code of its own, whose sums are its answers."""
    rows, steps = columns[0].size, Steps()
    asked = formula(Symbols(steps), [steps.column(k) for k in range(len(columns))])
    sums, line = np.zeros((rows, -(-len(asked) // 4) * 4)), np.arange(rows, dtype=np.uint32)
    added = Sums(None, [steps.number(one) for one in asked], [], 1, [None], [sums], np.zeros((0, LANES)))
    loop = Loop(steps, [added], [column.itemsize == 4 for column in columns], at_a_time)
    for start in range(0, rows, at_a_time):
        here = slice(start, start + at_a_time)
        loop.run([column[here] for column in columns], line[here])
    return sums[:, : len(asked)]


def assert_same(formula: Formula, columns: Sequence[Array], at_a_time: int = 1_000) -> None:
    with np.errstate(all="ignore"):
        expected = formula(Arrays(), [column.astype(np.float64) for column in columns])
    found = each_row(formula, columns, at_a_time)
    for k, one in enumerate(expected):
        np.testing.assert_array_equal(found[:, k], np.broadcast_to(one, found[:, k].shape), err_msg=str(k))


@compiled
@pytest.mark.parametrize("case", FORMULAS, ids=lambda case: case.name)
def test_properties_give_the_bits_of_numpy(case: Case) -> None:
    rng = np.random.default_rng(3)
    ends = case.prop.facts(case.lo, case.hi).range
    y = np.append(rng.uniform(case.lo, case.hi, 700), [case.lo, case.hi])
    p = np.append(np.append(np.clip(y[:200], *ends), rng.uniform(*ends, 500)), ends)  # ties among them

    def formula(by: Evaluator, columns: list[Any]) -> list[Any]:
        label, prediction = columns
        made = [case.prop.residual(by.ops, prediction, label), case.prop.scoring(by.ops, prediction, label)]
        return [*made, *(case.prop.statistics(by.ops, label) or [])]

    assert_same(formula, [y, p], at_a_time=256)  # the last rows fill no strip


@compiled
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_links_give_the_bits_of_numpy_there_and_back(kind: str) -> None:
    link = KINDS[kind](0.2, 1.7, kind == "logit")

    def formula(by: Evaluator, columns: list[Any]) -> list[Any]:
        base = link.onto(by, columns[0])
        moved = base * 1.5 - 0.1
        return [base, link.back(by.ops, moved, 1e-3), link.back(by.ops, moved + base * base)]

    values = np.random.default_rng(0).uniform(0.01, 1.99, 3_000)
    assert_same(formula, [values])
    assert_same(formula, [values.astype(np.float32)])


@compiled
def test_every_step_on_numbers_that_are_awkward() -> None:
    awkward = np.array([0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e-310, 0.5, 1 / 3])
    a, b = (one.ravel() for one in np.meshgrid(awkward, awkward))
    edges, few = np.linspace(-1, 1, 200), [-1.0, 0.0, 0.5]

    def formula(by: Evaluator, columns: list[Any]) -> list[Any]:
        x, y = columns
        ops = by.ops
        larger, smaller = ops.maximum(x, y) + 0.0, ops.minimum(x, y) + 0.0  # NumPy leaves open which of two zeros it takes
        conditions = [x < y, x <= y, x > y, x >= y, x == y, x != y, (x < y) & (x <= 0.5), (x < y) | (y < 0.0), ~(x < y)]
        placed = [by.place(x, edge, inclusive=inclusive) for edge in (edges, few) for inclusive in (False, True)]
        known = [by.look_up(by.place(ops.where(x == x, x, 0.0), few), [2.0, -3.0, 5.0, 7.5])]
        rest = [x + y, x - y, x * y, x / y, -x, abs(x), 2 - x, 1 / y, 3 * x, 1 + y, ops.absolute(y), ops.power(x, 3)]
        return [
            larger,
            smaller,
            *rest,
            *known,
            *(ops.number(one) for one in conditions),
            *(ops.where(x == x, one, 0.0) for one in placed),
        ]

    assert_same(formula, [a, b])


@compiled
def test_sums_are_those_of_loops_over_rows() -> None:
    rng = np.random.default_rng(1)
    rows, lines, places = 1_003, 40, 3
    y, line = rng.normal(size=rows), rng.integers(0, lines, rows).astype(np.uint32)
    codes = [None, rng.integers(0, 5, lines).astype(np.uint8), rng.integers(0, 300, lines).astype(np.uint16)]
    of_line = rng.normal(size=lines)
    steps = Steps()
    column = steps.column(0)
    level, shifted = steps.look(Code.PLACE, [-0.5, 0.5], column), column + steps.look(Code.OF_LINE, of_line)
    sums = [np.zeros((size * places, 4)) for size in (lines, 5, 300)]
    whole = np.zeros((2, LANES))
    once = np.zeros((lines, 4))
    added = [
        Sums(level, [shifted, steps.number(1.0)], [column, shifted * column], places, codes, sums, whole),
        Sums(None, [column * 2.0], [], 1, [None], [once], np.zeros((0, LANES))),
    ]
    loop = Loop(steps, added, [False], 600)
    loop.run([y[:600]], line[:600])
    loop.run([y[600:]], line[600:])
    expected = [np.zeros((size, places, 4)) for size in (lines, 5, 300)]
    alone = np.zeros((lines, 4))
    for value, own in zip(y, line, strict=True):
        at = 0 if value <= -0.5 else 1 if value <= 0.5 else 2
        for table, code in zip(expected, codes, strict=True):
            table[own if code is None else code[own], at, :2] += (value + of_line[own], 1.0)
        alone[own, 0] += 2 * value
    for found, table in zip(sums, expected, strict=True):
        np.testing.assert_array_equal(found.reshape(table.shape), table)
    np.testing.assert_array_equal(once, alone)
    assert whole.sum(axis=1) == pytest.approx([math.fsum(y), math.fsum((y + of_line[line]) * y)], rel=1e-12)


def test_what_is_asked_twice_is_a_step_once_and_strips_are_used_again() -> None:
    steps = Steps()
    y, p = steps.column(0), steps.column(1)
    assert (y - p) is (y - p)
    assert (y * 1.0) is y
    assert (1 * y) is y
    assert steps.number(0.0) is not steps.number(-0.0)
    total: Symbol = y - p
    for k in range(50):
        total = total * (2.0 + k % 2) + y
    (made,) = Program(steps, [total], [False, False]).rounds
    assert len(made.listed) == 2 + 1 + 100
    assert made.strips <= made.constants.size + 4


def test_exp_and_log_are_taken_between_rounds_in_the_order_in_which_they_are_needed() -> None:
    steps = Steps()
    x = steps.column(0)
    inner = steps.ops.log(x + 1.0)
    program = Program(steps, [steps.ops.exp(inner * 2.0) - inner], [False])
    assert [steps.nodes[node].code for node in program.between] == [Code.LOG, Code.EXP]
    assert len(program.rounds) == 3


@pytest.mark.parametrize(
    "formula",
    [lambda y: np.exp(y), lambda y: np.where(y > 0, 1.0, 0.0), lambda y: y if y > 0 else -y, lambda y: y + "1", lambda y: y**0.5,
     lambda y: y + np.ones(3), lambda y: Steps().ops.power(y, 0.5), lambda y: y + None],
)  # fmt: skip
def test_what_is_no_step_is_a_type_error(formula: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError):
        formula(Steps().column(0))


def test_numpy_numbers_are_numbers() -> None:
    steps = Steps()
    made = np.float64(2.0) * steps.column(0) + np.int64(3)
    assert isinstance(made, Symbol)
    assert [node.number[0] for node in steps.nodes if node.code == Code.NUMBER] == [2.0, 3.0]
