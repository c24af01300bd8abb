"""The page: the report's dict through a template that escapes everything, written whole or not at all."""

from __future__ import annotations

import importlib
import math
import os
from pathlib import Path
from typing import Any

from multivalid.errors import InputError
from multivalid.report import content as contents
from multivalid.report import fans, files, geometry
from multivalid.report.readings import reading_of
from multivalid.report.sentences import change_text, number
from multivalid.report.sources import Chapter, Story

TEMPLATES = Path(__file__).parent / "templates"
ROWS = 2000  # groups that the page lists; the JSON file has all of them
LABELS = {"now": "", "before": "before", "after": "after"}
STEPS = (1.0, 2.0, 3.0, 5.0)  # standard errors at which the heat map's colour deepens


def write(story: Story, path: str | os.PathLike[str]) -> Path:
    """Write the page of a story, and its numbers beside it."""
    return files.write(contents.build(story), path, lambda content: render(content, story))


def render(content: dict[str, Any], story: Story) -> str:
    """The page for a report's dict."""
    page = environment().get_template("report.html.j2").render(
        report=content, parts=parts(content, story), labels=LABELS, trace=_trace(content), change=change_text,
        joint=story.prop.joint, fans=_fans(content),
        style=(TEMPLATES / "report.css").read_text("utf-8"), script=(TEMPLATES / "report.js").read_text("utf-8"),
    )  # fmt: skip
    return str(page)


def environment() -> Any:
    """Templates that escape everything, with the ways in which numbers are shown."""
    jinja = need("jinja2", "a report page")
    made = jinja.Environment(
        loader=jinja.FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=jinja.StrictUndefined,
    )  # fmt: skip
    made.filters.update(number=_show, percent=_percent, whole=lambda value: f"{value:,}", bound=_bound)
    return made


def parts(content: dict[str, Any], story: Story) -> list[dict[str, Any]]:
    """What the page shows of each chapter; `prefix` keeps the ids of two chapters apart."""
    found, found_names = [], set((content["unnamed"] or {"groups": []})["groups"])
    for numbers, chapter in zip(content.get("coordinates") or [content], story.chapters, strict=True):
        reading = reading_of(chapter.prop)
        found.append({
            "prefix": f"{chapter.key}-" if chapter.key else "", "name": chapter.name, "moments": list(numbers["cells"]),
            "reading": reading, "average": _percent if reading.percent else _show,
            "off": list(numbers["off"].values())[-1]["said"] if numbers["off"] else [],
            **_units(chapter),
            "found": [entry for entry in numbers["groups"] if entry["name"] in found_names],
            "table": _table(numbers), "heat": _heat(numbers), "diagrams": _diagrams(numbers),
        })  # fmt: skip
    return found


def _units(chapter: Chapter) -> dict[str, Any]:
    """What a gap is in, and what its sign means."""
    units = None if chapter.first is None else chapter.first.units
    return {} if units is None else {"points": units.points, "above": units.above, "below": units.below}


def need(module: str, purpose: str) -> Any:
    """An optional package, or an error that says how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise InputError(
            f"{purpose} needs the package {module}, which is not installed; get it with: pip install 'multivalid[cli]'."
        ) from None


def _show(value: float | None, full: bool = False) -> str:
    return "–" if value is None else number(value, full=full)


def _percent(value: float | None, full: bool = False) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


def _bound(text: str) -> str:
    """The text with every % kept on the line of its number."""
    return text.replace(" %", "\N{NO-BREAK SPACE}%")


def _table(content: dict[str, Any]) -> dict[str, Any]:
    """The groups with their errors on one scale, and the length of each bar."""
    moments = list(content["cells"])
    shown = content["groups"][:ROWS]
    largest = max((entry[when]["error"] for entry in shown for when in moments), default=0.0)
    widest = max((entry[when]["rms"] or 0.0 for entry in shown for when in moments), default=0.0)
    power = math.floor(math.log10(largest)) if largest > 0 else 0
    unit = 10.0**power
    rows = [
        {
            **entry,
            "bars": {when: round(100 * (entry[when]["rms"] or 0.0) / widest, 1) if widest else 0.0 for when in moments},
            "off": int(any(contents.is_off(entry[when]["p_adjusted"]) for when in moments)),
        }
        for entry in shown
    ]
    return {"rows": rows, "unit": unit, "power": str(power).replace("-", "−"), "left_out": len(content["groups"]) - len(shown)}


def _heat(content: dict[str, Any]) -> dict[str, Any]:
    """Each heat map with a colour class and a text per cell."""
    made = {}
    for when, found in content["heatmaps"].items():
        rows = [
            {
                "group": group,
                "cells": [
                    {"class": heat_class(z), "text": "" if z is None else f"{z:+.1f}".replace("-", "−"), "rows": rows}
                    for z, rows in zip(values, counts, strict=True)
                ],
            }
            for group, values, counts in zip(found["groups"], found["z"], found["rows"], strict=True)
        ]
        columns = [number(lo) if lo == hi else f"{number(lo)} … {number(hi)}" for lo, hi in found["levels"]]
        made[when] = {"columns": columns, "rows": rows}
    return made


def heat_class(z: float | None) -> str:
    """The colour of a cell: its sign and how many of `STEPS` it passes.

    Examples
    --------
    >>> [heat_class(z) for z in (None, 0.4, -2.5, 9.0)]
    ['none', 'even', 'low2', 'high4']
    """
    if z is None:
        return "none"
    depth = sum(abs(z) >= step for step in STEPS)
    return "even" if depth == 0 else f"{'high' if z > 0 else 'low'}{depth}"


def _diagrams(content: dict[str, Any]) -> list[dict[str, Any]]:
    found = content["reliability"]
    if found is None:
        return []
    return [
        {"group": one["group"], "curves": one["curves"], **_draw(one["curves"], found["target"], found["percent"])}
        for one in found["diagrams"]
    ]


def _draw(curves: dict[str, Any], target: float | None, percent: bool) -> dict[str, Any]:
    picture = geometry.diagram(curves, target, percent)
    picture["drawn"] = picture.pop("curves")
    return picture


def _fans(content: dict[str, Any]) -> list[dict[str, Any]]:
    """One picture for each group and moment."""
    found = content.get("fans", {})
    return [{**one, "when": LABELS[when], "drawn": fans.drawn(one)} for when, many in found.items() for one in many]


def _trace(content: dict[str, Any]) -> dict[str, Any] | None:
    found = content["certificate"]
    return None if found is None else geometry.trace(found["trace"], found.get("optimal"))
