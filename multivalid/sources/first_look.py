"""The first look at rows that an engine hands over: what is wrong with them, how far they reach, which combinations of values occur, and
a copy of what later looks need, all as they pass by once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
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
from multivalid.sources.lanes import LANES, in_lanes
from multivalid.sources.passing_rows import Copies
from multivalid.sources.row_order import RowOrder

Column = NDArray[Any]
ROWS = 1 << 17  # looked at together: their columns stay in the cache


class Passed(NamedTuple):
    """What was seen of all rows, of those with weight by whether they are held out, the combinations of keys, and copies of these rows."""

    all_rows: Seen
    used: dict[bool, Seen]
    tallied: nw.DataFrame[Any]
    copies: Copies


@dataclass(frozen=True)
class Reader:
    """How batches of a frame under fixed names are read; `keys` are columns of whole numbers."""

    keys: Sequence[str]
    plain: bool
    held: bool
    copying: bool
    most: int


class _Lane:
    """What was seen of every other batch, and copies of its rows, in files of its own."""

    def __init__(self, reader: Reader) -> None:
        self.reader, self.tally, self.all_rows, self._order = reader, Tally(reader.most), Seen(), RowOrder()
        self.used = dict.fromkeys([False, True] if reader.held else [False], Seen())
        self.copies = {out: Copied(tuple(reader.keys)) for out in self.used} if reader.copying else {}

    def look(self, batch: nw.DataFrame[Any]) -> bool:
        """Look at a batch; False where keys take too many values."""
        names = (LABEL, PREDICTION, *([] if self.reader.plain else [WEIGHT]))
        columns = [_numbers(batch.get_column(name)) for name in names]
        keys = [_key(batch.get_column(name)) for name in self.reader.keys]
        digits = digits_of(keys)
        if digits is None:
            return False
        columns.append(codes_of(keys, digits))
        seen = Seen.of(*columns[:-1])
        self.all_rows = self.all_rows.plus(seen)
        held = _truth(batch.get_column(HELD)) if self.reader.held else np.zeros(len(batch), dtype=np.bool_)
        if seen.weightless:
            used = columns[2] > 0
            columns, held = [column[used] for column in columns], held[used]
        *others, codes = columns
        for out, side in enumerate(self._order.sides(others, codes, held)[: len(self.used)]):
            self._keep(bool(out), side, digits)
        return self.tally.add(digits, codes)

    def _keep(self, out: bool, columns: list[Column], digits: Digits) -> None:
        self.used[out] = self.used[out].plus(Seen.of(*columns[:-1]))
        if self.copies and not self.copies[out].append(columns, digits):
            self.copies = {}


def look_passing(slim: Frame, reader: Reader, types: Mapping[str, Any]) -> Passed | None:
    """Look at labels, predictions, weights, keys and whether rows are held out, under fixed names; truth values come as whole numbers.

    `types` are those that the keys have. None where keys take more combinations of values than the reader allows. There are no copies
    where none are wanted or there is no room.
    """
    lanes = [_Lane(reader) for _ in range(LANES)]
    for few in in_lanes(batches(slim, ROWS), lambda lane, batch: lanes[lane].look(batch)):
        if not few:
            return None
    tally = reduce(Tally.plus, (lane.tally for lane in lanes))
    if not tally.close():
        return None
    used = {out: reduce(Seen.plus, (lane.used[out] for lane in lanes)) for out in lanes[0].used}
    whole = all(lane.copies for lane in lanes)
    copies = {out: [lane.copies[out] for lane in lanes] for out in used} if whole else {}
    lines = np.zeros((2 * len(reader.keys) + 1, 0), dtype=np.int64) if tally.lines is None else tally.lines
    return Passed(reduce(Seen.plus, (lane.all_rows for lane in lanes)), used, _frame(lines, slim, types), copies)


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
    made = {COUNT: nw.new_series(COUNT, lines[-1], nw.Int64, backend=like)}
    for k, (name, dtype) in enumerate(keys.items()):
        numbers, gone = lines[2 * k], lines[2 * k + 1] != 0
        values: Any = numbers.astype(np.bool_) if dtype == nw.Boolean else numbers
        if gone.any():
            values = [None if missing else value for value, missing in zip(values.tolist(), gone.tolist(), strict=True)]
        made[name] = nw.new_series(name, values, dtype, backend=like)
    return nw.from_dict(made)
