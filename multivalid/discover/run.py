"""From rows in two parts to a table: search one part, test what was found on the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.discover.confirm import confirm
from multivalid.discover.coordinates import Searched, coordinates, identifications
from multivalid.discover.discovery import Discovery
from multivalid.discover.evidence import level_edges
from multivalid.discover.features import fit_features, repeating, without_copies
from multivalid.discover.halves import Halves, Wanted
from multivalid.discover.slices import search_slices
from multivalid.properties.base import Array

BINS = 24


def run(halves: Halves, wanted: Wanted, *, depth: int, most: int) -> Discovery:
    """Bins of the columns, slices found on them, and every slice tested on the other rows."""
    target, columns = wanted.target, list(halves.predictions.T)
    given = halves.predictions if len(columns) > 1 else columns[0]
    # The column that is searched as the prediction: the one that was named as such, else the first that repeats it.
    own = wanted.y_pred if isinstance(wanted.y_pred, str) else next(iter(repeating(halves.frame, halves.names, given)), None)
    names, copies = without_copies(halves.frame, halves.names, given, own=own)
    part = halves.frame.select(names)
    bins = fit_features(part, names, BINS, named=wanted.features is not None, labels=halves.labels)
    targets = coordinates(target, halves.events)
    identified = identifications(target, given, halves.labels)
    scales = _scales(targets, identified)
    v = [one / scale for one, scale in zip(identified, scales, strict=True)]
    searched = search_slices(part, bins, v, halves.weights, halves.named, depth=depth, most=most)
    atoms = halves.ask([one.condition for one in searched.found], targets, scales, [level_edges(column) for column in columns])
    owner = [one.coordinate for one in searched.found]
    done = confirm(atoms, [one.law for one in targets], owner, scales)
    table: dict[str, NDArray[Any]] = {
        "name": np.array([one.text for one in searched.found], dtype=np.str_),
        "rows": done.rows,
        "gap": done.gap,
        "gap_low": done.low,
        "gap_high": done.high,
        "p_adjusted": done.p_adjusted,
        "found_gap": np.array([one.gap * scales[one.coordinate] for one in searched.found]),
        "place": np.array(owner, dtype=np.int64),
    }
    if len(targets) > 1:
        table["coordinate"] = np.array([targets[k].coordinate.name for k in owner], dtype=np.str_)
    spread = float(np.sqrt(np.mean((halves.weights * v[0]) ** 2)))
    smallest = _smallest(searched.price, spread, halves.sizes) * scales[0]
    notes = [*halves.notes, *copies, *bins.notes]
    return Discovery(target, table, targets, *halves.sizes, searched.candidates, smallest, len(atoms.named), notes, halves.like)


def _smallest(price: float, spread: float, sizes: tuple[int, int]) -> float:
    """The gap in a tenth of the rows that both parts show nine times in ten: the search must pay its price, the test be beyond chance."""
    often = 1.64  # each part shows it 95 times in a hundred, both together 90
    search = (np.sqrt(price) + often) / np.sqrt(0.1 * sizes[0])
    test = (1.96 + often) / np.sqrt(0.1 * sizes[1])
    return float(spread * max(search, test))


def _scales(targets: Sequence[Searched], identified: Sequence[Array]) -> list[float]:
    """V is taken in units of its own spread where its law is not known, so that fourth powers stay in range."""
    roots = [float(np.sqrt(np.mean(v**2))) for v in identified]
    return [1.0 if one.percent or not np.isfinite(root) or root == 0 else root for one, root in zip(targets, roots, strict=True)]
