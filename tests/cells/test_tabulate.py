"""Sums over (place × group), compiled and in NumPy, against loops that anybody can read."""

from __future__ import annotations

import numpy as np
import pytest

from multivalid.cells import tabulate
from multivalid.groups.membership import Coded, Flagged, Membership, count_codes
from multivalid.kernels import library
from tests.kernels.both import loop

__all__ = ["loop"]


def members(rows: int, seed: int = 0) -> Membership:
    """Codes of one byte and of two, the last with groups that no row is in, and bits."""
    rng = np.random.default_rng(seed)
    parts = [
        Coded(np.ones(rows, dtype=np.uint8), 1), Coded(rng.integers(0, 6, rows).astype(np.uint8), 5),
        Flagged(Membership.from_dense(rng.random((rows, 11)) < 0.3).bits, rows),
        Coded((rng.random(rows) ** 2 * 700).astype(np.uint16), 900),
    ]  # fmt: skip
    return Membership.of(parts, rows)


def slowly(membership: Membership, place: np.ndarray, places: int, column: np.ndarray) -> np.ndarray:
    out = np.zeros((places, membership.groups))
    for group in range(membership.groups):
        for row in np.flatnonzero(membership.mask(group)):
            out[place[row], group] += column[row]
    return out


@pytest.mark.parametrize("rows", [0, 1, 700])
def test_against_loops(rows: int, loop: str) -> None:
    rng = np.random.default_rng(1)
    given, place = members(rows), rng.integers(0, 7, rows)
    y, z = rng.gamma(2.0, 1.0, rows), rng.normal(size=rows) * 1e8
    columns = {"one": None, "y": y, "z": z, "again": y, "count": None}

    def terms(part: slice) -> dict[str, np.ndarray | None]:
        same = y[part]
        return {"one": None, "y": same, "z": z[part], "again": same, "count": None}

    found = tabulate.tabulate_terms(given, place, 7, terms)
    assert list(found) == list(columns)
    for name, column in columns.items():
        expected = slowly(given, place, 7, np.ones(rows) if column is None else column)
        np.testing.assert_allclose(found[name], expected, rtol=1e-12, atol=1e-6 if name == "z" else 1e-12)


def test_both_loops_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    if not library.available():
        pytest.skip("no compiled loops")
    monkeypatch.setattr(tabulate, "STRIP", 100)  # several strips
    rng = np.random.default_rng(2)
    given, place, y = members(1234), rng.integers(0, 20, 1234), rng.normal(size=1234)
    compiled = tabulate.tabulate_groups(given, place, [y, None, y * y], 20)
    with library.numpy_only():
        plain = tabulate.tabulate_groups(given, place, [y, None, y * y], 20)
    for one, other in zip(compiled, plain, strict=True):
        np.testing.assert_array_equal(one, other)


def test_counts_of_codes() -> None:
    codes = np.random.default_rng(3).integers(0, 9, 200_000).astype(np.uint8)
    np.testing.assert_array_equal(count_codes(codes, 12), np.bincount(codes, minlength=12))
