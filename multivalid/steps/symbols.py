"""A formula as the steps it takes: it is given symbols in place of columns, and what it does with them is noted.

A formula that does anything else with its columns than arithmetic, comparisons, & and |, and the functions of `Ops`, ends in a TypeError,
and is then worked out with arrays.

Examples
--------
>>> steps = Steps()
>>> y, p = steps.column(0), steps.column(1)
>>> v = steps.ops.where(y <= p, 0.1, -0.9) * 2.0
>>> [node.code.name for node in steps.nodes]
['COLUMN', 'COLUMN', 'AT_MOST', 'NUMBER', 'NUMBER', 'CHOOSE', 'NUMBER', 'MULTIPLY']
>>> v is steps.ops.where(y <= p, 0.1, -0.9) * 2.0  # noted once
True
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from math import copysign
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multivalid.properties.base import Array
from multivalid.properties.ops import WHOLE, product


class Code(IntEnum):
    """What a step does; from `OF_LINE` on as in `kernels/steps.c`. `EXP` and `LOG` are NumPy's own, and are taken between the steps."""

    EXP = -3
    LOG = -2
    NUMBER = -1
    COLUMN = 0  # of four bytes
    COLUMN8 = 1
    OF_LINE = 2
    LOOK_UP = 3
    PLACE = 4
    PLACE_AT = 5
    ADD = 6
    SUBTRACT = 7
    MULTIPLY = 8
    DIVIDE = 9
    LARGER = 10
    SMALLER = 11
    LESS = 12
    AT_MOST = 13
    EQUAL = 14
    CHOOSE = 15
    SIZE = 16


class Node(NamedTuple):
    """A step: what it does, the nodes it asks, the table or column it looks at, and a number for itself."""

    code: Code
    asked: tuple[int, ...] = ()
    table: int = -1
    number: tuple[float, float] = (0.0, 0.0)  # with its sign, which a zero has too


class Symbol:
    """What a column, or an answer, stands for in a formula."""

    __array_ufunc__ = None  # NumPy leaves arithmetic with its numbers to us
    __slots__ = ("node", "steps")

    def __init__(self, steps: Steps, node: int) -> None:
        self.steps, self.node = steps, node

    def __bool__(self) -> bool:
        raise TypeError("a formula asked whether a column holds; conditions go through where()")

    def __add__(self, other: Any) -> Symbol:
        return self.steps.note(Code.ADD, self, other)

    def __radd__(self, other: Any) -> Symbol:
        return self.steps.note(Code.ADD, other, self)

    def __sub__(self, other: Any) -> Symbol:
        return self.steps.note(Code.SUBTRACT, self, other)

    def __rsub__(self, other: Any) -> Symbol:
        return self.steps.note(Code.SUBTRACT, other, self)

    def __mul__(self, other: Any) -> Symbol:
        return self.steps.note(Code.MULTIPLY, self, other)

    def __rmul__(self, other: Any) -> Symbol:
        return self.steps.note(Code.MULTIPLY, other, self)

    def __truediv__(self, other: Any) -> Symbol:
        return self.steps.note(Code.DIVIDE, self, other)

    def __rtruediv__(self, other: Any) -> Symbol:
        return self.steps.note(Code.DIVIDE, other, self)

    def __neg__(self) -> Symbol:
        return self.steps.note(Code.MULTIPLY, self, -1.0)

    def __abs__(self) -> Symbol:
        return self.steps.note(Code.SIZE, self)

    def __lt__(self, other: Any) -> Symbol:
        return self.steps.note(Code.LESS, self, other)

    def __le__(self, other: Any) -> Symbol:
        return self.steps.note(Code.AT_MOST, self, other)

    def __gt__(self, other: Any) -> Symbol:
        return self.steps.note(Code.LESS, other, self)

    def __ge__(self, other: Any) -> Symbol:
        return self.steps.note(Code.AT_MOST, other, self)

    def __eq__(self, other: object) -> Symbol:  # type: ignore[override]
        return self.steps.note(Code.EQUAL, self, other)

    def __ne__(self, other: object) -> Symbol:  # type: ignore[override]
        return ~(self == other)

    def __and__(self, other: Any) -> Symbol:
        return self.steps.note(Code.MULTIPLY, self, other)

    def __or__(self, other: Any) -> Symbol:
        return self.steps.note(Code.LARGER, self, other)

    def __invert__(self) -> Symbol:
        return self.steps.note(Code.SUBTRACT, 1.0, self)

    __hash__ = None  # type: ignore[assignment]


