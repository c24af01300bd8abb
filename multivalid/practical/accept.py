"""Never worse than the input: a stage is kept only if rows that it was not fitted on confirm it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from multivalid.practical.candidates import ORDER as ORDER
from multivalid.practical.candidates import Candidate
from multivalid.practical.data import LinkRows, Matching, unit_numbers
from multivalid.practical.goal import NEEDED_ROWS
from multivalid.properties.base import Array

NEEDED_FOR_ANY = 3.0  # standard errors by which held-out rows must lean towards a stage, or the input is returned
EACH_SIDE = 5  # held-out outcomes needed on either side of the input, where the law of V is not known …
SEEN_ENOUGH = 1000  # … and they are fewer than this: what a thousand rows have not shown is taken to be no more than rare
NEEDED_FOR_MORE = 0.0  # t of the held-out gain over the last accepted stage


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

    def by_unit(self, unit: NDArray[np.intp]) -> HeldOut:
        """Sums over units of chance, scaled so that means stay those of rows."""
        scale = (unit[-1] + 1) / unit.size

        def sums(rows: Mapping[str, Array], power: int = 1) -> dict[str, Array]:
            return {name: np.asarray(scale**power * np.bincount(unit, weights=values)) for name, values in rows.items()}

        return replace(self, gains=sums(self.gains), leans=sums(self.leans), noise=sums(self.noise, 2))


def held_out(base: Array, test: LinkRows, candidates: list[Candidate], loss: Matching, *, binary: bool) -> HeldOut:
    """Each stage on rows not fitted. For events (`binary`) and for quantiles V has two values, and a known law if the input is right."""
    prop = loss.prop
    before, v = prop.score(base, test.labels), np.asarray(prop.identify(base, test.labels))
    spread = None
    if prop.two_values is not None or binary:
        low, high = prop.two_values or (np.asarray(prop.identify(base, np.full_like(base, end))) for end in (1.0, 0.0))
        spread = np.maximum(-low * high, 0.0) * test.weights**2
    gains, leans, noise = dict[str, Array](), dict[str, Array](), dict[str, Array]()
    for candidate in candidates:
        after = loss.link.inverse(candidate.eta(test), handed_out=True)
        gains[candidate.name] = test.weights * (before - prop.score(after, test.labels))
        leans[candidate.name] = test.weights * v * (base - after)
        if spread is not None:
            noise[candidate.name] = (after - base) ** 2 * spread
    found = HeldOut(gains, leans, noise, int((v > 0).sum()), int((v < 0).sum()))
    return found if test.cluster is None else found.by_unit(unit_numbers(len(test), test.cluster))


def choose(
    parts: Sequence[HeldOut], needed_rows: float = NEEDED_ROWS, unit: str = "rows", order: Sequence[str] = ORDER
) -> tuple[str | None, list[str]]:
    """The last stage that beats the one accepted before it, over all held-out parts; and what each stage gained, in words."""
    best: str | None = None
    latest = [""] * len(parts)
    above, below = sum(part.above for part in parts), sum(part.below for part in parts)
    one_sided = not parts[0].noise and min(above, below) < EACH_SIDE and above + below < SEEN_ENOUGH
    accepted: Array | float = 0.0
    report = []
    for name in order:
        if not any(name in part.gains for part in parts):
            continue
        # The richest stage of each part up to this one: a split may not have reached every stage.
        latest = [name if name in part.gains else before for part, before in zip(parts, latest, strict=True)]
        gain = np.concatenate([part.gains[known] for part, known in zip(parts, latest, strict=True)])
        more = float((gain - accepted).mean())
        why = ""
        if best is None:
            z, telling = _evidence(parts, latest), sharing_rows(gain)
            evidence = f"z = {z:.1f}"
            better = z > NEEDED_FOR_ANY and more > 0 and telling >= needed_rows and not one_sided
            if one_sided:
                why = f"; fewer than {EACH_SIDE} outcomes lie on one side of the input"
            elif telling < needed_rows:
                why = f"; only {telling:.0f} held-out {unit} tell the difference, {needed_rows:.0f} are needed"
        else:
            t = t_statistic(gain - accepted)
            evidence, better = f"t = {t:.1f}", t > NEEDED_FOR_MORE
        report.append(f"{name}: held-out score gain {gain.mean():.3g} ({evidence}), {'kept' if better else 'dropped'}{why}")
        if better:
            best, accepted = name, gain
    return best, report


def _evidence(parts: Sequence[HeldOut], stages: Sequence[str]) -> float:
    """How many standard errors the held-out rows lean towards a stage of each part, by their own variance or the known one, if that is
    larger."""
    lean = np.concatenate([part.leans[stage] for part, stage in zip(parts, stages, strict=True)])
    known = [part.noise[stage] for part, stage in zip(parts, stages, strict=True) if part.noise]
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
