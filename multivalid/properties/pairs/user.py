"""A user's own pair, from a target or from a conditional identification, checked when it is built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from multivalid import validate
from multivalid.errors import InputError, PropertyError
from multivalid.properties.base import Array, Interval, Property, broadcast
from multivalid.properties.function import checked, name_of
from multivalid.properties.pairs.base import Pair, PairFacts, target_facts, three
from multivalid.properties.quadrature import integrate

PROBES = 33


def from_target(
    first: Property,
    target: Callable[[Any, Any], Any],
    *,
    range: tuple[float, float],
    conditional_lipschitz: float | None = None,
    name: str | None = None,
) -> Pair:
    """What `Pair.from_target` promises."""
    return TargetPair(_property(first), _callable(target, "target"), _ends(range), conditional_lipschitz, name or name_of(target))


def from_identification(
    first: Property,
    identification: Callable[[Any, Any, Any], Any],
    *,
    range: tuple[float, float],
    labels: tuple[float, float] = (0.0, 1.0),
    score: Callable[[Any, Any, Any], Any] | None = None,
    lipschitz: float | None = None,
    conditional_lipschitz: float | None = None,
    name: str | None = None,
) -> Pair:
    """What `Pair.from_identification` promises."""
    made = IdentifiedPair(
        _property(first), _callable(identification, "identification"), _ends(range), conditional_lipschitz,
        name or name_of(identification), _ends(labels, "labels"), score, lipschitz,
    )  # fmt: skip
    _check_monotone(made)
    return made


@dataclass(frozen=True, repr=False)
class UserPair(Pair):
    """What the two kinds share: Γ⁰, the function given, where its zero lies, its slope in γ⁰, and a name."""

    prop: Property
    body: Callable[..., Any]
    hull: Interval
    slope: float | None
    name: str

    def __repr__(self) -> str:
        return f"<pair {self.prop!r} and {self.name!r}>"

    @property
    def first(self) -> Property:
        return self.prop

    @property
    def names(self) -> tuple[str, str]:
        return self.prop.spec or repr(self.prop), self.name


@dataclass(frozen=True, repr=False)
class TargetPair(UserPair):
    """The pair that `from_target` builds."""

    def target(self, first: ArrayLike, label: ArrayLike) -> Array:
        return checked(self.body, "target", *broadcast(first, label))

    def facts(self, lo: float = 0.0, hi: float = 1.0) -> PairFacts:
        reason = "" if self.slope is not None else "not given; pass conditional_lipschitz= if the target has a bounded slope"
        return target_facts(self.prop.facts(lo, hi), self.hull, self.slope, None, reason)


@dataclass(frozen=True, repr=False)
class IdentifiedPair(UserPair):
    """The pair that `from_identification` builds."""

    labels: Interval
    given_score: Callable[[Any, Any, Any], Any] | None
    lipschitz: float | None

    @property
    def has_target(self) -> bool:
        return False

    def identify_second(self, first: ArrayLike, second: ArrayLike, label: ArrayLike) -> Array:
        return checked(self.body, "identification", *three(first, second, label))

    def score_second(self, first: ArrayLike, second: ArrayLike, label: ArrayLike) -> Array:
        g, s, y = three(first, second, label)
        if self.given_score is not None:
            return checked(self.given_score, "score", g, s, y)
        return integrate(lambda r: self.identify_second(g, r, y), np.full_like(s, self.hull.lo), s)

    def solve_second(self, first: float, labels: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        y = validate.vector(labels, "labels")
        w = validate.weights(sample_weight, y.size)
        lo, hi = self.hull
        if w @ self.identify_second(first, lo, y) >= 0:
            return lo
        for _ in range(200):
            middle = lo + (hi - lo) / 2
            if middle <= lo or middle >= hi:
                break
            if w @ self.identify_second(first, middle, y) >= 0:
                hi = middle
            else:
                lo = middle
        return hi

    def facts(self, lo: float = 0.0, hi: float = 1.0) -> PairFacts:
        first = self.prop.facts(lo, hi)
        bound = float(np.abs(self.identify_second(*_mesh(first.range, self.hull, Interval(lo, hi)))).max())
        missing = [name for name, value in (("lipschitz", self.lipschitz), ("conditional_lipschitz", self.slope)) if value is None]
        reason = f"not given; pass {' and '.join(missing)} where you know a bound" if missing else ""
        # S¹ varies by ∫|V¹|, at most bound × length.
        return PairFacts(
            first.labels, first, self.hull, bound, self.lipschitz, self.slope, bound * self.hull.length, None, reason
        )  # fmt: skip


def _check_monotone(pair: IdentifiedPair) -> None:
    first, second, label = _mesh(pair.prop.facts(*pair.labels).range, pair.hull, pair.labels)
    v = pair.identify_second(first, second, label)
    falls = np.diff(v, axis=1) < -1e-9 * max(float(np.abs(v).max()), 1e-300)
    if falls.any():
        i, j, k = (int(at) for at in np.argwhere(falls)[0])
        raise PropertyError(
            f"not monotone: the identification of {pair.name!r} falls from {v[i, j, k]:.6g} to {v[i, j + 1, k]:.6g} between second "
            f"predictions {second[i, j, k]:.6g} and {second[i, j + 1, k]:.6g} (first {first[i, j, k]:.6g}, label "
            f"{label[i, j, k]:.6g}); it must not decrease. If it falls everywhere, change its sign."
        )


def _mesh(first: Interval, second: Interval, labels: Interval) -> tuple[Array, Array, Array]:
    axes = [np.linspace(ends.lo, ends.hi, PROBES) for ends in (first, second, labels)]
    return three(axes[0][:, None, None], axes[1][None, :, None], axes[2][None, None, :])


def _property(first: object) -> Property:
    if not isinstance(first, Property):
        raise InputError(f"first must be a property, such as Mean(), got {first!r}.")
    return first


def _callable(body: Any, name: str) -> Callable[..., Any]:
    if not callable(body):
        raise InputError(f"{name} must be a function of arrays, got {body!r}.")
    return body  # type: ignore[no-any-return]


def _ends(ends: tuple[float, float], name: str = "range") -> Interval:
    try:
        lo, hi = ends
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a pair (low, high), got {ends!r}.") from None
    lo, hi = validate.real(lo, f"{name}[0]"), validate.real(hi, f"{name}[1]")
    if not lo < hi:
        raise InputError(f"{name} must be (low, high) with low < high, got {ends!r}.")
    return Interval(lo, hi)
