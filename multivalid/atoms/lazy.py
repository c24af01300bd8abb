"""Rows that stay where they are: one GROUP BY of an engine makes the atoms, and only atoms come to the driver."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from multivalid.atoms.keys import Digits, Index, packed_bits, place
from multivalid.atoms.response import Piecewise
from multivalid.atoms.summary import LABEL, PREDICTION, WEIGHT, Totals, totals_of
from multivalid.atoms.table import AtomTable, build
from multivalid.errors import InputError
from multivalid.grid import Grid
from multivalid.groups.family import FittedGroups
from multivalid.groups.membership import Bits, Membership
from multivalid.groups.remote import Frame, draw, fetch
from multivalid.properties import Property
from multivalid.properties.base import Array
from multivalid.properties.ops import expressions

PROBE = 200_000  # rows looked at to guess how many atoms there are
MOST_ENTRIES = 10_000_000  # (pattern, level, label bin) triples that the driver takes: about 1 GB
SAFE_ROWS = 2_000_000  # with so few rows nothing needs to be guessed


class Crowded(InputError):
    """There are too many combinations of groups to bring to the driver."""


@dataclass(frozen=True)
class Grouped:
    """What a GROUP BY brought back: bits of the groups, further whole numbers, labels where asked for, and sums."""

    bits: Bits
    numbers: list[Index]
    sums: Array
    labels: Array | None = None


@dataclass(frozen=True)
class LazyRows:
    """Columns of a lazy frame under fixed names, the groups fitted on it, and its totals."""

    frame: Frame
    groups: FittedGroups
    totals: Totals
    patterns: int | None = None  # how many combinations of groups there are, where that is known
    combinations: float = math.inf  # about how many combinations of values of the columns that the groups use
    likely: float = math.inf  # about how many combinations of groups

    def __len__(self) -> int:
        return self.totals.rows

    @property
    def flags(self) -> list[nw.Expr]:
        """One boolean expression per group but everyone."""
        return self.groups.expressions(self.frame.collect_schema())[1:]

    def on(self, frame: Frame) -> LazyRows:
        """The same rows with further columns."""
        return replace(self, frame=frame)

    def having(self, condition: nw.Expr, holdout: Any, name: str) -> LazyRows:
        """The rows where a condition holds."""
        kept = self.frame.filter(condition)
        totals = totals_of(kept)
        if totals.rows == 0 or totals.weight == 0:
            raise InputError(f"holdout={holdout!r} leaves no rows {name}; there are {len(self)} rows.")
        return replace(self, frame=kept, totals=totals)

    def predicting(self, frame: Frame) -> LazyRows:
        """The same rows with other predictions, whose ends are not known; `frame` carries them under the fixed name."""
        return replace(self, frame=frame, totals=replace(self.totals, lowest=math.nan, highest=math.nan))

    def grouped(self, numbers: Sequence[tuple[nw.Expr, int]], sums: Sequence[nw.Expr], *, labels: bool = False) -> Grouped:
        """Sums over the rows that share their groups and the given whole numbers (each with its size), and the label if asked.

        Where the columns that the groups use take few values together, rows are grouped by these columns and the groups are
        worked out afterwards, once per combination; else every row's groups are packed into keys by the engine.
        """
        sizes = math.prod(size for _, size in numbers)
        plain = self.combinations * sizes <= MOST_ENTRIES
        flags = [] if plain else self.flags
        digits = Digits((2,) * len(flags) + tuple(size for _, size in numbers))
        keys = digits.pack([*flags, *(number for number, _ in numbers)]) + ([nw.col(LABEL)] if labels else [])
        unsure = len(self) > SAFE_ROWS and (labels or plain or (self.patterns or 1 << len(flags)) * sizes > MOST_ENTRIES)
        if unsure and (labels or not plain):
            self._affordable(keys)
        columns = list(self.groups.columns) if plain else []
        names = [f"__k{i}" for i in range(len(keys))]
        slim = self.frame.select(
            *columns,
            *(key.alias(name) for name, key in zip(names, keys, strict=True)),
            *(term.alias(f"__s{i}") for i, term in enumerate(sums)),
        )
        bundles = slim.group_by([*columns, *names]).agg(nw.col(f"__s{i}").sum() for i in range(len(sums)))
        made = fetch(bundles.head(MOST_ENTRIES + 1) if unsure else bundles)
        if unsure and len(made) > MOST_ENTRIES:  # the guess was wrong, but no more has come than was let in
            if plain and not labels:
                return replace(self, combinations=math.inf).grouped(numbers, sums)
            raise self._crowded(f"over {MOST_ENTRIES:,}", "after all")
        fetched = [np.asarray(made[name].to_numpy()) for name in names]
        unpacked = digits.unpack(fetched[: len(digits.split)])
        totals = [np.asarray(made[f"__s{i}"].to_numpy(), dtype=np.float64) for i in range(len(sums))]
        bits = self._bits(made) if plain else packed_bits(unpacked[: len(flags)], len(made))
        return Grouped(bits, unpacked[len(flags) :], np.stack(totals, axis=1), fetched[-1] if labels else None)

    def _bits(self, made: nw.DataFrame[Any]) -> Bits:
        columns = list(self.groups.columns)
        data = made.select(columns).to_native() if columns else None
        return Membership.from_masks(self.groups.masks(data, n_rows=len(made)), len(made)).by_row()

    def atoms(self, prop: Property, grid: Grid, answer: Piecewise) -> tuple[AtomTable, float, float]:
        """The atom table, and Σw of the score's constant and of the best possible score."""
        y, w = nw.col(LABEL), nw.col(WEIGHT)
        prop.check_engine()
        statistics = prop.statistics(expressions(), y - answer.origin if answer.origin else y) or []
        moments = [w, *(w * t for t in statistics)]
        extra = [w * term for term in _beside(prop, answer)]
        numbers = [(place(nw.col(PREDICTION), grid.boundaries), len(grid))]
        if answer.bins > 1:
            numbers.append((place(y, answer.edges), answer.bins))
        found = self.grouped(numbers, [*moments, *extra])
        level, bin = found.numbers if answer.bins > 1 else (found.numbers[0], np.zeros_like(found.numbers[0]))
        table, _ = build(found.bits, level, bin, found.sums[:, : len(moments)], len(self.groups))
        constant, best = found.sums[:, len(moments) :].sum(axis=0)
        return table, float(constant), float(best)

    def score_sums(self, prop: Property, answer: Piecewise) -> tuple[float, float]:
        """Σw of the score's constant and of the best possible score, by a pass of their own."""
        sums = [(nw.col(WEIGHT) * term).sum().alias(f"s{i}") for i, term in enumerate(_beside(prop, answer))]
        constant, best = fetch(self.frame.select(*sums)).row(0)
        return float(constant), float(best)

    def sample(self, rows: int, seed: int) -> tuple[nw.DataFrame[Any], bool]:
        """About so many rows in memory, with only the columns that matter, and whether they were drawn at random."""
        needed = [LABEL, PREDICTION, WEIGHT, *self.groups.columns]
        return draw(self.frame.select(list(dict.fromkeys(needed))), rows, len(self), seed)

    def check(self, grid: Grid) -> None:
        """Refuse predictions outside the grid's range."""
        if self.totals.lowest < grid.lo or self.totals.highest > grid.hi:
            raise InputError(
                f"y_pred must lie in the grid's range [{grid.lo:g}, {grid.hi:g}], but it goes from {self.totals.lowest:g} to "
                f"{self.totals.highest:g}; give a grid that covers it, or leave grid=None."
            )

    def _affordable(self, keys: Sequence[nw.Expr]) -> None:
        """Refuse before the driver runs out of memory."""
        needed = list(dict.fromkeys([LABEL, PREDICTION, *self.groups.columns]))
        drawn, _ = draw(self.frame.select(needed), PROBE, len(self))
        probe = drawn.select(*(key.alias(f"__k{i}") for i, key in enumerate(keys)))
        often = np.asarray(probe.group_by(probe.columns).agg(nw.len().alias("__rows"))["__rows"].to_numpy())
        expected = expected_distinct(often, len(self))
        if expected > MOST_ENTRIES:
            raise self._crowded(f"about {expected:,.0f}", f"{often.size:,} among {int(often.sum()):,} rows looked at")

    def _crowded(self, how_many: str, seen: str) -> Crowded:
        return Crowded(
            f"these {len(self):,} rows fall into {how_many} different combinations of groups, level and label bin ({seen}), more than "
            f"the {MOST_ENTRIES:,} that the driver takes; use fewer or coarser groups (bins in place of values, fewer crossings), fewer "
            f'levels (m=), or mode="theorem" with batched=True (--mode theorem --batched), which reads the rows once per round of updates.'
        )


def _beside(prop: Property, answer: Piecewise) -> list[nw.Expr]:
    """What the moments leave out of the score, and the best score, as expressions of the label."""
    y, ops = nw.col(LABEL), expressions()
    return [answer.scoring_constant(ops, y), prop.scoring(ops, prop.best_prediction(ops, y), y)]


def expected_distinct(often: NDArray[np.int64], rows: int) -> float:
    """A guess of the number of distinct values among `rows` rows, from how often values occur in a sample of them.

    The larger of two: values seen once stand for √(rows/sample) of their kind, which is off by at most that factor whatever the
    data; and Chao's, f₁²/2f₂ for the unseen, which is right where values are about equally frequent. A guess too low would cost
    memory, one too high only the detour.

    Examples
    --------
    >>> expected_distinct(np.array([50, 50]), 10_000)
    2.0
    >>> expected_distinct(np.ones(100, dtype=int), 10_000)
    5050.0
    """
    once, twice = int(np.count_nonzero(often == 1)), int(np.count_nonzero(often == 2))
    spread = float(np.sqrt(rows / max(int(often.sum()), 1)) * once + (often.size - once))
    even = often.size + once * (once - 1) / (2 * (twice + 1))
    return min(max(spread, even), float(rows))
