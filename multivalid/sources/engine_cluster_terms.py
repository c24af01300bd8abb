"""Rows of an engine whose luck is shared within clusters: the terms of their sums over clusters, on a few blocks of the levels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import narwhals as nw
import numpy as np

from multivalid.atoms.keys import place
from multivalid.atoms.names import LABEL, PREDICTION, WEIGHT
from multivalid.cells.clusters import ClusterSums, level_blocks
from multivalid.properties.ops import expressions
from multivalid.sources.engine_clusters import cluster_sums

if TYPE_CHECKING:
    from multivalid.cells.sums import CellSums
    from multivalid.grid import Grid
    from multivalid.properties.target import Coordinate
    from multivalid.sources.engine_rows import EngineRows


def sums_of_clusters(source: EngineRows, coordinate: Coordinate, grid: Grid, sums: CellSums) -> ClusterSums:
    """Of the predictions, on a few blocks of the levels, in the units of the sums that are known."""
    assert sums.chance is not None
    block = level_blocks(sums.chance["u2q" if "u2q" in sums.chance else "x2"][:, 0])
    edges = grid.boundaries[np.flatnonzero(np.diff(block))]
    weight = nw.col(WEIGHT) / (source.totals.weight / max(len(source), 1))
    v = coordinate.residual(expressions(), [nw.col(PREDICTION)], nw.col(LABEL))
    number = place(nw.col(PREDICTION), edges)
    return cluster_sums(source.frame, source.groups, number, int(block[-1]) + 1, weight * v / sums.scale, weight)