class SymbolOps:
    """The functions of formulas on symbols."""

    def __init__(self, steps: Steps) -> None:
        self._note, self._number = steps.note, steps.number

    def where(self, condition: Any, yes: Any, no: Any) -> Symbol:
        return self._note(Code.CHOOSE, condition, yes, no)

    def maximum(self, left: Any, right: Any) -> Symbol:
        return self._note(Code.LARGER, left, right)

    def minimum(self, left: Any, right: Any) -> Symbol:
        return self._note(Code.SMALLER, left, right)

    def absolute(self, value: Any) -> Symbol:
        return self._note(Code.SIZE, value)

    def exp(self, value: Any) -> Symbol:
        return self._note(Code.EXP, value)

    def log(self, value: Any) -> Symbol:
        return self._note(Code.LOG, value)

    def power(self, value: Any, exponent: float) -> Any:
        if exponent not in WHOLE:
            raise TypeError("only whole powers are steps")
        return product(value, exponent)

    def number(self, condition: Any) -> Any:
        return condition

    def filled(self, value: float, like: Any) -> Symbol:
        return self._number(value)


class Steps:
    """All nodes of some formulas, each once, every node after those it asks; and the tables they look at."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.tables: list[Array] = []
        self.ops = SymbolOps(self)
        self._known: dict[Node, Symbol] = {}

    def column(self, place: int) -> Symbol:
        """The column at this place."""
        return self._noted(Node(Code.COLUMN, table=place))

    def number(self, value: Any) -> Symbol:
        """The same number in every row."""
        if isinstance(value, Symbol):
            return value
        if not isinstance(value, (bool, int, float, np.bool_, np.integer, np.floating)):
            raise TypeError(f"a formula met {type(value).__name__}, which is no number")
        return self._noted(Node(Code.NUMBER, number=(float(value), copysign(1.0, float(value)))))

    def note(self, code: Code, *asked: Any) -> Symbol:
        """The answer of a step."""
        symbols = [self.number(one) for one in asked]
        if code == Code.MULTIPLY:  # by one: weights that are not there
            for one, other in (symbols, symbols[::-1]):
                if self.nodes[one.node].number == (1.0, 1.0) and self.nodes[one.node].code == Code.NUMBER:
                    return other
        return self._noted(Node(code, tuple(one.node for one in symbols)))

    def look(self, code: Code, values: Sequence[float] | NDArray[Any], *asked: Any) -> Symbol:
        """The answer of a step that looks at a table."""
        table = np.ascontiguousarray(values, dtype=np.float64)
        known = [k for k, one in enumerate(self.tables) if one is table]
        self.tables += [] if known else [table]
        place = known[0] if known else len(self.tables) - 1
        return self._noted(Node(code, tuple(self.number(one).node for one in asked), table=place))

    def _noted(self, node: Node) -> Symbol:
        if node not in self._known:
            self._known[node] = Symbol(self, len(self.nodes))
            self.nodes.append(node)
        return self._known[node]


class Symbols:
    """Evaluates formulas on symbols (see `evaluators`)."""

    def __init__(self, steps: Steps) -> None:
        self._steps, self.ops = steps, steps.ops

    def place(self, value: Any, edges: Sequence[float], *, inclusive: bool = False) -> Symbol:
        return self._steps.look(Code.PLACE_AT if inclusive else Code.PLACE, edges, value)

    def look_up(self, place: Any, values: Sequence[float]) -> Symbol:
        return self._steps.look(Code.LOOK_UP, values, place)

    def keep(self, name: str, value: Any) -> Any:
        return value
