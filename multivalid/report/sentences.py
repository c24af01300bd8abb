"""Sentences of the report: the verdict, the property, the certificate."""

from __future__ import annotations

import numpy as np

from multivalid.cells.sentences import NOBODY_TESTED, UNNAMED, headlines, how_many_off, nobody_is_tested, off_groups, unknown_lines
from multivalid.properties import EventProbability, Mean, Quantile, Target
from multivalid.report.sources import Audited, Certified, Chapter, Story

MEANING = {
    "converged": "The goal was reached: on the rows fitted, no group's error exceeds the error asked for.",
    "uncalibrated": "The fit ended with an error above the one promised, or groups are off beyond chance all the same.",
    "vacuous": "The error asked for was reached, but a constant prediction reaches it too: it promises nothing.",
    "blocked": "Some cells stay above the goal because no change of their level improves the score.",
    "budget": "The fit stopped at the number of updates allowed; more updates would lower the error further.",
}

PRACTICAL = {
    "uncalibrated": "On the rows fitted no group is off beyond chance, on the rows held out some are.",
    "converged": "On the rows fitted no group is off beyond chance.",
    "vacuous": "This promises nothing: a constant prediction has no larger error than was asked for, or the rows fitted cannot tell "
    "of any group whether it is off.",
    "blocked": "On the rows fitted groups are off beyond chance, or above the error asked for, and no correction held up on rows held out.",
}


def meaning(found: Certified) -> str:
    """What the status says, in a sentence; in practical mode the tests of the audit decide, beside the error asked for."""
    own = PRACTICAL if found.to_json().get("mode") == "practical" else {}
    return own.get(found.status) or MEANING.get(found.status, found.status)


def verdict(story: Story) -> str:
    """The report in one sentence; for a pair one for either coordinate."""
    chapters = [_chapter(chapter) for chapter in story.chapters if chapter.audits]
    if chapters:
        return " ".join(chapters)
    if story.certificate is None:
        return "There is nothing to report: no rows and no certificate."
    return meaning(story.certificate)


def _chapter(chapter: Chapter) -> str:
    assert chapter.first is not None
    assert chapter.last is not None
    sentence = _one(chapter.first) if len(chapter.audits) == 1 else _two(chapter.first, chapter.last)
    return f"{_capital(chapter.name)}: {sentence[0].lower()}{sentence[1:]}" if chapter.name else sentence


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _one(audit: Audited) -> str:
    off, count = len(off_groups(audit.table)), len(audit.table["name"])
    if nobody_is_tested(audit.table):
        return NOBODY_TESTED
    return f"{how_many_off(off, count)} beyond chance{_worst(audit, off) if off else _largest(audit)}."


def _two(before: Audited, after: Audited) -> str:
    was, left, count = len(off_groups(before.table)), len(off_groups(after.table)), len(before.table["name"])
    if count == 1:
        start = f"The one group was{'' if was else ' not'} off beyond chance before, and is{'' if left else ' not'} after"
    else:
        start = f"Of {count} groups {was} {'was' if was == 1 else 'were'} off beyond chance before, {left or 'none'} after"
    return f"{start}{_worst(after, left)}." if left else f"{start}{_largest(after)}."


def _worst(audit: Audited, off: int) -> str:
    """The group that is farthest off, with its interval."""
    return f"{'; farthest off is ' if off > 1 else ': '}{headlines(audit.table, audit.units)[0]}"


def _largest(audit: Audited) -> str:
    """Where nothing is off: the largest gap that is left, which chance explains."""
    size = np.abs(np.where(np.isfinite(audit.table["gap_low"]), audit.table["gap"], np.nan))
    if not np.isfinite(size).any():
        return ""
    i = int(np.nanargmax(size))
    gap, low, high = (audit.units.signed(float(audit.table[name][i])) for name in ("gap", "gap_low", "gap_high"))
    unit = " points" if audit.units.points else ""
    return f"; the largest gap left is that of {audit.table['name'][i]}, {gap}{unit} ({low} to {high})"


def cannot_tell(story: Story) -> list[str]:
    """For whom the rows are too few, a line for every coordinate."""
    sentences = []
    for chapter in story.chapters:
        lines = [] if chapter.last is None else unknown_lines(chapter.last.table, chapter.last.units)
        sentences += [f"{_capital(chapter.name)}: {line[0].lower()}{line[1:]}" if chapter.name else line for line in lines]
    return sentences


def property_sentence(prop: Target) -> str:
    """What calibrated means for this property."""
    if prop.joint:
        first, second = (one.name for one in prop.coordinates)
        return (
            f"Predictions of ({first}, {second}) are calibrated together for a group when, among its rows with a given pair of "
            f"predictions, both are right: the {first}, and the {second} given the true {first} of those rows."
        )
    if len(prop.coordinates) > 1:
        shares = all(one.reading.target is None for one in prop.coordinates)
        right = "happens as often as predicted" if shares else "covers the share of outcomes that it is named after"
        names = ", ".join(one.name for one in prop.coordinates)
        return (
            f"Predictions of several columns ({names}) are calibrated for a group when every column is: among the group's rows with a "
            f"given value in it, what it predicts {right}."
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
    """The certificate in words, a line each; what it says of groups that nobody named has a section of its own."""
    return [meaning(found), *(line for line in found.summary().splitlines() if line.strip() and not line.startswith(UNNAMED))]


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
