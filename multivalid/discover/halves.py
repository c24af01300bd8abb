"""The rows in two parts: one to search, in memory, and one to test, which is asked where it lives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from multivalid.discover.confirm import Atoms, Mask
from multivalid.discover.coordinates import Searched, identifications
from multivalid.discover.evidence import from_rows
from multivalid.discover.features import LEAST_ROWS, checked_names
from multivalid.errors import InputError
from multivalid.groups.blocks import Holds, evaluate
from multivalid.groups.family import FittedGroups, Groups
from multivalid.groups.frames import open_frame
from multivalid.groups.nodes import Condition
from multivalid.properties.base import Array
from multivalid.properties.target import Target
from multivalid.sources.rows import open_rows

MOST_SEARCHED = 100_000  # rows; more go to the test
Index = NDArray[np.intp]
# Conditions, what is searched for, the scale of every V and the edges of its levels → the sums of the rows to test.
Ask = Callable[[Sequence[Condition], Sequence[Searched], Sequence[float], Sequence[Array]], Atoms]


@dataclass(frozen=True)
class Wanted:
    """What the user handed over, and how the rows are to be parted."""

    y_true: Any
    y_pred: Any
    features: Sequence[str] | None
    groups: Any
    target: Target
    sample_weight: Any
    cluster: Any
    test_share: float
    seed: int

    def names(self, columns: Sequence[str]) -> tuple[list[str], list[str]]:
        """The columns to search in, and notes on those left out."""
        names, notes = checked_names(
            self.features, columns, {"sample_weight": self.sample_weight, "cluster": self.cluster}, label=self.y_true
        )
        if isinstance(self.y_pred, str) and self.y_pred not in names:
            names = [*names, self.y_pred]  # predictions may be off at their own value alone
        return names, notes

    def fitted(self, frame: nw.DataFrame[Any]) -> FittedGroups:
        """The groups that are known already, fitted on the rows searched unless they are."""
        if isinstance(self.groups, FittedGroups):
            return self.groups
        spec = self.groups if isinstance(self.groups, Groups) else Groups(self.groups)
        return spec.fit(frame.to_native(), n_rows=len(frame))

    def enough(self, rows: int) -> None:
        """Refuse fewer rows than two parts need."""
        if rows < LEAST_ROWS:
            raise InputError(f"data has {rows} rows; at least {LEAST_ROWS} are needed to search in one part and test on the other.")


@dataclass(frozen=True)
class Halves:
    """The part to search, and how to ask the other.

    Attributes
    ----------
    names, frame : the columns to search in, and the frame that has them
    labels, predictions, weights : of the rows searched; predictions are (rows, columns), weights have mean 1 over all rows
    named : masks of the groups that are known already
    events : whether labels say whether an event happened
    ask : the sums of the rows to test
    sizes : rows searched, rows tested
    like : the frame whose kind tables are made in
    """

    names: list[str]
    frame: nw.DataFrame[Any]
    labels: Array
    predictions: Array
    weights: Array
    named: list[Mask]
    events: bool
    ask: Ask
    sizes: tuple[int, int]
    notes: list[str]
    like: nw.DataFrame[Any] | None


def halves_in_memory(wanted: Wanted, data: Any) -> Halves:
    """Rows in memory, parted at random; clusters stay whole."""
    target = wanted.target
    rows = open_rows(
        wanted.y_true, wanted.y_pred, groups=wanted.groups, data=data, sample_weight=wanted.sample_weight,
        width=len(target.coordinates), cluster=wanted.cluster,
    )  # fmt: skip
    target.check_labels(rows.labels)
    wanted.enough(len(rows))
    whole = open_frame(data)
    frame = whole if rows.kept is None else whole[rows.kept]
    names, notes = wanted.names(frame.columns)
    searching, testing = _part(len(rows), wanted, rows.cluster)
    weights = rows.weights / rows.weights.mean()
    named = [rows.membership.mask(g) for g in range(1, rows.membership.groups)]

    def ask(found: Sequence[Condition], targets: Sequence[Searched], scales: Sequence[float], edges: Sequence[Array]) -> Atoms:
        labels, predictions = rows.labels[testing], rows.predictions[testing]
        v = [one / scale for one, scale in zip(identifications(target, predictions, labels), scales, strict=True)]
        columns = list(predictions.reshape(testing.size, -1).T)
        sums, level = from_rows(targets, v, columns, labels, weights[testing], edges)
        masks = evaluate([Holds(condition) for condition in found], frame[testing]) if found else []
        units = None if rows.cluster is None else rows.cluster[testing]
        return Atoms(sums, level, masks, [mask[testing] for mask in named], units)

    return Halves(
        names, frame.select(names)[searching], rows.labels[searching], rows.columns[searching], weights[searching],
        [mask[searching] for mask in named], rows.totals.of_events, ask, (searching.size, testing.size),
        [*notes, *rows.groups.notes], whole,
    )  # fmt: skip


def _part(rows: int, wanted: Wanted, units: Index | None) -> tuple[Index, Index]:
    """Row numbers to search and to test; clusters stay whole."""
    rng = np.random.default_rng(wanted.seed)
    most = min(round((1 - wanted.test_share) * rows), MOST_SEARCHED)
    if units is None:
        order = rng.permutation(rows)
        return np.sort(order[:most]), np.sort(order[most:])
    count = int(units.max()) + 1
    place = rng.permutation(count)
    upto = np.cumsum(np.bincount(units, minlength=count)[np.argsort(place)])
    inside = place[units] < max(int(np.searchsorted(upto, most, side="right")), 1)
    if inside.all():
        raise InputError("cluster: there is one cluster only, so that nothing is left to test on; at least two are needed.")
    return np.flatnonzero(inside), np.flatnonzero(~inside)
