"""Steps made ready for the compiled loop: rounds of steps, and NumPy's exp and log between them.

A round works out, from the columns and what earlier rounds left, the numbers that exp or log is taken of; the last one what is wanted.
What two rounds need is worked out twice: it costs less than to put it away.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.kernels import library
from multivalid.properties.base import Array
from multivalid.steps.symbols import Code, Node, Steps, Symbol

STRIP = 128  # rows, as in kernels/steps.c
MOST = 64  # columns of one table, and columns looked at
LANES = 8  # sums over all rows, side by side
_SIZE, _POINTER, _INT = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int32
_FUNCTIONS = {Code.EXP: np.exp, Code.LOG: np.log}


class _Listed(ctypes.Structure):
    """Steps, as the loop takes them."""

    _fields_ = [("steps", _POINTER), ("tables", _POINTER), ("sizes", _POINTER), ("count", _SIZE)]


class _Table(ctypes.Structure):
    """A table of sums, as the loop takes it."""

    _fields_ = [
        ("place", _INT), ("width", _INT), ("stride", _INT), ("parts", _INT), ("whole", _INT),
        ("columns", _POINTER), ("whole_columns", _POINTER), ("sizes", _POINTER), ("codes", _POINTER), ("sums", _POINTER),
        ("whole_sums", _POINTER), ("places", _SIZE),
    ]  # fmt: skip


_ARGUMENTS = (
    _POINTER, _POINTER, _POINTER, _POINTER, _SIZE, _POINTER, _SIZE, _POINTER, _POINTER, _SIZE, _POINTER, _SIZE,
)  # fmt: skip


@dataclass(frozen=True)
class Sums:
    """Where wanted columns are added up.

    Attributes
    ----------
    place, columns, whole : the place of every row (None: all at one), columns by (code, place), columns over all rows
    places : how many there are
    codes : of every line, part by part; None where the line itself is the code
    sums : of every part, (codes · places, columns in whole fours)
    whole_sums : (whole, LANES), to be added up along the second
    """

    place: Symbol | None
    columns: Sequence[Symbol]
    whole: Sequence[Symbol]
    places: int
    codes: Sequence[NDArray[Any] | None]
    sums: Sequence[Array]
    whole_sums: Array

    @property
    def wanted(self) -> list[Symbol]:
        """Every column."""
        return [*([] if self.place is None else [self.place]), *self.columns, *self.whole]


@dataclass
class _Round:
    """Steps whose answers stand in strips, one for each node wanted; columns are those given, then those that earlier rounds left."""

    listed: NDArray[np.int32]
    answers: NDArray[np.int32]
    constants: Array
    strips: int


@dataclass
class Program:
    """Some nodes of some steps, worked out for rows.

    Parameters
    ----------
    steps, wanted : the formulas, and the nodes that are wanted
    short : of each column, whether its numbers have four bytes (else eight)
    """

    steps: Steps
    wanted: Sequence[Symbol]
    short: Sequence[bool]
    between: list[int] = field(init=False)  # nodes of exp and log, in the order in which they are taken
    rounds: list[_Round] = field(init=False)

    def __post_init__(self) -> None:
        nodes = self.steps.nodes
        self.between = [k for k in sorted(self._needed([one.node for one in self.wanted])) if nodes[k].code in _FUNCTIONS]
        known = {node: len(self.short) + k for k, node in enumerate(self.between)}
        asked = [[nodes[node].asked[0]] for node in self.between]
        self.rounds = [self._round(one, known) for one in [*asked, [one.node for one in self.wanted]]]

    def _needed(self, wanted: Sequence[int], known: Any = ()) -> set[int]:
        found, waiting = set(wanted), list(wanted)
        while waiting:
            node = waiting.pop()
            more = set() if node in known else set(self.steps.nodes[node].asked) - found
            found |= more
            waiting += more
        return found

    def _round(self, wanted: Sequence[int], known: dict[int, int]) -> _Round:
        """Steps in the order of the nodes; a strip is used again once nobody asks for it any more."""
        nodes = self.steps.nodes
        order = sorted(self._needed(wanted, known))
        last = {node: k for k, node in enumerate(order)}
        for k, node in enumerate(order):
            last |= dict.fromkeys(() if node in known else nodes[node].asked, k)
        last |= dict.fromkeys(wanted, len(order))
        numbers = [node for node in order if nodes[node].code == Code.NUMBER]
        strip = {node: k for k, node in enumerate(numbers)}
        free: list[int] = []
        count, listed = len(numbers), []
        for k, node in enumerate(order):
            if node in strip:
                continue
            if not free:
                free.append(count)
                count += 1
            strip[node] = free.pop()
            listed.append(self._step(nodes[node], strip[node], strip, known.get(node)))
            asked = set() if node in known else set(nodes[node].asked)
            free += [strip[one] for one in asked if last[one] == k and one not in numbers]
        answers = np.array([strip[node] for node in wanted], dtype=np.int32)
        constants = np.array([nodes[node].number[0] for node in numbers])
        return _Round(np.array(listed, dtype=np.int32).reshape(-1, 5), answers, constants, max(count, 1))

    def _step(self, node: Node, out: int, strip: dict[int, int], left: int | None) -> tuple[int, ...]:
        """One line for the loop; `left` is the column that an earlier round left."""
        if left is not None:
            return Code.COLUMN8, out, left, 0, 0
        if node.code == Code.COLUMN:
            return Code.COLUMN if self.short[node.table] else Code.COLUMN8, out, node.table, 0, 0
        asked = [strip[one] for one in node.asked]
        if node.code == Code.OF_LINE:
            return node.code, out, node.table, 0, 0
        if node.table >= 0:
            return node.code, out, asked[0], node.table, 0
        return (node.code, out, *asked, *[0] * (3 - len(asked)))


class Loop:
    """Runs steps over rows and adds what comes out; each lane has one of its own, with room to work in for so many rows at a time."""

    def __init__(self, steps: Steps, added: Sequence[Sums], short: Sequence[bool], rows: int) -> None:
        self._program = Program(steps, [one for sums in added for one in sums.wanted], short)
        self._left = [np.empty(rows) for _ in self._program.between]
        self._rooms = [np.empty((made.strips, STRIP)) for made in self._program.rounds]
        for room, made in zip(self._rooms, self._program.rounds, strict=True):
            room[: made.constants.size] = made.constants[:, None]
        self._kept: list[Any] = []  # what the loop has pointers to
        self._short = self._keep([*short, *[False] * len(self._left)], np.uint8)
        tables = self._keep([table.ctypes.data for table in steps.tables], np.uintp)
        sizes = self._keep([table.size for table in steps.tables], np.uintp)
        self._listed = [_Listed(one.listed.ctypes.data, tables, sizes, len(one.listed)) for one in self._program.rounds]
        answers, first = self._program.rounds[-1].answers, 0
        self._tables = (_Table * len(added))()
        for k, sums in enumerate(added):
            self._tables[k] = self._table(sums, answers[first : first + len(sums.wanted)])
            first += len(sums.wanted)

    def run(self, columns: Sequence[NDArray[Any]], line: NDArray[np.uint32]) -> None:
        """Work out rows of these columns, no more than there is room for, and add what is wanted."""
        left = [one[: line.size] for one in self._left]
        starts = np.array([one.ctypes.data for one in [*columns, *left]], dtype=np.uintp)
        for k, (node, out) in enumerate(zip(self._program.between, left, strict=True)):
            self._call(k, starts, line, out)
            _FUNCTIONS[self._program.steps.nodes[node].code](out, out=out)
        self._call(len(left), starts, line, None)

    def _call(self, number: int, starts: NDArray[np.uintp], line: NDArray[np.uint32], out: Array | None) -> None:
        """One round; answers go to `out`, or are added to the tables."""
        compiled = library.function("multivalid_run_steps", _ARGUMENTS)
        outs = np.array([0 if out is None else out.ctypes.data], dtype=np.uintp)
        compiled(
            ctypes.addressof(self._listed[number]), self._rooms[number].ctypes.data, starts.ctypes.data, self._short, starts.size,
            line.ctypes.data, line.size, self._program.rounds[number].answers.ctypes.data, outs.ctypes.data, int(out is not None),
            ctypes.addressof(self._tables), 0 if out is not None else len(self._tables),
        )  # fmt: skip

    def _table(self, sums: Sums, answers: NDArray[np.int32]) -> _Table:
        place, rest = (-1, answers) if sums.place is None else (int(answers[0]), answers[1:])
        cut = len(sums.columns)
        sizes = self._keep([0 if codes is None else codes.itemsize for codes in sums.codes], np.int32)
        codes = self._keep([0 if one is None else self._pointer(one) for one in sums.codes], np.uintp)
        return _Table(
            place, cut, sums.sums[0].shape[1], len(sums.sums), len(sums.whole), self._keep(rest[:cut], np.int32),
            self._keep(rest[cut:], np.int32), sizes, codes, self._keep([self._pointer(one) for one in sums.sums], np.uintp),
            self._pointer(sums.whole_sums), sums.places,
        )  # fmt: skip

    def _keep(self, values: Any, kind: Any) -> int:
        return self._pointer(np.array(values, dtype=kind))

    def _pointer(self, array: NDArray[Any]) -> int:
        assert array.flags.c_contiguous
        self._kept.append(array)
        return array.ctypes.data
