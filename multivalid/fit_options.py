"""What a user fixes of a fit, besides the rows and the target; and what cannot go together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypedDict

from multivalid import validate
from multivalid.batch.control import Control, Progress
from multivalid.errors import InputError
from multivalid.grid import Grid, checked_grid
from multivalid.groups.remote import lazy_frame
from multivalid.properties import Target

MODES = ("practical", "theorem", "paper")
OnInterrupt = Literal["raise", "return"]


class FitOptions(TypedDict, total=False):
    """The options of `multicalibrate` that do not decide which class comes back, for its overloads; explained there."""

    data: Any
    grid: Grid | Any | None
    sample_weight: Any
    mode: str
    alpha: float | Any | None
    m: int | Any | None
    lipschitz: float | Any | None
    holdout: float | Any | None
    batched: bool
    max_updates: int | None
    progress: bool | Progress
    on_interrupt: OnInterrupt
    random_state: int
    features: Sequence[str] | None
    readable: bool
    blocks: Any
    time: Any
    positive: Any
    missing_rows: str
    missing: str | None
    losses: bool
    cluster: Any


class Asked(NamedTuple):
    """What the user fixed of a fit, besides the rows and the target."""

    mode: str
    grid: Any
    m: Any
    alpha: Any
    lipschitz: Any
    batched: bool
    control: Control
    seed: int

    def check(self, target: Target, max_updates: Any, on_interrupt: str) -> None:
        """Refuse options that do not go together."""
        if self.mode not in MODES:
            raise InputError(f"mode must be one of {', '.join(MODES)}, got {self.mode!r}.")
        if on_interrupt not in ("raise", "return"):
            raise InputError(f'on_interrupt must be "raise" or "return", got {on_interrupt!r}.')
        several = len(target.coordinates) > 1
        if self.grid is not None and not several:
            checked_grid(self.grid)
        if max_updates is not None:
            validate.count(max_updates, "max_updates", 0)
        if self.batched and (self.mode != "theorem" or several):
            what = ("a pair" if target.joint else repr(target)) if several else f"mode={self.mode!r}"
            raise InputError(f'batched=True is a way to run mode="theorem" for a single property, got {what}.')


def refuse_clusters(data: Any, others: tuple[Any, Any]) -> None:
    """Say where a fit cannot keep clusters whole, and what to do."""
    if lazy_frame(data) is not None:
        raise InputError(
            "cluster needs rows in memory, as rows held out are whole clusters; collect the frame, or a sample of whole clusters, and pass "
            "that as data=."
        )
    if any(other is not None for other in others):
        raise InputError("cluster=, blocks= and time= all say which rows belong together; give one of them.")
