"""Reading a learner's state: the per-group table, the alarm, a few lines of text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from multivalid.online.classic.experts import Experts
from multivalid.online.classic.setup import Setup
from multivalid.online.classic.transcript import Transcript

if TYPE_CHECKING:
    from multivalid.online.classic.engine import ClassicEngine


@dataclass(frozen=True)
class Alarm:
    """Evidence against "V rises by at most lipschitz × gap between neighbouring levels".

    Attributes
    ----------
    raised : bool
        Whether the evidence has ever reached 1/delta: if the assumption holds, that happens with probability at most delta,
        however long the stream.
    evidence : float
        The largest value so far of an average that starts at 1 and cannot be expected to grow while the assumption holds;
        NaN when the algorithm does not have one.
    round : int or None
        When it was raised.
    valid : bool
        False when outcomes came late or the algorithm is not B: then it proves nothing.
    advice : str
        What to do.

    Examples
    --------
    >>> from multivalid.online import OnlineMulticalibrator
    >>> learner = OnlineMulticalibrator("mean", groups=1, m=4, algorithm="B", seed=1)
    >>> learner.learn_one([True], 1.0)
    >>> learner.alarm.raised, learner.alarm.valid
    (False, True)
    """

    raised: bool
    evidence: float
    round: int | None
    valid: bool
    advice: str

    def __bool__(self) -> bool:
        return self.raised


def alarm_of(weights: Any, late: int, setup: Setup) -> Alarm:
    """The alarm of a learner."""
    if not isinstance(weights, Experts):
        return Alarm(False, float("nan"), None, False, f"algorithm {setup.algorithm!r} has no monitor; use algorithm='B'.")
    raised = weights.raised_at is not None
    advice = _advice(setup) if raised else "nothing to do."
    if not setup.promised:
        advice += " The rule 'lp-any' plays against labels that no law of bounded density has, and the monitor proves nothing."
    if late:
        advice += f" Outcomes came up to {late} rounds late, under which the monitor proves nothing."
    return Alarm(raised, weights.peak, weights.raised_at, late == 0 and setup.promised, advice)


def _advice(setup: Setup) -> str:
    if setup.facts.lipschitz is not None and setup.lipschitz >= setup.facts.lipschitz:
        # V of a single label cannot rise faster than this, so no larger constant would help.
        return (
            f"V of {setup.prop!r} never rises faster than lipschitz={setup.lipschitz:g}, so labels must have reacted to the level drawn "
            f"in their own round, against which this algorithm promises nothing: keep predictions from whoever makes the labels until "
            f"these are settled, or use algorithm='sharp'."
        )
    return (
        f"V rises more between levels than lipschitz={setup.lipschitz:g} allows: give a larger lipschitz=, or, where labels have "
        f"atoms, jitter=, or use algorithm='sharp', which needs neither; until then error() is exact but bound() does not apply."
    )


def bounds_of(weights: Any, late: int, setup: Setup) -> NDArray[np.float64]:
    """What is promised for K₂ of each group; infinite where nothing is."""
    bound: NDArray[np.float64] = weights.bound(late)
    return bound if setup.promised or setup.algorithm == "paper" else np.full_like(bound, np.inf)


def table_of(transcript: Transcript, setup: Setup, bound: NDArray[np.float64]) -> dict[str, NDArray[Any]]:
    """One row per group; errors are mass-multiplied, as in an audit."""
    total = max(transcript.weight, 1e-300)
    weight = transcript.n.sum(axis=0)
    with np.errstate(invalid="ignore"):
        prediction = np.where(weight > 0, setup.grid.points @ transcript.n / np.where(weight > 0, weight, 1.0), np.nan)
    return {
        "name": np.array(setup.members.names, dtype=object),
        "rows": transcript.rows.copy(),
        "weight": weight,
        "error": transcript.squared() / total,
        "l1": transcript.absolute() / total,
        "linf": transcript.largest() / total,
        "prediction": prediction,
        "bound": bound / total,
        "worst_level": setup.grid.points[transcript.worst_level()],
    }


def notes_of(engine: ClassicEngine) -> list[str]:
    """Lines for a terminal beyond error and bound."""
    notes = []
    if engine.setup.algorithm == "paper":
        notes.append("the bound is the printed one: what is proved for this algorithm bounds single cells, not their sum")
    elif np.isfinite(engine.bounds()).all():
        notes.append("the bound is for labels that do not react to the level drawn in their own round")
    if engine.alarm:
        notes.append(f"ALARM since round {engine.alarm.round:,}: {engine.alarm.advice}")
    return notes
