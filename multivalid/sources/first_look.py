"""The first look at rows that an engine hands over: what is wrong with them, how far they reach, which combinations of values occur, and
a copy of what later looks need, all as they pass by once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from multivalid.atoms.names import HELD, LABEL, PREDICTION, WEIGHT
from multivalid.atoms.partitions import batches
from multivalid.atoms.seen import Seen
from multivalid.groups.lazy import COUNT
from multivalid.groups.remote import Frame
from multivalid.sources.copied import Copied
from multivalid.sources.key_codes import Digits, KeyColumn, Tally, codes_of, digits_of
from multivalid.sources.lanes import in_lanes
from multivalid.sources.row_order import in_order

Column = NDArray[Any]
ROWS = 1 << 17  # looked at together: their columns stay in the cache


class Passed(NamedTuple):
    """What was seen of all rows, of those with weight by whether they are held out, the combinations of keys, and copies of these rows."""

    all_rows: Seen
    used: dict[bool, Seen]
    tallied: nw.DataFrame[Any]
    copies: dict[bool, Copied]


class _Part(NamedTuple):
    """A batch: what was seen of it, and by whether rows are held out what was seen of those with weight, and their columns."""

    seen: Seen
    digits: Digits
    counts: NDArray[np.intp]
    sides: dict[bool, tuple[Seen, list[Column]]]


@dataclass(frozen=True)
class Reader:
    """Reads batches of a frame under fixed names; `keys` are columns of whole numbers."""

    keys: Sequence[str]
    plain: bool
    held: bool

    def part(self, batch: nw.DataFrame[Any]) -> _Part | None:
        """What a batch holds; None where its keys have too many values."""
        columns = [_numbers(batch[name]) for name in (LABEL, PREDICTION, *([] if self.plain else [WEIGHT]))]
        keys = [_key(batch[name]) for name in self.keys]
        digits = digits_of(keys)
        if digits is None:
            return None
        columns.append(codes_of(keys, digits))
        counted = seen = Seen.of(*columns[:-1])
        held = _truth(batch[HELD]) if self.held else None
        if seen.weightless:
            used = columns[2] > 0
            columns, held = [column[used] for column in columns], None if held is None else held[used]
            counted = Seen.of(*columns[:-1])
        counts = np.bincount(columns[-1], minlength=int(np.prod([digit.size for digit in digits])))
        *others, codes = columns
        sides = in_order(others, codes, np.zeros(codes.size, dtype=np.bool_) if held is None else held)
        if held is None:
            return _Part(seen, digits, counts, {False: (counted, sides[0])})
        return _Part(seen, digits, counts, {bool(out): (Seen.of(*found[:-1]), found) for out, found in enumerate(sides)})


def look_passing(slim: Frame, keys: Mapping[str, Any], *, plain: bool, held: bool, copying: bool, most: int) -> Passed | None:
    """Look at labels, predictions, weights (unless `plain`), keys and whether rows are `held` out, under fixed names.

    Keys are named with their types; truth values come as whole numbers. None where keys take more than `most` combinations of values. There
    are no copies where none are wanted or there is no room.
    """
    tally, reader, all_rows = Tally(most), Reader(tuple(keys), plain, held), Seen()
    used = dict.fromkeys([False, True] if held else [False], Seen())
    copies = {out: Copied(tuple(keys)) for out in used} if copying else {}
    for part in in_lanes(batches(slim, ROWS), lambda lane, batch: reader.part(batch)):
        if part is None or not tally.add(part.digits, part.counts):
            return None
        all_rows = all_rows.plus(part.seen)
        for out, (seen, columns) in part.sides.items():
            used[out] = used[out].plus(seen)
            if copies and not copies[out].append(columns, part.digits):
                copies = {}
    if not tally.close():
        return None
    lines = np.zeros((2 * len(keys) + 1, 0), dtype=np.int64) if tally.lines is None else tally.lines
    return Passed(all_rows, used, _frame(lines, slim, keys), copies)


def _numbers(series: nw.Series[Any]) -> Column:
    """A column of numbers as it came; missing ones are nan."""
    return np.asarray(series.to_numpy())


def _truth(series: nw.Series[Any]) -> NDArray[np.bool_]:
    return np.asarray(series.to_numpy(), dtype=np.bool_)


def _key(series: nw.Series[Any]) -> KeyColumn:
    if not series.null_count():
        return KeyColumn(np.asarray(series.to_numpy()), None)
    return KeyColumn(np.asarray(series.fill_null(0).to_numpy()), np.asarray(series.is_null().to_numpy(), dtype=np.bool_))


def _frame(lines: NDArray[np.int64], slim: Frame, keys: Mapping[str, Any]) -> nw.DataFrame[Any]:
    """The combinations as a frame with the types of the keys."""
    like: Literal["polars", "pyarrow"] = "polars" if slim.implementation.is_polars() else "pyarrow"
    made = {COUNT: nw.new_series(COUNT, lines[-1].tolist(), nw.Int64, backend=like)}
    for k, (name, dtype) in enumerate(keys.items()):
        kind = bool if dtype == nw.Boolean else int
        values = [None if gone else kind(value) for value, gone in zip(*lines[2 * k : 2 * k + 2].tolist(), strict=True)]
        made[name] = nw.new_series(name, values, dtype, backend=like)
    return nw.from_dict(made)
