"""The scale on which groups shift predictions: log-odds inside a known range, logarithms for skewed amounts, else the own units."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from multivalid.errors import InputError, ModelFileError
from multivalid.evaluators import Arrays
from multivalid.properties.base import Interval
from multivalid.properties.ops import NUMPY, Ops
from multivalid.storage import is_number

if TYPE_CHECKING:
    from multivalid.evaluators import Evaluator
    from multivalid.properties.base import Array, Property

EDGE = 1e-7  # predictions at the end of the range are taken this far inside before the logarithm
LARGEST = 30.0  # exp(30) on either side of the link is as good as the end
ATOM = 0.01  # share of the labels on an end of the range from which on a quantile may have to be that end
STRETCH = 0.01  # how far the range is stretched where labels sit on its very ends
SNAP = 1e-4  # of the range: how near to such an end counts as the end
FARTHEST = 1e12  # units of the link between predictions: beyond, single precision has lost the labels
SMALL = 1e-4  # labels that go no farther than this are amounts, not shares of 1: log-odds would not tell them from 0
PROBE = 2_000  # rows that settle the scale


class Link(ABC):
    """A monotone map of predictions onto the line and its inverse, each a formula for arrays and for the expressions of an engine.

    Examples
    --------
    >>> logit = LogOdds()
    >>> round(float(logit.inverse(logit.forward(np.array(0.25)))), 12)
    0.25
    """

    kind: ClassVar[str]  # its name in a file
    center: float
    scale: float
    stretched: bool

    @abstractmethod
    def onto(self, by: Evaluator, values: Any) -> Any:
        """Predictions on the link scale."""

    @abstractmethod
    def back(self, ops: Ops, values: Any, snap: float = 0.0) -> Any:
        """Predictions in the label's own units; next to an end that labels sit on (within `snap` of the range), the end itself."""

    def forward(self, values: Array) -> Array:
        """Predictions on the link scale."""
        return np.asarray(self.onto(Arrays(), values))

    def inverse(self, values: Array, *, handed_out: bool = False) -> Array:
        """Predictions in the label's own units; as they are `handed_out`, next to an end that labels sit on, the end itself.

        The loss has its kink exactly there, and the fit ends a hair to either side of it; a hair below, such labels are not covered.
        """
        return np.asarray(self.back(NUMPY, values, SNAP if handed_out else 0.0))

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"kind": self.kind, "center": self.center, "scale": self.scale, "stretched": self.stretched}

    @classmethod
    def from_json(cls, data: Any) -> Link:
        """The link that `to_json` described."""
        if not isinstance(data, dict) or set(data) != {"kind", "center", "scale", "stretched"} or str(data["kind"]) not in KINDS:
            raise ModelFileError(f"link must have kind ({', '.join(KINDS)}), center, scale and stretched.")
        numbers = [data["center"], data["scale"]]
        if not all(is_number(v) for v in numbers) or numbers[1] <= 0:
            raise ModelFileError(f"link center must be finite and scale positive, got {str(numbers)[:80]}.")
        if not isinstance(data["stretched"], bool):
            raise ModelFileError(f"link stretched must be true or false, got {data['stretched']!r}.")
        return KINDS[data["kind"]](float(numbers[0]), float(numbers[1]), data["stretched"])


@dataclass(frozen=True)
class LogOdds(Link):
    """Maps (center, center + scale) onto the line; predictions made through it never leave the range (see `choose_link`)."""

    kind: ClassVar[str] = "logit"
    center: float = 0.0
    scale: float = 1.0
    stretched: bool = False

    def onto(self, by: Evaluator, values: Any) -> Any:
        share = by.keep("inside", by.ops.minimum(by.ops.maximum((values - self.center) / self.scale, EDGE), 1 - EDGE))
        return by.keep("base", by.ops.log(share / (1 - share)))

    def back(self, ops: Ops, values: Any, snap: float = 0.0) -> Any:
        odds = ops.exp(ops.minimum(ops.maximum(values, -LARGEST), LARGEST))
        predictions = self.center + self.scale * (odds / (1 + odds))
        if not self.stretched:
            return predictions
        lo, hi = self.ends
        near = snap * (hi - lo)
        return ops.where(predictions <= lo + near, lo, ops.where(predictions >= hi - near, hi, predictions))

    @property
    def ends(self) -> Interval:
        """The range of the predictions."""
        if not self.stretched:
            return Interval(self.center, self.center + self.scale)
        width = self.scale / (1 + 2 * STRETCH)
        lo = self.center + STRETCH * width
        return Interval(lo, lo + width)


