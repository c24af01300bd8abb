"""The tables that an audit and a fit ask of rows in an engine, each by one look at them: as rows pass by, or pushed down as sums."""

from __future__ import annotations

from typing import TYPE_CHECKING

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from multivalid.atoms.keys import place
from multivalid.atoms.names import BEFORE, LABEL, PREDICTION, WEIGHT
from multivalid.properties.ops import expressions
from multivalid.sources.cell_terms import CellTerms, chance_of
from multivalid.sources.engine_terms import terms_of
from multivalid.sources.passing_tables import cells_passing, terms_passing
from multivalid.sources.sets import Asked, tabulate_sets

if TYPE_CHECKING:
    from multivalid.cells.sums import CellSums
    from multivalid.grid import Grid
    from multivalid.properties.target import Coordinate
    from multivalid.sources.engine_rows import EngineRows
    from multivalid.sources.predicting import Predicting, Terms


def tabulate_cells(source: EngineRows, coordinate: Coordinate, grid: Grid) -> list[CellSums]:
    """The cells of the predictions, and after them those of the ones that they were made of, where these are wanted too."""
    coordinate.predicted.check_engine()
    passed = cells_passing(source, coordinate, grid)
    if passed is not None:
        return passed
    origin, y, w = source.origin, nw.col(LABEL), nw.col(WEIGHT)
    sides = [(source, PREDICTION)] + ([(origin.source, BEFORE)] if origin is not None and origin.beside else [])
    terms = [
        CellTerms.of(coordinate, chance_of(coordinate, one.totals), expressions(), nw.col(name), y, w, plain=source.plain)
        for one, name in sides
    ]
    asked = [
        Asked(place(nw.col(name), grid.boundaries), len(grid), one.columns) for (_, name), one in zip(sides, terms, strict=True)
    ]
    tables = tabulate_sets(source.frame, source.groups, asked, source.guesses.combinations, len(source), source.lines)
    return [one.sums(table) for one, table in zip(terms, tables, strict=True)]


def tabulate_terms(source: EngineRows, predictor: Predicting, terms: Terms) -> NDArray[np.float64]:
    """Σ of every term over the rows of each group; the terms know what a predictor makes of the rows."""
    passed = terms_passing(source, predictor, terms)
    if passed is not None:
        return passed
    frame, columns = terms_of(source, predictor, terms)
    asked = [Asked(nw.lit(0, dtype=nw.Int64), 1, columns)]
    (table,) = tabulate_sets(frame, source.groups, asked, source.guesses.combinations, len(source), source.lines)
    return np.asarray(table[0])
