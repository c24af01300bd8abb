"""Random numbers whose whole state is two integers: a seed, and how many numbers have been used."""

from __future__ import annotations

import numpy as np

from multivalid import validate


class Draws:
    """Uniform numbers in [0, 1), one 64-bit step of the generator each.

    Parameters
    ----------
    seed : int, optional
        None takes one from the operating system; it is kept, so that a saved learner goes on exactly.
    used : int
        Numbers used so far.

    Examples
    --------
    >>> first = Draws(7)
    >>> numbers = [first.uniform() for _ in range(5)]
    >>> Draws(7, used=4).uniform() == numbers[4]
    True
    """

    def __init__(self, seed: int | None = None, used: int = 0) -> None:
        self.seed = (
            int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> 1) if seed is None else validate.count(seed, "seed", 0)
        )
        self.rewind(used)

    def rewind(self, used: int) -> None:
        """Go to the state after `used` numbers."""
        bits = np.random.PCG64(self.seed)
        self.used = used
        self._random = np.random.Generator(bits.advance(used) if used else bits).random

    def uniform(self) -> float:
        """The next number."""
        self.used += 1
        return float(self._random())
