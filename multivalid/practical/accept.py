"""Never worse than the input: a stage is kept only if rows that it was not fitted on confirm it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from multivalid.evaluators import Arrays, DenseMembers, pieces
from multivalid.practical.data import LinkRows, Matching
from multivalid.practical.model import Model
from multivalid.practical.predictor import eta_of
from multivalid.practical.shifts import ShiftRound
from multivalid.properties.base import Array

NEEDED_FOR_ANY = 2.0  # t of the held-out gain over the input below which the input is returned
NEEDED_FOR_MORE = 0.0  # t of the held-out gain over the last accepted stage

ORDER = ("group shifts", "bend", "twist", "products", "patches")


@dataclass(frozen=True)
class Candidate:
    """A stage fitted on part of the rows."""

    name: str
    model: Model
    ridge: float
    rounds: list[ShiftRound] = field(default_factory=list)

    def eta(self, rows: LinkRows) -> Array:
        """Its predictions on the link scale."""
        out = np.empty(len(rows))
        for part in pieces(len(rows)):
            members = DenseMembers(rows.membership, part.start, part.stop)
            out[part] = eta_of(Arrays(), self.model, self.rounds, rows.base[part], members)
        return out


def gains(base: Array, test: LinkRows, candidates: list[Candidate], loss: Matching) -> dict[str, Array]:
    """Weighted score gained over the input on each held-out row, by stage."""
    before = test.weights * loss.prop.score(base, test.labels)
    return {c.name: before - test.weights * loss.prop.score(loss.link.final(c.eta(test)), test.labels) for c in candidates}


def choose(parts: list[dict[str, Array]]) -> tuple[str | None, list[str]]:
    """The last stage that beats the one accepted before it, over all held-out parts; and what each stage gained, in words."""
    best: str | None = None
    accepted = np.zeros(sum(next(iter(part.values())).size for part in parts))
    report = []
    for name in ORDER:
        if not any(name in part for part in parts):
            continue
        gain = np.concatenate([part[_latest(part, name)] for part in parts])
        t = t_statistic(gain - accepted)
        better = t > (NEEDED_FOR_ANY if best is None else NEEDED_FOR_MORE)
        report.append(f"{name}: held-out score gain {gain.mean():.3g} (t = {t:.1f}), {'kept' if better else 'dropped'}")
        if better:
            best, accepted = name, gain
    return best, report


def t_statistic(values: Array) -> float:
    """Mean over its standard error; 0 where nothing varies."""
    spread = float(values.std())
    return 0.0 if spread == 0.0 else float(values.mean() / (spread / np.sqrt(values.size)))


def _latest(part: dict[str, Array], name: str) -> str:
    """The richest stage of this part up to `name` (a split may not have reached every stage)."""
    return next(known for known in reversed(ORDER[: ORDER.index(name) + 1]) if known in part)
