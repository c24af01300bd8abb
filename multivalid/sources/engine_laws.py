"""Labels of rows in an engine, by level and groups: what predictions should have been, Γ, and how large V can be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import narwhals as nw
import numpy as np

from multivalid.atoms.keys import Index, place
from multivalid.atoms.names import LABEL, PREDICTION, WEIGHT
from multivalid.groups.membership import Bits, Membership, unpack
from multivalid.groups.remote import draw, fetch
from multivalid.properties.base import Array, Property
from multivalid.properties.ops import expressions
from multivalid.sources.bundling import SAFE_ROWS, Crowded, bundle
from multivalid.sources.laws import Laws, laws_of_rows
from multivalid.sources.streamed import BinTerms, law_rows

if TYPE_CHECKING:
    from multivalid.grid import Grid
    from multivalid.sources.engine import EngineSource

SAMPLE = 500_000
FEW_LABELS = 4096  # labels with at most this many values in the sample are kept value by value
LABEL_BINS = 1024
MOST_LAWS = 5_000_000  # (groups, level, label) triples that come to the driver


def laws_of(source: EngineSource, prop: Property, grid: Grid) -> Laws:
    """From the labels of each combination of groups, or from bins of labels where there are too many combinations."""
    try:
        known = bundle_labels(source, grid)
    except Crowded:
        edges, note = label_edges(source, len(grid) * len(source.groups))
        return law_rows(prop, source.fold(BinTerms(grid, edges)), note)
    members = Membership.from_dense(unpack(known.bits, len(source.groups))[:, 1:] > 0)
    found = laws_of_rows(prop, known.labels, known.labels[:, None], known.weights, members, known.level, len(grid))
    return Laws(found.cells, found.groups, known.note)


@dataclass(frozen=True)
class BundledLabels:
    """Labels of the rows that share groups and level: values (or means of narrow bins) with their weight."""

    bits: Bits
    level: Index
    labels: Array
    weights: Array
    note: str


def bundle_labels(source: EngineSource, grid: Grid) -> BundledLabels:
    """The labels of every (groups, level): exact where the rows or the labels are few, else means of narrow bins."""
    y, w, level = nw.col(LABEL), nw.col(WEIGHT), (place(nw.col(PREDICTION), grid.boundaries), len(grid))
    patterns = max(min(source.guesses.patterns(source.groups), MOST_LAWS), 1)
    room = max(int(MOST_LAWS // (patterns * len(grid))), 64)
    values, often = (np.empty(0), np.empty(0, dtype=np.intp)) if len(source) <= SAFE_ROWS else _drawn_labels(source)
    if values.size <= min(room, FEW_LABELS):
        found = bundle(source, [level], [w], labels=True)
        assert found.labels is not None
        return BundledLabels(found.bits, found.numbers[0], found.labels, found.sums[:, 0], "")
    edges, note = _edges(values, often, room)
    found = bundle(source, [level, (place(y, edges), edges.size + 1)], [w, w * y])
    kept = found.sums[:, 0] > 0
    weight, total = found.sums[kept].T
    return BundledLabels(found.bits[kept], found.numbers[0][kept], total / weight, weight, note)


def label_edges(source: EngineSource, cells: int) -> tuple[Array, str]:
    """Edges of label bins of about equal weight, few enough for a table over so many cells, and a note on what they cost."""
    return _edges(*_drawn_labels(source), max(MOST_LAWS // cells, 64))


def _edges(values: Array, often: Index, room: int) -> tuple[Array, str]:
    at = np.linspace(0, often.sum() - 1, min(room, LABEL_BINS) + 1).astype(np.intp)[1:-1]
    edges = np.unique(np.repeat(values, often)[at])
    return edges, f"The values of groups and cells are exact to one of {edges.size + 1:,} label bins of about equal weight."


def _drawn_labels(source: EngineSource) -> tuple[Array, Index]:
    drawn, _ = draw(source.frame.select(LABEL), SAMPLE, len(source))
    return np.unique(np.asarray(drawn[LABEL].to_numpy(), dtype=np.float64), return_counts=True)


def largest_residual(source: EngineSource, prop: Property, grid: Grid) -> float:
    """The largest |V| at the outermost levels of any label that has weight."""
    ends = [float(grid.points[0]), float(grid.points[-1])]
    if prop.monotone_in_label:
        labels = np.array([source.totals.used_least, source.totals.used_most])
        return float(np.abs(prop.identify(np.array(ends)[:, None], labels)).max())
    sizes = [prop.residual(expressions(), end, nw.col(LABEL)).abs().max().alias(f"v{i}") for i, end in enumerate(ends)]
    return max(float(value) for value in fetch(source.frame.filter(nw.col(WEIGHT) > 0).select(*sizes)).row(0))
