"""Trees on codes: what they add to each row, in memory; compiled where there is a library (`kernels/forest.c`), else in NumPy."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.discover.bins import Codes
from multivalid.discover.grow import Node, Split
from multivalid.kernels import library
from multivalid.properties.base import Array

_SIZE, _POINTER = ctypes.c_size_t, ctypes.c_void_p


def scaled(node: Node, rate: float) -> Node:
    """The tree with every leaf multiplied by `rate`."""
    if not isinstance(node, Split):
        return node * rate
    return Split(node.column, node.left, (scaled(node.children[0], rate), scaled(node.children[1], rate)))


def splits(node: Node) -> list[Split]:
    """All splits of a tree, a parent before its children."""
    if not isinstance(node, Split):
        return []
    return [node, *(inner for child in node.children for inner in splits(child))]


def add_trees(trees: Sequence[Node], codes: Codes, out: Array) -> None:
    """Add to `out` what the trees give each row, tree after tree; codes are (rows, columns)."""
    PackedTrees(trees).add(codes, out)


class PackedTrees:
    """Trees ready for rows that come some at a time."""

    def __init__(self, trees: Sequence[Node]) -> None:
        self.trees = trees
        self._arrays = _Flat.of(trees).arrays()

    def add(self, codes: Codes, out: Array) -> None:
        """Add to `out` what the trees give each row, tree after tree; codes are (rows, columns)."""
        assert codes.flags.c_contiguous
        assert out.flags.c_contiguous
        compiled = library.function("multivalid_add_trees", [_POINTER, _SIZE, _SIZE, _POINTER, _SIZE, *[_POINTER] * 6])
        if compiled is None:
            for tree in self.trees:
                out += _values(tree, codes)
            return
        roots, *rest = self._arrays
        compiled(
            codes.ctypes.data, len(codes), codes.shape[1], roots.ctypes.data, len(self.trees), *(one.ctypes.data for one in rest),
            out.ctypes.data,
        )  # fmt: skip


def _values(node: Node, codes: Codes) -> Array | float:
    if not isinstance(node, Split):
        return node
    side = node.left[codes[:, node.column]]
    return np.where(side, _values(node.children[0], codes), _values(node.children[1], codes))


@dataclass
class _Flat:
    """Trees as arrays: a node has a column, a table of codes and two children; a child below zero is the leaf ~child."""

    roots: list[int] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    marked: list[NDArray[np.bool_]] = field(default_factory=list)
    children: list[tuple[int, int]] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    @classmethod
    def of(cls, trees: Sequence[Node]) -> _Flat:
        flat = cls()
        flat.roots = [flat._add(tree) for tree in trees]
        return flat

    def _add(self, node: Node) -> int:
        if not isinstance(node, Split):
            self.values.append(node)
            return ~(len(self.values) - 1)
        place = len(self.columns)
        self.columns.append(node.column)
        self.marked.append(node.left)
        self.children.append((0, 0))
        self.children[place] = self._add(node.children[0]), self._add(node.children[1])
        return place

    def arrays(self) -> list[NDArray[Any]]:
        """In the order of the compiled function: roots, columns, tables, first and second children, values."""
        children = np.array(self.children, dtype=np.int32).reshape(-1, 2)
        tables = np.zeros((len(self.marked), 256), dtype=np.uint8)
        for table, marked in zip(tables, self.marked, strict=True):
            table[: marked.size] = marked
        whole: list[NDArray[Any]] = [np.array(self.roots, dtype=np.int32), np.array(self.columns, dtype=np.int32), tables]
        return [*whole, *(np.ascontiguousarray(children[:, k]) for k in (0, 1)), np.array(self.values, dtype=np.float64)]
