"""The tables of new predictions as rows pass by: a predictor makes them of each batch; None where rows of this engine do not pass by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from multivalid.sources.cell_terms import CellTerms, chance_of
from multivalid.sources.counting import Batch, Counted
from multivalid.sources.passing import tabulate_passing

if TYPE_CHECKING:
    from multivalid.cells.sums import CellSums
    from multivalid.grid import Grid
    from multivalid.properties.base import Array
    from multivalid.properties.target import Coordinate
    from multivalid.sources.engine_rows import EngineRows
    from multivalid.sources.predicting import Predicting, Terms


def cells_passing(source: EngineRows, coordinate: Coordinate, grid: Grid) -> list[CellSums] | None:
    """The cells of predictions that a predictor makes, and after them those of the ones it makes them of, where these are wanted."""
    origin = source.origin
    rows = None if origin is None or origin.predictor.rounding is not None else origin.source.passing()
    if origin is None or rows is None:
        return None
    predictor = origin.predictor
    chances = [chance_of(coordinate, one.totals) for one in ([source, origin.source] if origin.beside else [source])]
    terms: list[CellTerms] = []

    def kernel(batch: Batch) -> list[Counted]:
        sides = [batch.predicted(predictor), batch.predictions][: len(chances)]
        with np.errstate(all="ignore"):  # sums that are not finite are refused by name
            here = [
                CellTerms.of(coordinate, chance, batch.by.ops, made, batch.labels, batch.weights, plain=source.plain)
                for chance, made in zip(chances, sides, strict=True)
            ]
        terms[:] = here  # any will do: what they say besides their columns is the same in every batch
        return [Counted(batch.level(grid, made), len(grid), one.columns) for made, one in zip(sides, here, strict=True)]

    tables = tabulate_passing(rows, kernel)
    return [one.sums(table) for one, table in zip(terms, tables, strict=True)]


def terms_passing(source: EngineRows, predictor: Predicting, terms: Terms) -> Array | None:
    """Σ of every term over the rows of each group."""
    rows = source.passing() if predictor.rounding is None else None
    if rows is None:
        return None

    def kernel(batch: Batch) -> list[Counted]:
        columns = terms(batch.by, batch.predictions, batch.predicted(predictor), batch.labels, batch.weights, batch.members)
        cut = len(columns) - terms.whole
        return [Counted(None, 1, columns[:cut], columns[cut:])]

    (table,) = tabulate_passing(rows, kernel)
    return np.asarray(table[0])
