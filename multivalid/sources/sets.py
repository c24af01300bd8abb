"""Sums over (number × group) where the rows live: one grouping set per block of groups, whatever the number of its groups.

Where the columns that the groups use take few values together, rows are grouped by these columns and every group is worked out once per
combination, not once per row. Else the values of a column, bins and crossings are grouped by the column, by the bin, by both columns, and
free predicates by the columns they look at where these take few values, or ten at a time by their bits. So no query brings back more
than (groups of a block) × (numbers), however many combinations of all groups there are.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from multivalid.atoms.keys import Digits
from multivalid.cells.tabulate import tabulate_groups
from multivalid.groups.blocks import Block, Holds, Intervals, Product, Values, evaluate
from multivalid.groups.columns import Columns
from multivalid.groups.engine import code_expression, condition_expression
from multivalid.groups.kept import Kept
from multivalid.groups.membership import Coded, Membership
from multivalid.groups.nodes import render
from multivalid.groups.remote import Frame, schema_of
from multivalid.properties.expressions import where
from multivalid.sources.grouping import grouping_sets

if TYPE_CHECKING:
    from multivalid.groups.family import FittedGroups

TOGETHER = 10  # free predicates in one set: at most 1,024 combinations
MOST_LINES = 1_000_000  # (combination of values × number) that one set may bring back
MOST_WHOLE = 200_000  # the same where all columns are grouped by at once: beyond it a set for each block is quicker
NEIGHBOURS = 4  # levels of a second table that a level of the first meets, about
Array = NDArray[np.float64]
Combinations = Callable[[Sequence[str]], float]


class Asked(NamedTuple):
    """Terms to be summed over (number × group), the number being a whole one below `size`: a level, say."""

    number: nw.Expr
    size: int
    terms: Sequence[nw.Expr]


@dataclass(frozen=True)
class BlockSet:
    """A grouping set: the keys that rows are grouped by, and the groups that are read off them, from `start` on."""

    kept: tuple[Kept, ...]
    keys: tuple[str, ...]
    start: int
    by_columns: bool = False  # the keys are the columns that conditions look at


def tabulate_sets(
    frame: Frame, groups: FittedGroups, asked: Sequence[Asked], combinations: Combinations, rows: int, lines: Any = None
) -> list[Array]:
    """Σ of every term over the rows of each (number, group): (size, groups, terms) for each table asked for; everyone is group 0.

    All tables come from one look at the rows. `combinations` guesses how many combinations of values some columns take together, and
    `rows` is how many rows there are; `lines` say by which code the frame knows combinations, where it does.
    """
    keys = KeyColumns(schema_of(frame))
    numbers = asked[0].size * NEIGHBOURS ** (len(asked) - 1)

    def few(columns: Sequence[str]) -> bool:
        return bool(combinations(columns) * numbers <= MOST_LINES)

    whole = combinations(groups.columns) * numbers <= min(MOST_WHOLE, rows / NEIGHBOURS)
    sets = [] if whole else list(block_sets(groups.kept, keys, lambda blocks: few(columns_of(blocks))))
    coded = lines if whole and lines is not None and lines.by_code else None
    sets = sets or [BlockSet((), keys.plain(groups.columns if coded is None else coded.keys), 0, by_columns=True)]
    terms = {id(term): term for one in asked for term in one.terms}  # one and the same term is summed once
    names = {key: f"__s{i}" for i, key in enumerate(terms)}
    slim = frame.select(
        *keys.expressions.values(), *(one.number.alias(f"__n{j}") for j, one in enumerate(asked)),
        *(term.alias(names[key]) for key, term in terms.items()),
    )  # fmt: skip
    tables = [np.zeros((one.size, len(groups), len(one.terms))) for one in asked]
    at = [f"__n{j}" for j in range(len(asked))]
    for place, (one, made) in enumerate(
        zip(sets, grouping_sets(slim, [[*s.keys, *at] for s in sets], [*names.values()]), strict=True)
    ):
        members = _membership(one, made, groups) if coded is None else coded.at(made)
        sums = {key: np.asarray(made[name].to_numpy(), dtype=np.float64) for key, name in names.items()}
        for j, (table, wanted) in enumerate(zip(tables, asked, strict=True)):
            number = np.asarray(made[at[j]].to_numpy(), dtype=np.intp)
            columns = [sums[id(term)] for term in wanted.terms]
            if place == 0 and one.start:  # every row is in every set
                table[:, 0] = np.stack([np.bincount(number, column, wanted.size) for column in columns], axis=1)
            found = tabulate_groups(members, number, columns, wanted.size)
            table[:, one.start : one.start + members.groups] = np.stack(found, axis=2)
    return tables


def _membership(one: BlockSet, made: nw.DataFrame[Any], groups: FittedGroups) -> Membership:
    """The groups of a set as groups of the lines that it brought back."""
    if not one.start:
        return groups.membership(made.select(list(one.keys)).to_native() if one.keys else None, n_rows=len(made))
    held = list(members(one, made))
    if isinstance(one.kept[0].block, Holds):
        masks = np.zeros((len(held), len(made)), dtype=bool)
        for k, lines in held:
            masks[k, lines] = True
        return Membership.from_masks(masks, len(made))
    codes = np.zeros(len(made), dtype=np.uint16)
    for k, lines in held:
        codes[lines] = k + 1
    return Membership.of([Coded(codes, len(held))], len(made))


class KeyColumns:
    """The columns that blocks are grouped by, each once."""

    def __init__(self, schema: Any) -> None:
        self.schema = schema
        self.expressions: dict[str, nw.Expr] = {}
        self._names: dict[Any, str] = {}

    def of(self, block: Block) -> tuple[str, ...]:
        """The keys of one block."""
        match block:
            case Product(parts=parts):
                return tuple(dict.fromkeys(name for part in parts for name in self.of(part)))
            case Values(column=column):
                return self.plain((column,))
            case Intervals():
                return (self._add(block, _bin_number(block, self.schema[block.column])),)
            case _:
                return (self._add(block, code_expression(block, self.schema)),)

    def plain(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Columns as they are."""
        for column in columns:
            self.expressions.setdefault(column, nw.col(column))
        return tuple(columns)

    def bits(self, blocks: Sequence[Holds]) -> str:
        """One key for several conditions: a bit each."""
        (packed,) = Digits((2,) * len(blocks)).pack([self._flag(block) for block in blocks])
        return self._add(tuple(blocks), packed)

    def _flag(self, block: Block) -> nw.Expr:
        condition = block.condition(0)
        return condition_expression(condition, self.schema, render(condition))

    def _add(self, block: Any, expression: nw.Expr) -> str:
        name = self._names.setdefault(block, f"__b{len(self._names)}")
        self.expressions.setdefault(name, expression.alias(name))
        return name


