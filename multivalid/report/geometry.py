"""From numbers to places on paper: scales, ticks, and the points of curves and bands, in the units of an SVG picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from multivalid.report.sentences import number


@dataclass(frozen=True)
class Scale:
    """A straight map from [lo, hi] to [start, stop]."""

    lo: float
    hi: float
    start: float
    stop: float

    def __call__(self, value: float) -> float:
        """The place of a value, kept inside the frame."""
        share = (min(max(value, self.lo), self.hi) - self.lo) / (self.hi - self.lo)
        return round(self.start + share * (self.stop - self.start), 2)


def spread(values: Sequence[float], *, at_least: Sequence[float] = ()) -> tuple[float, float]:
    """The interval that holds all finite values, a little wider.

    Examples
    --------
    >>> spread([0.0, 1.0])
    (-0.05, 1.05)
    >>> spread([3.0])
    (2.5, 3.5)
    """
    kept = [value for value in (*values, *at_least) if math.isfinite(value)] or [0.0]
    lo, hi = min(kept), max(kept)
    margin = 0.05 * (hi - lo) if hi > lo else (0.5 if lo == 0 else max(abs(lo) / 6, 1e-9))
    return lo - margin, hi + margin


def shares(ends: tuple[float, float]) -> tuple[float, float]:
    """An interval of shares: what lies outside 0 to 1 is no place for a curve.

    Examples
    --------
    >>> shares((-0.05, 0.4)), shares((1.5, 2.5))
    ((0.0, 0.4), (1.5, 2.5))
    """
    lo, hi = max(ends[0], 0.0), min(ends[1], 1.0)
    return (lo, hi) if lo < hi else ends


def ticks(lo: float, hi: float, about: int = 5) -> list[float]:
    """Round values between lo and hi.

    Examples
    --------
    >>> ticks(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    raw = (hi - lo) / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = min((factor * power for factor in (1, 2, 2.5, 5, 10)), key=lambda candidate: abs(candidate - raw))
    first = math.ceil(lo / step - 1e-9)
    count = math.floor(hi / step + 1e-9) - first
    return [round((first + i) * step, 12) for i in range(count + 1)]


def tick_text(value: float, percent: bool) -> str:
    """A tick's label."""
    return f"{round(100 * value, 6):g} %".replace("-", "−") if percent else number(value)


WIDTH, HEIGHT = 340.0, 250.0
LEFT, RIGHT, TOP, BOTTOM = 60.0, 20.0, 10.0, 42.0  # on the right half of "100 %"


def diagram(curves: dict[str, dict[str, list[float]]], target: float | None, percent: bool) -> dict[str, Any]:
    """A reliability diagram: points, bands and the line of perfect predictions, in picture units."""
    predictions = [x for curve in curves.values() for x in curve["prediction"]]
    heights = [y for curve in curves.values() for name in ("low", "high") for y in curve[name]]
    if percent:
        heights = [min(max(y, 0.0), 1.0) for y in heights]
    lo, hi = shares(spread(predictions)) if percent and target is None else spread(predictions)
    x = Scale(lo, hi, LEFT, WIDTH - RIGHT)
    ends = spread(heights, at_least=(lo, hi) if target is None else (target,))
    y = Scale(*(shares(ends) if percent else ends), HEIGHT - BOTTOM, TOP)
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "frame": {"left": LEFT, "right": WIDTH - RIGHT, "top": TOP, "bottom": HEIGHT - BOTTOM},
        "x_ticks": [{"at": x(tick), "text": tick_text(tick, percent and target is None)} for tick in ticks(x.lo, x.hi, 4)],
        "y_ticks": [{"at": y(tick), "text": tick_text(tick, percent)} for tick in ticks(y.lo, y.hi)],
        "ideal": _ideal(x, y, target),
        "curves": {when: _curve(curve, x, y) for when, curve in curves.items()},
    }


def _ideal(x: Scale, y: Scale, target: float | None) -> dict[str, float]:
    ends = (max(x.lo, y.lo), min(x.hi, y.hi)) if target is None else (x.lo, x.hi)
    rise = ends if target is None else (target, target)
    return {"x1": x(ends[0]), "y1": y(rise[0]), "x2": x(ends[1]), "y2": y(rise[1])}


def _curve(curve: dict[str, list[float]], x: Scale, y: Scale) -> dict[str, Any]:
    places = [x(value) for value in curve["prediction"]]
    upper = [f"{at},{y(value)}" for at, value in zip(places, curve["high"], strict=True)]
    lower = [f"{at},{y(value)}" for at, value in zip(places, curve["low"], strict=True)]
    points = [{"x": at, "y": y(value)} for at, value in zip(places, curve["observed"], strict=True)]
    return {"band": " ".join([*upper, *reversed(lower)]), "points": points, "line": " ".join(f"{p['x']},{p['y']}" for p in points)}


def trace(steps: Sequence[Sequence[float]], optimal: float | None) -> dict[str, Any] | None:
    """The mean score by update, and where drawn the least that any predictor could reach."""
    if len(steps) < 3:  # a start and an end are said in words
        return None
    values = [value for _, value in steps]
    near = optimal is not None and optimal > min(values) - (max(values) - min(values))
    x = Scale(0.0, steps[-1][0], LEFT + 14, 640.0 - RIGHT)
    y = Scale(*spread(values, at_least=(optimal,) if near and optimal is not None else ()), 220.0 - BOTTOM, TOP)
    return {
        "width": 640.0,
        "height": 220.0,
        "frame": {"left": x.start, "right": x.stop, "top": TOP, "bottom": 220.0 - BOTTOM},
        "x_ticks": [{"at": x(t), "text": number(t)} for t in ticks(x.lo, x.hi) if t == round(t)],
        "y_ticks": [{"at": y(t), "text": f"{t:.6g}"} for t in ticks(y.lo, y.hi, 4)],
        "line": " ".join(f"{x(step)},{y(value)}" for step, value in steps),
        "points": [{"x": x(step), "y": y(value)} for step, value in steps] if len(steps) <= 30 else [],
        "optimal": y(optimal) if near and optimal is not None else None,
    }
