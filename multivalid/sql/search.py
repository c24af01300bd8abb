"""Finding a value among constants by comparisons alone, which every database has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def tree(value: str, edges: Sequence[str], leaves: Sequence[str], *, strict: bool = True) -> str:
    """leaves[k], where k edges lie below the value (or at it, unless strict): nested comparisons, each row passing log₂ of them."""
    if len(leaves) == 1:
        return leaves[0]
    middle = len(edges) // 2
    low = tree(value, edges[:middle], leaves[: middle + 1], strict=strict)
    high = tree(value, edges[middle + 1 :], leaves[middle + 1 :], strict=strict)
    if low == high:
        return low
    return f"CASE WHEN {value} {'>' if strict else '>='} {edges[middle]} THEN {high} ELSE {low} END"


def searched(value: str, constants: Sequence[str]) -> str:
    """The place of a value among constants in increasing order, −1 where it is none of them.

    A tree finds the largest constant at or below, which then has to be the value itself (and is, for -0.0).
    """
    if not constants:
        return "-1"
    near = tree(value, constants[1:], [str(k) for k in range(len(constants))], strict=False)
    same = tree(value, constants[1:], constants, strict=False)
    return f"CASE WHEN {value} = ({same}) THEN {near} ELSE -1 END"


def by_runs(place: str, table: Mapping[int, str], otherwise: str) -> str:
    """The table's text at a whole number, `otherwise` where it has none; one comparison where neighbours differ.

    Examples
    --------
    >>> by_runs("c", {0: "5", 1: "5"}, "0")
    'CASE WHEN c > 1 THEN 0 ELSE CASE WHEN c > -1 THEN 5 ELSE 0 END END'
    """
    edges: list[str] = []
    leaves = [otherwise]
    last = None
    for at in sorted(table):
        if last is not None and at > last + 1 and leaves[-1] != otherwise:
            edges.append(str(last))
            leaves.append(otherwise)
        if table[at] != leaves[-1]:
            edges.append(str(at - 1))
            leaves.append(table[at])
        last = at
    if leaves[-1] != otherwise:
        edges.append(str(last))
        leaves.append(otherwise)
    return tree(place, edges, leaves)
