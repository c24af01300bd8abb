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

NEEDED_FOR_ANY = 3.0  # standard errors by which held-out rows must lean towards a stage, or the input is returned
NEEDED_ROWS = (
    30.0  # rows that share the sum of squared gains, below which no test means anything (no event among those held out, say)
)
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


@dataclass(frozen=True)
class HeldOut:
    """What the stages do on rows that they were not fitted on, by stage; by cluster, per row, where rows share their luck.

    The gain in score of a stage that moves the input by d is, to first order, its lean −V·d. If the input is right, V averages to zero
    whatever d is, so the lean says whether chance alone would carry the rows so far towards the stage. The gain itself is the worse test:
    for a right correction its t is about half of the lean's.

    Attributes
    ----------
    gains : weighted score gained over the input
    leans : the same to first order
    noise : variance of each lean if the input is right; empty where the law of V is not known. A hundred rows without an event lean
        alike when 0.02 is lowered to 0, and nothing in them says how much an event would cost.
    above, below : how many rows have V above and below 0 at the input
    """

    gains: dict[str, Array]
    leans: dict[str, Array] = field(default_factory=dict)
    noise: dict[str, Array] = field(default_factory=dict)
    above: int = 0
    below: int = 0

    @property
    def size(self) -> int:
        """How many rows, or clusters."""
        return next(iter(self.gains.values())).size


def are_events(labels: Array, base: Array) -> bool:
    """Whether labels say that an event happened: all are 0 or 1, and if all are equal, predictions could be chances."""
    told = bool(np.isin(labels, (0.0, 1.0)).all())
    return told and bool(labels.min() < labels.max() or ((base >= 0) & (base <= 1)).all())


def held_out(base: Array, test: LinkRows, candidates: list[Candidate], loss: Matching, *, binary: bool) -> HeldOut:
    """Each stage on rows not fitted. For events (`binary`) and for quantiles V has two values, and a known law if the input is right."""
    prop = loss.prop
    before, v = prop.score(base, test.labels), np.asarray(prop.identify(base, test.labels))
    spread = None
    if prop.two_values is not None or binary:
        low, high = prop.two_values or (np.asarray(prop.identify(base, np.full_like(base, end))) for end in (1.0, 0.0))
        spread = np.maximum(-low * high, 0.0) * test.weights**2
    gains, leans, noise = {}, {}, {}
    for candidate in candidates:
        after = loss.link.final(candidate.eta(test))
        gains[candidate.name] = _by_unit(test, test.weights * (before - prop.score(after, test.labels)))
        leans[candidate.name] = _by_unit(test, test.weights * v * (base - after))
        if spread is not None:
            noise[candidate.name] = _by_unit(test, (after - base) ** 2 * spread, 2)
    return HeldOut(gains, leans, noise, int((v > 0).sum()), int((v < 0).sum()))


def _by_unit(test: LinkRows, values: Array, power: int = 1) -> Array:
    """The values themselves, or their sums over clusters, scaled so that the mean stays that of rows."""
    if test.cluster is None:
        return values
    unit = unit_numbers(len(test), test.cluster)
    return np.asarray(((unit[-1] + 1) / unit.size) ** power * np.bincount(unit, weights=values))


def choose(
    parts: Sequence[HeldOut], needed_rows: float = NEEDED_ROWS, unit: str = "rows", order: Sequence[str] = ORDER
) -> tuple[str | None, list[str]]:
    """The last stage that beats the one accepted before it, over all held-out parts; and what each stage gained, in words."""
    best: str | None = None
    above, below = sum(part.above for part in parts), sum(part.below for part in parts)
    one_sided = not parts[0].noise and min(above, below) < EACH_SIDE and above + below < SEEN_ENOUGH
    accepted = np.zeros(sum(part.size for part in parts))
    report = []
    for name in order:
        if not any(name in part.gains for part in parts):
            continue
        gain = np.concatenate([part.gains[_latest(part.gains, name, order)] for part in parts])
        more = float((gain - accepted).mean())
        why = ""
        if best is None:
            z, told = _evidence(parts, name, order), sharing_rows(gain)
            evidence = f"z = {z:.1f}"
            better = z > NEEDED_FOR_ANY and more > 0 and told >= needed_rows and not one_sided
            if one_sided:
                why = f"; fewer than {EACH_SIDE} outcomes lie on one side of the input"
            elif told < needed_rows:
                why = f"; only {told:.0f} held-out {unit} tell the difference, {needed_rows:.0f} are needed"
        else:
            t = t_statistic(gain - accepted)
            evidence, better = f"t = {t:.1f}", t > NEEDED_FOR_MORE
        report.append(f"{name}: held-out score gain {gain.mean():.3g} ({evidence}), {'kept' if better else 'dropped'}{why}")
        if better:
            best, accepted = name, gain
    return best, report


def _evidence(parts: Sequence[HeldOut], name: str, order: Sequence[str]) -> float:
    """How many standard errors the held-out rows lean towards a stage, by their own variance or the known one, if that is larger."""
    lean = np.concatenate([part.leans[_latest(part.leans, name, order)] for part in parts])
    known = [part.noise[_latest(part.noise, name, order)] for part in parts if part.noise]
    return z_statistic(lean, float(sum(one.sum() for one in known)))


def z_statistic(values: Array, least: float = 0.0) -> float:
    """The sum over the root of the sum of squares, which is its standard error where the mean is 0; `least`: the smallest to reckon with.

    Examples
    --------
    >>> z_statistic(np.ones(9)), z_statistic(np.ones(9), least=81.0), z_statistic(np.zeros(3))
    (3.0, 1.0, 0.0)
    """
    largest = float(np.abs(values).max(initial=0.0))
    if not largest > 0:
        return 0.0
    scaled = values / largest
    return float(scaled.sum() / np.sqrt(max(float(scaled @ scaled), least / largest / largest)))


def t_statistic(values: Array) -> float:
    """Mean over its standard error; 0 where nothing varies."""
    spread = float(values.std())
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


def _latest(part: Mapping[str, Array], name: str, order: Sequence[str]) -> str:
    """The richest stage of this part up to `name` (a split may not have reached every stage)."""
    return next(known for known in reversed(order[: order.index(name) + 1]) if known in part)
