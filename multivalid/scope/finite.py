"""Finite worlds: joint laws of a feature and a label on finitely many points, where calibration can be checked exactly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from multivalid import validate
from multivalid.errors import InputError
from multivalid.properties.base import Array
from multivalid.properties.law import Law
from multivalid.scope.evaluate import Evaluable, rounding_of, value_on

EVERYONE = "everyone"
# Predictions closer than this share of their spread are one level set: Γ of two laws that agree in theory can differ in the last bits.
TIE = 1e-9
LAST_BITS = 1e-13  # of the largest prediction


@dataclass(frozen=True)
class Cell:
    """One group × level set: its mass, what is predicted there and what Γ of its labels is."""

    group: str
    prediction: float
    mass: float
    value: float

    @property
    def gap(self) -> float:
        """Distance from the prediction to Γ of the cell's labels."""
        return abs(self.prediction - self.value)


@dataclass(frozen=True)
class ExactCheck:
    """Calibration of a predictor on a finite world, cell by cell."""

    cells: tuple[Cell, ...]
    tolerance: float
    rounding: float = 0.0

    @property
    def worst(self) -> Cell:
        """The cell with the largest gap."""
        return max(self.cells, key=lambda cell: cell.gap)

    @property
    def gap(self) -> float:
        """The largest gap of any cell."""
        return self.worst.gap

    @property
    def holds(self) -> bool:
        """Whether the predictor is multicalibrated, up to `tolerance` relative to the values and up to rounding."""
        scale = max(max(abs(cell.prediction), abs(cell.value)) for cell in self.cells)
        return self.gap <= max(self.tolerance * scale, 10 * self.rounding)

    @property
    def errors(self) -> dict[str, float]:
        """Σ over level sets of mass × gap², for each group."""
        totals: dict[str, float] = {}
        for cell in self.cells:
            totals[cell.group] = totals.get(cell.group, 0.0) + cell.mass * cell.gap**2
        return totals

    @property
    def error(self) -> float:
        """The largest group error."""
        return max(self.errors.values())


