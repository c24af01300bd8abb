"""The protocol of a pair: a property Γ⁰ and a second coordinate Γ¹ that becomes identifiable once Γ⁰ is known.

The second coordinate has, for every value γ⁰ of the first, an identification V¹(γ⁰; γ¹, y) that is nondecreasing in γ¹ and whose
mean over the labels of a law with Γ⁰ = γ⁰ is zero exactly at γ¹ = Γ¹. Most pairs have V¹ = γ¹ − target(γ⁰, y): then calibrating the
second coordinate is calibrating the mean of the pseudo-label `target`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from multivalid import validate
from multivalid.errors import InputError, PropertyError
from multivalid.properties.base import Array, Facts, Interval, Property, broadcast
from multivalid.properties.ops import NUMPY, Ops, numpy_only
from multivalid.properties.reading import MEAN_V, OBSERVED_GIVEN_FIRST, Reading
from multivalid.properties.scale import scaled_weights
from multivalid.properties.target import Coordinate, OwnColumn, Target


@dataclass(frozen=True)
class PairFacts:
    """What is known of a pair when labels lie in `labels`, in the label's own units.

    Attributes
    ----------
    labels : Interval
        Where labels lie.
    first : Facts
        Of Γ⁰: L⁰ is `first.lipschitz`, L_a `first.anti_lipschitz`, C⁰ `first.bound`, B⁰ `first.span`.
    second_range : Interval
        Where the zero of mean V¹(γ⁰; ·, y) can lie for any γ⁰ in `first.range`, right or wrong; the grid of the second
        coordinate must cover it, and it can be wider than the range of Γ¹.
    second_bound : float
        C¹, with |V¹| ≤ C¹ on these ranges.
    second_lipschitz : float or None
        L¹, slope of V¹ in γ¹ for every single label; None where single labels make V¹ jump.
    conditional_lipschitz : float or None
        L_c, slope of V¹ in γ⁰ for every single label; None where it jumps.
    second_span : float
        B¹, the most that S¹(γ⁰; ·, y) can vary over `second_range`.
    bayes_scale : float or None
        c > 0 with target(γ⁰, y) = c·S⁰(γ⁰, y) + κ(y) when Γ¹ is a Bayes risk of Γ⁰ (−c·S⁰ + κ for gains); None otherwise.
    reason : str
        Why a Lipschitz constant is None ("" otherwise).
    """

    labels: Interval
    first: Facts
    second_range: Interval
    second_bound: float
    second_lipschitz: float | None
    conditional_lipschitz: float | None
    second_span: float
    bayes_scale: float | None = None
    reason: str = ""

    @property
    def bayes(self) -> bool:
        """Whether the second coordinate is a Bayes risk of the first."""
        return self.bayes_scale is not None


class Pair(Target):
    """Two functionals of a label distribution that can be calibrated together. Subclasses are small frozen dataclasses.

    Examples
    --------
    >>> from multivalid import MeanVariance
    >>> MeanVariance().names, float(MeanVariance().target(0.5, 2.0))
    (('mean', 'variance'), 2.25)
    """

    kind = "pair"
    joint = True

    @property
    @abstractmethod
    def first(self) -> Property:
        """Γ⁰, with its V⁰ and S⁰."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, str]:
        """What the two coordinates are called in reports."""

    @property
    def has_target(self) -> bool:
        """Whether V¹ = γ¹ − target(γ⁰, y)."""
        return True

    @property
    def of_gains(self) -> bool:
        """Whether more is better: a Bayes risk is then the largest mean target, not the least."""
        return False

    # ---- formulas, written once for arrays and engines --------------------------------------------------------
    def pseudo_label(self, ops: Ops, first: Any, label: Any) -> Any:
        """target(γ⁰, y) as a formula; only for pairs that have one."""
        if not self.has_target:
            raise PropertyError(f"{self!r} has no target: use identify_second and score_second.")
        raise numpy_only(repr(self))

    def second_residual(self, ops: Ops, first: Any, second: Any, label: Any) -> Any:
        """V¹(first; second, label) as a formula."""
        return second - self.pseudo_label(ops, first, label)

    def second_scoring(self, ops: Ops, first: Any, second: Any, label: Any) -> Any:
        """S¹(first; second, label) as a formula."""
        return ops.power(self.second_residual(ops, first, second, label), 2) / 2

    # ---- the same on arrays ------------------------------------------------------------------------------------
    def target(self, first: ArrayLike, label: ArrayLike) -> Array:
        """The pseudo-label whose mean is the second coordinate; only for pairs that have one."""
        return np.asarray(self.pseudo_label(NUMPY, *broadcast(first, label)))

    def identify_second(self, first: ArrayLike, second: ArrayLike, label: ArrayLike) -> Array:
        """V¹(first; second, label), element by element."""
        if self.has_target:
            return np.asarray(np.asarray(second, dtype=np.float64) - self.target(first, label))
        return np.asarray(self.second_residual(NUMPY, *three(first, second, label)))

    def score_second(self, first: ArrayLike, second: ArrayLike, label: ArrayLike) -> Array:
        """S¹(first; second, label), with ∂S¹/∂second = V¹."""
        if self.has_target:
            return np.asarray(self.identify_second(first, second, label) ** 2 / 2)
        return np.asarray(self.second_scoring(NUMPY, *three(first, second, label)))

    def solve(self, labels: ArrayLike, sample_weight: ArrayLike | None = None) -> tuple[float, float]:
        """(Γ⁰, Γ¹) of the weighted empirical law of `labels`."""
        first = self.first.solve(labels, sample_weight)
        return first, self.solve_second(first, labels, sample_weight)

    def solve_second(self, first: float, labels: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The zero of mean V¹(first; ·, y), for any `first`, right or wrong."""
        y = validate.vector(labels, "labels")
        w = scaled_weights(validate.weights(sample_weight, y.size))
        with np.errstate(over="ignore", invalid="ignore"):
            value = float(np.average(self.target(first, y), weights=w))
        if not np.isfinite(value):
            raise InputError(
                f"{self.names[1]} of these labels is too large for a floating-point number; use another unit for the labels."
            )
        return value

    def solve_second_segments(self, first: Array, labels: Array, weights: Array, starts: NDArray[np.intp]) -> Array:
        """`solve_second` of many laws at once: law s holds labels[starts[s]:starts[s + 1]] with positive weights, at first[s]."""
        if self.has_target:
            sizes = np.diff(np.append(starts, labels.size))
            total = np.add.reduceat(weights * self.target(np.repeat(first, sizes), labels), starts)
            return np.asarray(total / np.add.reduceat(weights, starts))
        ends = np.append(starts[1:], labels.size)
        laws = zip(first, starts, ends, strict=True)
        return np.array([self.solve_second(float(g), labels[a:b], weights[a:b]) for g, a, b in laws])

    @abstractmethod
    def facts(self, lo: float = 0.0, hi: float = 1.0) -> PairFacts:
        """Constants when labels lie in [lo, hi], in the label's own units."""

    # ---- as a target of two coordinates ----------------------------------------------------------------------
    @property
    def coordinates(self) -> tuple[Coordinate, Coordinate]:
        return OwnColumn(self.first, 0, self.names[0]), SecondCoordinate(self)

    @property
    def keys(self) -> tuple[str, str]:
        return "first", "second"

    def solve_cells(self, labels: Array, predictions: Array, weights: Array, starts: NDArray[np.intp]) -> Array:
        """Γ⁰, Γ¹ and mean V¹ at the true Γ⁰ of many laws at once (sorted labels): shape (3, laws)."""
        truth = self.first.solve_segments(labels, weights, starts)
        value = self.solve_second_segments(truth, labels, weights, starts)
        total, second = np.add.reduceat(weights, starts), predictions[:, 1]
        if self.has_target:
            residual = np.add.reduceat(weights * second, starts) / total - value
        else:
            sizes = np.diff(np.append(starts, labels.size))
            residual = np.add.reduceat(weights * self.identify_second(np.repeat(truth, sizes), second, labels), starts) / total
        return np.stack([truth, value, residual])

    def solve_groups(self, labels: Array, predictions: Array, weights: Array, starts: NDArray[np.intp]) -> Array:
        """What the predictions of a group as a whole should be, shape (2, laws).

        Γ⁰, and the mean target at the predicted f⁰ (Γ¹ of a mixture is no mean of Γ¹); Γ¹ for pairs without a target.
        """
        first = self.first.solve_segments(labels, weights, starts)
        if not self.has_target:
            return np.stack([first, self.solve_second_segments(first, labels, weights, starts)])
        target = np.add.reduceat(weights * self.target(predictions[:, 0], labels), starts)
        return np.stack([first, target / np.add.reduceat(weights, starts)])

    def check_labels(self, values: Any, name: str = "y_true") -> Array:
        """Refuse labels outside the domain of the first coordinate."""
        return self.first.check_labels(values, name)

    @property
    def spec(self) -> str | None:
        """Text that `parse_any` reads back to an equal pair; None for one built from a user's function."""
        return None

    @staticmethod
    def from_target(
        first: Property,
        target: Callable[[Any, Any], Any],
        *,
        range: tuple[float, float],
        conditional_lipschitz: float | None = None,
        name: str | None = None,
    ) -> Pair:
        """A pair of your own whose second coordinate is the mean of target(γ⁰, y) at γ⁰ = Γ⁰.

        Parameters
        ----------
        first : Property
            Γ⁰.
        target : callable
            Pseudo-label, accepting two NumPy arrays of one shape (first prediction, label).
        range : (float, float)
            Hull of the targets, for every first prediction and not only the right one.
        conditional_lipschitz : float, optional
            L_c, the slope of the target in γ⁰.
        name : str, optional
            Name of the second coordinate.

        Examples
        --------
        >>> from multivalid import Quantile
        >>> spread = Pair.from_target(Quantile(0.5), lambda g, y: abs(y - g), range=(0, 1), conditional_lipschitz=1, name="spread")
        >>> spread.solve([0.0, 0.5, 1.0])
        (0.5, 0.3333333333333333)
        """
        from multivalid.properties.pairs.user import from_target  # it builds on this module

        return from_target(first, target, range=range, conditional_lipschitz=conditional_lipschitz, name=name)

    @staticmethod
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
        """A pair of your own from V¹(γ⁰, γ¹, y), nondecreasing in γ¹.

        Parameters
        ----------
        first : Property
            Γ⁰.
        identification : callable
            V¹, accepting three NumPy arrays of one shape (first prediction, second prediction, label).
        range : (float, float)
            Where the zero of mean V¹ in γ¹ lies, for every first prediction.
        labels : (float, float)
            Where V¹ is checked.
        score : callable, optional
            S¹ with ∂S¹/∂γ¹ = V¹; integrated numerically from V¹ when not given.
        lipschitz, conditional_lipschitz : float, optional
            L¹ and L_c, where you know them.
        name : str, optional
            Name of the second coordinate.

        Raises
        ------
        PropertyError
            When V¹ is not finite or falls with γ¹ somewhere.

        Examples
        --------
        >>> from multivalid import Mean
        >>> std = Pair.from_identification(Mean(), lambda g, s, y: s**2 - (y - g) ** 2, range=(0, 1), name="std")
        >>> first, second = std.solve([0, 1])
        >>> first, round(second, 12)
        (0.5, 0.5)
        """
        from multivalid.properties.pairs.user import from_identification

        return from_identification(
            first, identification, range=range, labels=labels, score=score, lipschitz=lipschitz,
            conditional_lipschitz=conditional_lipschitz, name=name,
        )  # fmt: skip


@dataclass(frozen=True)
class SecondCoordinate(Coordinate):
    """The second coordinate of a pair, where it has to be spoken of alone: V¹ with γ⁰ the first prediction."""

    pair: Pair

    column = 1

    def __repr__(self) -> str:
        return self.pair.names[1]

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.pair.names[1]

    @property
    def predicted(self) -> SecondCoordinate:
        return self

    @property
    def reading(self) -> Reading:
        return OBSERVED_GIVEN_FIRST if self.pair.has_target else MEAN_V

    def residual(self, ops: Ops, columns: Sequence[Any], label: Any) -> Any:
        if ops is NUMPY:  # a user's pair may know arrays only
            return self.pair.identify_second(columns[0], columns[1], label)
        return self.pair.second_residual(ops, columns[0], columns[1], label)

    def scoring(self, ops: Ops, columns: Sequence[Any], label: Any) -> Any:
        if ops is NUMPY:
            return self.pair.score_second(columns[0], columns[1], label)
        return self.pair.second_scoring(ops, columns[0], columns[1], label)

    def solve_segments(self, labels: Array, weights: Array, starts: NDArray[np.intp], earlier: Sequence[Array]) -> Array:
        return self.pair.solve_second_segments(earlier[0], labels, weights, starts)


def target_facts(
    first: Facts, second_range: Interval, conditional_lipschitz: float | None, bayes_scale: float | None, reason: str = ""
) -> PairFacts:
    """Facts of a pair with V¹ = γ¹ − target: everything about the second coordinate follows from the hull of the targets."""
    length = second_range.length
    return PairFacts(
        first.labels, first, second_range, length, 1.0, conditional_lipschitz, length**2 / 2, bayes_scale, reason
    )  # fmt: skip


def three(first: ArrayLike, second: ArrayLike, label: ArrayLike) -> tuple[Array, Array, Array]:
    """Two predictions and a label as float64 arrays of one shape."""
    arrays: tuple[NDArray[np.float64], ...] = np.broadcast_arrays(
        *(np.asarray(values, dtype=np.float64) for values in (first, second, label))
    )
    return arrays[0], arrays[1], arrays[2]
