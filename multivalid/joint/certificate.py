"""What a fit of a pair guarantees, in numbers and in words."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np

from multivalid.batch.certificate import STATUS as BATCH_STATUS
from multivalid.errors import ModelFileError
from multivalid.joint.algorithm import BlockedPair
from multivalid.properties.base import Array

Two = tuple[float, float]
STATUS = (*BATCH_STATUS, "uncalibrated")


@dataclass(frozen=True)
class JointCertificate:
    """What was asked of a pair, what was reached, and the bounds that hold; pairs of numbers are (first, second coordinate).

    Attributes
    ----------
    status : str
        "converged", "blocked" (some cells violate the goal and no level improves them), "budget" (stopped early), or "uncalibrated"
        (the printed loop ended, yet the error is above what it promises).
    mode : str
        The rule that was followed.
    alpha : (float, float)
        α⁰ and α¹*: when converged, no group's error exceeds them on the rows fitted (NaN where no bound is known in advance).
    stage_alpha : float
        α¹, what stage 1 reaches with V¹ at the predicted γ⁰.
    argument : str
        What α¹* rests on.
    printed_alpha : float or None
        The printed constant with its anti-Lipschitz constant put right, where L_a and L_c are known.
    error : (float, float)
        The largest V-error of any group, both conditions of the definition; V¹ at the true Γ⁰ of each cell.
    gamma_error : (float, float)
        The same in terms of the properties themselves.
    stage_error : float
        The second error with V¹ at the predicted γ⁰.
    updates : (int, int)
        Updates of either coordinate.
    update_bound : int or None
        T⁰ + (T⁰ + 1)·T¹, the most updates of both together.
    passes : int
        How often both stages ran.
    potential : array
        Mean score of the first coordinate before the first update of it and after each.
    least_drop, drop_bound : (float, float)
        The smallest drop of either potential in one update (NaN without updates), and the bound it must respect.
    lipschitz, steepest : (float, float)
        The L that the guarantee uses, and the steepest V between levels in any cell visited.
    blocked : list of BlockedPair
        Cells that stay violated.
    joint_score : (float, float) or None
        Mean joint score of both coordinates before and after, for pairs that have one.
    holdout_error, holdout_debiased : (float, float) or None
        Errors on rows not used, and the same with the noise taken out (the second at the predicted γ⁰).
    note : str
        What a person should know besides.

    Examples
    --------
    >>> import multivalid as mv
    >>> fitted = mv.multicalibrate([0.0, 1.0] * 50, [[0.5, 0.9]] * 100, groups=[], property="mean_variance", mode="theorem", m=20)
    >>> fitted.certificate.status, fitted.certificate.error[1] <= fitted.certificate.alpha[1]
    ('converged', True)
    """

    status: str
    mode: str
    alpha: Two
    stage_alpha: float
    argument: str
    printed_alpha: float | None
    error: Two
    gamma_error: Two
    stage_error: float
    updates: tuple[int, int]
    update_bound: int | None
    passes: int
    potential: Array
    least_drop: Two
    drop_bound: Two
    lipschitz: Two
    steepest: Two
    blocked: list[BlockedPair] = field(default_factory=list)
    joint_score: Two | None = None
    holdout_error: Two | None = None
    holdout_debiased: Two | None = None
    note: str = ""

    def summary(self) -> str:
        """The certificate in a few lines for a person."""
        asked = "no bound in advance" if np.isnan(self.alpha[1]) else f"{self.alpha[1]:.3g} promised"
        lines = [
            f"{self.status}: worst group error {self.error[0]:.3g} of the first coordinate ({self.alpha[0]:.3g} asked), "
            f"{self.error[1]:.3g} of the second ({asked}); {self.mode} mode."
        ]
        within = "" if self.update_bound is None else f", at most {self.update_bound:,} by the theorem"
        passes = "1 pass" if self.passes == 1 else f"{self.passes} passes"
        lines.append(f"{self.updates[0]:,} + {self.updates[1]:,} updates in {passes}{within}.")
        if self.blocked:
            lines.append(f"{len(self.blocked)} cells {_why_blocked(self.mode)}")
        if self.joint_score is not None:
            lines.append(f"Mean joint score {self.joint_score[0]:.6g} → {self.joint_score[1]:.6g}.")
        if self.holdout_error is not None:
            lines.append(f"On rows held out: errors {self.holdout_error[0]:.3g} and {self.holdout_error[1]:.3g}.")
        return "\n".join([*lines, *([self.note] if self.note else [])])

    def __str__(self) -> str:
        return self.summary()

    def to_json(self) -> dict[str, Any]:
        """Plain data; NaN and infinities become null."""
        return {name: _plain(value) for name, value in asdict(self).items()}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> JointCertificate:
        """The certificate that `to_json` described, every field checked."""
        known = {f.name for f in fields(cls)}
        if set(data) != known:
            raise ModelFileError(f"certificate: fields {sorted(known ^ set(data))} are missing or unknown.")
        if data["status"] not in STATUS:
            raise ModelFileError(f"certificate: status must be one of {', '.join(STATUS)}, got {data['status']!r}.")
        made: dict[str, Any] = {"status": data["status"]}
        for name in ("mode", "argument", "note"):
            if not isinstance(data[name], str):
                raise ModelFileError(f"certificate: {name} must be text, got {data[name]!r}.")
            made[name] = data[name]
        for name in ("alpha", "error", "gamma_error", "least_drop", "drop_bound", "lipschitz", "steepest"):
            made[name] = _two(data[name], name)
        for name in ("joint_score", "holdout_error", "holdout_debiased"):
            made[name] = None if data[name] is None else _two(data[name], name)
        for name in ("stage_alpha", "stage_error"):
            made[name] = _number(data[name], name)
        made["printed_alpha"] = None if data["printed_alpha"] is None else _number(data["printed_alpha"], "printed_alpha")
        made["update_bound"] = None if data["update_bound"] is None else _whole(data["update_bound"], "update_bound")
        made["passes"] = _whole(data["passes"], "passes")
        updates = _list(data["updates"], "updates", 2)
        made["updates"] = (_whole(updates[0], "updates"), _whole(updates[1], "updates"))
        made["potential"] = np.array([_number(v, "potential") for v in _list(data["potential"], "potential")])
        made["blocked"] = [_blocked(cell) for cell in _list(data["blocked"], "blocked")]
        return cls(**made)


def _why_blocked(mode: str) -> str:
    if mode == "practical":
        return "are off beyond chance, but no correction of them held up on rows held out (or a tie in the labels forbids it)."
    return "cannot be improved on these levels; a grid that covers the targets, a finer one, or jittered labels help."


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _number(value: Any, name: str) -> float:
    if value is None:
        return float("nan")
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value):
        raise ModelFileError(f"certificate: {name} must be a finite number, got {value!r}.")
    return float(value)


def _whole(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ModelFileError(f"certificate: {name} must be a whole number, got {value!r}.")
    return value


def _list(value: Any, name: str, size: int | None = None) -> list[Any]:
    if not isinstance(value, list) or (size is not None and len(value) != size):
        raise ModelFileError(f"certificate: {name} must be a list{'' if size is None else f' of {size}'}, got {str(value)[:80]}.")
    return value


def _two(value: Any, name: str) -> Two:
    first, second = _list(value, name, 2)
    return _number(first, name), _number(second, name)


def _blocked(cell: Any) -> BlockedPair:
    values = _list(cell, "a blocked cell", len(BlockedPair._fields))
    side, group, first, second = (_whole(v, "blocked cell") for v in values[:4])
    return BlockedPair(side, group, first, second, *(_number(v, "blocked cell") for v in values[4:]))
