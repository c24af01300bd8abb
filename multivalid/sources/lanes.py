"""Work on rows that pass by, on two cores: each lane takes every other part, in order, so that its sums are the same in every run."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, TypeVar

Item = TypeVar("Item")
Made = TypeVar("Made")
LANES = 2  # the same on every machine, or sums would differ in their last bits
WAITING = 2  # parts that may wait for a lane


def in_lanes(items: Iterable[Item], work: Callable[[int, Item], Made]) -> Iterator[Made]:
    """What `work` makes of each (lane, item), in the order of the items; loops of arrays leave the other lane room to run.

    Examples
    --------
    >>> list(in_lanes("abc", lambda lane, letter: (lane, letter)))
    [(0, 'a'), (1, 'b'), (0, 'c')]
    """
    with ExitStack() as stack:
        lanes = [stack.enter_context(ThreadPoolExecutor(1)) for _ in range(LANES)]
        running: deque[Future[Any]] = deque()
        for number, item in enumerate(items):
            if len(running) == LANES * WAITING:
                yield running.popleft().result()
            running.append(lanes[number % LANES].submit(work, number % LANES, item))
        while running:
            yield running.popleft().result()
