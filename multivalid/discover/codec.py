"""Bins and trees as plain data, every part checked when it is read back: a file may hold anything."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from multivalid.discover.bins import MOST_CODES, Bins, Categories, Ordered
from multivalid.discover.grow import Node, Split
from multivalid.discover.split import Cuttable
from multivalid.errors import ModelFileError
from multivalid.groups.kinds import BOOLEAN, DATE, DATETIME, NUMBER, TEXT
from multivalid.storage import is_number

DEEPEST = 8
MOST_TREES = 5_000
LARGEST = 1e6  # units of the link: far beyond any leaf


def bins_to_json(bins: Bins) -> dict[str, Any]:
    """Plain data."""
    if isinstance(bins, Ordered):
        return {"column": bins.column, "kind": bins.kind, "edges": list(bins.edges), "whole": bins.whole, "zone": bins.zone}
    assert isinstance(bins, Categories)
    return {"column": bins.column, "kind": bins.kind, "values": list(bins.values)}


def bins_from_json(data: Any) -> Bins:
    """The bins that `bins_to_json` described."""
    if not isinstance(data, dict) or not isinstance(data.get("column"), str):
        raise ModelFileError("trees: the bins of a column must name it.")
    if data.get("kind") in (TEXT, BOOLEAN):
        return _categories(data)
    return _ordered_bins(data)


def _categories(data: dict[str, Any]) -> Categories:
    if set(data) != {"column", "kind", "values"} or not isinstance(data["values"], list) or len(data["values"]) > MOST_CODES:
        raise ModelFileError("trees: a column of categories must have column, kind and at most 250 values.")
    wanted = str if data["kind"] == TEXT else bool
    if not all(type(value) is wanted for value in data["values"]) or len(set(data["values"])) != len(data["values"]):
        raise ModelFileError(f"trees: the values of {data['column']!r} must be different {wanted.__name__}s.")
    return Categories(data["column"], data["kind"], tuple(data["values"]))


def _ordered_bins(data: dict[str, Any]) -> Ordered:
    if set(data) != {"column", "kind", "edges", "whole", "zone"} or data["kind"] not in (NUMBER, DATE, DATETIME):
        raise ModelFileError("trees: an ordered column must have column, kind, edges, whole and zone.")
    edges = data["edges"]
    if not isinstance(edges, list) or len(edges) > MOST_CODES or not all(is_number(edge) for edge in edges):
        raise ModelFileError("trees: edges must be at most 250 numbers.")
    if any(a >= b for a, b in itertools.pairwise(edges)) or not isinstance(data["whole"], bool):
        raise ModelFileError("trees: edges must increase, and whole must be true or false.")
    if data["kind"] != NUMBER and any(abs(edge) > 9e15 for edge in edges):
        raise ModelFileError("trees: an edge lies outside the calendar.")
    return Ordered(data["column"], data["kind"], tuple(float(edge) for edge in edges), data["whole"], _zone(data["zone"]))


def _zone(value: Any) -> str | None:
    if value is None:
        return None
    try:
        return ZoneInfo(value).key
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError):
        raise ModelFileError("trees: the time zone is not known.") from None


def tree_to_json(node: Node) -> Any:
    """A leaf is a number; a split is [column, codes that go left, left, right]."""
    if not isinstance(node, Split):
        return node
    return [node.column, np.flatnonzero(node.left).tolist(), *(tree_to_json(child) for child in node.children)]


def tree_from_json(data: Any, bins: Sequence[Cuttable], depth: int = 0) -> Node:
    """The tree that `tree_to_json` described, every column and code one that there is."""
    if is_number(data):
        if abs(data) > LARGEST:
            raise ModelFileError("trees: a leaf must be a number of ordinary size.")
        return float(data)
    if not isinstance(data, list) or len(data) != 4 or depth >= DEEPEST:
        raise ModelFileError("trees: a node must be a number or [column, codes, left, right].")
    column, codes = data[:2]
    if type(column) is not int or not 0 <= column < len(bins):
        raise ModelFileError(f"trees: a split must look at one of {len(bins)} columns.")
    size = bins[column].size
    if not isinstance(codes, list) or not all(type(code) is int and 0 <= code < size for code in codes):
        raise ModelFileError(f"trees: codes must be whole numbers below {size}.")
    left = np.zeros(size, dtype=bool)
    left[codes] = True
    if left.all() or not left.any() or left.sum() != len(codes):
        raise ModelFileError("trees: a split must send some codes to each side, each once.")
    return Split(column, left, (tree_from_json(data[2], bins, depth + 1), tree_from_json(data[3], bins, depth + 1)))
