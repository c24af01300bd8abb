"""What a fit guarantees, in numbers and in words."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np

from multivalid.batch.algorithm import Blocked
from multivalid.errors import ModelFileError
from multivalid.properties.base import Array
from multivalid.storage import is_number

STATUS = ("converged", "blocked", "budget")


@dataclass(frozen=True)
class Certificate:
    """What was asked, what was reached, and the bounds that hold.

    Attributes
    ----------
    status : str
        "converged", "blocked" (some cells violate the goal and no level improves them), or "budget" (stopped early).
    mode : str
        The rule that was followed.
    alpha : float
        The error asked for: when converged, no group's V-error exceeds it on the rows fitted.
    error : float
        The largest V-error of any group reached on the rows fitted.
    updates, update_bound : int
        Updates made, and the most that the theorem allows (None where there is no such bound, as in practical mode).
    initial, optimal : float
        Mean score of the rounded predictions at the start, and a lower bound on that of any predictor.
    potential : array
        Mean score before the first update and after each.
    least_drop, drop_bound : float
        The smallest drop of the potential in one update (NaN without updates), and the bound it must respect.
    lipschitz, steepest : float
        The L that the guarantee uses, and the steepest V between levels in any cell visited.
    blocked : list
        Cells that stay violated: group, level, weight, identification, lipschitz, jump.
    sample_bound : float
        Bound on the population's error from the rows fitted and the number of updates, with probability 95 %.
    holdout_error, holdout_debiased, holdout_bound : float or None
        V-error on rows not used, the same with the noise taken out, and a bound on the population's error with probability 95 %.
    note : str
        What a person should know besides.
    asked : bool
        Whether the user gave alpha; in practical mode it is otherwise the error that chance alone would allow.

    Examples
    --------
    >>> import multivalid as mv
    >>> fitted = mv.multicalibrate([0.9] * 4, [0.1] * 4, groups=[], mode="theorem", m=10)
    >>> fitted.certificate.status, fitted.certificate.updates, fitted.certificate.error <= fitted.certificate.alpha
    ('converged', 1, True)
    """

    status: str
    mode: str
    alpha: float
    error: float
    updates: int
    update_bound: int | None
    initial: float
    optimal: float
    potential: Array
    least_drop: float
    drop_bound: float
    lipschitz: float
    steepest: float
    blocked: list[Blocked] = field(default_factory=list)
    sample_bound: float | None = None
    holdout_error: float | None = None
    holdout_debiased: float | None = None
    holdout_bound: float | None = None
    note: str = ""
    asked: bool = True

    def summary(self) -> str:
        """The certificate in a few lines for a person."""
        within = "" if self.update_bound is None else f", at most {self.update_bound:,} by the theorem"
        goal = f"{self.alpha:.3g} asked" if self.asked else f"chance alone allows {self.alpha:.3g}"
        lines = [
            f"{self.status}: worst group error {self.error:.3g} on the rows fitted; {goal} ({self.mode} mode).",
            f"{self._moves()}{within}; mean score {self.potential[0]:.6g} → {self.potential[-1]:.6g}.",
        ]
        if self.mode == "practical" and self.status == "blocked" and not self.blocked:
            lines.append(
                "No cell is off beyond chance: what is left above the error asked cannot be told from noise on these rows."
            )
        if self.blocked:
            worst = max(self.blocked, key=lambda cell: cell.weight * cell.identification**2)
            lines.append(
                f"{len(self.blocked)} cells are off beyond chance, but no correction of them held up on rows held out."
                if np.isnan(worst.jump)
                else f"{len(self.blocked)} cells cannot be improved: between two levels V jumps by up to {worst.jump:.3g} "
                f"(labels with ties); a finer grid or jittered labels help."
            )
        if self.holdout_error is not None and self.holdout_debiased is not None and self.holdout_bound is not None:
            lines.append(
                f"On rows held out: error {self.holdout_error:.3g}, debiased {self.holdout_debiased:.3g}; "
                f"at most {self.holdout_bound:.3g} on the population with probability 95 %."
            )
        elif self.sample_bound is not None:
            lines.append(
                f"On the population: at most {self.sample_bound:.3g} with probability 95 %; hold rows out for a sharper bound."
            )
        return "\n".join([*lines, *([self.note] if self.note else [])])

    def _moves(self) -> str:
        """How many cells moved; in the practical mode most of the work is done before, by one fit of all groups."""
        if self.mode == "practical":
            return f"{self.updates:,} cells moved after the fit of all groups" if self.updates else "No cell had to move on its own"
        return f"{self.updates:,} updates"

    def __str__(self) -> str:
        return self.summary()

    def to_json(self) -> dict[str, Any]:
        """Plain data; infinities and NaN become null."""
        data = asdict(self)
        data["potential"] = self.potential.tolist()
        data["blocked"] = [[_plain(value) for value in cell] for cell in self.blocked]
        return {name: _plain(value) for name, value in data.items()}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Certificate:
        """The certificate that `to_json` described, every field checked."""
        known = {f.name for f in fields(cls)}
        if set(data) != known:
            raise ModelFileError(f"certificate: fields {sorted(known ^ set(data))} are missing or unknown.")
        if data["status"] not in STATUS:
            raise ModelFileError(f"certificate: status must be one of {', '.join(STATUS)}, got {str(data['status'])[:40]}.")
        for name in ("mode", "note"):
            if not isinstance(data[name], str):
                raise ModelFileError(f"certificate: {name} must be text, got {str(data[name])[:40]}.")
        if not isinstance(data["asked"], bool):
            raise ModelFileError(f"certificate: asked must be true or false, got {str(data['asked'])[:40]}.")
        made = dict(data)
        for name in _NUMBERS:
            made[name] = _number(data[name], name)
        for name in _MAYBE:
            made[name] = _maybe(data[name], name)
        for name in ("sample_bound", "holdout_error", "holdout_debiased", "holdout_bound"):
            made[name] = None if data[name] is None else _number(data[name], name)
        for name in ("updates", "update_bound"):
            if not (data[name] is None and name == "update_bound"):
                made[name] = _whole(data[name], name)
        made["potential"] = np.array([_number(value, "potential") for value in _list(data["potential"], "potential")])
        made["blocked"] = [_blocked(cell) for cell in _list(data["blocked"], "blocked")]
        return cls(**made)


_NUMBERS = ("alpha", "error", "initial", "optimal", "drop_bound")
_MAYBE = ("least_drop", "lipschitz", "steepest")  # NaN where there is no such number; null in a file


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _maybe(value: Any, name: str) -> float:
    return float("nan") if value is None else _number(value, name)


def _number(value: Any, name: str) -> float:
    if not is_number(value):
        raise ModelFileError(f"certificate: {name} must be a finite number, got {str(value)[:40]}.")
    return float(value)


def _whole(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise ModelFileError(f"certificate: {name} must be a whole number, got {str(value)[:40]}.")
    return value


def _list(value: Any, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise ModelFileError(f"certificate: {name} must be a list, got {type(value).__name__}.")
    return value


def _blocked(cell: Any) -> Blocked:
    if not isinstance(cell, list) or len(cell) != len(Blocked._fields):
        raise ModelFileError(f"certificate: a blocked cell must have {len(Blocked._fields)} values, got {str(cell)[:80]}.")
    group, level, weight, identification, lipschitz, jump = cell
    return Blocked(
        _whole(group, "blocked group"),
        _whole(level, "blocked level"),
        _number(weight, "blocked weight"),
        _number(identification, "blocked identification"),
        _maybe(lipschitz, "blocked lipschitz"),
        _maybe(jump, "blocked jump"),
    )
