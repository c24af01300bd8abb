"""Rows that pass by through the compiled loop: formulas are noted as steps once, and run strip by strip together with the sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.evaluators import NoColumns
from multivalid.kernels import library
from multivalid.properties.base import Array
from multivalid.properties.ops import Ops
from multivalid.sources.counting import Batch, Counted, Kernel, Keys, Table
from multivalid.sources.looked_up import LineMembers
from multivalid.sources.passing_rows import Columns
from multivalid.steps.program import MOST, Loop, Sums
from multivalid.steps.symbols import Code, Steps, Symbol, Symbols

SLICE = 1 << 15  # rows at a time: what lies between rounds stays near


class SymbolMembers(NoColumns):
    """Groups of rows through their lines, as symbols."""

    def __init__(self, of_lines: LineMembers, steps: Steps) -> None:
        self._of_lines, self._steps = of_lines, steps

    def total(self, values: Sequence[float]) -> Symbol:
        return self._looked_up(self._of_lines.total_of_lines(values))

    def total_of_pairs(self, ops: Ops, pairs: Sequence[tuple[int, int]], values: Sequence[float]) -> Symbol:
        return self._looked_up(self._of_lines.pairs_of_lines(pairs, values))

    def holds(self, group: int) -> Symbol:
        return self._looked_up(self._of_lines.held_by_lines(group)) > 0

    def _looked_up(self, values: NDArray[Any]) -> Symbol:
        return self._steps.look(Code.OF_LINE, values)


def noted(kernel: Kernel, of_lines: LineMembers, *, plain: bool = True) -> tuple[Steps, list[Counted]] | None:
    """The steps of a kernel and what it counts; None where nothing is compiled, or it does more than can be noted."""
    if not library.available():
        return None
    steps = Steps()
    weights = steps.number(1.0) if plain else steps.column(2)

    def level(grid: Any, values: Any) -> Symbol:
        return steps.look(Code.PLACE, grid.boundaries, values)

    try:
        asked = kernel(Batch(Symbols(steps), steps.column(0), steps.column(1), weights, SymbolMembers(of_lines, steps), level))
        asked = [one._replace(columns=[*map(steps.number, one.columns)], whole=[*map(steps.number, one.whole)]) for one in asked]
    except TypeError:
        return None
    return (steps, asked) if all(len(one.distinct) <= MOST for one in asked) else None


@dataclass
class StepsLane:
    """Runs the steps of a kernel."""

    kernel: Kernel
    of_lines: LineMembers
    keys: Callable[[int], Keys]
    _loops: dict[tuple[bool, ...], Loop] = field(default_factory=dict)  # by the columns of four bytes
    _tables: list[Table] = field(default_factory=list)

    def add(self, columns: Columns) -> None:
        given = [_as_read(one) for one in (columns.labels, columns.predictions, columns.weights) if one is not None]
        short = tuple(one.itemsize == 4 for one in given)
        if short not in self._loops:
            self._loops[short] = self._loop(short)
        line = np.ascontiguousarray(columns.line, dtype=np.uint32)
        for start in range(0, line.size, SLICE):
            here = slice(start, start + SLICE)
            self._loops[short].run([one[here] for one in given], line[here])

    def _loop(self, short: tuple[bool, ...]) -> Loop:
        found = noted(self.kernel, self.of_lines, plain=len(short) == 2)
        assert found is not None
        steps, asked = found
        self._tables = self._tables or [Table(self.keys(one.size), one) for one in asked]
        added = [
            Sums(
                one.number, one.distinct, one.whole, one.size, [codes for codes, _ in table.keys.counted],
                [part.room(len(one.distinct)) for part in table.parts], table.whole,
            )
            for table, one in zip(self._tables, asked, strict=True)
        ]  # fmt: skip
        return Loop(steps, added, short, SLICE)

    def sums(self) -> list[Array]:
        return [table.sums() for table in self._tables]


def _as_read(values: NDArray[Any]) -> NDArray[Any]:
    """Floats as they are, other numbers as float64."""
    return np.ascontiguousarray(values, dtype=values.dtype if values.dtype in (np.float32, np.float64) else np.float64)
