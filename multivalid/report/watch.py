"""The page of a monitor: its alarms with the evidence over time, and all groups in a table."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

from multivalid.report import files
from multivalid.report.geometry import BOTTOM, LEFT, RIGHT, TOP, Scale, spread, ticks
from multivalid.report.page import TEMPLATES, environment
from multivalid.report.sentences import number

WIDTH, HEIGHT = 640.0, 220.0
ROWS = 2000  # groups that the page lists; the JSON file has all of them


def write(content: dict[str, Any], path: str | os.PathLike[str]) -> Path:
    """Write the page of a monitor, and its numbers beside it."""
    return files.write(content, path, render)


def render(content: dict[str, Any]) -> str:
    """The page for what a monitor found."""
    page = environment().get_template("watch.html.j2").render(
        report=content, pictures=[picture(alarm, content["threshold"]) for alarm in content["alarms"]],
        rows=content["groups"][:ROWS], left_out=max(len(content["groups"]) - ROWS, 0),
        style=(TEMPLATES / "report.css").read_text("utf-8"), size=evidence_text,
    )  # fmt: skip
    return str(page)


def picture(alarm: dict[str, Any], threshold: float) -> dict[str, Any]:
    """The evidence of one group over the rounds, in picture units: powers of ten, the threshold, the alarm and its likely start."""
    points = alarm["trace"] or [[0, 0.0]]
    limit = math.log10(threshold)
    x = Scale(0.0, max(points[-1][0], alarm["round"], 1), LEFT, WIDTH - RIGHT)
    y = Scale(*spread([value for _, value in points], at_least=(0.0, limit)), HEIGHT - BOTTOM, TOP)
    return {
        "width": WIDTH, "height": HEIGHT,
        "frame": {"left": x.start, "right": x.stop, "top": TOP, "bottom": HEIGHT - BOTTOM},
        "x_ticks": [{"at": x(t), "text": number(t)} for t in ticks(x.lo, x.hi) if t == round(t)],
        "y_ticks": [{"at": y(t), "text": _power(t)} for t in ticks(y.lo, y.hi, 4) if t == round(t)],
        "line": " ".join(f"{x(at)},{y(value)}" for at, value in points),
        "threshold": y(limit), "raised": x(alarm["round"]), "since": x(alarm["since"]),
    }  # fmt: skip


def evidence_text(value: float) -> str:
    """A piece of evidence for a person.

    Examples
    --------
    >>> evidence_text(0.2512), evidence_text(412.3), evidence_text(3.1e12)
    ('0.25', '412', '3.1e+12')
    """
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}" if value < 1e6 else f"{value:.1e}"


def _power(exponent: float) -> str:
    return f"1e{int(exponent)}" if abs(exponent) > 3 else f"{10.0**exponent:g}"
