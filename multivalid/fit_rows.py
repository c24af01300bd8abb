"""Rows for a fit: opened where they live, with what to hold out; and the columns of theirs in which groups may be found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import narwhals as nw

from multivalid.errors import InputError
from multivalid.groups.remote import Frame, draw, fetch, gather, lazy_frame
from multivalid.properties import Property, Target
from multivalid.sources.engine_opening import open_engine
from multivalid.sources.given import Given
from multivalid.sources.marks import holds
from multivalid.sources.open import Source
from multivalid.sources.rows import open_rows

SAMPLE = 1_000_000  # rows of a lazy frame that come to the driver, where columns of it are searched


@dataclass(frozen=True)
class Searched:
    """The columns in which groups that nobody named may be found, and which rows belong together.

    Attributes
    ----------
    label, used : what the labels are called, and other arguments that may name a column: no groups are made of these
    """

    features: Sequence[str] | None
    readable: bool
    blocks: Any
    time: Any
    label: str | None
    used: dict[str, str]

    @classmethod
    def of(cls, features: Sequence[str] | None, readable: bool, given: Given) -> Searched:
        """What the user asked for besides named groups."""
        blocks, time, cluster = (given.others[name] for name in ("blocks", "time", "cluster"))
        used = given.names
        return cls(features, readable, blocks if cluster is None else cluster, time, used.pop("y_true", None), used)

    def check(self, target: Target, mode: str, data: Any) -> None:
        """Refuse what makes no sense."""
        if self.features is None:
            raise InputError("readable=, blocks= and time= go with features=, the columns in which groups may be found.")
        if mode != "practical":
            raise InputError(f'features= goes with mode="practical", got mode={mode!r}.')
        if target.joint:
            raise InputError(
                f"features= is not for pairs, got {target!r}; discover(…, property=…) looks at one coordinate after the other: name the "
                f"groups that it finds, `.groups`, in groups=."
            )
        if data is None:
            raise InputError("features= names columns, but data=None; pass the frame as data=.")
        if self.blocks is not None and self.time is not None:
            raise InputError("blocks= and time= both say which rows belong together; give one of them.")


class Opened(NamedTuple):
    """Rows for a fit, what of them to hold out, and a sentence where they are a part only."""

    rows: Source
    holdout: Any
    note: str = ""


def open_to_fit(target: Target, given: Given, searched: Searched | None, seed: int, mode: str) -> Opened:
    """Rows where they live, checked; those of a lazy frame are fetched where every label is needed, and sampled for a search."""
    data, holdout, note = given.data, given.others["holdout"], ""
    frame = lazy_frame(data)
    if frame is not None and isinstance(target, Property):
        if searched is None:
            stays = open_engine(
                given.y_true,
                given.y_pred,
                groups=given.groups,
                frame=frame,
                sample_weight=given.sample_weight,
                prop=target,
                holdout=holdout,
                copying=mode == "practical",
            )
            return Opened(stays, holdout)
        data, note = _sample(frame, seed)
    elif frame is not None:
        data = gather(frame, f"{'pairs' if target.joint else 'several columns'} are calibrated")
    rows = open_rows(
        given.y_true, given.y_pred, groups=given.groups, data=data, sample_weight=given.sample_weight, width=len(target.coordinates),
        target=target, cluster=given.others["cluster"],
    )  # fmt: skip
    if target.joint:
        target.check_sides(rows.columns, rows.labels, most=0.5)  # a fit repairs what crosses here and there
    return Opened(rows, holds(holdout, data, "holdout") if isinstance(holdout, str) else holdout, note)


def _sample(frame: Frame, seed: int) -> tuple[Any, str]:
    total = int(fetch(frame.select(nw.len().alias("n")))["n"].item())
    drawn, at_random = draw(frame, SAMPLE, total, seed)
    part = f"Fitted on {'a random sample of' if at_random else 'the first'} {len(drawn):,} of {total:,} rows."
    return drawn.to_native(), part if len(drawn) < total else ""