@dataclass(frozen=True)
class FiniteWorld:
    """A joint law: feature k has mass `masses[k]` and label law `laws[k]`.

    Examples
    --------
    >>> from multivalid.properties import Mean, Variance
    >>> world = FiniteWorld.of({"x1": (0.5, Law.point(0)), "x2": (0.5, Law.point(1))})
    >>> world.true_predictor(Variance())
    array([0., 0.])
    >>> world.check(Variance(), world.true_predictor(Variance())).gap
    0.25
    >>> world.check(Mean(), world.true_predictor(Mean())).holds
    True
    """

    features: tuple[str, ...]
    masses: tuple[float, ...]
    laws: tuple[Law, ...]

    @classmethod
    def of(cls, points: Mapping[str, tuple[float, Law]]) -> FiniteWorld:
        """A world from feature → (mass, law of its labels); masses are scaled to sum one."""
        if not points:
            raise InputError("points is empty: a world needs at least one feature.")
        masses = np.array([validate.positive(mass, f"mass of {name!r}") for name, (mass, _) in points.items()])
        return cls(tuple(points), tuple((masses / masses.sum()).tolist()), tuple(law for _, law in points.values()))

    @classmethod
    def from_table(cls, features: Sequence[Any], labels: ArrayLike, probability: ArrayLike | None = None) -> FiniteWorld:
        """A world from rows (feature, label, probability); equal probabilities when none are given."""
        y = validate.vector(labels, "labels")
        p = validate.weights(probability, y.size, "probability")
        names = np.asarray([str(feature) for feature in features])
        validate.same_length(names, y.size, "features", "labels")
        kept = list(dict.fromkeys(names[p > 0].tolist()))
        return cls.of({name: (float(p[names == name].sum()), Law.of(y[names == name], p[names == name])) for name in kept})

    def law(self, members: NDArray[np.bool_]) -> Law:
        """Law of the label given that the feature is among `members`."""
        inside = [k for k in range(len(self.features)) if members[k]]
        values = np.concatenate([self.laws[k].values for k in inside])
        weights = np.concatenate([np.multiply(self.laws[k].weights, self.masses[k]) for k in inside])
        return Law.of(values, weights)

    def true_predictor(self, functional: Evaluable) -> Array:
        """Γ of the label law at every feature."""
        return np.array([value_on(functional, law) for law in self.laws])

    def check(
        self,
        functional: Evaluable,
        prediction: ArrayLike,
        groups: Mapping[str, Sequence[bool] | NDArray[np.bool_]] | None = None,
        *,
        tie: float = TIE,
        tolerance: float = 1e-9,
    ) -> ExactCheck:
        """Exact calibration of `prediction` (one value per feature) in every group; the whole world is always a group.

        Predictions within `tie` of their spread are one level; gaps up to `tolerance`, relative to the values, count as none.
        """
        f = validate.vector(prediction, "prediction")
        validate.same_length(f, len(self.features), "prediction", "the world")
        named = {EVERYONE: np.ones(f.size, dtype=bool)} | {
            name: np.asarray(mask, dtype=bool) for name, mask in (groups or {}).items()
        }
        everyone = value_on(functional, self.law(np.ones(f.size, dtype=bool)))
        # The width of a tie follows the units of Γ: how far predictions lie from each other and from the value of everyone.
        spread = max(float(np.ptp(f)), float(np.abs(f - everyone).max()))
        cells, width = [], (tie * spread + LAST_BITS * float(np.abs(f).max()) if tie else 0.0)
        for name, mask in named.items():
            validate.same_length(mask, f.size, f"group {name!r}", "the world")
            cells += [self._cell(functional, name, f, level) for level in _levels(f, mask, width)]
        rounding = max(rounding_of(functional, law) for law in (*self.laws, self.law(np.ones(f.size, dtype=bool))))
        return ExactCheck(tuple(cells), tolerance, rounding)

    def _cell(self, functional: Evaluable, group: str, f: Array, members: NDArray[np.bool_]) -> Cell:
        mass = float(np.array(self.masses)[members].sum())
        return Cell(group, float(f[members].min()), mass, value_on(functional, self.law(members)))


def _levels(f: Array, mask: NDArray[np.bool_], tie: float) -> Iterable[NDArray[np.bool_]]:
    """The level sets of f inside a group; values are one level while each is within `tie` of the next."""
    order = np.argsort(f, kind="stable")
    order = order[mask[order]]
    if not order.size:
        return
    for block in np.split(order, np.flatnonzero(np.diff(f[order]) > tie) + 1):
        members = np.zeros(f.size, dtype=bool)
        members[block] = True
        yield members


@dataclass(frozen=True)
class Sensibility:
    """Whether the true predictor of every world is calibrated, and the worst world."""

    holds: bool
    gap: float
    worst: int
    checked: int


def sensible(functional: Evaluable, worlds: Iterable[FiniteWorld], *, tolerance: float = 1e-9) -> Sensibility:
    """Check on a family of worlds that predicting Γ exactly at every feature is calibrated for Γ.

    Examples
    --------
    >>> from multivalid.properties import Variance
    >>> coin = FiniteWorld.of({"x1": (0.5, Law.point(0)), "x2": (0.5, Law.point(1))})
    >>> sensible(Variance(), [coin])
    Sensibility(holds=False, gap=0.25, worst=0, checked=1)
    """
    checks = [world.check(functional, world.true_predictor(functional), tolerance=tolerance) for world in worlds]
    if not checks:
        raise InputError("worlds is empty: at least one world is needed.")
    failed = [i for i, check in enumerate(checks) if not check.holds]
    worst = max(failed or range(len(checks)), key=lambda i: checks[i].gap)
    return Sensibility(not failed, checks[worst].gap, worst, len(checks))
