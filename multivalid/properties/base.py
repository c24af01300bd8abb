"""The protocol of a property: two formulas (residual V, score S), three verbs (identify, score, solve) and its facts as data.

A property Γ of the label distribution comes with

* a residual V(γ, y), nondecreasing in γ, whose mean over labels is zero exactly at γ = Γ (negative below, positive above): γ − y for a
  mean, and for every other property what γ − y is for a mean; the paper calls it the identification function;
* a score S(γ, y) with ∂S/∂γ = V, whose mean over labels is smallest at Γ.

Both are written once, over `ops` (see `multivalid.properties.ops`): `identify` and `score` evaluate them on arrays, an engine evaluates
the same formulas as expressions. Everything after this layer needs only these, plus, for speed, the *pieces* of the property.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from multivalid import validate
from multivalid.errors import InputError
from multivalid.properties.ops import NUMPY, Ops, expressions, numpy_only
from multivalid.properties.reading import MEAN_V, Reading
from multivalid.properties.scale import at_ordinary_size, check_size, scaled_weights
from multivalid.properties.target import Array as Array
from multivalid.properties.target import OwnColumn, Target

ROUNDING = 1e-14  # of the sum of absolute terms: a sum closer to zero than this is zero


class Interval(NamedTuple):
    """A closed interval of the real line (ends may be infinite).

    Examples
    --------
    >>> 0.5 in Interval(0, 1)
    True
    """

    lo: float
    hi: float

    def __contains__(self, value: object) -> bool:
        return isinstance(value, (int, float, np.number)) and self.lo <= float(value) <= self.hi

    @property
    def length(self) -> float:
        """Distance from one end to the other."""
        return self.hi - self.lo


REALS = Interval(-np.inf, np.inf)


@dataclass(frozen=True)
class Facts:
    """What is known of a property when labels lie in `labels`; the constants of every guarantee come from here.

    Attributes
    ----------
    labels : Interval
        Where labels lie.
    range : Interval
        Where Γ then lies.
    bound : float
        C, with \\|V(γ, y)\\| ≤ C for γ in `range` and y in `labels`.
    lipschitz : float or None
        L, with V(γ', y) − V(γ, y) ≤ L(γ' − γ) for every single label y; None where single labels make V jump.
    reason : str
        Why `lipschitz` is None ("" otherwise).
    anti_lipschitz : float or None
        L_a, with \\|γ − Γ\\| ≤ L_a·\\|mean V(γ, ·)\\|; None where no such constant exists.
    span : float
        B, the most that S(·, y) can vary over `range` for one label.
    """

    labels: Interval
    range: Interval
    bound: float
    lipschitz: float | None
    reason: str
    anti_lipschitz: float | None
    span: float


class Pieces(NamedTuple):
    """V and S at the m points of a grid as piecewise linear maps of K label moments t_k(y).

    For grid point j the labels are cut at `breaks[0, j] ≤ … ≤ breaks[R-1, j]` into R + 1 right-closed pieces
    (y ≤ breaks[r, j] is below). On piece r:  V(γ_j, y) = identify[r, j] @ t(y)  and  S(γ_j, y) = score[r, j] @ t(y) + κ(y).
    So V and S of any set of rows follow exactly from Σw·t_k per label bin, and these sums merge by addition.
    """

    breaks: Array
    identify: Array
    score: Array


class Property(Target):
    """A property of a label distribution that can be identified and scored.

    Subclasses are small frozen dataclasses: equal parameters make equal properties, and `repr` reads back.

    Examples
    --------
    >>> from multivalid import Expectile
    >>> prop = Expectile(0.8)
    >>> value = prop.solve([0.0, 1.0, 5.0])  # Γ of three equally likely labels
    >>> bool(abs(prop.identify(value, [0.0, 1.0, 5.0]).mean()) < 1e-12)  # mean V vanishes at Γ
    True
    >>> bool(prop.score(value, [0.0, 1.0, 5.0]).mean() < prop.score(value + 0.1, [0.0, 1.0, 5.0]).mean())  # and Γ scores best
    True
    """

    kind = "single"
    of_event: ClassVar[bool] = False  # the probability of an event: V is prediction − 1 or prediction whatever the label
    monotone_in_label: ClassVar[bool] = False  # V is monotone in the label, so that |V| is largest at the ends of the label range
    # V(γ + c, y + c) = V(γ, y): sums may then be taken about any origin, which saves digits. S may change by an amount that depends on
    # the label alone.
    shift_invariant: ClassVar[bool] = False

    # ---- the formulas, written once for arrays and engines ----------------------------------------------------
    def residual(self, ops: Ops, prediction: Any, label: Any) -> Any:
        """V(prediction, label) as a formula."""
        raise numpy_only(repr(self))

    def scoring(self, ops: Ops, prediction: Any, label: Any) -> Any:
        """S(prediction, label) as a formula."""
        return self.residual(ops, prediction, label)  # says why there is none

    def statistics(self, ops: Ops, label: Any) -> list[Any] | None:
        """t_1(y), t_2(y), … as formulas (t_0 = 1 is left out); None when the property has no finite set of moments."""
        return None

    def best_prediction(self, ops: Ops, label: Any) -> Any:
        """The prediction that scores best if the label is certain, as a formula; None where it has to be searched for."""
        return None

    def scoring_constant(self, ops: Ops, label: Any) -> Any:
        """κ(y), the part of S that no prediction changes and that `pieces` leaves out, as a formula."""
        return ops.filled(0.0, label)

    def must_be_positive(self, ops: Ops, label: Any) -> Any | None:
        """A formula that has to be positive for every label; None where every label of the domain will do."""
        return None

    # ---- the three verbs -------------------------------------------------------------------------------------
    def identify(self, prediction: ArrayLike, label: ArrayLike) -> Array:
        """V(prediction, label), element by element (numbers or arrays that broadcast)."""
        return np.asarray(self.residual(NUMPY, *broadcast(prediction, label)))

    def score(self, prediction: ArrayLike, label: ArrayLike) -> Array:
        """S(prediction, label), element by element (numbers or arrays that broadcast)."""
        return np.asarray(self.scoring(NUMPY, *broadcast(prediction, label)))

    def solve(self, labels: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Γ of the weighted empirical law of `labels` (the lowest value where Γ is an interval)."""
        y = validate.vector(labels, "labels")
        self._check_values(y, "labels")
        w = validate.weights(sample_weight, y.size)
        kept = w > 0
        order = np.argsort(y[kept], kind="stable")
        weights, start = scaled_weights(w[kept][order]), np.zeros(1, dtype=np.intp)
        return at_ordinary_size(y[kept][order], self.degree, lambda v: float(self.solve_segments(v, weights, start)[0]), repr(self))

    def solve_segments(self, labels: Array, weights: Array, starts: NDArray[np.intp]) -> Array:
        """Γ of many laws at once: law s holds labels[starts[s]:starts[s + 1]], sorted, with positive weights.

        The default bisects mean V over all laws together; properties with a closed form replace it.
        """
        sizes = np.diff(np.append(starts, labels.size))
        lo, hi = self.solution_bracket(labels[starts], labels[starts + sizes - 1])
        lo, hi = lo.copy(), hi.copy()
        for _ in range(200):
            middle = lo + (hi - lo) / 2
            if np.all((middle <= lo) | (middle >= hi)):
                break
            enough = self._reached(middle, labels, weights, starts, sizes)
            hi, lo = np.where(enough, middle, hi), np.where(enough, lo, middle)
        return np.where(self._reached(lo, labels, weights, starts, sizes), lo, hi)

    def _reached(
        self, at: Array, labels: Array, weights: Array, starts: NDArray[np.intp], sizes: NDArray[np.intp]
    ) -> NDArray[np.bool_]:
        """Whether ΣwV of each law is zero or above; up to rounding, or an interval of zeros would be left at a random point."""
        terms = weights * self.identify(np.repeat(at, sizes), labels)
        return np.asarray(np.add.reduceat(terms, starts) >= -ROUNDING * np.add.reduceat(np.abs(terms), starts))

    def solve_points(self, labels: Array) -> Array:
        """Γ of a law that sits on one label, for each label: the prediction that scores best if the label is certain."""
        known = self.best_prediction(NUMPY, labels)
        return self.solve_segments(labels, np.ones_like(labels), np.arange(labels.size)) if known is None else np.asarray(known)

    @property
    def two_values(self) -> tuple[float, float] | None:
        """The only two values that V can take, the lower first, where they depend on neither label nor prediction; else None."""
        return None

    @property
    def degree(self) -> int | None:
        """d with Γ(c·Y) = c^d·Γ(Y) for every c > 0; None where there is none."""
        return None

    # ---- facts -----------------------------------------------------------------------------------------------
    @property
    def label_domain(self) -> Interval:
        """Labels the property is defined for."""
        return REALS

    @abstractmethod
    def facts(self, lo: float = 0.0, hi: float = 1.0) -> Facts:
        """Constants when labels lie in [lo, hi], in the label's own units."""

    def solution_bracket(self, least: Array, most: Array) -> tuple[Array, Array]:
        """Γ lies between these two when labels lie between `least` and `most`."""
        return least, most

    # ---- structure, for exact sufficient statistics ------------------------------------------------------------
    def moments(self, labels: Array) -> Array | None:
        """t_k(y) as (rows, K), t_0 = 1; None when the property has no finite set of moments."""
        found = self.statistics(NUMPY, labels)
        return None if found is None else np.stack([np.ones_like(labels), *found], axis=1)

    def pieces(self, points: Array) -> Pieces | None:
        """V and S on a grid in terms of the moments; None exactly when `moments` is None."""
        return None

    def solve_moments(self, means: Array) -> Array | None:
        """Γ of laws given by the means of their moments (laws, K); None where V breaks at labels, so that means do not decide Γ."""
        return None

    def score_constant(self, labels: Array) -> Array:
        """κ(y) of each label."""
        return np.asarray(self.scoring_constant(NUMPY, labels))

    def check_engine(self) -> None:
        """Refuse a property that an engine cannot add up: one without moments, or with a Python function inside.

        Examples
        --------
        >>> Property.from_identification(lambda g, y: g - y).check_engine()
        Traceback (most recent call last):
        multivalid.errors.InputError: <property '<lambda>'> has no moments that an engine could add up. Collect the rows into memory (or
        a random sample of them) and pass that frame as data=.
        """
        from multivalid.properties.expressions import column  # narwhals is imported where an engine is asked for

        if self.statistics(expressions(), column("label")) is None:
            raise numpy_only(repr(self))

    # ---- as a target of one coordinate -------------------------------------------------------------------------
    @property
    def coordinates(self) -> tuple[OwnColumn, ...]:
        return (OwnColumn(self, 0, self.spec or repr(self)),)

    @property
    def keys(self) -> tuple[str, ...]:
        return ("",)

    @property
    def reading(self) -> Reading:
        """How mean V is shown to a person."""
        return MEAN_V

    # ---- shared help -------------------------------------------------------------------------------------------
    def check_labels(self, values: Any, name: str = "y_true") -> Array:
        """Refuse labels outside the domain, and those for which a denominator is not positive."""
        labels: Array = np.asarray(values, dtype=np.float64)
        self._check_values(labels, name)
        check_size(labels, name)
        return labels

    def _check_values(self, labels: Array, name: str) -> None:
        domain = self.label_domain
        outside = np.flatnonzero((labels < domain.lo) | (labels > domain.hi)) if domain != REALS else np.empty(0, dtype=np.intp)
        if outside.size:
            raise InputError(
                f"{name} must lie in [{domain.lo:g}, {domain.hi:g}] for {self!r}: {outside.size} values do not, the first at row "
                f"{outside[0]} ({labels[outside[0]]:g}); rescale the labels or choose another property."
            )
        with np.errstate(over="ignore", under="ignore"):
            denominator = self.must_be_positive(NUMPY, labels)
        if denominator is not None and not (denominator > 0).all():
            bad = np.flatnonzero(~(denominator > 0))
            raise InputError(
                f"{name} must keep the denominator of {self!r} positive: {len(bad)} labels do not, the first at row "
                f"{bad[0]} (label {labels[bad[0]]:g}, denominator {denominator[bad[0]]:g})."
            )

    @property
    def spec(self) -> str | None:
        """Text that `parse` reads back to an equal property; None for one built from a user's function."""
        return None

    @staticmethod
    def from_identification(
        identification: Callable[[Any, Any], Any],
        *,
        range: tuple[float, float] = (0.0, 1.0),
        labels: tuple[float, float] | None = None,
        score: Callable[[Any, Any], Any] | None = None,
        lipschitz: float | None = None,
        anti_lipschitz: float | None = None,
        breakpoints: Callable[[Array], Any] | None = None,
        name: str | None = None,
    ) -> Property:
        """A property of your own from V(prediction, label), nondecreasing in the prediction, negative below Γ and positive above.

        Parameters
        ----------
        identification : callable
            V, accepting two NumPy arrays of one shape.
        range : (float, float)
            Where the property's values lie.
        labels : (float, float), optional
            Where labels may lie; the same as `range` when not given.
        score : callable, optional
            S with ∂S/∂prediction = V; integrated numerically from V when not given.
        lipschitz, anti_lipschitz : float, optional
            L and L_a, where you know them; they enter the guarantees.
        breakpoints : callable, optional
            For a vector of labels, the predictions (labels × any number) where V jumps; γ = y is always one.
        name : str, optional
            Name in reports.

        Raises
        ------
        PropertyError
            With the law that fails and where: V is not finite, falls, or has the wrong sign.

        Examples
        --------
        >>> third = Property.from_identification(lambda g, y: (y <= g) - 1 / 3, name="lower third")
        >>> third.solve([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
        0.2
        """
        from multivalid.properties.custom import from_identification  # it builds on this module

        return from_identification(
            identification, range=range, labels=labels, score=score, lipschitz=lipschitz, anti_lipschitz=anti_lipschitz,
            breakpoints=breakpoints, name=name,
        )  # fmt: skip

    @staticmethod
    def from_score(
        score: Callable[[Any, Any], Any],
        *,
        range: tuple[float, float] = (0.0, 1.0),
        labels: tuple[float, float] | None = None,
        lipschitz: float | None = None,
        anti_lipschitz: float | None = None,
        name: str | None = None,
    ) -> Property:
        """A property of your own from S(prediction, label), convex in the prediction; V is its derivative, taken numerically.

        Parameters are those of `from_identification`. The derivative is from the right, and good to about nine digits where S is smooth;
        within a ten-thousandth of the range of a kink it is only a bound, so for a score with kinks give its V to
        `from_identification` instead. The score is also evaluated that far outside `range`.

        Examples
        --------
        >>> quartic = Property.from_score(lambda g, y: (g - y) ** 4, name="quartic")
        >>> round(quartic.solve([0.0, 0.0, 1.0]), 6)
        0.442493
        """
        from multivalid.properties.custom import from_score

        return from_score(score, range=range, labels=labels, lipschitz=lipschitz, anti_lipschitz=anti_lipschitz, name=name)


class Location(Property):
    """A property that moves with the labels: V depends on γ − y alone, and a certain label is its own best prediction."""

    def best_prediction(self, ops: Ops, label: Any) -> Any:
        return label

    shift_invariant = True
    monotone_in_label = True


def broadcast(prediction: ArrayLike, label: ArrayLike) -> tuple[Array, Array]:
    """Prediction and label as float64 arrays of one shape."""
    g, y = np.asarray(prediction, dtype=np.float64), np.asarray(label, dtype=np.float64)
    if g.shape == y.shape:  # broadcast_arrays costs as much as a whole online round
        return g, y
    g, y = np.broadcast_arrays(g, y)
    return g, y


def one_piece(identify: Array, score: Array) -> Pieces:
    """Pieces of a property whose V has no label breakpoint: coefficients are (m, K)."""
    return Pieces(np.empty((0, identify.shape[0])), identify[None], score[None])
