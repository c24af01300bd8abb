"""What a fit of several columns guarantees: a certificate per column, of the predictions after the constraint, and the loss of all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from multivalid import json_checks as read
from multivalid.batch.certificate import STATUS, Certificate
from multivalid.errors import ModelFileError
from multivalid.properties.base import Array

FIELDS = ("mode", "keys", "parts", "potential", "holdout_loss", "broken", "note")


@dataclass(frozen=True, kw_only=True)
class SeveralCertificate(Certificate):
    """What was asked and reached for each column; made with `of`. The numbers of `Certificate` are of all columns together: the worst
    status, the largest errors, all updates.

    Attributes
    ----------
    mode : str
        The rule that was followed.
    keys : tuple of str
        What the columns are called.
    parts : tuple of Certificate
        One per column, measured on the predictions as they are handed out: after the constraint.
    potential : array
        Mean loss of all columns together (summed pinball loss, or log loss) of the predictions given, their constraint restored, and of
        the predictions handed out; on the rows fitted.
    holdout_loss : array or None
        The same two on rows held out.
    broken : int
        How many of the rows fitted broke the constraint in the predictions given.
    note : str
        What a person should know besides.

    Examples
    --------
    >>> import multivalid as mv
    >>> y = [float(k % 10) for k in range(200)]
    >>> made = mv.multicalibrate(y, [[2.0, 5.0]] * 200, groups=[], property=mv.Quantiles([0.2, 0.8]), mode="theorem", m=20)
    >>> made.certificate.keys, len(made.certificate.parts)
    (('quantile 0.2', 'quantile 0.8'), 2)
    """

    keys: tuple[str, ...]
    parts: tuple[Certificate, ...]
    holdout_loss: Array | None = None
    broken: int = 0

    @classmethod
    def of(
        cls,
        *,
        mode: str,
        keys: tuple[str, ...],
        parts: tuple[Certificate, ...],
        potential: Array,
        holdout_loss: Array | None = None,
        broken: int = 0,
        note: str = "",
    ) -> SeveralCertificate:
        """From the certificates of the columns."""
        held = [part.holdout_error for part in parts if part.holdout_error is not None]
        bounds = [part.update_bound for part in parts if part.update_bound is not None]
        return cls(
            status=max((part.status for part in parts), key=STATUS.index),
            mode=mode,
            alpha=max(part.alpha for part in parts),
            error=max(part.error for part in parts),
            updates=sum(part.updates for part in parts),
            update_bound=sum(bounds) if len(bounds) == len(parts) else None,
            potential=potential,
            least_drop=min(_known(part.least_drop for part in parts)),
            drop_bound=min(part.drop_bound for part in parts),
            lipschitz=max(_known(part.lipschitz for part in parts)),
            steepest=max(_known(part.steepest for part in parts)),
            holdout_error=max(held) if held else None,
            note=note,
            asked=any(part.asked for part in parts),
            keys=keys,
            parts=parts,
            holdout_loss=holdout_loss,
            broken=broken,
        )

    def summary(self) -> str:
        """The certificate in a few lines for a person."""
        lines = [f"{self.status}: {len(self.parts)} columns, measured after their constraint."]
        for key, part in zip(self.keys, self.parts, strict=True):
            first, *rest = part.summary().splitlines()
            lines += [f"{key}: {first}", *(f"  {line}" for line in rest)]
        lines.append(f"Mean loss of all columns: {self.potential[0]:.6g} → {self.potential[-1]:.6g} on the rows fitted.")
        if self.holdout_loss is not None:
            lines.append(f"On rows held out: {self.holdout_loss[0]:.6g} → {self.holdout_loss[-1]:.6g}.")
        return "\n".join([*lines, *([self.note] if self.note else [])])

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        parts = [part.to_json() for part in self.parts]  # the numbers of all columns follow from them
        return {name: parts if name == "parts" else read.plain(getattr(self, name)) for name in FIELDS}

    @classmethod
    def from_json(cls, data: Any, *, complete: bool = True, keys: tuple[str, ...] = ()) -> SeveralCertificate:
        """The certificate that `to_json` described, every field checked; `keys` are those of the model's target."""
        found = read.record(data, "certificate", FIELDS)
        names = tuple(read.text(key, "certificate: keys") for key in read.items(found["keys"], "certificate: keys", len(keys)))
        if names != keys:
            raise ModelFileError(f"certificate: keys must be {list(keys)}, got {read.shown(list(names))}.")
        parts = read.items(found["parts"], "certificate: parts", len(keys))
        return cls.of(
            mode=read.text(found["mode"], "certificate: mode"),
            keys=keys,
            parts=tuple(Certificate.from_json(part, complete=complete) for part in parts),
            potential=_two(found["potential"], "certificate: potential"),
            holdout_loss=None if found["holdout_loss"] is None else _two(found["holdout_loss"], "certificate: holdout_loss"),
            broken=read.whole(found["broken"], "certificate: broken"),
            note=read.text(found["note"], "certificate: note"),
        )


def _known(values: Iterable[float]) -> list[float]:
    """Those that are numbers; one NaN where none is."""
    return [value for value in values if value == value] or [float("nan")]


def _two(value: Any, name: str) -> Array:
    return np.asarray(read.numbers(read.items(value, name, 2), name))
