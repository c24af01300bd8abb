"""The audit in words and in a table for a terminal."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.levels import SIGNIFICANCE


def verdict_line(table: dict[str, NDArray[Any]]) -> str:
    """How many groups are off beyond chance, the worst of them named."""
    off = np.flatnonzero(table["p_adjusted"] <= SIGNIFICANCE)
    groups = len(table["name"])
    if off.size == 0:
        return f"None of {groups} groups is off beyond chance at 5 %."
    worst = off[np.argsort(-table["error"][off], kind="stable")]
    named = ", ".join(str(name) for name in table["name"][worst[:3]]) + (", …" if off.size > 3 else "")
    verb = "is" if off.size == 1 else "are"
    return f"{off.size} of {groups} groups {verb} off beyond chance at 5 %: {named}."


def worst_table(table: dict[str, NDArray[Any]], k: int) -> str:
    """The k groups with the largest error."""
    order = np.argsort(-table["error"], kind="stable")[:k]
    width = min(max([len("group"), *(len(str(table["name"][i])) for i in order)]), 34)
    lines = [f"{'group':<{width}} {'rows':>9} {'error':>9} {'debiased':>9} {'predicted':>10} {'actual':>10} {'p (Holm)':>9}"]
    for i in order:
        name = str(table["name"][i])
        name = name if len(name) <= width else name[: width - 1] + "…"
        lines.append(
            f"{name:<{width}} {table['rows'][i]:>9,} {table['error'][i]:>9.2e} {table['debiased'][i]:>9.2e} "
            f"{table['prediction'][i]:>10.4g} {table['value'][i]:>10.4g} {table['p_adjusted'][i]:>9.2g}"
        )
    return "\n".join(lines)
