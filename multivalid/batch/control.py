"""How long a fit may run, who hears of it, and what becomes of it when it is interrupted."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

Progress = Callable[[int, float, float], None]  # updates made, worst error, mean score
INTERRUPTED = "Interrupted by Ctrl-C before the fit was finished."


@dataclass(frozen=True)
class Control:
    """What the user asked for about the run itself.

    Attributes
    ----------
    max_updates : int or None
        Stop after this many updates.
    progress : callable, bool or None
        Receives updates, worst error and mean score as the run goes on; True writes them to standard error.
    keep_interrupted : bool
        After Ctrl-C, return what was reached; without it the interruption goes on to the caller, as it does everywhere in Python.
    """

    max_updates: int | None = None
    progress: bool | Progress | None = None
    keep_interrupted: bool = False

    def tell(self, updates: int, error: float, potential: float) -> None:
        """Pass the state of the run on to the user."""
        if self.progress:
            (self.progress if callable(self.progress) else _print_progress)(updates, error, potential)

    def room(self, updates: int, wanted: int = 1) -> int:
        """How many of the `wanted` further updates are allowed after so many."""
        return wanted if self.max_updates is None else max(min(wanted, self.max_updates - updates), 0)


UNLIMITED = Control()


def _print_progress(updates: int, error: float, potential: float) -> None:
    sys.stderr.write(f"\r{updates:,} updates, worst error {error:.3g}, mean score {potential:.6g} ")
    sys.stderr.flush()
