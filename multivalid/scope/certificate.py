"""A certificate that a functional cannot be calibrated alone: two laws of equal value whose mixture has another."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from multivalid import validate
from multivalid.errors import InputError
from multivalid.properties import parse_any, spec_of
from multivalid.properties.base import Property
from multivalid.properties.functional import Functional
from multivalid.properties.law import Law
from multivalid.scope.evaluate import Evaluable, label_of, rounding_of, value_on
from multivalid.scope.finite import FiniteWorld
from multivalid.scope.two_point import TwoPoint

FORMAT = "multivalid level-set certificate"
VERSION = 1


@dataclass(frozen=True)
class Counterexample:
    """Γ(first) = Γ(second) = value, but Γ(weight·first + (1 − weight)·second) = mixture_value.

    So the level set of Γ at `value` is not convex, and Γ has neither an identification function nor a consistent score. Anyone can
    check it: `verify` recomputes every number from the laws alone.

    Examples
    --------
    >>> from multivalid import CVaR, Law
    >>> from multivalid.scope import certify
    >>> found = certify(CVaR(0.9), Law.point(0.5), Law.bernoulli(0.05))
    >>> found.value, round(found.mixture_value, 12), found.verify()
    (0.5, 0.625, True)
    >>> Counterexample.from_json(found.to_json()) == found
    True
    """

    first: Law
    second: Law
    weight: float
    value: float
    mixture_value: float
    functional: Evaluable = field(repr=False)
    origin: str = "construction"

    @property
    def mixture(self) -> Law:
        """weight·first + (1 − weight)·second."""
        return self.first.mix(self.second, self.weight)

    @property
    def gap(self) -> float:
        """Distance from the mixture's value to the level set."""
        return abs(self.mixture_value - self.value)

    def verify(self, functional: Evaluable | None = None, *, tolerance: float = 1e-9) -> bool:
        """Recompute all three values; `functional` replaces the stored one, for an independent implementation.

        Equal means equal up to `tolerance`, relative to the values, and up to a hundredth of the gap; and the gap must be ten times what
        Γ moves when weights are moved by a hair (`rounding_of`), so that no rounding passes for a proof.
        """
        judge = self.functional if functional is None else functional
        try:
            one, two, mixed = (value_on(judge, law) for law in (self.first, self.second, self.mixture))
        except Exception:  # another functional may raise anything on these laws, and then confirms nothing
            return False
        scale, gap = max(abs(self.value), abs(self.mixture_value)), abs(mixed - one)
        off = max(abs(one - self.value), abs(two - self.value), abs(mixed - self.mixture_value))
        if not (0 < self.weight < 1 and gap > 0 and off <= min(tolerance * scale, 0.01 * gap)):
            return False
        return self._above_rounding(judge, gap)

    def _above_rounding(self, judge: Evaluable, gap: float) -> bool:
        try:
            noise = max(rounding_of(judge, law) for law in (self.first, self.second, self.mixture))
        except Exception:  # as in verify
            return False
        return gap > 10 * noise

    def two_point(self) -> TwoPoint:
        """The data set on two features on which the true predictor is not calibrated."""
        points = {"x1": (self.weight, self.first), "x2": (1 - self.weight, self.second)}
        return TwoPoint(self.functional, FiniteWorld.of(points), self.value, self.mixture_value)

    # ---- ways to hand it on ------------------------------------------------------------------------------------
    def columns(self) -> dict[str, list[Any]]:
        """The two-point data set as columns: feature, label, probability (joint), prediction (true), level_set_value."""
        rows = [
            (name, value, mass * share)
            for name, mass, law in (("x1", self.weight, self.first), ("x2", 1 - self.weight, self.second))
            for value, share in zip(law.values, law.weights, strict=True)
        ]
        table = dict(zip(("feature", "label", "probability"), map(list, zip(*rows, strict=True)), strict=True))
        return table | {"prediction": [self.value] * len(rows), "level_set_value": [self.mixture_value] * len(rows)}

    def to_frame(self, backend: Literal["pandas", "polars", "pyarrow"] = "pandas") -> Any:
        """`columns` as a frame of "pandas", "polars" or "pyarrow"."""
        import narwhals as nw

        try:
            return nw.from_dict(self.columns(), backend=backend).to_native()
        except (ImportError, ValueError, TypeError) as error:
            raise InputError(f"backend must be an installed one of pandas, polars, pyarrow, got {backend!r}: {error}.") from None

    def to_dict(self) -> dict[str, Any]:
        """Plain data: the functional's text, the laws and the three numbers."""
        known = self.functional if isinstance(self.functional, (Property, Functional)) else None
        laws = {
            name: {"values": list(law.values), "weights": list(law.weights)}
            for name, law in (("first", self.first), ("second", self.second))
        }
        return {
            "format": FORMAT, "version": VERSION, "spec": None if known is None else spec_of(known),
            "functional": label_of(self.functional), **laws, "weight": self.weight, "value": self.value,
            "mixture_value": self.mixture_value, "origin": self.origin,
        }  # fmt: skip

    def to_json(self) -> str:
        """`to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=2)

    @classmethod
    def from_json(cls, text: str, functional: Evaluable | None = None) -> Counterexample:
        """Read a certificate back; `functional` is needed when it was a user's function."""
        try:
            data = json.loads(text)
            if data["format"] != FORMAT or data["version"] != VERSION:
                raise InputError(f"text is not a certificate of version {VERSION}: format {data['format']!r:.60}.")
            laws = [Law.of(data[name]["values"], data[name]["weights"]) for name in ("first", "second")]
            numbers = [validate.real(data[name], name) for name in ("weight", "value", "mixture_value")]
            spec, origin = data["spec"], str(data["origin"])
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise InputError(f"text cannot be read as a certificate: {type(error).__name__} {error}.") from None
        judge: Any = functional if functional is not None else spec and parse_any(spec)
        if not judge:
            raise InputError(f"functional= is needed: the certificate is about {data['functional']!r:.60}, which has no text form.")
        return cls(laws[0], laws[1], numbers[0], numbers[1], numbers[2], judge, origin)

    def draw(self, path: str | Path) -> Path:
        """Save a small picture: Γ along the segment between the two laws, leaving the level in between."""
        from multivalid.scope.picture import draw

        return draw(self, Path(path))


def certify(functional: Evaluable, first: Law, second: Law, weight: float = 0.5, origin: str = "construction") -> Counterexample:
    """The certificate that two laws give; its numbers are computed here, and a pair that proves nothing is refused.

    Examples
    --------
    >>> from multivalid.properties import Variance
    >>> certify(Variance(), Law.point(0), Law.point(1)).mixture_value
    0.25
    """
    share = validate.fraction(weight, "weight")
    one, two = value_on(functional, first), value_on(functional, second)
    made = Counterexample(first, second, share, one, value_on(functional, first.mix(second, share)), functional, origin)
    if not made.verify():
        raise InputError(
            f"these laws prove nothing about {label_of(functional)}: values {one:.12g} and {two:.12g}, mixture "
            f"{made.mixture_value:.12g}; the first two must agree and the third must differ."
        )
    return made


def segment(certificate: Counterexample, points: int = 201) -> tuple[Any, Any]:
    """Γ along the segment: shares of the first law from 0 to 1, and Γ there."""
    shares = np.linspace(0.0, 1.0, points)
    values = [value_on(certificate.functional, certificate.first.mix(certificate.second, share)) for share in shares]
    return shares, np.array(values)
