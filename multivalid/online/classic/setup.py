"""The settings of a learner, checked and completed: everything that does not change from round to round."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid import validate
from multivalid.errors import InputError, ModelFileError
from multivalid.grid import Grid
from multivalid.online import checks
from multivalid.online.classic.game import LabelCells
from multivalid.online.members import Members, from_json
from multivalid.properties.base import Facts, Property
from multivalid.properties.parse import parse, spec_of

Array = NDArray[np.float64]

RULES = ("crossing", "lp", "lp-any")
DEFAULT_LEVELS = 16  # measured on streams of a few thousand rounds with 20 groups: finer levels cost more noise than they save


@dataclass(frozen=True)
class Setup:
    """Checked settings; equal setups describe interchangeable learners."""

    prop: Property
    members: Members
    grid: Grid
    algorithm: str
    rule: str
    labels: tuple[float, float]
    lipschitz: float
    horizon: int | None
    delta: float
    jitter: float

    @cached_property
    def facts(self) -> Facts:
        """Constants of the property for labels in this range (jitter included)."""
        return self.prop.facts(self.labels[0], self.labels[1] + self.jitter)

    @cached_property
    def slack(self) -> Array:
        """Per level: what V may be off by when the property lies between this level and the next, over C."""
        gaps = np.diff(self.grid.points)
        beside = np.maximum(np.append(0.0, gaps), np.append(gaps, 0.0)) / 2
        beside[0] = max(beside[0], self.grid.points[0] - self.grid.lo)
        beside[-1] = max(beside[-1], self.grid.hi - self.grid.points[-1])
        return np.asarray(self.lipschitz * beside / self.facts.bound)

    @cached_property
    def rise(self) -> float:
        """Most that V may rise from a level to the next; twice the distance from an end of the range to the first level counts."""
        return 2.0 * float(self.slack.max()) * self.facts.bound

    @property
    def promised(self) -> bool:
        """Whether the rule keeps the algorithm's promise: a game against single labels does not where these make V jump."""
        return self.rule != "lp-any" or self.facts.lipschitz is not None

    @cached_property
    def cells(self) -> LabelCells:
        """Labels that decide the exact game, and the mass a Lipschitz law may give each."""
        points, (lo, hi) = self.grid.points, (self.labels[0], self.labels[1] + self.jitter)
        pieces = self.prop.pieces(points)
        breaks = points if pieces is None else np.concatenate([points, pieces.breaks.ravel()])
        cuts = np.unique(np.concatenate([[lo, hi], breaks[(breaks > lo) & (breaks < hi)]]))
        if self.rule == "lp" and self.algorithm != "paper" and self.facts.lipschitz is None:
            # V at the grid depends on the cell of the label only, and a law of density ≤ L gives a cell at most L × width.
            middles, widths = (cuts[:-1] + cuts[1:]) / 2, np.diff(cuts)
            return LabelCells(self.prop.identify(points[:, None], middles[None, :]), self.lipschitz * widths)
        labels = np.unique(np.concatenate([cuts, np.nextafter(cuts[:-1], np.inf), (cuts[:-1] + cuts[1:]) / 2]))
        return LabelCells(self.prop.identify(points[:, None], labels[None, :]), None)

    def to_json(self) -> dict[str, Any]:
        """Plain data for a saved learner; the property needs a name."""
        spec = spec_of(self.prop)
        if spec is None:
            raise InputError(f"{self.prop!r} was built from a function and has no name; give it one with register(name, property).")
        return {
            "property": spec,
            "groups": self.members.to_json(),
            "grid": self.grid.to_json(),
            "algorithm": self.algorithm,
            "rule": self.rule,
            "labels": list(self.labels),
            "lipschitz": self.lipschitz,
            "horizon": self.horizon,
            "delta": self.delta,
            "jitter": self.jitter,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Setup:
        """The setup that `to_json` described."""
        try:
            return make_classic_setup(
                parse(data["property"]),
                from_json(data["groups"]),
                grid=Grid.from_json(data["grid"]),
                algorithm=data["algorithm"],
                rule=data["rule"],
                labels=tuple(data["labels"]),
                lipschitz=data["lipschitz"],
                horizon=data["horizon"],
                delta=data["delta"],
                jitter=data["jitter"],
            )
        except (KeyError, TypeError, IndexError) as error:
            raise ModelFileError(f"the settings of the saved learner are damaged: {error!r}.") from None


def make_classic_setup(
    prop: Property,
    who: Members,
    *,
    algorithm: str,
    m: int | None = None,
    grid: Grid | None = None,
    rule: str | None = None,
    labels: tuple[float, float] = (0.0, 1.0),
    lipschitz: float | None = None,
    horizon: int | None = None,
    delta: float = 0.05,
    jitter: float = 0.0,
) -> Setup:
    """Check every setting and fill in those left to the library."""
    rule = ("lp-any" if algorithm == "paper" else "crossing") if rule is None else rule
    if rule not in RULES or (algorithm == "paper" and rule == "crossing"):
        raise InputError(f"rule must be one of {', '.join(map(repr, RULES))} ('crossing' not for algorithm='paper'), got {rule!r}.")
    lo, hi = checks.interval(labels)
    prop.check_labels(np.array([lo, hi]), "labels")
    jitter = validate.real(jitter, "jitter")
    if jitter < 0:
        raise InputError(f"jitter must not be negative, got {jitter!r}.")
    horizon = None if horizon is None else validate.count(horizon, "horizon")
    delta = validate.fraction(delta, "delta")
    facts = prop.facts(lo, hi + jitter)
    if not (np.isfinite(facts.bound) and facts.bound > 0 and np.isfinite(facts.range.length)):
        raise InputError(f"{prop!r} is unbounded for labels in [{lo:g}, {hi:g}]; give a shorter range as labels=(lo, hi).")
    slope = _slope(prop, facts, lipschitz, jitter, rule)
    if grid is None:
        m = _levels(slope, facts, horizon, len(who.names), delta) if m is None else validate.count(m, "m", 2)
        make = Grid.uniform if facts.lipschitz is not None else Grid.closed
        grid = make(facts.range.lo, facts.range.hi, m)
    elif not isinstance(grid, Grid) or len(grid) < 2 or not (facts.range.lo <= grid.lo and grid.hi <= facts.range.hi):
        raise InputError(
            f"grid must be a Grid of two points or more inside [{facts.range.lo:g}, {facts.range.hi:g}], got {grid!r}."
        )
    elif m is not None and m != len(grid):
        raise InputError(f"m={m} and a grid of {len(grid)} points contradict each other; give one of them.")
    else:
        grid = Grid(grid.points, lo=facts.range.lo, hi=facts.range.hi)
    return Setup(prop, who, grid, algorithm, rule, (lo, hi), slope, horizon, delta, jitter)


def _slope(prop: Property, facts: Facts, given: float | None, jitter: float, rule: str) -> float:
    if given is not None:
        given = validate.positive(given, "lipschitz")
        if rule == "lp" and facts.lipschitz is None and given * facts.labels.length < 1.0:
            raise InputError(f"lipschitz={given:g} is below 1/(hi - lo): no law on [lo, hi] has such a low density.")
        return given
    if facts.lipschitz is not None:
        return facts.lipschitz
    # Jittered labels have a density of at most 1/jitter whatever the stream. Without jitter it is an assumption, watched by the
    # alarm: V rises evenly over the range, as for labels spread evenly.
    if jitter > 0:
        return 1.0 / jitter
    ends, labels = np.array(facts.range)[:, None], np.linspace(*facts.labels, 33)[None, :]
    values = prop.identify(ends, labels)
    return float((values[1] - values[0]).max()) / facts.range.length


def _levels(slope: float, facts: Facts, horizon: int | None, groups: int, delta: float) -> int:
    if horizon is None:
        return DEFAULT_LEVELS
    need = np.log(2.0 * groups * DEFAULT_LEVELS * 10.0 / delta)
    best = (slope * facts.range.length * np.sqrt(horizon) / (1.5 * facts.bound * np.sqrt(need))) ** (2.0 / 3.0)
    return int(np.clip(round(float(best)), 4, 200))
