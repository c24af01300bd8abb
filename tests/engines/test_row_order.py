"""Rows are moved next to those with like codes, whole, by the compiled loops and by their NumPy twins alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from multivalid.kernels import library
from multivalid.sources.row_order import BITS, RowOrder
from tests.kernels.both import loop

__all__ = ["loop"]


@pytest.mark.parametrize("codes", [np.uint8, np.uint16, np.uint32])
@pytest.mark.parametrize("kind", [np.bool_, np.float16, np.float32, np.int64])
def test_rows_stay_whole_and_stand_by_side_and_code(codes: Any, kind: Any, loop: str) -> None:
    rng, n = np.random.default_rng(3), 5_000
    code = rng.integers(0, min(np.iinfo(codes).max, 300_000), n).astype(codes)
    number, value, held = np.arange(n, dtype=np.int32), (rng.random(n) * 5).astype(kind), rng.random(n) < 0.3
    sides = RowOrder().sides([number[::-1], value], code, held)
    shift = max(int(code.max()).bit_length() - BITS, 0)
    for out, (numbers, values, found) in enumerate(sides):
        rows = n - 1 - numbers
        np.testing.assert_array_equal(np.sort(rows), np.flatnonzero(held == out))
        np.testing.assert_array_equal(values, value[rows])
        np.testing.assert_array_equal(found, code[rows])
        assert (values.dtype, found.dtype) == (kind, codes)
        bucket = (found >> codes(shift)).astype(np.int64)
        assert ((np.diff(bucket) > 0) | ((np.diff(bucket) == 0) & (np.diff(rows) > 0))).all()
    with library.numpy_only():
        again = RowOrder().sides([number[::-1], value], code, held)
    for side, other in zip(sides, again, strict=True):
        for one, same in zip(side, other, strict=True):
            np.testing.assert_array_equal(one, same)


def test_no_rows_are_in_order(loop: str) -> None:
    none = np.zeros(0)
    sides = RowOrder().sides([none], none.astype(np.uint8), none.astype(np.bool_))
    assert [column.size for side in sides for column in side] == [0, 0, 0, 0]
