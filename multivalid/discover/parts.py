"""The rows in two parts, one to search and one to test, in memory or in an engine; after that both go the same way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from multivalid.atoms.summary import LABEL, PREDICTION, WEIGHT, checked
from multivalid.discover.confirm import Atoms, confirm
from multivalid.discover.coordinates import Searched, are_events, coordinates, identifications
from multivalid.discover.discovery import Discovery
from multivalid.discover.evidence import from_engine, from_rows, level_edges
from multivalid.discover.features import LEAST_ROWS, checked_names, fit_features, repeating, without_copies
from multivalid.discover.slices import Slices, search_slices
from multivalid.errors import InputError
from multivalid.groups.blocks import Holds, evaluate
from multivalid.groups.engine import condition_expression
from multivalid.groups.family import FittedGroups, Groups
from multivalid.groups.frames import open_frame
from multivalid.groups.remote import Frame, fetch, schema_of
from multivalid.properties.base import Array
from multivalid.properties.target import Target
from multivalid.sources.holdout import drawn
from multivalid.sources.rows import open_rows
from multivalid.sources.totals import Totals

MOST_SEARCHED = 100_000  # rows; more go to the test
BINS = 24
Index = NDArray[np.intp]
_HELD = "__mv_held"


@dataclass(frozen=True)
class Settings:
    """What the user fixed."""

    depth: int
    most: int
    test_share: float
    seed: int


def discover_rows(
    y_true: Any,
    y_pred: Any,
    data: Any,
    features: Sequence[str] | None,
    target: Target,
    groups: Any,
    settings: Settings,
    *,
    sample_weight: Any,
    cluster: Any,
) -> Discovery:
    """On rows in memory."""
    width = len(target.coordinates)
    known = list(groups) if isinstance(groups, tuple) else groups
    rows = open_rows(y_true, y_pred, groups=known, data=data, sample_weight=sample_weight, width=width, cluster=cluster)
    target.check_labels(rows.labels)
    _enough(len(rows))
    frame, units = open_frame(data), rows.cluster
    frame = frame if rows.kept is None else frame[rows.kept]
    names, notes = _names(features, frame.columns, y_true, y_pred, sample_weight, cluster)
    names, copies = without_copies(frame, names, rows.predictions, own=_own(names, y_pred, frame, rows.predictions))
    searching, testing = _split(len(rows), settings, units)
    weights = rows.weights / rows.weights.mean()
    part = frame.select(names)[searching]
    bins = fit_features(part, names, BINS, named=features is not None, labels=rows.labels[searching])
    identified = identifications(target, rows.predictions, rows.labels)
    told = coordinates(target, are_events(rows.labels))
    scales = _scales(told, identified)
    identified = [v / scale for v, scale in zip(identified, scales, strict=True)]
    named = [rows.membership.mask(g) for g in range(1, rows.membership.groups)]
    searched = search_slices(
        part, bins, [v[searching] for v in identified], weights[searching], [mask[searching] for mask in named],
        depth=settings.depth, most=settings.most,
    )  # fmt: skip
    columns = [rows.predictions] if width == 1 else list(rows.predictions.T)
    sums, level = from_rows(
        told, [v[testing] for v in identified], [p[testing] for p in columns], rows.labels[testing], weights[testing],
        [level_edges(p[searching]) for p in columns],
    )  # fmt: skip
    masks = evaluate([Holds(one.condition) for one in searched.found], frame[testing]) if searched.found else []
    atoms = Atoms(sums, level, masks, [mask[testing] for mask in named], None if units is None else units[testing])
    spread = float(np.sqrt(np.mean((weights * identified[0])[searching] ** 2)))
    return _told(
        target,
        told,
        searched,
        atoms,
        scales,
        spread,
        (searching.size, testing.size),
        [*notes, *copies, *bins.notes, *rows.groups.notes],
        frame,
    )


def discover_lazy(
    y_true: Any,
    y_pred: Any,
    frame: Frame,
    features: Sequence[str] | None,
    target: Target,
    groups: Any,
    settings: Settings,
    *,
    sample_weight: Any,
    cluster: Any,
) -> Discovery:
    """On rows that stay where they are: a sample is searched in memory, all other rows are tested by the engine."""
    if cluster is not None:
        raise InputError(
            "cluster= needs the rows in memory: collect them, or a sample of whole clusters, and pass that frame as data=."
        )
    opened, totals = checked(frame, y_true, y_pred, sample_weight)
    _enough(totals.rows)
    names, notes = _names(features, frame.collect_schema().names(), y_true, y_pred, sample_weight, None)
    share = min(1 - settings.test_share, MOST_SEARCHED / totals.rows)
    marked = drawn(opened, share, settings.seed, [*names])
    searched_part = fetch(marked.filter(nw.col(_HELD)).select(LABEL, PREDICTION, WEIGHT, *names))
    local = open_frame(searched_part.to_native())
    labels, predictions, weights = (np.asarray(local[name].to_numpy(), dtype=np.float64) for name in (LABEL, PREDICTION, WEIGHT))
    target.check_labels(labels)
    mean_weight = totals.weight / totals.rows
    names, copies = without_copies(local, names, predictions, own=_own(names, y_pred, local, predictions))
    bins = fit_features(local.select(names), names, BINS, named=features is not None, labels=labels)
    family = _fitted(groups, local)
    named = list(family.masks(local.to_native(), n_rows=len(local)))[1:] if len(family) > 1 else []
    identified = identifications(target, predictions, labels)
    told = coordinates(target, _events(totals, labels))
    scale = _scales(told, identified)
    v = identified[0] / scale[0]
    searched = search_slices(local.select(names), bins, [v], weights / mean_weight, named, depth=settings.depth, most=settings.most)
    rest = marked.filter(~nw.col(_HELD))
    schema = schema_of(rest)
    flags = [condition_expression(one.condition, schema, one.text) for one in searched.found]
    known = family.expressions(schema)[1:] if len(family) > 1 else []
    atoms = from_engine(told[0], rest, flags, known, level_edges(predictions), scale[0], mean_weight)
    spread = float(np.sqrt(np.mean((weights / mean_weight * v) ** 2)))
    sizes = labels.size, totals.rows - labels.size
    notes.append(f"searched on {sizes[0]:,} of {totals.rows:,} rows; the other {sizes[1]:,} were tested where they are")
    return _told(target, told, searched, atoms, scale, spread, sizes, [*notes, *copies, *bins.notes, *family.notes], None)


def _told(
    target: Target,
    told: list[Searched],
    searched: Slices,
    atoms: Atoms,
    scales: Sequence[float],
    spread: float,
    sizes: tuple[int, int],
    notes: list[str],
    frame: nw.DataFrame[Any] | None,
) -> Discovery:
    """The table of all candidates, tested."""
    owner = [one.coordinate for one in searched.found]
    done = confirm(atoms, [one.law for one in told], owner, scales)
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
    if len(told) > 1:
        table["coordinate"] = np.array([told[k].coordinate.name for k in owner], dtype=np.str_)
    smallest = _smallest(searched.price, spread, sizes) * scales[0]
    return Discovery(target, table, told, sizes[0], sizes[1], searched.candidates, smallest, len(atoms.named), notes, frame)


def _smallest(price: float, spread: float, sizes: tuple[int, int]) -> float:
    """The gap in a tenth of the rows that both parts show nine times in ten: the search must pay its price, the test be beyond chance."""
    often = 1.64  # each part shows it 95 times in a hundred, both together 90
    search = (np.sqrt(price) + often) / np.sqrt(0.1 * sizes[0])
    test = (1.96 + often) / np.sqrt(0.1 * sizes[1])
    return float(spread * max(search, test))


def _enough(rows: int) -> None:
    if rows < LEAST_ROWS:
        raise InputError(f"data has {rows} rows; at least {LEAST_ROWS} are needed to search in one part and test on the other.")


def _names(
    features: Sequence[str] | None, columns: Sequence[str], y_true: Any, y_pred: Any, sample_weight: Any, cluster: Any
) -> tuple[list[str], list[str]]:
    used = {"sample_weight": sample_weight, "cluster": cluster}
    names, notes = checked_names(features, columns, used, label=y_true)
    if isinstance(y_pred, str) and y_pred not in names:
        names = [*names, y_pred]  # predictions may be off at their own value alone
    return names, notes


def _own(names: Sequence[str], y_pred: Any, frame: nw.DataFrame[Any], predictions: Array) -> str | None:
    """The column that is searched as the prediction: the one that was named as such, else the first that repeats it."""
    if isinstance(y_pred, str):
        return y_pred
    return next(iter(repeating(frame, names, predictions)), None)


def _fitted(groups: Any, local: nw.DataFrame[Any]) -> FittedGroups:
    if isinstance(groups, FittedGroups):
        return groups
    spec = groups if isinstance(groups, Groups) else Groups(list(groups) if isinstance(groups, tuple) else groups)
    return spec.fit(local.to_native(), n_rows=len(local))


def _scales(told: Sequence[Searched], identified: Sequence[Array]) -> list[float]:
    """V is taken in units of its own spread where its law is not known, so that fourth powers stay in range."""
    roots = [float(np.sqrt(np.mean(v**2))) for v in identified]
    return [1.0 if one.percent or not np.isfinite(root) or root == 0 else root for one, root in zip(told, roots, strict=True)]


def _events(totals: Totals, labels: Array) -> bool:
    return totals.least >= 0 and totals.most <= 1 and are_events(labels)


def _split(rows: int, settings: Settings, units: Index | None) -> tuple[Index, Index]:
    """Row numbers to search and to test; clusters stay whole."""
    rng = np.random.default_rng(settings.seed)
    most = min(round((1 - settings.test_share) * rows), MOST_SEARCHED)
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
