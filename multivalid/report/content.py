"""The report as plain data: every number that the page shows, ready for JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from multivalid.cells.sentences import headlines, off_groups, unknown_lines, worst_first
from multivalid.levels import SIGNIFICANCE
from multivalid.report import figures, sentences
from multivalid.report.origin import made_with
from multivalid.report.readings import reading_of
from multivalid.report.sources import Audited, Chapter, Story
from multivalid.report.unnamed import unnamed

KIND, VERSION = "multivalid.report", 1
PER_GROUP = (
    "error", "debiased", "gamma_error", "l1", "linf", "p_value", "p_adjusted", "gap", "gap_low", "gap_high", "rms", "rms_low",
    "rms_high", "detectable", "prediction", "value",
)  # fmt: skip


def build(story: Story) -> dict[str, Any]:
    """The report's dict: no NaN, no arrays, only what JSON holds.

    The numbers of a property stand in the dict itself; those of a pair under "coordinates", a dict each.
    """
    content = {
        "kind": KIND,
        "version": VERSION,
        "title": story.title,
        "verdict": sentences.verdict(story),
        "too_few_rows": sentences.cannot_tell(story),
        "property": {"name": repr(story.prop), "spec": story.prop.spec, "says": sentences.property_sentence(story.prop)},
        "headline": [row for one in story.chapters for row in headline(one)],
    }
    if story.of_pair:
        content["coordinates"] = [{"key": one.key, "name": one.name, **_numbers(one)} for one in story.chapters]
    else:
        content |= _numbers(story.chapters[0])
    if story.fans:
        content["fans"] = dict(story.fans)
    content |= {
        "unnamed": unnamed(story),
        "certificate": None if story.certificate is None else _certificate(story),
        "scope": scope_verdict(story.prop),
        "settings": {**story.settings, **made_with(), **_settings(story)},
        "notes": list(story.notes),
    }
    plain_content = plain(content)
    assert isinstance(plain_content, dict)
    return plain_content


def _numbers(chapter: Chapter) -> dict[str, Any]:
    return {
        "groups": groups(chapter),
        "off": {
            when: {"groups": off_groups(audit.table), "said": headlines(audit.table, audit.units)}
            for when, audit in chapter.audits.items()
        },
        "cannot_tell": {when: unknown_lines(audit.table, audit.units) for when, audit in chapter.audits.items()},
        "cells": {when: _cells(audit) for when, audit in chapter.audits.items()},
        "reliability": figures.reliability(chapter),
        "heatmaps": figures.heatmaps(chapter),
    }


def headline(chapter: Chapter) -> list[dict[str, Any]]:
    """The few numbers that stand at the top, each before and after (or once)."""
    rows: list[dict[str, Any]] = []
    for name, label, read in _headlines(chapter):
        values = {when: read(audit) for when, audit in chapter.audits.items()}
        if values and all(value is not None for value in values.values()):
            of = f"{chapter.name}: " if chapter.name else ""
            shown = {when: _tile(name, audit, values[when]) for when, audit in chapter.audits.items()}
            rows.append({"name": f"{chapter.key}_{name}".lstrip("_"), "label": f"{of}{label}", **values, "shown": shown})
    return rows


def _tile(name: str, audit: Audited, value: float | None) -> str:
    """A number of the top as people read it: the rms in its unit."""
    assert value is not None
    return audit.units.named(value) if name == "worst_rms" else sentences.number(value)


def _significant(audit: Audited) -> int:
    return int(np.count_nonzero(audit.table["p_adjusted"] <= SIGNIFICANCE))


def _typical(audit: Audited) -> float | None:
    known = audit.table["rms"][np.isfinite(audit.table["rms"])]
    return float(known.max()) if known.size else None


_OFF = ("groups_off", "groups off beyond chance", _significant)
_ERROR = ("worst_error", "largest error of any group (the theory's measure)", lambda audit: float(audit.table["error"].max()))
_HEADLINES = (
    _OFF,
    ("worst_rms", "typical distance from right in the worst group (rms)", _typical),
    _ERROR,
    ("score", "mean score (lower is better)", lambda audit: audit.score),
)


_OWN_UNITS = ("worst_gamma_error", "the same in its own units, squared", lambda audit: float(audit.table["gamma_error"].max()))


def _headlines(chapter: Chapter) -> Sequence[tuple[str, str, Callable[[Audited], float | None]]]:
    """A pair shows its errors in the units of the property too, where those of V are others (a share for a quantile)."""
    if not chapter.key:
        return _HEADLINES
    return [_OFF, _ERROR, *([] if reading_of(chapter.prop).target is None else [_OWN_UNITS])]


def is_off(p_adjusted: float | None) -> bool:
    """Whether a group is off beyond chance; None is "cannot tell"."""
    return p_adjusted is not None and p_adjusted <= SIGNIFICANCE


def groups(chapter: Chapter) -> list[dict[str, Any]]:
    """One entry per group, worst first."""
    if chapter.first is None:
        return []
    table = chapter.first.table
    columns = [name for name in PER_GROUP if name in table]
    averages = {when: figures.group_average(audit) for when, audit in chapter.audits.items()}
    order = worst_first(table)
    answer = []
    for i in order.tolist():
        entry: dict[str, Any] = {
            "name": str(table["name"][i]),
            "rows": int(table["rows"][i]),
            "weight": float(table["weight"][i]),
        }
        for when, audit in chapter.audits.items():
            entry[when] = {name: float(audit.table[name][i]) for name in columns} | {"average": float(averages[when][i])}
            entry[when] |= _texts(audit, i)
        answer.append(entry)
    return answer


def _texts(audit: Audited, i: int) -> dict[str, str]:
    """The gap with its interval and the typical error, as people read them."""
    table, units = audit.table, audit.units
    low, high = (units.signed(float(table[name][i])) for name in ("gap_low", "gap_high"))
    return {
        "gap_text": f"{units.signed(float(table['gap'][i]))} ({low} to {high})",
        "rms_text": units.number(float(table["rms"][i])),
    }


def _cells(audit: Audited) -> dict[str, list[Any]]:
    """The cells by column: one list per name, equally long."""
    return {name: column.tolist() for name, column in audit.cells.items()}


def _certificate(story: Story) -> dict[str, Any]:
    assert story.certificate is not None
    return {
        **story.certificate.to_json(),
        "words": sentences.certificate(story.certificate),
        "trace": figures.thin(story.certificate.potential),
    }


def scope_verdict(prop: Any) -> dict[str, Any]:
    """Whether the property can be calibrated at all, and on what that rests."""
    from multivalid.scope.decide import scope

    verdict = scope(prop)
    return {
        "status": verdict.status,
        "reason": verdict.reason,
        "hypotheses": list(verdict.hypotheses),
        "cite": list(verdict.cite),
    }


def _settings(story: Story) -> dict[str, Any]:
    made: dict[str, Any] = {"property": story.prop.spec or repr(story.prop)}
    for chapter in story.chapters:
        of = f" of {chapter.name}" if chapter.name else ""
        for when, audit in chapter.audits.items():
            suffix = "" if when == "now" else f" {when}"
            made[f"levels{of}{suffix}"] = [float(point) for point in audit.grid.points]
            if audit.fingerprint:
                made[f"data fingerprint{suffix}"] = audit.fingerprint
    first = story.chapters[0].first
    if first is not None:
        made["rows"] = int(first.table["rows"][0])
        made["groups"] = [str(name) for name in first.table["name"]]
    return made


def plain(value: Any) -> Any:
    """The value as JSON holds it: arrays as lists, NaN and infinities as null."""
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, np.ndarray):
        return [plain(one) for one in value.tolist()]
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    return value if value is None or isinstance(value, str) else str(value)
