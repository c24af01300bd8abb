"""What predictions of rows in an engine should have been: Γ of the labels of every cell and group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from multivalid.atoms import probe
from multivalid.groups.membership import Membership, unpack
from multivalid.sources.bundling import Crowded
from multivalid.sources.laws import Laws, laws_of_rows
from multivalid.sources.streamed import BinTerms, law_rows

if TYPE_CHECKING:
    from multivalid.grid import Grid
    from multivalid.properties import Property
    from multivalid.sources.engine import EngineSource


def laws_of(source: EngineSource, prop: Property, grid: Grid) -> Laws:
    """From the labels of each combination of groups, or from bins of labels where there are too many combinations."""
    try:
        law = probe.laws(source, grid)
    except Crowded:
        edges, note = probe.label_edges(source, len(grid) * len(source.groups))
        return law_rows(prop, source.fold(BinTerms(grid, edges)), note)
    members = Membership.from_dense(unpack(law.bits, len(source.groups))[:, 1:] > 0)
    found = laws_of_rows(prop, law.labels, law.labels[:, None], law.weights, members, law.level, len(grid))
    return Laws(found.cells, found.groups, law.note)


def largest_residual(source: EngineSource, prop: Property, grid: Grid) -> float:
    """The largest |V| at the outermost levels of any label."""
    return probe.largest_identification(source, prop, grid)