@dataclass(frozen=True)
class Logarithm(Link):
    """Maps positive amounts onto the line, `scale` to zero."""

    kind: ClassVar[str] = "log"
    center: float = 0.0
    scale: float = 1.0
    stretched: bool = False

    def onto(self, by: Evaluator, values: Any) -> Any:
        return by.keep("base", by.ops.log(by.keep("inside", by.ops.maximum(values, EDGE * self.scale) / self.scale)))

    def back(self, ops: Ops, values: Any, snap: float = 0.0) -> Any:
        return self.scale * ops.exp(ops.minimum(values, LARGEST))


@dataclass(frozen=True)
class OwnUnits(Link):
    """Leaves predictions as they are, up to the unit: one is about the noise of one label."""

    kind: ClassVar[str] = "identity"
    center: float = 0.0
    scale: float = 1.0
    stretched: bool = False

    def onto(self, by: Evaluator, values: Any) -> Any:
        return by.keep("base", (values - self.center) / self.scale)

    def back(self, ops: Ops, values: Any, snap: float = 0.0) -> Any:
        return self.center + self.scale * values


KINDS: dict[str, type[LogOdds] | type[Logarithm] | type[OwnUnits]] = {"logit": LogOdds, "log": Logarithm, "identity": OwnUnits}


def choose_link(prop: Property, labels: Array, predictions: Array) -> Link:
    """Log-odds where the property's range is known, logarithms for positive predictions of a skewed property, else its own units.

    What counts is the range of the property, not of the labels: the probability of an event has one in whatever units the labels are.
    """
    from multivalid.batch.plan import label_range

    facts = prop.facts(*label_range(prop, labels))
    span = _known_range(prop, labels, facts.range, predictions)
    if span is not None:
        # Where a quantile may be the very end of the range, log-odds would never reach it: stretch the range, and cut at its ends.
        at_ends = facts.lipschitz is None and float(np.mean((labels == span.lo) | (labels == span.hi))) > ATOM
        room = STRETCH if at_ends else 0.0
        return LogOdds(span.lo - room * span.length, span.length * (1 + 2 * room), at_ends)
    points = prop.solve_points(labels[:PROBE])  # the best prediction of each label alone: values on the property's own scale
    if facts.range.lo >= 0 and predictions.min() > 0 and points.std() > points.mean() > 0:
        return Logarithm(scale=float(points.mean()))
    # One unit of the link is about the noise of one label, so that the ridge means the same in any units.
    scale = float(points.std()) or float(predictions.std()) or 1.0
    far = float(np.ptp(predictions)) / scale
    if far > FARTHEST:
        raise InputError(
            f"y_pred goes from {predictions.min():.3g} to {predictions.max():.3g}, {far:.1g} times as far as the labels spread; leave out "
            f"or repair predictions that are no predictions of these labels."
        )
    return OwnUnits(float(predictions.mean()), scale)


def _known_range(prop: Property, labels: Array, span: Interval, predictions: Array) -> Interval | None:
    """A range that the property has by nature, or [0, 1] where all labels and predictions lie in it."""
    lo, hi = float(labels.min()), float(labels.max())
    inner = prop.facts(lo + (hi - lo) / 4, hi - (hi - lo) / 4) if lo < hi else None
    if inner is not None and inner.range == span and np.isfinite(span.length):
        return span  # the same for fewer labels: it does not come from the labels seen
    inside = min(span.lo, predictions.min()) >= 0 and max(span.hi, predictions.max()) <= 1
    return Interval(0.0, 1.0) if inside and not 0 < hi < SMALL else None
