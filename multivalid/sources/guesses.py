"""How many combinations of values there are, guessed from a sample of the rows, each question asked once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from multivalid.groups.family import FittedGroups
from multivalid.groups.remote import Frame, draw

PROBE = 200_000  # rows looked at


@dataclass
class Guesses:
    """Of the rows of a frame, and so of any part of them."""

    frame: Frame
    rows: int
    _known: dict[tuple[str, ...], float] = field(default_factory=dict)
    _patterns: dict[tuple[str, ...], float] = field(default_factory=dict)

    def combinations(self, columns: Sequence[str]) -> float:
        """About how many combinations of values these columns take."""
        names = tuple(columns)
        if not names:
            return 1
        if names not in self._known:
            self._known[names] = expected_distinct(self._often(names)[1], self.rows)
        return self._known[names]

    def patterns(self, groups: FittedGroups) -> float:
        """About how many combinations of groups there are."""
        names = groups.columns
        if not names:
            return 1
        if groups.names not in self._patterns:
            found, often = self._often(names)
            self._known[names] = expected_distinct(often, self.rows)
            members = groups.membership(found.select(list(names)).to_native(), n_rows=len(found))
            shown = np.bincount(members.patterns().code, weights=often).astype(np.int64)
            self._patterns[groups.names] = expected_distinct(shown, self.rows)
        return self._patterns[groups.names]

    def _often(self, names: tuple[str, ...]) -> tuple[nw.DataFrame[Any], NDArray[np.int64]]:
        """Combinations in a sample, and how often each occurs in it."""
        drawn, _ = draw(self.frame.select(list(names)), PROBE, self.rows)
        counted = max(drawn.columns, key=len) + " rows"  # longer than any, so it is none of them
        found = drawn.group_by(drawn.columns).agg(nw.len().alias(counted))
        return found, np.asarray(found[counted].to_numpy(), dtype=np.int64)


def expected_distinct(often: NDArray[np.int64], rows: int) -> float:
    """A guess of the number of distinct values among `rows` rows, from how often values occur in a sample of them.

    The larger of two: values seen once stand for √(rows/sample) of their kind, which is off by at most that factor whatever the
    data; and Chao's, f₁²/2f₂ for the unseen, which is right where values are about equally frequent. A guess too low would cost
    memory, one too high only the detour.

    Examples
    --------
    >>> expected_distinct(np.array([50, 50]), 10_000)
    2.0
    >>> expected_distinct(np.ones(100, dtype=int), 10_000)
    5050.0
    """
    once, twice = int(np.count_nonzero(often == 1)), int(np.count_nonzero(often == 2))
    spread = float(np.sqrt(rows / max(int(often.sum()), 1)) * once + (often.size - once))
    even = often.size + once * (once - 1) / (2 * (twice + 1))
    return min(max(spread, even), float(rows))