def block_sets(
    kept: Sequence[Kept], keys: KeyColumns, few: Callable[[Sequence[Holds]], bool], together: int = TOGETHER
) -> Iterator[BlockSet]:
    """The grouping sets of all groups: free predicates by their columns where these take `few` values, else `together` in one."""
    start = 1
    for single, run in itertools.groupby((one for one in kept if one.codes), key=lambda one: isinstance(one.block, Holds)):
        waiting = list(run)
        by_columns = single and few([one.block for one in waiting if isinstance(one.block, Holds)])
        size = len(waiting) if by_columns else together if single else 1
        for part in range(0, len(waiting), size):
            here = tuple(waiting[part : part + size])
            blocks = [one.block for one in here if isinstance(one.block, Holds)]
            names = keys.plain(columns_of(blocks)) if by_columns else (keys.bits(blocks),) if single else keys.of(here[0].block)  # type: ignore[arg-type]
            yield BlockSet(here, names, start, by_columns)
            start += sum(len(one.codes) for one in here)


def columns_of(blocks: Sequence[Holds]) -> tuple[str, ...]:
    """The columns that conditions look at, each once."""
    return tuple(dict.fromkeys(name for block in blocks for name in block.columns))


def members(one: BlockSet, made: nw.DataFrame[Any]) -> Iterator[tuple[int, NDArray[Any]]]:
    """For each group of a set: how far it is from the first, and the lines of the result that it holds."""
    if one.by_columns:
        blocks = [kept.block for kept in one.kept if isinstance(kept.block, Holds)]
        yield from ((k, np.flatnonzero(mask)) for k, mask in enumerate(evaluate(blocks, made)))
        return
    if isinstance(one.kept[0].block, Holds):
        bits = np.asarray(made[one.keys[0]].to_numpy(), dtype=np.int64)
        yield from ((k, np.flatnonzero(bits >> k & 1)) for k in range(len(one.kept)))
        return
    codes = _codes(one.kept[0].block, one.keys, made)
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.asarray(one.kept[0].codes)[:, None] + [0, 1])
    yield from ((k, order[first:last]) for k, (first, last) in enumerate(ends))


def _codes(block: Any, names: Sequence[str], made: nw.DataFrame[Any]) -> NDArray[np.int16]:
    """The code of every line, from values and numbers of bins."""
    columns = Columns(made.select(list(names)).to_native())
    parts = block.parts if isinstance(block, Product) else (block,)
    numbered = iter(name for name in names if name.startswith("__b"))
    for part in parts:
        if not isinstance(part, Values) and not columns.knows(part):
            columns.put(part, np.asarray(made[next(numbered)].to_numpy(), dtype=np.int16))
    return columns.codes(block)


def _bin_number(block: Intervals, dtype: nw.dtypes.DType) -> nw.Expr:
    """How many inner edges a value has reached; the code of its own where it is missing, if there is one."""
    column = nw.col(block.column)
    value = column / 1 if dtype.is_integer() else column.cast(nw.Float64)  # see groups/engine: Arrow refuses the cast
    there = ~column.is_null() & ~value.is_nan()
    return where(there, _reached(value, block.inner, 0), nw.lit(block.nowhere, dtype=nw.Int64))


def _reached(value: nw.Expr, edges: Sequence[float], first: int) -> nw.Expr:
    if not edges:
        return nw.lit(first, dtype=nw.Int64)
    middle = len(edges) // 2
    above = _reached(value, edges[middle + 1 :], first + middle + 1)
    return where(value >= edges[middle], above, _reached(value, edges[:middle], first))
