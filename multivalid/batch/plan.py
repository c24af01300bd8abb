"""Before the first update: levels, threshold and rule of a run, from what is asked and what is known of the labels."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt
from typing import NamedTuple

import numpy as np

from multivalid import validate
from multivalid.atoms.response import Response, response
from multivalid.atoms.table import totals
from multivalid.batch.rules import PrintedRule, Rule, TheoremRule
from multivalid.errors import InputError
from multivalid.grid import Grid, checked_grid
from multivalid.properties.base import Array, Facts, Interval, Property
from multivalid.sources.memory import MemorySource as Rows
from multivalid.sources.open import Source

DEFAULT_LEVELS = 20


@dataclass(frozen=True)
class Plan:
    """The numbers a run is made with."""

    mode: str
    grid: Grid
    rule: Rule
    alpha: float
    lipschitz: float
    drop_bound: float


def label_range(prop: Property, labels: Array, weights: Array | None = None) -> tuple[float, float]:
    """The unit interval where labels lie in it, else the interval that labels with weight span."""
    used = labels if weights is None else labels[weights > 0]
    lo, hi = float(used.min()), float(used.max())
    if lo >= 0 and hi <= 1:
        lo, hi = 0.0, 1.0
    elif lo == hi:
        room = max(0.5, 1e-6 * abs(lo))  # half a unit would vanish beside a label of 1e150
        lo, hi = lo - room, hi + room
    domain = prop.label_domain
    return max(lo, domain.lo), min(hi, domain.hi)


class Wish(NamedTuple):
    """What the user fixed of a run; None is for the mode to choose."""

    mode: str
    grid: Grid | None = None
    m: int | None = None
    alpha: float | None = None
    lipschitz: float | None = None

    @property
    def open(self) -> bool:
        """Whether the number of levels is the theorem's to choose."""
        return self.mode == "theorem" and self.grid is None and self.m is None and self.alpha is None

    def checked(self) -> Wish:
        """The same, once its numbers are known to be numbers of their kind."""
        return self._replace(
            m=None if self.m is None else validate.count(self.m, "m"),
            alpha=None if self.alpha is None else validate.positive(self.alpha, "alpha"),
            lipschitz=None if self.lipschitz is None else validate.positive(self.lipschitz, "lipschitz"),
        )


def facts_of(source: Source, prop: Property) -> Facts:
    """What the property knows of labels that reach as far as those of a source."""
    return prop.facts(*label_range(prop, np.array([source.totals.used_least, source.totals.used_most])))


def wished_grid(wish: Wish, facts: Facts, known: float | None, source: Source, prop: Property) -> Grid:
    """The levels asked for, checked, or those that follow from what is asked; `known` is L where it is known."""
    if wish.grid is not None:
        _check_grid(wish.grid, wish.m, source, prop)
        return wish.grid
    levels = wish.m or _levels_for(wish.alpha, known, facts.range.length)
    lo, hi = facts.range
    return Grid.paper(levels, lo, hi) if wish.mode == "paper" else Grid.uniform(lo, hi, levels)


def settle(mode: str, grid: Grid, steep: float, alpha: float | None) -> Plan:
    """Threshold and rule, once the levels and L are known."""
    return _plan_as_printed(grid, steep, alpha) if mode == "paper" else _plan_by_theorem(grid, steep, alpha)


def _plan_by_theorem(grid: Grid, lipschitz: float, alpha: float | None) -> Plan:
    rule, asked, least = theorem_rule(grid, lipschitz, alpha, len(grid))
    return Plan("theorem", grid, rule, asked, lipschitz, least)


def theorem_rule(grid: Grid, lipschitz: float, alpha: float | None, cells: int) -> tuple[Rule, float, float]:
    """When a cell is left alone, so that a group of at most so many cells has an error of at most alpha; that alpha, and what an update
    lowers the score by.

    A cell is left alone when p·v² < θ or |v| ≤ 2Lg: cells of total mass at most one then add up to α = cells·θ + 4L²g².
    """
    gap = reach(grid)
    step = 4 * lipschitz**2 * gap**2
    asked = 2 * step if alpha is None else alpha
    threshold = (asked - step) / cells
    if threshold <= 0:
        raise _out_of_reach(asked, grid, lipschitz)
    drop = threshold / (4 * lipschitz)
    return TheoremRule(threshold, 2 * lipschitz * gap, drop), asked, drop


