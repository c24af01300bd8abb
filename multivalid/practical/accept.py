"""Never worse than the input: a stage is kept only if rows that it was not fitted on confirm it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from multivalid.evaluators import Arrays, DenseMembers, pieces
from multivalid.practical.data import LinkRows, Matching, unit_numbers
from multivalid.practical.model import Model
from multivalid.practical.predictor import eta_of
from multivalid.practical.shift_round import ShiftRound
from multivalid.properties.base import Array

NEEDED_FOR_ANY = 2.0  # t of the held-out gain over the input below which the input is returned
NEEDED_ROWS = 30.0  # rows that share the sum of squared gains, below which t means nothing (no event among those held out, say)
EACH_SIDE = 5  # held-out outcomes needed on either side of the input, where the law of V is not known …
SEEN_ENOUGH = 1000  # … and they are fewer than this: what a thousand rows have not shown is taken to be no more than rare
NEEDED_FOR_MORE = 0.0  # t of the held-out gain over the last accepted stage

ORDER = ("group shifts", "bend", "twist", "products", "patches")


@dataclass(frozen=True)
class Candidate:
    """A stage fitted on part of the rows."""

    name: str
    model: Model
    ridge: float
    rounds: list[ShiftRound] = field(default_factory=list)

    @classmethod
    def untouched(cls, rows: LinkRows) -> Candidate:
        """The input as it is."""
        return cls("input", Model.new(rows.base, rows.membership.groups - 1), 1.0)

    def eta(self, rows: LinkRows) -> Array:
        """Its predictions on the link scale."""
        out = np.empty(len(rows))
        for part in pieces(len(rows)):
            members = DenseMembers(rows.membership, part.start, part.stop)
            out[part] = eta_of(Arrays(), self.model, self.rounds, rows.base[part], members)
        return out


def gains(base: Array, test: LinkRows, candidates: list[Candidate], loss: Matching) -> dict[str, Array]:
    """Weighted score gained over the input on each held-out row, by stage; on each cluster, per row, where rows share their luck."""
    before = test.weights * loss.prop.score(base, test.labels)
    rows = {c.name: before - test.weights * loss.prop.score(loss.link.final(c.eta(test)), test.labels) for c in candidates}
    if test.cluster is None:
        return rows
    unit = unit_numbers(len(test), test.cluster)
    share = (unit[-1] + 1) / unit.size  # so that the mean stays that of rows
    return {name: share * np.bincount(unit, weights=gain) for name, gain in rows.items()}


@dataclass(frozen=True)
class InputRight:
    """What chance would do on a held-out part if the input were right.

    A hundred rows without an event gain alike when 0.02 is lowered to 0, and nothing in them says how much an event would cost.

    Attributes
    ----------
    noise : variance of each gain, by stage; empty where the law of V is not known
    above, below : how many rows have V above and below 0 at the input
    """

    noise: dict[str, Array]
    above: int
    below: int


def are_events(labels: Array, base: Array) -> bool:
    """Whether labels say that an event happened: all are 0 or 1, and if all are equal, predictions could be chances."""
    told = bool(np.isin(labels, (0.0, 1.0)).all())
    return told and bool(labels.min() < labels.max() or ((base >= 0) & (base <= 1)).all())


def input_right(base: Array, test: LinkRows, candidates: list[Candidate], loss: Matching, *, binary: bool) -> InputRight:
    """For events (`binary`) and for quantiles V has two values, and its variance is known when the input is right."""
    prop = loss.prop
    v = np.asarray(prop.identify(base, test.labels))
    noise = {}
    if prop.two_values is not None or binary:
        low, high = prop.two_values or (np.asarray(prop.identify(base, np.full_like(base, end))) for end in (1.0, 0.0))
        spread = np.maximum(-low * high, 0.0) * test.weights**2
        noise = {c.name: (loss.link.final(c.eta(test)) - base) ** 2 * spread for c in candidates}
    if test.cluster is not None:
        unit = unit_numbers(len(test), test.cluster)
        share = (unit[-1] + 1) / unit.size
        noise = {name: share**2 * np.bincount(unit, weights=one) for name, one in noise.items()}
    return InputRight(noise, int((v > 0).sum()), int((v < 0).sum()))


def choose(
    parts: list[dict[str, Array]], needed_rows: float = NEEDED_ROWS, unit: str = "rows", rights: Sequence[InputRight] = ()
) -> tuple[str | None, list[str]]:
    """The last stage that beats the one accepted before it, over all held-out parts; and what each stage gained, in words.

    `rights`, one for each part, say what chance does when the input is right: a gain must stand out from that too.
    """
    best: str | None = None
    above, below = (sum(counts) for counts in ([r.above for r in rights], [r.below for r in rights]))
    one_sided = bool(rights) and not rights[0].noise and min(above, below) < EACH_SIDE and above + below < SEEN_ENOUGH
    accepted = np.zeros(sum(next(iter(part.values())).size for part in parts))
    report = []
    for name in ORDER:
        if not any(name in part for part in parts):
            continue
        gain = np.concatenate([part[_latest(part, name)] for part in parts])
        known = [right.noise[_latest(right.noise, name)] for right in rights if right.noise]
        t = t_statistic(gain - accepted, float(np.concatenate(known).mean()) if known and best is None else 0.0)
        told = sharing_rows(gain - accepted)
        enough = best is not None or (told >= needed_rows and not one_sided)
        better = enough and t > (NEEDED_FOR_ANY if best is None else NEEDED_FOR_MORE)
        why = "" if enough else f"; only {told:.0f} held-out {unit} tell the difference, {needed_rows:.0f} are needed"
        why = f"; fewer than {EACH_SIDE} outcomes lie on one side of the input" if one_sided and best is None else why
        report.append(f"{name}: held-out score gain {gain.mean():.3g} (t = {t:.1f}), {'kept' if better else 'dropped'}{why}")
        if better:
            best, accepted = name, gain
    return best, report


def t_statistic(values: Array, least: float = 0.0) -> float:
    """Mean over its standard error; 0 where nothing varies. `least`: the smallest variance of a value to reckon with."""
    spread = float(np.sqrt(max(float(values.var()), least)))
    return 0.0 if spread == 0.0 else float(values.mean() / (spread / np.sqrt(values.size)))


def sharing_rows(values: Array) -> float:
    """Over how many rows the sum of squares is spread, (Σd²)²/Σd⁴: 1 where a single row carries it all.

    Examples
    --------
    >>> sharing_rows(np.array([1.0, -1.0, 1.0, 0.0])), sharing_rows(np.zeros(3))
    (3.0, 0.0)
    """
    largest = float(np.abs(values).max(initial=0.0))
    if not largest > 0:
        return 0.0
    squares = (values / largest) ** 2
    return float(squares.sum() ** 2 / (squares @ squares))


def _latest(part: Mapping[str, Array], name: str) -> str:
    """The richest stage of this part up to `name` (a split may not have reached every stage)."""
    return next(known for known in reversed(ORDER[: ORDER.index(name) + 1]) if known in part)
