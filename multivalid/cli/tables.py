"""What a person sees: tables, as wide as they need when they are not on a terminal, and a spinner on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from multivalid.audit.text import interval
from multivalid.cells.sentences import worst_first
from multivalid.cells.short_names import WIDEST
from multivalid.levels import SIGNIFICANCE
from multivalid.properties import Quantile

UNLIMITED = 100_000  # characters: what is piped is never cut or wrapped


def console() -> Any:
    """Standard output; colours and a limit of width on a terminal only."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=False, width=None if sys.stdout.isatty() else UNLIMITED)


def widest() -> int | None:
    """How many letters a name may have: any number where the output is piped."""
    return WIDEST if sys.stdout.isatty() else None


@contextmanager
def busy(text: str, quiet: bool) -> Iterator[None]:
    """A spinner on standard error while something runs, on a terminal only."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(text):
        yield


def lines(texts: Sequence[str]) -> None:
    """One line each, never wrapped by us."""
    out = console()
    for text in texts:
        out.print(text, markup=False, soft_wrap=True)


def _table(names: Sequence[str]) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("group", overflow="fold")
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def audit_table(audit: Any, k: int) -> Any:
    """The k worst groups: gap with its interval and typical error in the units that people read."""
    from rich.text import Text

    found, units = audit.table, audit.coordinates[0].units
    table = _table(("rows", "predicted", "actual", "gap, points" if units.points else "gap", "95 % interval", "rms", "p (Holm)"))
    for i in worst_first(found)[:k]:
        p = float(found["p_adjusted"][i])
        table.add_row(
            Text(str(found["name"][i])), f"{found['rows'][i]:,}", f"{found['prediction'][i]:.4g}", f"{found['value'][i]:.4g}",
            units.signed(float(found["gap"][i])), interval(found, units, i), units.number(float(found["rms"][i])),
            "–" if p != p else f"{p:.2g}", style="bold" if p <= SIGNIFICANCE else None,
        )  # fmt: skip
    return table


def before_after(before: Any, after: Any, prop: Any, k: int) -> Any:
    """The k groups that were worst before: error before and after, and the mean of V (for quantiles the coverage)."""
    from rich.text import Text

    what = "covered" if isinstance(prop, Quantile) else "mean V"
    table = _table(("rows", f"{what} before", "→ after", "error before", "→ after"))
    first, second = means(before), means(after)
    for i in np.argsort(-before.table["error"], kind="stable")[:k]:
        table.add_row(
            Text(str(before.table["name"][i])), f"{before.table['rows'][i]:,}", _mean(first[i], prop), _mean(second[i], prop),
            f"{before.table['error'][i]:.2e}", f"{after.table['error'][i]:.2e}",
        )  # fmt: skip
    return table


def means(audit: Any) -> list[float]:
    """Mean V of each group."""
    cells, names = audit.cells, audit.table["name"]
    share = cells["weight"] * cells["identification"]
    total = dict.fromkeys(names, 0.0)
    for name, value in zip(cells["group"].tolist(), share.tolist(), strict=True):
        total[name] += value
    return [total[name] / weight if weight else float("nan") for name, weight in zip(names, audit.table["weight"], strict=True)]


def _mean(value: float, prop: Any) -> str:
    return f"{100 * (value + prop.tau):.1f} %" if isinstance(prop, Quantile) else f"{value:+.3g}"