def reach(grid: Grid) -> float:
    """g of the theorem: V must be within Lg of zero at the outermost levels too, so their distance to the ends counts as a gap."""
    return max(grid.gap, grid.edge)


def _out_of_reach(alpha: float, grid: Grid, lipschitz: float) -> InputError:
    """The error for an alpha below what the levels alone cost, with the number of levels that would do."""
    gap = reach(grid)
    step = 4 * lipschitz**2 * gap**2
    enough = ceil(len(grid) * sqrt(2 * step / alpha) * (1 - 1e-12))  # the hair keeps a whole number whole
    return InputError(
        f"alpha={alpha:g} is out of reach of a grid with gap {gap:g} and L={lipschitz:g}: levels alone cost "
        f"4L²g² = {step:g}; take alpha above that, or at least m = {enough} levels."
    )


def _plan_as_printed(grid: Grid, lipschitz: float, alpha: float | None) -> Plan:
    m, span = len(grid), grid.hi - grid.lo
    asked = 4 * lipschitz**2 * span**2 / m if alpha is None else alpha
    # The printed proof turns a violation of α/m into a drop of α/(2Lm) − L/m² (lengths in units of the range), 1/m being the
    # farthest that the zero of V can be from a level; on a grid that the user made it can be farther.
    far = max(span / m, grid.gap, grid.edge)
    drop = asked / (2 * lipschitz * m) - lipschitz * far**2
    return Plan("paper", grid, PrintedRule(asked), asked, lipschitz, drop)


def levels_below(error: float, lipschitz: float, span: float) -> int:
    """Levels of an even grid on a range of this length whose 8L²g² is at most `error`."""
    return max(1, ceil(lipschitz * span * sqrt(8 / error) * (1 - 1e-12)))


def _levels_for(alpha: float | None, lipschitz: float | None, span: float) -> int:
    if alpha is None or lipschitz is None:
        return DEFAULT_LEVELS
    return levels_below(alpha, lipschitz, span)


def _check_grid(grid: Grid, m: int | None, source: Source, prop: Property) -> None:
    checked_grid(grid)
    if m is not None and m != len(grid):
        raise InputError(f"m={m} contradicts grid, which has {len(grid)} points; give one of the two.")
    check_covers(grid, prop.facts(source.totals.used_least, source.totals.used_most).range, "grid", f"{prop!r} of these labels")
    source.check(grid)


def check_covers(grid: Grid, ends: Interval, name: str, what: str) -> None:
    """Refuse levels that do not reach as far as what they are to predict."""
    slack = 1e-9 * max(ends.length, 1e-300)
    if grid.lo > ends.lo + slack or grid.hi < ends.hi - slack:
        raise InputError(
            f"{name} covers [{grid.lo:g}, {grid.hi:g}], but {what} can be anywhere in [{ends.lo:g}, {ends.hi:g}]; "
            f"use Grid.uniform({ends.lo:g}, {ends.hi:g}, m), or leave grid=None."
        )


def population_slope(rows: Rows, prop: Property, grid: Grid, facts: Facts) -> float:
    """L where single labels make V jump: the steepest rise of the population's mean V from one level to the next.

    At the outermost levels V must be within L·gap of zero, so what it misses there counts as a rise too.
    """
    answer = response(prop, grid, rows.labels)
    v = answer.on_grid(_label_sums(answer, rows.labels, rows.weights))[0] / rows.weights.sum()
    return slope(v, grid, facts)


def slope(v: Array, grid: Grid, facts: Facts) -> float:
    """The same from the population's mean V at every level."""
    if v.size < 2:
        return 2 * facts.bound / max(grid.gap, grid.edge)
    rise = float((np.diff(v) / np.diff(grid.points)).max())
    return max(rise, float(v[0]) / grid.gap, -float(v[-1]) / grid.gap, 1e-12 * facts.bound / grid.gap)


def _label_sums(answer: Response, labels: Array, weights: Array) -> Array:
    bins, moments = answer.encode(labels)
    return np.stack([totals(bins, weights * t, answer.bins) for t in moments.T], axis=1)
