"""The tables of new predictions as rows pass by: a predictor makes them of each batch; None where rows of this engine do not pass by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from multivalid.evaluators import Arrays
from multivalid.sources.engine_cells import CellTerms
from multivalid.sources.looked_up import LineMembers
from multivalid.sources.passing import Batch, Counted, can_pass, tabulate_passing

if TYPE_CHECKING:
    from multivalid.cells.sums import CellSums
    from multivalid.grid import Grid
    from multivalid.properties.base import Array
    from multivalid.properties.target import Coordinate
    from multivalid.sources.engine import EngineSource
    from multivalid.sources.predicting import Predicting, Terms


def cells_passing(source: EngineSource, coordinate: Coordinate, grid: Grid) -> list[CellSums] | None:
    """The cells of predictions that a predictor makes, and after them those of the ones it makes them of, where these are wanted."""
    origin, lines = source.origin, source.lines
    if origin is None or lines is None or origin.predictor.rounding is not None or not can_pass(source.frame, lines):
        return None
    of_lines, predictor = LineMembers(lines), origin.predictor
    chances = [source.chance(coordinate), *([origin.source.chance(coordinate)] if origin.beside else [])]
    terms: list[CellTerms] = []

    def kernel(rows: Batch) -> list[Counted]:
        terms.clear()
        sides = [rows.predicted(predictor, of_lines), rows.predictions][: len(chances)]
        with np.errstate(all="ignore"):  # sums that are not finite are refused by name
            terms.extend(
                CellTerms.of(coordinate, chance, Arrays.ops, made, rows.labels, rows.weights, plain=source.plain)
                for chance, made in zip(chances, sides, strict=True)
            )
        return [Counted(grid.round(made), len(grid), one.columns) for made, one in zip(sides, terms, strict=True)]

    tables = tabulate_passing(origin.source.frame, lines, kernel, plain=source.plain)
    return [one.sums(table) for one, table in zip(terms, tables, strict=True)]


def terms_passing(source: EngineSource, predictor: Predicting, terms: Terms) -> Array | None:
    """Σ of every term over the rows of each group."""
    lines = source.lines
    if lines is None or predictor.rounding is not None or not can_pass(source.frame, lines):
        return None
    of_lines = LineMembers(lines)

    def kernel(rows: Batch) -> list[Counted]:
        columns = terms(Arrays(), rows.predictions, rows.predicted(predictor, of_lines), rows.labels, rows.weights)
        return [Counted(np.zeros(rows.labels.size, dtype=np.intp), 1, columns)]

    (table,) = tabulate_passing(source.frame, lines, kernel, plain=source.plain)
    return np.asarray(table[0])
