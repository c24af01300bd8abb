"""Groups in SQL: one small whole number per block of groups and row, and sums over groups by looking those numbers up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from multivalid.errors import InputError
from multivalid.groups.blocks import Block, DateParts, Holds, Intervals, Product, Values
from multivalid.groups.family import FittedGroups
from multivalid.groups.kept import Span
from multivalid.groups.kinds import BOOLEAN, NUMBER, TEXT
from multivalid.sql.conditions import ConditionWriter
from multivalid.sql.dialects import Chain, Dialect
from multivalid.sql.search import searched, tree

FEW = 8  # values up to which a CASE is as fast as any other way to find a text


@dataclass
class Members:
    """Who belongs to which group, as columns of the first stages of a chain.

    Every part of a block has a column of codes, −1 for rows outside all its groups. `place` tells where each group is found: its
    column and its code there.
    """

    groups: FittedGroups
    dialect: Dialect
    chain: Chain
    codes: dict[Block, str] = field(default_factory=dict)
    place: list[tuple[str, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._writer = ConditionWriter(self.dialect, lambda name: "src." + self.dialect.quote(name))
        self.chain.stages += [{}, {}]
        for one in self.groups.kept:
            if isinstance(one.block, Span):
                raise InputError("to_sql: groups given as boolean arrays have no columns; fit with predicates or column names.")
            name = self._column(one.block)
            self.place += [(name, code) for code in one.codes]
        if not self.chain.stages[1]:
            self.chain.stages.pop(1)

    def total(self, values: Sequence[float]) -> str:
        """Σ of the values of a row's groups (everyone left out)."""
        number = self.dialect.number
        by_column: dict[str, dict[int, str]] = {}
        for (name, code), value in zip(self.place, values, strict=True):
            if value:
                by_column.setdefault(name, {})[code] = number(float(value))
        sizes = {name: block.size for block, name in self.codes.items()}
        terms = [self.dialect.look_up(name, table, number(0.0), sizes[name]) for name, table in by_column.items()]
        return "(" + " + ".join(terms) + ")" if terms else number(0.0)

    def holds(self, group: int) -> str:
        """Whether a row is in this group (0 is everyone)."""
        if group == 0:
            return "TRUE"
        name, code = self.place[group - 1]
        return f"({name} = {code})"

    def _column(self, block: Block) -> str:
        if block in self.codes:
            return self.codes[block]
        if isinstance(block, Product):
            stage, expression = 1, self._product(block)
        else:
            stage, expression = 0, self._part(block)
        name = f"mv_c{len(self.codes)}"
        self.codes[block] = name
        self.chain.stages[stage][name] = expression
        return name

    def _part(self, block: Block) -> str:
        if isinstance(block, Holds):
            return f"CASE WHEN {self._writer.write(block.test)} THEN 0 ELSE -1 END"
        assert isinstance(block, Values | DateParts | Intervals)
        column = "src." + self.dialect.quote(block.column)
        if isinstance(block, Intervals):
            edges = [self.dialect.number(edge) for edge in block.inner]
            value = self.dialect.as_double(column)
            found = tree(value, edges, [str(k) for k in range(len(edges) + 1)], strict=False)
        elif isinstance(block, DateParts):
            part = self.dialect.date_part(block.part, column)
            found = self._known(Values(block.column, block.values, NUMBER), part)
        else:
            found = self._known(block, column)
            if not block.missing:
                return found
        return f"CASE WHEN {column} IS NULL OR {self.dialect.is_nan(column)} THEN {block.nowhere} ELSE {found} END"

    def _known(self, block: Values, column: str) -> str:
        """The code of a value that is there."""
        constants = [self.dialect.constant(value) for value in block.values]
        if block.kind == BOOLEAN:
            return f"CASE WHEN {column} IS NULL THEN -1 WHEN {column} THEN 0 ELSE 1 END"
        if block.kind != TEXT:
            return searched(column, constants)
        if len(constants) <= FEW:
            cases = "".join(f" WHEN {constant} THEN {k}" for k, constant in enumerate(constants))
            return f"CASE {column}{cases} ELSE -1 END" if constants else "-1"
        return self.dialect.text_place(self.chain, column, constants)

    def _product(self, block: Product) -> str:
        parts = [self._column(part) for part in block.parts]
        key, keys = parts[0], [combination[0] for combination in block.combinations]
        for k, part in enumerate(block.parts[1:], start=1):
            key = f"({key} * {part.size} + {parts[k]})"
            keys = [at * part.size + combination[k] for at, combination in zip(keys, block.combinations, strict=True)]
        table = dict(zip(keys, map(str, range(len(keys))), strict=True))
        inside = " AND ".join(f"{part} >= 0" for part in parts)
        size = math.prod(part.size for part in block.parts)
        return f"CASE WHEN {inside} THEN {self.dialect.look_up(key, table, '-1', size)} ELSE -1 END"
