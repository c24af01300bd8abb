"""Long names in a narrow column: what is left out is what they have in common, never what tells them apart."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

SHOWN = 12  # letters of the difference that must be seen
WIDEST = 34  # letters of a name in a table for a terminal


def short_names(names: Sequence[str], most: int | None) -> list[str]:
    """The names in at most so many letters each (None: any number), as different as they were; in full where that cannot be done.

    Examples
    --------
    >>> short_names(["city = Neustadt an der Weinstraße", "city = Neustadt an der Orla", "all"], 20)
    ['city =…er Weinstraße', 'city =…t an der Orla', 'all']
    """
    if most is None:
        return list(names)
    cut = [_cut(name, names, most) for name in names]
    return cut if len(set(cut)) == len(set(names)) else list(names)


def _alike(name: str, other: str) -> int:
    """With how many letters both begin."""
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(name, other, strict=False)))


def _cut(name: str, names: Sequence[str], most: int) -> str:
    if len(name) <= most:
        return name
    alike = max((_alike(name, other) for other in names if other != name), default=0)
    if alike + SHOWN < most:
        return name[: most - 1] + "…"
    head = name[: most // 3]
    room = most - len(head) - 1
    start = max(alike - 2, len(head))
    if len(name) - start <= room:
        return f"{head}…{name[-room:]}"
    return f"{head}…{name[start : start + room - 1]}…"
