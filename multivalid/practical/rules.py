"""Rules: the few nodes of boosted trees whose shifts say most of what the trees say, as groups that a person can read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multivalid.discover.bins import Bins, Codes
from multivalid.discover.grow import Node, Split
from multivalid.groups.nodes import And, Condition
from multivalid.properties.base import Array

MOST_COLUMNS = 3
LEAST_ROWS = 20  # of the sample, inside and outside of a rule
ROWS_PER_RULE = 400
FEWEST, MOST = 10, 100

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Rule:
    """Rows whose code is marked, in each of some columns: (column, flag per code)."""

    parts: tuple[tuple[int, tuple[bool, ...]], ...]

    def condition(self, bins: Sequence[Bins]) -> Condition:
        """The same as a condition on columns."""
        parts = [bins[column].condition(np.array(marked)) for column, marked in self.parts]
        return parts[0] if len(parts) == 1 else And(tuple(parts))


def masks_of(rules: Sequence[Rule], codes: Codes) -> list[Mask]:
    """The rows that each rule holds for; a condition that several rules share is looked up once."""
    columns = np.ascontiguousarray(codes.T)
    asked = {part: np.array(part[1])[columns[part[0]]] for part in dict.fromkeys(part for rule in rules for part in rule.parts)}
    return [np.logical_and.reduce([asked[part] for part in rule.parts]) for rule in rules]


def most_rules(rows: int) -> int:
    """How many rules so many rows may choose.

    Examples
    --------
    >>> most_rules(2_000), most_rules(20_000), most_rules(1_000_000)
    (10, 50, 100)
    """
    return int(np.clip(rows / ROWS_PER_RULE, FEWEST, MOST))


def candidates(trees: Sequence[Node], readable: int) -> list[Rule]:
    """The nodes of trees, each once; conditions on columns from `readable` on (the prediction) are left out."""
    found: dict[Rule, None] = {}
    for tree in trees:
        for marked in _nodes(tree, {}):
            kept = tuple((c, tuple(flags.tolist())) for c, flags in sorted(marked.items()) if c < readable and not flags.all())
            if 0 < len(kept) <= MOST_COLUMNS:
                found[Rule(kept)] = None
    return list(found)


def _nodes(node: Node, above: dict[int, Mask]) -> Iterator[dict[int, Mask]]:
    if above:
        yield above
    if isinstance(node, Split):
        for child, side in zip(node.children, (node.left, ~node.left), strict=True):
            yield from _nodes(child, above | {node.column: above.get(node.column, np.ones_like(side)) & side})


def choose_rules(trees: Sequence[Node], readable: int, codes: Codes, shift: Array, most: int) -> list[Rule]:
    """Orthogonal matching pursuit: the node that fits best what the rules before it leave of a shift, one after the other.

    `codes` and `shift` are of a sample of rows, on which rules are compared.
    """
    rules = candidates(trees, readable)
    masks = np.array(masks_of(rules, codes)).reshape(len(rules), len(codes))
    sizes = masks.sum(axis=1)
    kept = np.flatnonzero((sizes >= LEAST_ROWS) & (sizes <= len(codes) - LEAST_ROWS))
    features = masks[kept].astype(np.float32)
    features -= features.mean(axis=1, keepdims=True)
    features /= np.sqrt((features**2).sum(axis=1, keepdims=True))
    order = _pursuit(features, (shift - shift.mean()).astype(np.float32), most)
    return [rules[kept[i]] for i in order]


def _pursuit(features: NDArray[np.float32], target: NDArray[np.float32], most: int) -> list[int]:
    """Places of the features chosen, whose rows have length one."""
    chosen: list[int] = []
    basis = np.zeros((0, target.size), dtype=np.float32)
    rest = target.copy()
    smallest = 1e-6 * float(target @ target)
    while len(chosen) < min(most, len(features)) and float(rest @ rest) > smallest:
        best = int(np.argmax(np.abs(features @ rest)))
        new = features[best] - basis.T @ (basis @ features[best])
        length = float(np.sqrt(new @ new))
        if best in chosen or length < 1e-3:  # nothing that is not there already
            break
        basis = np.vstack([basis, new / length])
        rest = rest - basis[-1] * float(basis[-1] @ rest)
        chosen.append(best)
    return chosen
