"""Groups given as bits that turn out to exclude each other become codes: what follows then costs one block, not one group each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from multivalid.groups.membership import Coded, Flagged, Membership, Part

FEWEST = 40  # groups that share a code: below, products of lines of bits are quicker than counts
PEEK = 1 << 8  # words that most pairs of groups overlap in already


def with_codes(membership: Membership) -> Membership:
    """The same groups in the same order, runs of them that exclude each other as codes.

    Examples
    --------
    >>> values = np.arange(90) % 45
    >>> given = Membership.from_dense(values[:, None] == np.arange(45))
    >>> [(type(part).__name__, part.size) for part in with_codes(given).parts]
    [('Flagged', 1), ('Coded', 45)]
    """
    parts: list[Part] = []
    for part in membership.parts:
        parts += [part] if isinstance(part, Coded) else _recode(part)
    return Membership.of(parts, membership.rows)


def _recode(part: Flagged) -> list[Part]:
    """A part of bits, cut where codes take over."""
    found: list[Part] = []
    waiting = 0  # first group that is in no part yet
    for start, stop in _runs(part):
        if stop - start >= FEWEST:
            found += [Flagged(part.bits[waiting:start], part.rows), _code_run(part, start, stop)]
            waiting = stop
    return [*found, Flagged(part.bits[waiting:], part.rows)] if found else [part]


def _runs(part: Flagged) -> Iterator[tuple[int, int]]:
    """First and last + 1 of consecutive groups no two of which share a row."""
    words, start = part.bits.view(np.uint64), 0
    union = np.zeros(words.shape[1], dtype=np.uint64)
    for group, line in enumerate(words):
        if (union[:PEEK] & line[:PEEK]).any() or (union & line).any():
            yield start, group
            start = group
            union[:] = line
        else:
            union |= line
    yield start, part.size


def _code_run(part: Flagged, start: int, stop: int) -> Coded:
    codes = np.zeros(part.rows, dtype=np.min_scalar_type(stop - start))
    for group in range(start, stop):
        codes[part.mask(group)] = group - start + 1
    return Coded(codes, stop - start)
