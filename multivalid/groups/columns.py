"""Columns of a frame in memory, each looked at once: opened, and told apart by value, however many groups ask."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from multivalid.groups.frames import enter, open_frame, text_values
from multivalid.groups.membership import BLOCK, count_codes
from multivalid.lazy_names import narwhals as nw

if TYPE_CHECKING:
    from multivalid.groups.blocks import Block, Codes

Texts = tuple[NDArray[Any], list[str]]


class Columns:
    """A native frame whose columns, values and codes are remembered.

    Examples
    --------
    >>> import pandas as pd
    >>> Columns(pd.DataFrame({"site": ["b", "a", None]})).texts("site")
    (array([ 0,  1, -1]), ['b', 'a'])
    """

    def __init__(self, data: Any) -> None:
        self.data = enter(data)
        self.names: list[str] = list(self.data.columns)
        self.rows = len(self.data)
        self._series: dict[str, nw.Series[Any]] = {}
        self._texts: dict[str, Texts] = {}
        self._codes: dict[Block, Codes] = {}
        self._keys: dict[tuple[Block, ...], NDArray[Any]] = {}

    def __getitem__(self, name: str) -> nw.Series[Any]:
        if name not in self._series:
            self._series[name] = open_frame(self.data, [name])[name]
        return self._series[name]

    def frame(self, names: Sequence[str]) -> nw.DataFrame[Any]:
        """Some of the columns, for conditions to be evaluated on."""
        return open_frame(self.data, names)

    def texts(self, name: str) -> Texts:
        """The number of each row's text among the texts that occur, -1 where it is missing, and these texts."""
        if name not in self._texts:
            number, values = _number_texts(self[name])
            used = count_codes(number[number >= 0] if (number < 0).any() else number, len(values)) > 0
            if not used.all():  # a category may be declared and not used
                new = np.append(np.where(used, np.cumsum(used) - 1, -1), -1)
                number, values = new[number], [value for value, there in zip(values, used, strict=True) if there]
            self._texts[name] = number, values
        return self._texts[name]

    def codes(self, block: Block) -> Codes:
        """The codes of a block's groups."""
        if block not in self._codes:
            self._codes[block] = block.codes(self)
        return self._codes[block]

    def knows(self, block: Block) -> bool:
        """Whether the codes of a block are there already."""
        return block in self._codes

    def put(self, block: Block, codes: Codes) -> None:
        """Codes that were worked out elsewhere."""
        self._codes[block] = codes

    def keys(self, parts: tuple[Block, ...]) -> NDArray[Any]:
        """One number per combination of the codes of several blocks, mixed radix; -1 where one of them has none."""
        if parts not in self._keys:
            space = prod(part.size for part in parts)
            keys: NDArray[Any] = np.zeros(self.rows, dtype=np.int32 if space < 1 << 31 else np.int64)
            codes = [self.codes(part) for part in parts]
            for start in range(0, self.rows, BLOCK):
                here = keys[start : start + BLOCK]
                outside = np.zeros(here.size, dtype=np.bool_)
                for part, every in zip(parts, codes, strict=True):
                    code = every[start : start + BLOCK]
                    outside |= code < 0
                    here *= part.size
                    here += code
                here[outside] = -1
            self._keys[parts] = keys
        return self._keys[parts]


def _number_texts(series: nw.Series[Any]) -> Texts:
    """Numbers for texts, as the library that holds the column finds them fastest."""
    native = series.to_native()
    if nw.dependencies.is_pandas_series(native):
        if series.dtype in (nw.Categorical, nw.Enum):
            return np.asarray(native.cat.codes), [str(value) for value in native.cat.categories]
        number, values = native.factorize()
        return np.asarray(number), [str(value) for value in values]
    if nw.dependencies.is_pyarrow_chunked_array(native):
        whole = text_values(series).to_native().combine_chunks().dictionary_encode()
        return np.asarray(whole.indices.fill_null(-1)), whole.dictionary.to_pylist()
    texts = text_values(series)
    known: list[str] = texts.drop_nulls().unique().to_list()
    if not known:
        return np.full(len(series), -1), []
    found = texts.replace_strict(known, list(range(len(known))), default=-1, return_dtype=nw.Int32)
    return np.asarray(found.to_numpy()), known
