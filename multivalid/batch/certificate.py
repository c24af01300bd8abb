"""What a fit guarantees, in numbers and in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self

import numpy as np

from multivalid import json_checks as read
from multivalid.batch.moves import Blocked
from multivalid.errors import ModelFileError
from multivalid.properties.base import Array

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # a type variable with a default is in the standard library from 3.13 on

    N = TypeVar("N", default=float)
    W = TypeVar("W", default=int)
    B = TypeVar("B", default=Blocked, bound=tuple[Any, ...])
else:
    from typing import TypeVar

    N, W, B = TypeVar("N"), TypeVar("W"), TypeVar("B")

Check = Callable[[Any, str], Any]
STATUS = ("converged", "vacuous", "blocked", "budget", "uncalibrated")


def _status(value: Any, name: str) -> str:
    if value not in STATUS:
        raise ModelFileError(f"{name} must be one of {', '.join(STATUS)}, got {read.shown(value)}.")
    return str(value)


def _blocked(value: Any, name: str) -> list[Blocked]:
    return [_blocked_cell(cell, name) for cell in read.items(value, name)]


def _blocked_cell(cell: Any, name: str) -> Blocked:
    if not isinstance(cell, list) or len(cell) != len(Blocked._fields):
        raise ModelFileError(f"{name}: a blocked cell must have {len(Blocked._fields)} values, got {read.shown(cell)}.")
    where = [read.whole(value, name) for value in cell[:2]]
    known = [read.number(value, name) for value in cell[2:4]]
    return Blocked(where[0], where[1], known[0], known[1], *(read.number_or_nan(value, name) for value in cell[4:]))


# What a value from a file must be.
CHECKS: dict[str, Check] = {
    "status": _status,
    "mode": read.text,
    "alpha": read.number,
    "error": read.number,
    "updates": read.whole,
    "update_bound": read.optional(read.whole),
    "potential": read.numbers,
    "least_drop": read.number_or_nan,
    "drop_bound": read.number,
    "lipschitz": read.number_or_nan,
    "steepest": read.number_or_nan,
    "blocked": _blocked,
    "initial": read.number_or_nan,
    "optimal": read.number_or_nan,
    "sample_bound": read.optional(read.number),
    "holdout_error": read.optional(read.number),
    "holdout_debiased": read.optional(read.number),
    "holdout_bound": read.optional(read.number),
    "note": read.text,
    "asked": read.flag,
    "trivial": read.optional(read.number),
    "error_before": read.optional(read.number),
}


@dataclass(frozen=True, kw_only=True)
class Certificate(Generic[N, W, B]):
    """What was asked, what was reached, and the bounds that hold.

    Numbers are floats for a single property; `JointCertificate` has two of each, one per coordinate.

    Attributes
    ----------
    status : str
        "converged": the error asked for was reached, it is one worth asking for, and no group is off beyond chance: on rows held out where
        there are some, else on the rows fitted. "vacuous": it was reached, but a constant prediction reaches it too, or nothing was asked
        and the rows are too few for any test. "blocked": some cells violate the goal, or in practical mode groups are off beyond chance,
        and nothing improves them. "budget": stopped early. "uncalibrated": the loop ended above its promise, or reached it and groups
        are off beyond chance all the same.
    mode : str
        The rule that was followed.
    alpha : float
        The error asked for: when converged, no group's V-error exceeds it on the rows fitted.
    error : float
        The largest V-error of any group reached on the rows fitted.
    updates, update_bound : int
        Updates made, and the most that the theorem allows (None where there is no such bound, as in practical mode).
    potential : array
        Mean score (of the first coordinate) before the first update and after each.
    least_drop, drop_bound : float
        The smallest drop of the potential in one update (NaN without updates), and the bound it must respect.
    lipschitz, steepest : float
        The L that the guarantee uses, and the steepest V between levels in any cell visited.
    blocked : list
        Cells that stay violated: group, level, weight, identification, lipschitz, jump.
    initial, optimal : float
        Mean score of the rounded predictions at the start, and a lower bound on that of any predictor.
    sample_bound : float or None
        Bound on the population's error from the rows fitted and the number of updates, with probability 95 %.
    holdout_error, holdout_debiased, holdout_bound : float or None
        V-error on rows not used, the same with the noise taken out, and a bound on the population's error with probability 95 %.
    note : str
        What a person should know besides.
    asked : bool
        Whether the user gave alpha; in practical mode the tests of an audit decide otherwise, and alpha is a yardstick: the error of a
        group whose cells all lie at the edge of chance, or the error reached, if that is larger and no group is off.
    trivial : float or None
        The error that the best constant prediction has on the rows fitted: an alpha above it promises nothing. Without groups the best
        constant is right: there it is the error of the worst one on the levels, in practical mode and for pairs the mean of V² at the best
        one (the most that its error can be for any groups), or where that is 0 the error of the worst end of the range.
    error_before : float or None
        The largest V-error of any group before the first update; for pairs only where no update was made.

    Examples
    --------
    >>> import multivalid as mv
    >>> y, group = [0.125] * 50 + [0.875] * 50, [False] * 50 + [True] * 50
    >>> made = mv.multicalibrate(y, [0.5] * 100, groups=[group], mode="theorem", m=20).certificate
    >>> made.status, made.updates, made.error <= made.alpha <= made.trivial
    ('converged', 2, True)
    """

    CHECKS: ClassVar[dict[str, Check]] = CHECKS
    ADDED: ClassVar[frozenset[str]] = frozenset({"trivial", "error_before"})

    status: str
    mode: str
    alpha: N
    error: N
    updates: W
    update_bound: int | None
    potential: Array
    least_drop: N
    drop_bound: N
    lipschitz: N
    steepest: N
    blocked: list[B] = field(default_factory=list)
    initial: float = float("nan")
    optimal: float = float("nan")
    sample_bound: float | None = None
    holdout_error: N | None = None
    holdout_debiased: N | None = None
    holdout_bound: N | None = None
    note: str = ""
    asked: bool = True
    trivial: N | None = None
    error_before: N | None = None

    def summary(self) -> str:
        """The certificate in a few lines for a person."""
        lines = [f"{self.status}: {self._reached()}", self._work(), *self._why(), *self._on_the_population(), self.note]
        return "\n".join(line for line in lines if line)

    def _reached(self) -> str:
        goal = f"; {self.alpha:.3g} asked" if self.asked else ""
        return f"worst group error {self.error:.3g} on the rows fitted{goal} ({self.mode} mode)."

    def _work(self) -> str:
        """How many cells moved; in the practical mode most of the work is done before, by one fit of all groups."""
        within = "" if self.update_bound is None else f", at most {self.update_bound:,} by the theorem"
        moves = f"{self.updates:,} updates"
        if self.mode == "practical":
            moves = (
                f"{self.updates:,} cells moved after the fit of all groups" if self.updates else "No cell had to move on its own"
            )
        return f"{moves}{within}; mean score {self.potential[0]:.6g} → {self.potential[-1]:.6g}."

    def _why(self) -> list[str]:
        """What the status rests on, where it is not plain."""
        lines = []
        if self._was_met():
            lines.append("The predictions met this already: nothing had to be done.")
        if self.status == "vacuous":
            lines.append(self._vacuous())
        if self.blocked:
            lines.append(self._stuck())
        return lines

    def _was_met(self) -> bool:
        if self.error_before is None or np.asarray(self.updates).any():
            return False
        return not np.any(np.asarray(self.error_before) > np.asarray(self.alpha))  # nan: nothing is asked of that coordinate

    def _vacuous(self) -> str:
        if not self.asked:
            return "This promises nothing: the rows cannot tell of any group whether it is off."
        return f"This promises nothing: a constant prediction has an error of at most {self.trivial:.3g}, below the {self.alpha:.3g} asked."

    def _stuck(self) -> str:
        cells = [Blocked(*cell) for cell in self.blocked]
        worst = max(cells, key=lambda cell: cell.weight * cell.identification**2)
        if np.isnan(worst.jump):
            return f"{len(cells)} cells are off beyond chance, and rows held out confirmed no correction of them."
        return (
            f"{len(cells)} cells cannot be improved: between two levels V jumps by up to {worst.jump:.3g} (labels with ties); "
            f"a finer grid or jittered labels help."
        )

    def _on_the_population(self) -> list[str]:
        if self.holdout_error is not None and self.holdout_debiased is not None:
            said = f"On rows held out: error {self.holdout_error:.3g}, debiased {self.holdout_debiased:.3g}"
            if self.holdout_bound is None:
                return [f"{said}."]
            return [f"{said}; at most {self.holdout_bound:.3g} on the population with probability 95 % (asymptotic)."]
        if self.sample_bound is not None and self.trivial is not None and np.all(self.sample_bound > np.asarray(self.trivial)):
            return [
                f"On the population nothing is promised: the bound for so many rows, groups and updates, {self.sample_bound:.3g}, is "
                f"above the {self.trivial:.3g} of a constant prediction; hold rows out for a sharper one."
            ]
        if self.sample_bound is not None:
            return [f"On the population: at most {self.sample_bound:.3g} with probability 95 %; hold rows out for a sharper bound."]
        return []

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        from multivalid.notebook import panel

        return panel(f"Certificate: {self.status}", self.summary())

    def to_json(self) -> dict[str, Any]:
        """Plain data; infinities and NaN become null."""
        return {one.name: read.plain(getattr(self, one.name)) for one in fields(self)}

    @classmethod
    def from_json(cls, data: Any, *, complete: bool = True) -> Self:
        """The certificate that `to_json` described, every field checked.

        Where the file need not be `complete`, it is of version 2, which lacks the fields `ADDED` since.
        """
        if not isinstance(data, dict):
            raise ModelFileError("certificate must be an object.")
        wanted = set(cls.CHECKS) - (set() if complete else cls.ADDED - set(data))
        content = read.record(data, "certificate", wanted)
        return cls(**{name: cls.CHECKS[name](value, f"certificate: {name}") for name, value in content.items()})
