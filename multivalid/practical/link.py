"""The scale on which groups shift predictions: log-odds for probabilities, logarithms for skewed amounts, else the label's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from multivalid.errors import ModelFileError
from multivalid.properties.base import Array

EDGE = 1e-7  # predictions of exactly 0 or 1 are taken this far inside before the logarithm
LARGEST = 30.0  # exp(30) on either side of the link is as good as the end


@dataclass(frozen=True)
class Link:
    """A monotone map and its inverse.

    Examples
    --------
    >>> logit = Link("logit")
    >>> round(float(logit.inverse(logit.forward(np.array(0.25)))), 12)
    0.25
    """

    kind: str
    center: float = 0.0
    scale: float = 1.0

    def forward(self, values: Array) -> Array:
        """Predictions on the link scale."""
        if self.kind == "logit":
            inside = np.clip(values, EDGE, 1 - EDGE)
            return np.asarray(np.log(inside) - np.log1p(-inside))
        if self.kind == "log":
            return np.asarray(np.log(np.maximum(values, EDGE * self.scale) / self.scale))
        return np.asarray((values - self.center) / self.scale)

    def inverse(self, values: Array) -> Array:
        """Predictions in the label's own units."""
        if self.kind == "logit":
            return np.asarray(1 / (1 + np.exp(-np.clip(values, -LARGEST, LARGEST))))
        if self.kind == "log":
            return np.asarray(self.scale * np.exp(np.minimum(values, LARGEST)))
        return np.asarray(self.center + self.scale * values)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"kind": self.kind, "center": self.center, "scale": self.scale}

    @classmethod
    def from_json(cls, data: Any) -> Link:
        """The link that `to_json` described."""
        if not isinstance(data, dict) or set(data) != {"kind", "center", "scale"} or data["kind"] not in KINDS:
            raise ModelFileError(f"link must have kind ({', '.join(KINDS)}), center and scale.")
        numbers = [data["center"], data["scale"]]
        if not all(isinstance(v, (int, float)) and not isinstance(v, bool) and np.isfinite(v) for v in numbers) or numbers[1] <= 0:
            raise ModelFileError(f"link center must be finite and scale positive, got {numbers!r}.")
        return cls(data["kind"], float(numbers[0]), float(numbers[1]))


KINDS = ("logit", "log", "identity")


def choose_link(labels: Array, predictions: Array) -> Link:
    """Log-odds when labels and predictions lie in [0, 1]; logarithm for positive predictions of skewed non-negative labels."""
    lo, hi = min(labels.min(), predictions.min()), max(labels.max(), predictions.max())
    if lo >= 0 and hi <= 1:
        return Link("logit")
    if labels.min() >= 0 and predictions.min() > 0 and labels.std() > labels.mean():
        return Link("log", scale=float(labels.mean()))
    # A base that hardly varies still needs a scale on which shifts of the size of the labels' spread are not shrunk away.
    spread = float(max(predictions.std(), 0.1 * labels.std()))
    return Link("identity", float(predictions.mean()), spread if spread > 0 else 1.0)
