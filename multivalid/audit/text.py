"""The audit in a table for a terminal; its sentences are those of `cells.sentences`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from multivalid.cells.sentences import (
    Units,
    headlines,
    nobody_is_tested,
    off_groups,
    units_of,
    unknown_lines,
    verdict_line,
    worst_first,
)  # fmt: skip
from multivalid.cells.short_names import WIDEST, short_names

if TYPE_CHECKING:
    from multivalid.audit.audit import Audit

__all__ = ["WIDEST", "Units", "headlines", "interval", "off_groups", "units_of", "unknown_lines", "verdict_line", "worst_table"]


def interval(table: dict[str, NDArray[Any]], units: Units, i: int) -> str:
    """The gap's interval."""
    return f"{units.signed(float(table['gap_low'][i]))} to {units.signed(float(table['gap_high'][i]))}"


def worst_table(table: dict[str, NDArray[Any]], units: Units, k: int, widest: int | None = WIDEST) -> str:
    """The k worst groups: gap with its interval and typical error in `units`, and the p-value."""
    order = worst_first(table)[:k]
    names = short_names([str(table["name"][i]) for i in order], widest)
    width = max([len("group"), *map(len, names)])
    unit = " (points)" if units.points else ""
    lines = [
        f"{'group':<{width}} {'rows':>9} {'predicted':>10} {'actual':>10} {'gap' + unit:>13} {'95 % interval':>18} "
        f"{'rms':>8} {'p (Holm)':>9}"
    ]
    for i, name in zip(order, names, strict=True):
        p = float(table["p_adjusted"][i])
        lines.append(
            f"{name:<{width}} {table['rows'][i]:>9,} {table['prediction'][i]:>10.4g} {table['value'][i]:>10.4g} "
            f"{units.signed(float(table['gap'][i])):>13} {interval(table, units, i):>18} "
            f"{units.number(float(table['rms'][i])):>8} {'–' if p != p else f'{p:.2g}':>9}"
        )
    return "\n".join(lines)


def verdict_on(found: Audit, rows: str) -> str:
    """How many groups are off beyond chance on these rows, and for whom they cannot tell, in the words of the audit."""
    unknown = [line for one in found.coordinates for line in unknown_lines(one.table, one.units)]
    return " ".join([f"On {rows}:", found.verdict, *unknown])


def is_untestable(found: Audit) -> bool:
    """Whether the rows cannot tell of any group whether it is off."""
    return all(nobody_is_tested(one.table) for one in found.coordinates)
