"""How many combinations of values there are, guessed from a sample of the rows, each question asked once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from multivalid.groups.family import FittedGroups
from multivalid.groups.lazy import COUNT
from multivalid.groups.remote import Frame, draw

PROBE = 200_000  # rows looked at


@dataclass
class Guesses:
    """Of the rows of a frame, and so of any part of them.

    `columns` are those that will be asked for: one sample serves all. `tallied` are the combinations that occur with how many rows have
    each, where they have been counted: nothing is guessed then.
    """

    frame: Frame
    rows: int
    columns: tuple[str, ...] = ()
    tallied: nw.DataFrame[Any] | None = None
    _known: dict[tuple[str, ...], float] = field(default_factory=dict)
    _patterns: dict[tuple[str, ...], float] = field(default_factory=dict)
    _drawn: nw.DataFrame[Any] | None = None

    def combinations(self, columns: Sequence[str]) -> float:
        """About how many combinations of values these columns take."""
        names = tuple(columns)
        if not names:
            return 1
        if names not in self._known:
            self._known[names] = self._expected(self._often(names)[1])
        return self._known[names]

    def patterns(self, groups: FittedGroups) -> float:
        """About how many combinations of groups there are."""
        names = groups.columns
        if not names:
            return 1
        if groups.names not in self._patterns:
            found, often = self._often(names)
            members = groups.membership(found.select(list(names)).to_native(), n_rows=len(found))
            shown = np.bincount(members.patterns().code, weights=often).astype(np.int64)
            self._patterns[groups.names] = self._expected(shown)
        return self._patterns[groups.names]

    def _expected(self, often: NDArray[np.int64]) -> float:
        return float(often.size) if self.tallied is not None else expected_distinct(often, self.rows)

    def _often(self, names: tuple[str, ...]) -> tuple[nw.DataFrame[Any], NDArray[np.int64]]:
        """Combinations in a sample (or in all rows, where they are tallied), and how often each occurs there."""
        if self.tallied is not None:
            found = self.tallied.group_by(list(names)).agg(nw.col(COUNT).sum())
        else:
            if self._drawn is None or not set(names) <= set(self._drawn.columns):
                self._drawn, _ = draw(self.frame.select(list(dict.fromkeys([*names, *self.columns]))), PROBE, self.rows)
            found = self._drawn.group_by(list(names)).agg(nw.len().alias(COUNT))
        return found, np.asarray(found[COUNT].to_numpy(), dtype=np.int64)


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
