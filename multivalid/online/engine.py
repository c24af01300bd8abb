"""What the learner asks of an algorithm."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from multivalid.online.draws import Draws

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Bits = NDArray[np.bool_]


class Play(Protocol):
    """A prediction between being made and its outcome."""

    @property
    def active(self) -> Any:
        """Numbers of the groups of its row."""

    @property
    def prediction(self) -> Any:
        """What was published: a number, or one per level."""


class Engine(Protocol):
    """State of an algorithm: a play is chosen, awaited, then settled or dropped."""

    @property
    def rounds(self) -> int:
        """Outcomes learned."""

    columns: int  # numbers per prediction

    @property
    def weight(self) -> float:
        """Σ of their weights."""

    def check_label(self, y: float) -> float:
        """The outcome as a number, or the library's error."""

    def check_base(self, base: Any) -> Any:
        """A model's prediction as a number (or one per level), or none."""

    def check_labels(self, labels: Array) -> None:
        """The same for many."""

    def shown(self, y: float, draws: Draws) -> float:
        """The label that is learned and kept."""

    def play(self, active: Index, base: Any, draws: Draws) -> Any:
        """A prediction from the present state."""

    def plays(self, rows: list[Index], base: Array, draws: Draws) -> list[Any]:
        """Predictions for many rows from the present state."""

    def begin(self, play: Any) -> None:
        """Its outcome is awaited."""

    def drop(self, play: Any) -> None:
        """Its outcome will never come."""

    def settle(self, play: Any, y: float, weight: float) -> None:
        """Its outcome."""

    def replay(self, members: Bits, base: Array, labels: Array, weights: Array) -> Array | None:
        """Row after row at once, or None where that is not possible: nothing has changed then."""

    def squared(self) -> Array:
        """K₂ of each group."""

    def bounds(self) -> Array:
        """What is promised for it; infinite where nothing is."""

    def table(self) -> dict[str, NDArray[Any]]:
        """One row per group."""

    def headline(self) -> str:
        """The first line of the summary."""

    def notes(self) -> list[str]:
        """Further lines, where there is something to say."""

    def state(self) -> dict[str, Any]:
        """Plain data."""

    def restore(self, state: dict[str, Any]) -> None:
        """Take over `state`."""

    def reopen(self, plays: Iterable[Any]) -> None:
        """Exactly these outcomes are awaited."""

    def play_to_json(self, play: Any) -> Any:
        """A play as plain data."""

    def play_from_json(self, data: Any) -> Any:
        """And back; an error where it does not fit."""
