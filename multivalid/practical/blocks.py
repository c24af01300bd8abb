"""Groups as the fit counts them: codes for groups that exclude each other, lines of zeros and ones for the others.

The products of two blocks of codes are counts of pairs of codes, so that their cost follows rows and blocks, not groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multivalid.cells.tabulate import Histogram
from multivalid.groups.membership import Coded, Flagged, Membership
from multivalid.groups.recode import FEWEST
from multivalid.properties.base import Array

Index = NDArray[np.intp]


class CodeBlock(NamedTuple):
    """Groups `first`, `first` + 1, … (`size` of them): codes[i] is 0 where row i is in none, k in the k-th of them."""

    first: int
    size: int
    codes: NDArray[np.unsignedinteger[Any]]

    @property
    def groups(self) -> slice:
        """Their places among all groups."""
        return slice(self.first, self.first + self.size)

    def sums(self, values: Array) -> Array:
        """Σ of values over the rows of each group."""
        return _sums(self.codes, values, self.size + 1)[1:]

    def sums_of_lines(self, lines: NDArray[Any]) -> Array:
        """Σ of each line (lines × rows) over the rows of each group: lines × groups."""
        counted = Histogram(self.size + 1, 1, None)
        counted.add(self.codes, np.zeros(self.codes.size, dtype=np.intp), list(lines.astype(np.float64)))
        return np.asarray(counted.table()[0, :, : len(lines)].T)

    def sums_of_pairs(self, other: CodeBlock, values: Array) -> Array:
        """Σ of values over the rows of each pair of groups."""
        keys = self.codes * np.intp(other.size + 1) + other.codes
        return _sums(keys, values, (self.size + 1) * (other.size + 1)).reshape(self.size + 1, -1)[1:, 1:]


def _sums(keys: NDArray[Any], values: NDArray[Any], size: int) -> Array:
    return np.asarray(np.bincount(keys, values, size), dtype=np.float64)


@dataclass(frozen=True)
class GroupRows:
    """Groups of some rows, everyone left out: lines of those at `line_at`, codes of the others."""

    lines: NDArray[np.uint8]
    line_at: Index
    coded: tuple[CodeBlock, ...]

    def holds(self, group: int) -> NDArray[Any]:
        """Whether each row is in a group."""
        for block in self.coded:
            if block.first <= group < block.first + block.size:
                return np.asarray(block.codes == group - block.first + 1)
        return np.asarray(self.lines[np.searchsorted(self.line_at, group) if self.coded else group])

    def coded_total(self, shifts: Array) -> Array:
        """Σ of the shifts of the coded groups of each row."""
        total = np.zeros(self.lines.shape[1])
        for block in self.coded:
            amounts = np.zeros(block.size + 1)
            amounts[1:] = shifts[block.groups]
            total += amounts[block.codes]
        return total


@dataclass(frozen=True)
class Blocks:
    """Groups of all rows, everyone left out, lines packed."""

    flagged: Flagged
    line_at: Index
    coded: tuple[CodeBlock, ...]

    @classmethod
    def of(cls, membership: Membership) -> Blocks:
        """From the parts of a membership; few groups of a code are as quick as lines."""
        lines, line_at, coded, first = [], [], [], -1  # everyone comes first and does not count
        for part in membership.parts:
            if isinstance(part, Coded) and part.size >= FEWEST:
                coded.append(CodeBlock(first, part.size, part.codes))
            else:
                lines.append(part.lines()[1 if first < 0 else 0 :])
                line_at.append(np.arange(max(first, 0), first + part.size))
            first += part.size
        bits = lines[0] if len(lines) == 1 else np.concatenate([line for line in lines if len(line)] or lines[:1])
        return cls(Flagged(bits, membership.rows), np.concatenate(line_at), tuple(coded))

    def part(self, rows: slice) -> GroupRows:
        """Consecutive rows."""
        return GroupRows(self.flagged.dense(rows.start, rows.stop), self.line_at, self.coded and self.codes_of(rows))

    def codes_of(self, rows: slice) -> tuple[CodeBlock, ...]:
        """Codes of consecutive rows."""
        return tuple(block._replace(codes=block.codes[rows]) for block in self.coded)


def add_products(out: Array, coded: Sequence[CodeBlock], values: Array) -> None:
    """Add Σ of values over the rows of each pair of coded groups to a square table of all groups."""
    for k, one in enumerate(coded):
        places = np.arange(one.first, one.first + one.size)
        out[places, places] += one.sums(values)
        for other in coded[k + 1 :]:
            table = one.sums_of_pairs(other, values)
            out[one.groups, other.groups] += table
            out[other.groups, one.groups] += table.T
