"""What is said of groups, in the units that a person reads; terminal, page and certificate all say it with these words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.cells.evidence import CoinEvidence, Evidence
from multivalid.levels import SIGNIFICANCE

Table = Mapping[str, NDArray[Any]]
UNNAMED = "Groups that nobody named"  # how lines of a certificate about them begin; reports collect such lines


@dataclass(frozen=True)
class Units:
    """How a gap is written: in points where it is a share (`points`), else as it is; and what a positive gap means."""

    points: bool
    above: str
    below: str

    def number(self, value: float) -> str:
        """A size without sign and unit, with three digits that count (one decimal for points)."""
        if not np.isfinite(value):
            return "–"
        if self.points:
            shown = 100 * abs(value)
            return f"{shown:.1f}" if shown >= 0.1 or shown == 0 else f"{shown:.1g}"
        return f"{abs(value):.3g}"

    def signed(self, value: float) -> str:
        """The same with its sign."""
        return f"{'−' if value < 0 else '+'}{self.number(value)}" if np.isfinite(value) else "–"

    def off_by(self, gap: float) -> str:
        """A gap with its unit and direction.

        Examples
        --------
        >>> Units(True, "covered too often", "covered too rarely").off_by(-0.021)
        'covered 2.1 points too rarely'
        """
        verb, too, way = (self.above if gap > 0 else self.below).partition("too ")
        return f"{verb}{self.named(gap)} {too}{way}"

    def named(self, value: float) -> str:
        """The same with its unit."""
        return f"{self.number(value)} points" if self.points else self.number(value)


def units_of(predicted: Any, rows: Evidence) -> Units:
    """Points for quantiles and for the probability of an event; the label's own units otherwise."""
    if getattr(predicted, "two_values", None) is not None:
        return Units(True, "covered too often", "covered too rarely")
    event = isinstance(rows, CoinEvidence) and bool(np.allclose(rows.sums["u"], rows.sums["weight"]))
    return Units(event, "too high", "too low")


def is_off(table: Table) -> NDArray[np.bool_]:
    """Which groups are off beyond chance; nan is not."""
    return np.asarray(table["p_adjusted"] <= SIGNIFICANCE)


def worst_first(table: Table) -> NDArray[np.intp]:
    """All groups: those that are off first, each part by how far off they are typically; empty ones last."""
    rms = np.nan_to_num(table["rms"], nan=-1.0)
    return np.lexsort((np.arange(rms.size), -np.abs(np.nan_to_num(table["gap"])), -rms, ~is_off(table)))


def off_groups(table: Table) -> list[str]:
    """Names of the groups that are off, worst first."""
    return [str(table["name"][i]) for i in worst_first(table) if is_off(table)[i]]


def headline(table: Table, units: Units, i: int) -> str:
    """How far off a group is, with its interval.

    Examples
    --------
    >>> columns = {"gap": 0.021, "gap_low": 0.009, "gap_high": 0.033, "rms": 0.025, "rms_high": 0.04}
    >>> table = {"name": np.array(["Black"]), **{name: np.array([value]) for name, value in columns.items()}}
    >>> headline(table, Units(True, "too high", "too low"), 0)
    'Black: 2.1 points too high (0.9 to 3.3)'
    """
    gap, low, high = (float(table[name][i]) for name in ("gap", "gap_low", "gap_high"))
    name = str(table["name"][i])
    if low > 0 or high < 0:
        ends = sorted((abs(low), abs(high)))
        return f"{name}: {units.off_by(gap)} ({units.number(ends[0])} to {units.number(ends[1])})"
    # The intervals of all groups hold together, so that a gap may pass the test and still have 0 in its interval: "right on average"
    # would say too much.
    return (
        f"{name}: off along the prediction, typically by {units.named(float(table['rms'][i]))} (at most "
        f"{units.number(float(table['rms_high'][i]))}); on average {units.signed(gap)} ({units.signed(low)} to {units.signed(high)})"
    )


def headlines(table: Table, units: Units) -> list[str]:
    """A sentence for each group that is off, worst first."""
    return [headline(table, units, int(i)) for i in worst_first(table) if is_off(table)[i]]


def unknown(table: Table) -> NDArray[np.intp]:
    """Groups with rows that cannot tell."""
    return np.flatnonzero(np.isnan(table["p_value"]) & (table["rows"] > 0))


def unknown_lines(table: Table, units: Units) -> list[str]:
    """For whom the rows cannot tell, why, and how large a gap would have to be at least; "nothing" where no gap is large enough."""
    found = unknown(table)
    hopeless = np.isnan(table["detectable"][found])
    some, none = (_few_names(list(table["name"][found[kind]])) for kind in (~hopeless, hopeless))
    lines = []
    if some:
        gaps = table["detectable"][found[~hopeless]]
        least, most = float(gaps.min()), float(gaps.max())
        reach = units.named(most) if units.number(least) == units.number(most) else f"{units.number(least)} to {units.named(most)}"
        why = (
            "too few rows or clusters of them, nearly all of them on one side of the predictions, or a few that outweigh the others"
        )
        lines.append(f"Cannot tell for {some}: {why}. Gaps below about {reach} would be found in fewer than four cases of five.")
    if none:
        lines.append(f"So few rows can tell nothing: {none}. No gap would be found in four cases of five, however large.")
    return lines


def _few_names(names: list[str]) -> str:
    """The first three."""
    return ", ".join(names[:3]) + (", …" if len(names) > 3 else "")


NOBODY_TESTED = "These rows cannot tell whether any group is off."


def nobody_is_tested(table: Table) -> bool:
    """Whether the rows cannot tell of any group whether it is off."""
    return bool(np.isnan(table["p_value"]).all())


def verdict_line(table: Table) -> str:
    """How many groups are off beyond chance, the worst of them named, and how many cannot be told."""
    if nobody_is_tested(table):
        return NOBODY_TESTED
    off, groups = off_groups(table), len(table["name"])
    left = unknown(table).size
    rest = f" For {left} the rows cannot tell." if left else ""
    if not off:
        return f"{how_many_off(0, groups)} beyond chance at 5 %.{rest}"
    return f"{how_many_off(len(off), groups)} beyond chance at 5 %: {_few_names(off)}.{rest}"


def how_many_off(off: int, groups: int) -> str:
    """How many groups are off, as the start of a sentence.

    Examples
    --------
    >>> how_many_off(2, 7), how_many_off(0, 7), how_many_off(0, 1)
    ('2 of 7 groups are off', 'None of 7 groups is off', 'The one group is not off')
    """
    if groups == 1:
        return f"The one group is{'' if off else ' not'} off"
    if not off:
        return f"None of {groups} groups is off"
    return f"{off} of {groups} groups {'is' if off == 1 else 'are'} off"
