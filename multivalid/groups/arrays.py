"""The boolean arrays a user hands over, seen as one long list of columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from multivalid.errors import InputError
from multivalid.groups.items import Flags, Mask, entries
from multivalid.groups.membership import columns_of


class ArrayColumns:
    """Boolean columns from any number of arrays, in the order given.

    Examples
    --------
    >>> columns = ArrayColumns.of([np.array([True, False]), np.array([[True, True], [False, True]])])
    >>> len(columns), columns.rows, [mask.tolist() for mask in columns.masks([0, 2])]
    (3, 2, [[True, False], [True, True]])
    """

    def __init__(self, flags: Sequence[Flags]) -> None:
        self._places = [(item.array, column) for item in flags for column in range(item.array.shape[1])]
        lengths = {item.array.shape[0] for item in flags}
        if len(lengths) > 1:
            raise InputError(f"groups: the boolean arrays have different numbers of rows: {sorted(lengths)}.")
        self.rows: int | None = lengths.pop() if lengths else None

    @classmethod
    def of(cls, arrays: Any) -> ArrayColumns:
        """From a boolean array, a list of them, or a dict."""
        if arrays is None or (isinstance(arrays, list | tuple | Mapping) and not arrays):
            return cls([])
        flags = [entry.item for entry in entries(arrays)]
        for item in flags:
            if not isinstance(item, Flags):
                raise InputError(f"arrays must be boolean arrays, as at fit, got {item!r}.")
        return cls([item for item in flags if isinstance(item, Flags)])

    def __len__(self) -> int:
        return len(self._places)

    def masks(self, wanted: Sequence[int]) -> Iterator[Mask]:
        """The wanted columns, one contiguous mask each.

        Columns of one array are packed first, eight to a byte: reading an array row by row is many times faster than column by column.
        """
        places = [self._places[index] for index in wanted]
        if not places:
            return
        first = places[0][0]
        if len(places) == 1 or first.flags.f_contiguous or any(array is not first for array, _ in places):
            for array, column in places:
                yield np.ascontiguousarray(array[:, column])
            return
        packed = np.packbits(first, axis=1, bitorder="little")
        for flags in columns_of(packed, (column for _, column in places)):
            yield flags != 0
