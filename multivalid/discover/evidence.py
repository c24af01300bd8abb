"""The sums that decide, from rows in memory or from one query of an engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from multivalid.atoms.keys import Digits, place
from multivalid.atoms.names import LABEL, PREDICTION, WEIGHT
from multivalid.cells.terms import Residual, Row
from multivalid.discover.confirm import LEVELS, Atoms, Mask
from multivalid.discover.coordinates import Searched
from multivalid.groups.remote import Frame, fetch
from multivalid.properties.base import Array
from multivalid.properties.ops import expressions


def level_edges(predictions: Array) -> Array:
    """Edges between levels of about equal size, from the predictions of the rows searched."""
    return np.unique(np.quantile(predictions, np.arange(1, LEVELS) / LEVELS))


def sums_of(coordinate: Searched, row: Row) -> dict[str, Any]:
    """Every sum that a test of this coordinate may need: those of its law, and those that noise is learned from."""
    return {**coordinate.law.all_terms(row), **Residual().terms(row)}


def from_rows(
    coordinates: Sequence[Searched],
    identified: Sequence[Array],
    predictions: Sequence[Array],
    labels: Array,
    weights: Array,
    edges: Sequence[Array],
) -> tuple[list[Mapping[str, Array]], list[Any]]:
    """Sums and levels of rows in memory: every row is an atom."""
    sums: list[Mapping[str, Array]] = []
    for one, v, prediction in zip(coordinates, identified, predictions, strict=True):
        row = one.row(weights, v, prediction, labels, lambda condition: np.asarray(condition, dtype=np.float64))
        sums.append(
            {name: np.broadcast_to(np.asarray(term, dtype=np.float64), labels.shape) for name, term in sums_of(one, row).items()}
        )
    return sums, [np.searchsorted(edge, prediction, side="left") for edge, prediction in zip(edges, predictions, strict=True)]


def from_engine(
    coordinate: Searched,
    frame: Frame,
    found: Sequence[nw.Expr],
    named: Sequence[nw.Expr],
    edges: Array,
    scale: float,
    mean_weight: float,
) -> Atoms:
    """One GROUP BY over level and groups; `frame` has label, prediction and weight under their fixed names."""
    label, prediction, weight = nw.col(LABEL), nw.col(PREDICTION), nw.col(WEIGHT) / mean_weight
    v = coordinate.coordinate.residual(expressions(), [prediction], label) / scale
    row = coordinate.row(weight, v, prediction, label, lambda condition: condition.cast(nw.Float64))
    terms = sums_of(coordinate, row)
    flags = [*found, *named]
    digits = Digits((2,) * len(flags) + (LEVELS,))
    keys = digits.pack([*flags, place(prediction, edges)])
    names = [f"__k{i}" for i in range(len(keys))]
    slim = frame.select(
        *(key.alias(name) for key, name in zip(keys, names, strict=True)), *(term.alias(name) for name, term in terms.items())
    )
    made = fetch(slim.group_by(names).agg(*(nw.col(name).sum() for name in terms)))
    numbers = digits.unpack([np.asarray(made[name].to_numpy()) for name in names])
    masks: list[Mask] = [number == 1 for number in numbers[:-1]]
    sums = {name: np.asarray(made[name].to_numpy(), dtype=np.float64) for name in terms}
    return Atoms([sums], [numbers[-1].astype(np.intp)], masks[: len(found)], masks[len(found) :])
