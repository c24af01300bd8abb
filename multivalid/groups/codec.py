"""Fitted groups as plain JSON values and back, strictly: a damaged file is refused rather than half read."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

from multivalid.errors import InputError, ModelFileError
from multivalid.groups.blocks import Block, DateParts, Holds, Intervals, Product, Simple, Values
from multivalid.groups.calendar import PARTS
from multivalid.groups.kept import MOST_GROUPS, Kept, Span
from multivalid.groups.kinds import BOOLEAN, NUMBER, TEXT
from multivalid.groups.nodes import Column, Flag, render
from multivalid.groups.predicate import stored
from multivalid.groups.syntax import INT64


def block_to_json(block: Block) -> dict[str, Any]:
    """A block as a dict with its kind."""
    match block:
        case Holds(Flag(Column(name))):
            return {"kind": "flag", "column": name}
        case Holds(test):
            return {"kind": "predicate", "text": render(test)}
        case Values(column, values, kind, missing):
            return {"kind": "values", "column": column, "type": kind, "values": list(values)} | _where(missing)
        case DateParts(column, part, values, missing):
            return {"kind": "dates", "column": column, "part": part, "values": list(values)} | _where(missing)
        case Intervals(column, edges, missing):
            return {"kind": "bins", "column": column, "edges": [_edge_to_json(edge) for edge in edges]} | _where(missing)
        case Product(parts, combinations):
            listed = [list(combination) for combination in combinations]
            return {"kind": "cross", "parts": [block_to_json(part) for part in parts], "combinations": listed}
    raise AssertionError(block)  # pragma: no cover - every block is listed


def _where(missing: bool) -> dict[str, Any]:
    """Said only where it is so: files of earlier versions do not say it."""
    return {"missing": True} if missing else {}


def _missing(value: dict[str, Any]) -> bool:
    return bool(field(value, "missing", bool)) if "missing" in value else False


def block_from_json(value: Any) -> Block:
    """The block a dict stands for; `ModelFileError` when it is not one."""
    kind = field(value, "kind", str)
    if kind not in _READ:
        raise damaged(f"unknown kind of group {kind!r}")
    return _READ[kind](value)


def field(value: Any, name: str, kind: type, where: str = "groups") -> Any:
    """A field of a dict, of exactly this type."""
    if type(value) is not dict:
        raise damaged(f"{where} must be an object, got {type(value).__name__}")
    if name not in value:
        raise damaged(f"{where} lacks the field {name!r}")
    if type(value[name]) is not kind:
        raise damaged(f"{where}.{name} must be {kind.__name__}, got {type(value[name]).__name__}")
    return value[name]


def only(value: dict[str, Any], *names: str) -> None:
    """Refuse fields nobody would read."""
    extra = sorted(set(value) - set(names))
    if extra:
        raise damaged(f"unknown field {extra[0]!r} in groups")


def each(values: list[Any], kind: type, where: str) -> list[Any]:
    """A list whose entries all have exactly this type."""
    for value in values:
        if type(value) is not kind:
            raise damaged(f"{where} must hold {kind.__name__} only, got {type(value).__name__}")
    return values


def damaged(problem: str) -> ModelFileError:
    """The error for a file that does not hold what it should."""
    return ModelFileError(f"the saved groups cannot be read: {problem}. Save the model again with this version.")


def _flag(value: dict[str, Any]) -> Block:
    only(value, "kind", "column")
    return Holds(Flag(Column(field(value, "column", str))))


def _predicate(value: dict[str, Any]) -> Block:
    only(value, "kind", "text")
    try:
        return Holds(stored(field(value, "text", str)).condition)
    except ModelFileError:
        raise
    except InputError as error:
        raise damaged(str(error)) from None


def _values(value: dict[str, Any]) -> Block:
    only(value, "kind", "column", "type", "values", "missing")
    column, kind, values = field(value, "column", str), field(value, "type", str), field(value, "values", list)
    if kind not in (TEXT, NUMBER, BOOLEAN):
        raise damaged(f"unknown type of values {kind!r}")
    each(values, {TEXT: str, NUMBER: int, BOOLEAN: bool}[kind], "values")
    if kind == BOOLEAN and values != [True, False]:
        raise damaged(f"the values of a boolean column are {values}")
    if kind != BOOLEAN and any(a >= b for a, b in itertools.pairwise(values)):
        raise damaged("values are not in increasing order")
    if kind == NUMBER and any(number not in INT64 for number in values):
        raise damaged("values has a number beyond 64 bits")
    return Values(column, tuple(values), kind, _missing(value))


def _dates(value: dict[str, Any]) -> Block:
    only(value, "kind", "column", "part", "values", "missing")
    column, part, values = field(value, "column", str), field(value, "part", str), field(value, "values", list)
    if part not in PARTS:
        raise damaged(f"unknown part of a date {part!r}")
    each(values, int, "values")
    known = PARTS[part]
    if any(a >= b for a, b in itertools.pairwise(values)) or any(not known.least <= one <= known.most for one in values):
        raise damaged(f"values are not increasing numbers of a {part}")
    return DateParts(column, part, tuple(values), _missing(value))


def _bins(value: dict[str, Any]) -> Block:
    only(value, "kind", "column", "edges", "missing")
    column = field(value, "column", str)
    edges = [_edge_from_json(edge) for edge in field(value, "edges", list)]
    # Only the last bin may be a single point, where many rows share the largest value.
    if len(edges) < 2 or any(a >= b for a, b in itertools.pairwise(edges[:-1])) or edges[-2] > edges[-1]:
        raise damaged("edges are not at least two increasing numbers")
    return Intervals(column, tuple(edges), _missing(value))


def _cross(value: dict[str, Any]) -> Block:
    only(value, "kind", "parts", "combinations")
    parts = [block_from_json(part) for part in field(value, "parts", list)]
    if len(parts) < 2 or not all(isinstance(part, Simple) for part in parts):
        raise damaged("cross needs at least two simple parts")
    if any(part.size > MOST_GROUPS for part in parts):
        raise damaged(f"a part of cross has more than {MOST_GROUPS:,} groups")
    combinations = [tuple(each(one, int, "combinations")) for one in each(field(value, "combinations", list), list, "cross")]
    for combination in combinations:
        inside = len(combination) == len(parts) and all(
            0 <= code < part.size for code, part in zip(combination, parts, strict=True)
        )
        if not inside:
            raise damaged(f"cross has the impossible combination {list(combination)}")
    if any(a >= b for a, b in itertools.pairwise(combinations)):
        raise damaged("combinations are not in increasing order")
    if math.prod(part.size for part in parts) >= 2**62:
        raise damaged("cross has too many combinations")
    return Product(tuple(parts), tuple(combinations))  # type: ignore[arg-type]


def _edge_to_json(edge: float) -> float | str:
    return edge if math.isfinite(edge) else repr(edge)  # JSON has no infinity


def _edge_from_json(edge: Any) -> float:
    if type(edge) is str and edge in ("inf", "-inf"):
        return float(edge)
    if type(edge) is float and math.isfinite(edge):
        return edge
    raise damaged(f"{edge!r} is not an edge")


_READ: dict[str, Callable[[dict[str, Any]], Block]] = {
    "flag": _flag,
    "predicate": _predicate,
    "values": _values,
    "dates": _dates,
    "bins": _bins,
    "cross": _cross,
}


def family_to_json(names: Sequence[str], kept: Sequence[Kept], arrays: int, notes: Sequence[str], found: int) -> dict[str, Any]:
    """Fitted groups as a dict; the names are those of the kept groups, block after block, after "everyone"."""
    blocks = [
        {"codes": list(one.codes)}
        | ({"kind": "arrays", "start": one.block.start, "size": one.block.size} if isinstance(one.block, Span) else {})
        | ({} if isinstance(one.block, Span) else block_to_json(one.block))
        for one in kept
    ]
    made = {"names": list(names), "blocks": blocks, "arrays": arrays, "notes": list(notes)}
    return made | ({"found": found} if found else {})


def family_from_json(value: Any) -> tuple[tuple[str, ...], tuple[Kept, ...], int, list[str], int]:
    """Names, kept blocks, number of array columns, notes, and how many of the last groups were found rather than named."""
    names = each(field(value, "names", list), str, "names")
    notes = each(field(value, "notes", list), str, "notes")
    arrays = field(value, "arrays", int)
    kept = [_kept_from_json(one) for one in field(value, "blocks", list)]
    found = field(value, "found", int) if "found" in value else 0
    only(value, "names", "blocks", "arrays", "notes", *(("found",) if "found" in value else ()))
    if not names or names[0] != "everyone" or len(set(names)) != len(names):
        raise damaged('names must be unique and start with "everyone"')
    if len(names) != 1 + sum(len(one.codes) for one in kept):
        raise damaged("there are not as many names as groups")
    if not 0 <= found < len(names):
        raise damaged(f"found is {found}, but there are {len(names) - 1} groups")
    start = 0
    for one in kept:
        if isinstance(one.block, Span):
            if one.block.start != start:
                raise damaged("the array columns are not in order")
            start += one.block.size
    if start != arrays:
        raise damaged(f"arrays is {arrays}, but the groups use {start} array columns")
    return tuple(names), tuple(kept), arrays, notes, found


def _kept_from_json(value: Any) -> Kept:
    codes = each(field(value, "codes", list), int, "codes")
    rest = {name: entry for name, entry in value.items() if name != "codes"}
    block: Block | Span
    if rest.get("kind") == "arrays":
        only(rest, "kind", "start", "size")
        block = Span(field(rest, "start", int), field(rest, "size", int))
    else:
        block = block_from_json(rest)
        if block.size > MOST_GROUPS:  # no fit makes more, and codes of rows are small numbers
            raise damaged(f"{block.size:,} groups of one item, at most {MOST_GROUPS:,} can be made")
    rising = all(a < b for a, b in itertools.pairwise(codes))
    if not rising or (codes and not 0 <= codes[0] <= codes[-1] < block.size):
        raise damaged(f"codes {codes[:5]} are not increasing numbers below {block.size}")
    return Kept(block, tuple(codes))
