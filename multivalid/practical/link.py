"""The scale on which groups shift predictions: log-odds inside a known range, logarithms for skewed amounts, else the own units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from multivalid.batch.plan import label_facts
from multivalid.errors import ModelFileError
from multivalid.properties import Property
from multivalid.properties.base import Array, Interval
from multivalid.storage import is_number

EDGE = 1e-7  # predictions at the end of the range are taken this far inside before the logarithm
LARGEST = 30.0  # exp(30) on either side of the link is as good as the end
ATOM = 0.01  # share of the labels on an end of the range from which on a quantile may have to be that end
STRETCH = 0.01  # how far the range is stretched where labels sit on its very ends
SNAP = 1e-4  # of the range: how near to such an end counts as the end
PROBE = 2_000  # rows that settle the scale


@dataclass(frozen=True)
class Link:
    """A monotone map and its inverse.

    "logit" maps (center, center + scale) onto the line; predictions made through it never leave [lo, hi] (see `choose_link`).

    Examples
    --------
    >>> logit = Link("logit")
    >>> round(float(logit.inverse(logit.forward(np.array(0.25)))), 12)
    0.25
    """

    kind: str
    center: float = 0.0
    scale: float = 1.0
    stretched: bool = False

    def forward(self, values: Array) -> Array:
        """Predictions on the link scale."""
        if self.kind == "logit":
            inside = np.clip((values - self.center) / self.scale, EDGE, 1 - EDGE)
            return np.asarray(np.log(inside) - np.log1p(-inside))
        if self.kind == "log":
            return np.asarray(np.log(np.maximum(values, EDGE * self.scale) / self.scale))
        return np.asarray((values - self.center) / self.scale)

    def inverse(self, values: Array) -> Array:
        """Predictions in the label's own units."""
        if self.kind == "logit":
            share = 1 / (1 + np.exp(-np.clip(values, -LARGEST, LARGEST)))
            return self._cut(np.asarray(self.center + self.scale * share), 0.0)
        if self.kind == "log":
            return np.asarray(self.scale * np.exp(np.minimum(values, LARGEST)))
        return np.asarray(self.center + self.scale * values)

    def final(self, values: Array) -> Array:
        """Predictions as they are handed out: next to an end that labels sit on, the end itself.

        The loss has its kink exactly there, and the fit ends a hair to either side of it; a hair below, such labels are not covered.
        """
        return self._cut(self.inverse(values), SNAP)

    @property
    def ends(self) -> Interval:
        """The range of the predictions, for log-odds."""
        if not self.stretched:
            return Interval(self.center, self.center + self.scale)
        width = self.scale / (1 + 2 * STRETCH)
        lo = self.center + STRETCH * width
        return Interval(lo, lo + width)

    def _cut(self, predictions: Array, snap: float) -> Array:
        if not self.stretched:
            return predictions
        lo, hi = self.ends
        near = snap * (hi - lo)
        return np.where(predictions <= lo + near, lo, np.where(predictions >= hi - near, hi, predictions))

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"kind": self.kind, "center": self.center, "scale": self.scale, "stretched": self.stretched}

    @classmethod
    def from_json(cls, data: Any) -> Link:
        """The link that `to_json` described."""
        if not isinstance(data, dict) or set(data) != {"kind", "center", "scale", "stretched"} or data["kind"] not in KINDS:
            raise ModelFileError(f"link must have kind ({', '.join(KINDS)}), center, scale and stretched.")
        numbers = [data["center"], data["scale"]]
        if not all(is_number(v) for v in numbers) or numbers[1] <= 0:
            raise ModelFileError(f"link center must be finite and scale positive, got {str(numbers)[:80]}.")
        if not isinstance(data["stretched"], bool):
            raise ModelFileError(f"link stretched must be true or false, got {data['stretched']!r}.")
        return cls(data["kind"], float(numbers[0]), float(numbers[1]), data["stretched"])


KINDS = ("logit", "log", "identity")


def choose_link(prop: Property, labels: Array, predictions: Array) -> Link:
    """Log-odds where the property's range is known, logarithms for positive predictions of a skewed property, else its own units.

    What counts is the range of the property, not of the labels: the probability of an event has one in whatever units the labels are.
    """
    facts = label_facts(prop, labels)
    span = _known_range(prop, labels, facts.range, predictions)
    if span is not None:
        at_ends = facts.lipschitz is None and float(np.mean((labels == span.lo) | (labels == span.hi))) > ATOM
        return _log_odds(span, at_ends)
    points = prop.solve_points(labels[:PROBE])  # the best prediction of each label alone: values on the property's own scale
    if facts.range.lo >= 0 and predictions.min() > 0 and points.std() > points.mean() > 0:
        return Link("log", scale=float(points.mean()))
    # One unit of the link is about the noise of one label, so that the ridge means the same in any units.
    scale = float(points.std()) or float(predictions.std()) or 1.0
    return Link("identity", float(predictions.mean()), scale)


def _known_range(prop: Property, labels: Array, span: Interval, predictions: Array) -> Interval | None:
    """A range that the property has by nature, or [0, 1] where all labels and predictions lie in it."""
    lo, hi = float(labels.min()), float(labels.max())
    inner = prop.facts(lo + (hi - lo) / 4, hi - (hi - lo) / 4) if lo < hi else None
    if inner is not None and inner.range == span and np.isfinite(span.length):
        return span  # the same for fewer labels: it does not come from the labels seen
    unit = Interval(0.0, 1.0)
    inside = all(v in unit for v in (*span, float(predictions.min()), float(predictions.max())))
    return unit if inside else None


def _log_odds(span: Interval, at_ends: bool) -> Link:
    """Where a quantile may be the very end of the range, log-odds would never reach it: stretch the range, and cut at its ends."""
    if not at_ends:
        return Link("logit", span.lo, span.length)
    return Link("logit", span.lo - STRETCH * span.length, span.length * (1 + 2 * STRETCH), True)
