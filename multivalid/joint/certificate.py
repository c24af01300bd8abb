"""What a fit of a pair guarantees: the certificate of a single property with two of most numbers, and what only pairs have."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from multivalid import json_checks as read
from multivalid.batch.certificate import Certificate, Check
from multivalid.joint.algorithm import BlockedPair

Two = tuple[float, float]
Counts = tuple[int, int]
_numbers = read.two(read.number_or_nan)  # NaN where no number is known: null in a file


def _blocked(value: Any, name: str) -> list[BlockedPair]:
    return [_blocked_cell(cell, f"{name}: a blocked cell") for cell in read.items(value, name)]


def _blocked_cell(cell: Any, name: str) -> BlockedPair:
    values = read.items(cell, name, len(BlockedPair._fields))
    side, group, first, second = (read.whole(v, name) for v in values[:4])
    return BlockedPair(side, group, first, second, *(read.number_or_nan(v, name) for v in values[4:]))


# What a value from a file must be, where that is not as in the certificate of a single property.
CHECKS: dict[str, Check] = {
    "alpha": _numbers,
    "error": read.two(read.number),
    "updates": read.two(read.whole),
    "least_drop": _numbers,
    "drop_bound": _numbers,
    "lipschitz": _numbers,
    "steepest": _numbers,
    "blocked": _blocked,
    "holdout_error": read.optional(_numbers),
    "holdout_debiased": read.optional(_numbers),
    "holdout_bound": read.optional(_numbers),
    "trivial": read.optional(_numbers),
    "error_before": read.optional(_numbers),
    "stage_alpha": read.number_or_nan,
    "argument": read.text,
    "printed_alpha": read.optional(read.number),
    "gamma_error": _numbers,
    "stage_error": read.number_or_nan,
    "passes": read.whole,
    "joint_score": read.optional(_numbers),
}


@dataclass(frozen=True, kw_only=True)
class JointCertificate(Certificate[Two, Counts, BlockedPair]):
    """What was asked of a pair, what was reached, and the bounds that hold; pairs of numbers are (first, second coordinate).

    Attributes
    ----------
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
    blocked : list of BlockedPair
        Cells that stay violated.
    joint_score : (float, float) or None
        Mean joint score of both coordinates before and after, for pairs that have one.
    holdout_error, holdout_debiased, holdout_bound : (float, float) or None
        Errors on rows not used, the same with the noise taken out, and bounds on the population's errors with probability 95 % (the
        debiased error and the bound of the second at the predicted γ⁰).

    The other fields are those of `Certificate`.

    Examples
    --------
    >>> import multivalid as mv
    >>> fitted = mv.multicalibrate([0.0, 0.5, 1.0] * 40, [[0.5, 0.9]] * 120, groups=[], property="mean_variance", mode="theorem", m=80)
    >>> fitted.certificate.status, fitted.certificate.error[1] <= fitted.certificate.alpha[1]
    ('converged', True)
    """

    CHECKS: ClassVar[dict[str, Check]] = Certificate.CHECKS | CHECKS
    ADDED: ClassVar[frozenset[str]] = Certificate.ADDED | {"initial", "optimal", "sample_bound", "holdout_bound", "asked"}

    alpha: Two
    error: Two
    updates: Counts
    least_drop: Two
    drop_bound: Two
    lipschitz: Two
    steepest: Two
    blocked: list[BlockedPair] = field(default_factory=list)
    holdout_error: Two | None = None
    holdout_debiased: Two | None = None
    holdout_bound: Two | None = None
    trivial: Two | None = None
    error_before: Two | None = None
    stage_alpha: float
    argument: str
    printed_alpha: float | None
    gamma_error: Two
    stage_error: float
    passes: int
    joint_score: Two | None = None

    def _reached(self) -> str:
        if not self.asked:
            return f"worst group errors {self.error[0]:.3g} and {self.error[1]:.3g} on the rows fitted ({self.mode} mode)."
        asked = self.argument if np.isnan(self.alpha[1]) else f"{self.alpha[1]:.3g} promised"
        return (
            f"worst group error {self.error[0]:.3g} of the first coordinate ({self.alpha[0]:.3g} asked), "
            f"{self.error[1]:.3g} of the second ({asked}); {self.mode} mode."
        )

    def _work(self) -> str:
        within = "" if self.update_bound is None else f", at most {self.update_bound:,} by the theorem"
        passes = "1 pass" if self.passes == 1 else f"{self.passes} passes"
        score = "" if self.joint_score is None else f"\nMean joint score {self.joint_score[0]:.6g} → {self.joint_score[1]:.6g}."
        return f"{self.updates[0]:,} + {self.updates[1]:,} updates in {passes}{within}.{score}"

    def _vacuous(self) -> str:
        if not self.asked:
            return super()._vacuous()
        assert self.trivial is not None
        found = [
            f"{'first' if k == 0 else 'second'} coordinate: at most {self.trivial[k]:.3g}, below {self.alpha[k]:.3g}"
            for k in (0, 1)
            if self.alpha[k] > self.trivial[k]
        ]
        return f"This promises nothing: a constant prediction has an error that is smaller ({'; '.join(found)})."

    def _stuck(self) -> str:
        if self.mode == "practical":
            return (
                f"{len(self.blocked)} cells are off beyond chance, and rows held out confirmed no correction of them (or a tie in the "
                f"labels forbids it)."
            )
        return (
            f"{len(self.blocked)} cells cannot be improved on these levels; a grid that covers the targets, a finer one, or jittered "
            f"labels help."
        )

    def _on_the_population(self) -> list[str]:
        if self.holdout_error is None:
            return []
        said = f"On rows held out: errors {self.holdout_error[0]:.3g} and {self.holdout_error[1]:.3g}"
        if self.holdout_bound is None:
            return [f"{said}."]
        bound = f"at most {self.holdout_bound[0]:.3g} and {self.holdout_bound[1]:.3g} on the population with probability 95 % (asymptotic)"
        return [f"{said}; {bound}, the second with V¹ at the predicted first."]
