"""Questions to a lazy frame that the algorithms ask besides the atoms: levels, laws of labels, bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import narwhals as nw
import numpy as np

from multivalid.atoms.keys import Index, place
from multivalid.atoms.summary import LABEL, PREDICTION, WEIGHT
from multivalid.grid import Grid
from multivalid.groups.membership import Bits
from multivalid.groups.remote import draw, fetch
from multivalid.properties import Property
from multivalid.properties.base import Array
from multivalid.properties.ops import expressions
from multivalid.sources.bundling import SAFE_ROWS

if TYPE_CHECKING:
    from multivalid.sources.engine import EngineSource as LazyRows

SAMPLE = 500_000
FEW_LABELS = 4096  # labels with at most this many values in the sample are kept value by value
LABEL_BINS = 1024
MOST_LAWS = 5_000_000  # (groups, level, label) triples that come to the driver


@dataclass(frozen=True)
class Laws:
    """Labels of the rows that share groups and level: values (or means of narrow bins) with their weight."""

    bits: Bits
    level: Index
    labels: Array
    weights: Array
    note: str


def laws(rows: LazyRows, grid: Grid) -> Laws:
    """The labels of every (groups, level): exact where the rows or the labels are few, else means of narrow bins."""
    y, w, level = nw.col(LABEL), nw.col(WEIGHT), (place(nw.col(PREDICTION), grid.boundaries), len(grid))
    patterns = max(rows.patterns or min(rows.likely, MOST_LAWS), 1)
    room = max(int(MOST_LAWS // (patterns * len(grid))), 64)
    values, often = (np.empty(0), np.empty(0, dtype=np.intp)) if len(rows) <= SAFE_ROWS else _drawn_labels(rows)
    if values.size <= min(room, FEW_LABELS):
        found = rows.grouped([level], [w], labels=True)
        assert found.labels is not None
        return Laws(found.bits, found.numbers[0], found.labels, found.sums[:, 0], "")
    edges, note = _edges(values, often, room)
    found = rows.grouped([level, (place(y, edges), edges.size + 1)], [w, w * y])
    kept = found.sums[:, 0] > 0
    weight, total = found.sums[kept].T
    return Laws(found.bits[kept], found.numbers[0][kept], total / weight, weight, note)


def label_edges(rows: LazyRows, cells: int) -> tuple[Array, str]:
    """Edges of label bins of about equal weight, few enough for a table over so many cells, and a note on what they cost."""
    return _edges(*_drawn_labels(rows), max(MOST_LAWS // cells, 64))


def _edges(values: Array, often: Index, room: int) -> tuple[Array, str]:
    at = np.linspace(0, often.sum() - 1, min(room, LABEL_BINS) + 1).astype(np.intp)[1:-1]
    edges = np.unique(np.repeat(values, often)[at])
    return edges, f"The values of groups and cells are exact to one of {edges.size + 1:,} label bins of about equal weight."


def _drawn_labels(rows: LazyRows) -> tuple[Array, Index]:
    drawn, _ = draw(rows.frame.select(LABEL), SAMPLE, len(rows))
    return np.unique(np.asarray(drawn[LABEL].to_numpy(), dtype=np.float64), return_counts=True)


def largest_identification(rows: LazyRows, prop: Property, grid: Grid) -> float:
    """The largest |V| at the outermost levels of any label that has weight."""
    ends = [float(grid.points[0]), float(grid.points[-1])]
    if prop.monotone_in_label:
        labels = np.array([rows.totals.used_least, rows.totals.used_most])
        return float(np.abs(prop.identify(np.array(ends)[:, None], labels)).max())
    sizes = [prop.residual(expressions(), end, nw.col(LABEL)).abs().max().alias(f"v{i}") for i, end in enumerate(ends)]
    return max(float(value) for value in fetch(rows.frame.filter(nw.col(WEIGHT) > 0).select(*sizes)).row(0))
