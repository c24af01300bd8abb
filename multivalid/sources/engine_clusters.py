"""Sums over clusters where the rows live: rows are added up by (group, cluster) first, and the products of these sums by group."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement, permutations
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from multivalid.atoms.frames import unknown
from multivalid.atoms.names import CLUSTER
from multivalid.cells.clusters import ClusterSums
from multivalid.errors import InputError
from multivalid.groups.remote import Frame, fetch, schema_of
from multivalid.properties.base import Array
from multivalid.properties.expressions import where
from multivalid.sources.sets import KeyColumns, block_sets, members

if TYPE_CHECKING:
    from multivalid.groups.family import FittedGroups

_WEIGHT, _COUNT = "__w", "__n"


def with_cluster(frame: Frame, cluster: Any) -> Frame:
    """The frame with the column of clusters under its fixed name; missing values are refused."""
    if cluster is None:
        return frame
    if not isinstance(cluster, str):
        raise InputError(f"cluster must be the name of a column when data is a lazy frame, got {type(cluster).__name__}.")
    schema = frame.collect_schema()
    if cluster not in schema.names():
        raise unknown(cluster, schema.names(), "cluster")
    column = nw.col(cluster)
    gone = column.is_null() | column.is_nan() if schema[cluster].is_float() else column.is_null()
    missing = int(fetch(frame.select(gone.cast(nw.Int64).sum().alias("n")))["n"].item() or 0)
    if missing:
        raise InputError(
            f"cluster={cluster!r} must not have missing values: {missing} are missing; drop those rows or fill them in."
        )
    return frame.with_columns(column.alias(CLUSTER))


def cluster_sums(frame: Frame, groups: FittedGroups, block: nw.Expr, blocks: int, x: nw.Expr, weight: nw.Expr) -> ClusterSums:
    """As `cells.clusters.cluster_sums`: Σx by (group, cluster, block of levels), and from these the products by group.

    One query for everyone and one per block of groups; free predicates each have their own, as they overlap.
    """
    keys = KeyColumns(schema_of(frame))
    # A cluster is added up before it is squared, so a group must be one value of its keys: no conditions by their columns.
    sets = list(block_sets(groups.kept, keys, lambda blocks: False, together=1))
    parts = [where(block == j, x, 0.0).alias(f"__u{j}") for j in range(blocks)]
    slim = frame.select(*keys.expressions.values(), CLUSTER, weight.alias(_WEIGHT), *parts)
    found = np.zeros((len(groups), len(list(_products(blocks)))))
    found[0] = _lines(fetch(_by_cluster(slim, [], blocks).select(*_added(blocks))), blocks)[0]
    for one in sets:
        made = fetch(_by_cluster(slim, list(one.keys), blocks).group_by(list(one.keys)).agg(*_added(blocks)))
        lines = _lines(made, blocks)
        for offset, inside in members(one, made):
            found[one.start + offset] = lines[inside].sum(axis=0)
    return _unpacked(found, blocks)


def _by_cluster(slim: Frame, keys: list[str], blocks: int) -> Frame:
    """One line per (keys, cluster), with every product that is wanted."""
    sums = [_WEIGHT, *(f"__u{j}" for j in range(blocks))]
    added = slim.group_by([*keys, CLUSTER]).agg(*(nw.col(name).sum() for name in sums))
    total = nw.sum_horizontal(*(nw.col(f"__u{j}") for j in range(blocks)))
    return added.select(*keys, *(made.alias(name) for name, made in _terms(blocks, total).items()))


def _terms(blocks: int, total: nw.Expr) -> dict[str, nw.Expr]:
    u, w = [nw.col(f"__u{j}") for j in range(blocks)], nw.col(_WEIGHT)
    made = {_COUNT: where(w > 0, 1.0, 0.0), "__uw": total * w, "__ww": w * w}
    made |= {f"__t{j}": u[j] for j in range(blocks)}
    made |= {f"__p{j}_{k}": u[j] * u[k] for j, k in combinations_with_replacement(range(blocks), 2)}
    return made | {f"__c{j}_{k}_{m}": u[j] * u[k] * u[m] for j, k, m in combinations_with_replacement(range(blocks), 3)}


def _products(blocks: int) -> Iterator[str]:
    """Names of the sums, in the order of `_terms`."""
    yield from (_COUNT, "__uw", "__ww")
    yield from (f"__t{j}" for j in range(blocks))
    yield from (f"__p{j}_{k}" for j, k in combinations_with_replacement(range(blocks), 2))
    yield from (f"__c{j}_{k}_{m}" for j, k, m in combinations_with_replacement(range(blocks), 3))


def _added(blocks: int) -> list[nw.Expr]:
    return [nw.col(name).sum() for name in _products(blocks)]


def _lines(made: nw.DataFrame[Any], blocks: int) -> Array:
    return np.stack([np.asarray(made[name].to_numpy(), dtype=np.float64) for name in _products(blocks)], axis=1)


def _unpacked(found: Array, blocks: int) -> ClusterSums:
    count, weighted, squares = found[:, :3].T
    totals, pairs, threes = np.split(found[:, 3:], [blocks, blocks + blocks * (blocks + 1) // 2], axis=1)
    return ClusterSums(count, _symmetric(pairs, blocks, 2), totals, weighted, squares, _symmetric(threes, blocks, 3))


def _symmetric(sums: Array, blocks: int, order: int) -> Array:
    """The whole table of products from those whose blocks do not fall."""
    made = np.zeros((*[blocks] * order, len(sums)))
    for at, column in zip(combinations_with_replacement(range(blocks), order), sums.T, strict=True):
        for turned in permutations(at):
            made[turned] = column
    return np.moveaxis(made, -1, 0)
