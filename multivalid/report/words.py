"""Sentences of the report: the verdict, the property, the certificate."""

from __future__ import annotations

from typing import Any

import numpy as np

from multivalid.properties import EventProbability, Mean, Pair, Property, Quantile
from multivalid.properties.pairs.base import SecondCoordinate
from multivalid.report.sources import Audited, Certified, Chapter, Story

LEVEL = 0.05

MEANING = {
    "converged": "The goal was reached: on the rows fitted, no group's error exceeds the error asked for.",
    "vacuous": "The error asked for was reached, but a constant prediction reaches it too: it promises nothing.",
    "blocked": "Some cells stay above the goal because no change of their level improves the score.",
    "budget": "The fit stopped at the number of updates allowed; more updates would lower the error further.",
}


def verdict(story: Story) -> str:
    """The report in one sentence; for a pair one for either coordinate."""
    told = [_chapter(chapter) for chapter in story.chapters if chapter.audits]
    if told:
        return " ".join(told)
    if story.certificate is None:
        return "There is nothing to report: no rows and no certificate."
    return MEANING.get(story.certificate.status, story.certificate.status)


def _chapter(chapter: Chapter) -> str:
    assert chapter.first is not None
    assert chapter.last is not None
    sentence = _one(chapter.first) if len(chapter.audits) == 1 else _two(chapter.first, chapter.last)
    return f"{_capital(chapter.name)}: {sentence[0].lower()}{sentence[1:]}" if chapter.name else sentence


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _one(audit: Audited) -> str:
    off = _off(audit)
    count = len(audit.table["name"])
    if not off.size:
        return f"None of the {count} groups is off beyond chance: nothing here needs correcting."
    worst = int(off[np.argmax(audit.table["error"][off])])
    share = f"{off.size} of {count} groups {'is' if off.size == 1 else 'are'} off beyond chance"
    return f"{share}; the largest error is that of {audit.table['name'][worst]}: {group_sentence(audit, worst)}."


def _two(before: Audited, after: Audited) -> str:
    first, last = float(before.table["error"].max()), float(after.table["error"].max())
    count = len(before.table["name"])
    was, is_now = _off(before).size, _off(after).size
    moved = "went down" if last < first else "did not go down"
    change = f" ({change_text(first, last)})" if first > 0 else ""
    return (
        f"The largest error of any group {moved}, from {number(first)} to {number(last)}{change}; "
        f"of {count} groups {was} {'was' if was == 1 else 'were'} off beyond chance before, {is_now} after."
    )


def _off(audit: Audited) -> Any:
    return np.flatnonzero(audit.table["p_adjusted"] <= LEVEL)


def group_sentence(audit: Audited, i: int) -> str:
    """What is wrong with one group, in the units that a person thinks in."""
    prop = audit.property
    inside = audit.cells["group"] == audit.table["name"][i]
    weight, v = audit.cells["weight"][inside], audit.cells["identification"][inside]
    average = float(weight @ v / weight.sum())
    if isinstance(prop, Quantile):
        return f"{100 * (prop.tau + average):.1f} % of its outcomes lie at or below the prediction instead of {100 * prop.tau:g} %"
    if isinstance(prop, (Mean, EventProbability)) or (isinstance(prop, SecondCoordinate) and prop.pair.has_target):
        return f"predicted {number(audit.table['prediction'][i])} on average, actual {number(audit.table['value'][i])}"
    return f"mean V is {number(average)} instead of 0"


def property_sentence(prop: Property | Pair) -> str:
    """What calibrated means for this property."""
    if isinstance(prop, Pair):
        first, second = prop.names
        return (
            f"Predictions of ({first}, {second}) are calibrated together for a group when, among its rows with a given pair of "
            f"predictions, both are right: the {first}, and the {second} given the true {first} of those rows."
        )
    if isinstance(prop, Quantile):
        return (
            f"Predictions of the {prop.tau:g}-quantile are calibrated for a group when, among its rows with a given prediction, "
            f"{100 * prop.tau:g} % of the outcomes lie at or below it."
        )
    if isinstance(prop, (Mean, EventProbability)):
        return (
            "Predictions are calibrated for a group when, among its rows with a given prediction, the outcomes average to that "
            "prediction."
        )
    return (
        f"Predictions of {prop!r} are calibrated for a group when, among its rows with a given prediction, the identification "
        f"function V of the property averages to 0; V above 0 means that predictions are too high."
    )


def certificate(found: Certified) -> list[str]:
    """The certificate in words, a line each."""
    opening = MEANING.get(found.status)
    return [*([opening] if opening else []), *(line for line in found.summary().splitlines() if line.strip())]


def change_text(first: float, last: float) -> str:
    """How much lower or higher, in per cent.

    Examples
    --------
    >>> change_text(0.004, 0.001), change_text(1.0, 1.1)
    ('75 % lower', '10 % higher')
    """
    share = (last - first) / first
    return f"{abs(100 * share):.0f} % {'higher' if share > 0 else 'lower'}"


def number(value: float, full: bool = False) -> str:
    """Three digits that count, trailing zeros kept when `full`; the demo and the page both print numbers so.

    Examples
    --------
    >>> [number(v) for v in (0.000123456, 12.3456, 12345.6, 0.0, -0.5)]
    ['0.000123', '12.3', '12,346', '0', '−0.5']
    >>> number(0.5, full=True), number(128.0, full=True)
    ('0.500', '128')
    """
    if not np.isfinite(value):
        return "–"
    size = abs(value)
    if size == 0:
        text = "0"
    elif size >= 1000:
        text = f"{size:,.0f}"
    elif size >= 1e-5:
        text = np.format_float_positional(float(f"{size:.3g}"), trim="-")
        text = f"{float(text):#.3g}".rstrip(".") if full and size >= 1e-3 else text
    else:
        text = f"{size:.2e}"
    return f"−{text}" if value < 0 else text
