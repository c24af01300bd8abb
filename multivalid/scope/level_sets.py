"""The falsifier: look for two laws of equal Γ whose mixture has another. It can refute convex level sets, never confirm them.

A trial draws a first law P1, then two laws with Γ on either side of Γ(P1), finds by root search a law P2 on the segment between
them with Γ(P2) = Γ(P1), and looks at a few mixtures. Every third trial is a cheaper guess: two point masses of equal Γ, or a point
mass against a two-point law with the same Γ.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from multivalid import validate
from multivalid.errors import InputError
from multivalid.properties.base import Array
from multivalid.properties.law import Law
from multivalid.scope import deadline
from multivalid.scope.certificate import Counterexample
from multivalid.scope.evaluate import Evaluable, as_number, evaluator
from multivalid.scope.roots import crossing

SHARES = (0.5, 0.25, 0.75, 0.1, 0.9)
# A gap counts when it is this large next to the values seen (a solver that stops early makes gaps of its own, and stays below this if it
# is good to five digits), and this much larger than the disagreement of the two laws.
LEAST_GAP = 1e-4
LEAST_RATIO = 1e4
# The weights of the three laws are shaken by this much; a Γ that jumps there proves nothing but rounding.
SHAKE = 1e-10
# How far to either side Γ is asked again, to see its own error.
STRIDE = 1e-3
# A function that answers none of its first laws is given up.
PATIENCE = 40


@dataclass(frozen=True)
class Search:
    """What a search did, and the certificate if it found one.

    `trials` were made and gave `pairs` of laws of equal value, whose mixtures were compared; of all `calls` of the function,
    `failures` had no usable answer, the first because of `problem`. `finished` is False when the time limit ended it.
    """

    certificate: Counterexample | None
    trials: int
    pairs: int
    calls: int
    failures: int
    problem: str
    seconds: float
    finished: bool
    seed: int

    def summary(self) -> str:
        """How hard it looked, in words."""
        end = "" if self.finished else ", stopped by the time limit"
        failed = f", {self.failures} of them without a usable answer ({self.problem})" if self.failures else ""
        work = f"{self.trials} trials, {self.pairs} pairs of laws compared, {self.calls} calls{failed}"
        return f"{work}, {self.seconds:.2g} s, seed {self.seed}{end}"


def falsify(
    functional: Evaluable,
    *,
    labels: tuple[float, float] = (0.0, 1.0),
    trials: int = 400,
    seconds: float | None = 1.2,
    seed: int = 0,
) -> Search:
    """Search for a violation of convex level sets among laws on at most five labels.

    Parameters
    ----------
    functional : Property, Functional or callable
        Γ; a callable receives (values, weights), values distinct and increasing, weights positive with sum one.
    labels : (float, float)
        Where labels lie.
    trials : int
        Most trials to make.
    seconds : float or None
        Time limit, kept even when the function never returns; None for no limit.
    seed : int
        Trials are numbered and drawn from this seed: the same seed finds the same certificate, unless time runs out first.

    Examples
    --------
    >>> falsify(lambda values, weights: weights @ values**2 - (weights @ values) ** 2).certificate.verify()
    True
    >>> falsify(lambda values, weights: weights @ values, trials=100).certificate is None
    True
    """
    lo, hi = (validate.real(end, "labels") for end in labels)
    if not lo < hi:
        raise InputError(f"labels must be (low, high) with low < high, got {labels!r}.")
    hunt = Hunt(functional, lo, hi, validate.count(seed, "seed", least=0))
    most = validate.count(trials, "trials", least=1)
    start = time.perf_counter()
    finished = deadline.run(lambda stop: hunt.run(most, stop), seconds)
    took = time.perf_counter() - start
    return Search(
        hunt.found, hunt.trial, hunt.pairs, hunt.calls, hunt.failures, hunt.problem, took, finished, hunt.seed
    )  # fmt: skip


class Hunt:
    """One search: the random stream, the counters and what has been found so far (readable while it runs)."""

    def __init__(self, functional: Evaluable, lo: float, hi: float, seed: int) -> None:
        self.functional, self.lo, self.hi, self.seed = functional, lo, hi, seed
        self.evaluate: Callable[[Array, Array], Any] = evaluator(functional)
        self.random = np.random.default_rng(seed)
        self.trial = self.pairs = self.calls = self.answered = self.failures = 0
        self.scale = 0.0
        self.problem = ""
        self.found: Counterexample | None = None

    def run(self, trials: int, stop: threading.Event) -> None:
        """Trials one after another until one succeeds, the function proves unusable, or `stop` is set."""
        with np.errstate(all="ignore"):  # a user's 0/0 is a law without answer, not a warning
            self._run(trials, stop)

    def _run(self, trials: int, stop: threading.Event) -> None:
        if not self._repeatable():
            return
        for number in range(trials):
            if stop.is_set() or (self.answered == 0 and self.calls >= PATIENCE):
                return
            found = self._guess(number // 3) if number % 3 == 0 else self._general()
            self.trial = number + 1
            if found is not None:
                self.found = found
                return

    # ---- Γ ---------------------------------------------------------------------------------------------------
    def gamma(self, support: Array, weights: Array) -> float | None:
        """Γ of the law, or None when the function has no answer for it."""
        kept = weights > 0
        share = weights[kept]
        self.calls += 1
        try:
            value = as_number(self.evaluate(support[kept], share / share.sum()))
        except BaseException as error:  # a user's function may raise anything, even SystemExit; it only loses this law
            self.failures += 1
            self.problem = self.problem or _describe(error)
            return None
        self.answered += 1
        self.scale = max(self.scale, abs(value))
        return value

    def _repeatable(self) -> bool:
        support, weights = np.array([self.lo, (self.lo + 2 * self.hi) / 3, self.hi]), np.array([0.3, 0.3, 0.4])
        values = {self.gamma(support, weights) for _ in range(3)}
        if len(values) > 1:
            self.failures = self.calls
            self.problem = "it gives different answers for the same law"
        return len(values) == 1

    # ---- candidates --------------------------------------------------------------------------------------------
    def _guess(self, number: int) -> Counterexample | None:
        share = (0.5, 0.25, 0.75)[number // 2 % 3] if number < 6 else self.random.uniform(0.05, 0.95)
        if number % 2 == 0:
            ends = np.array([0.0, 1.0]) if number == 0 else np.sort(self.random.choice(np.arange(0, 11), 2, replace=False) / 10)
            return self._compare(self.lo + (self.hi - self.lo) * ends, np.array([1.0, 0.0]), np.array([0.0, 1.0]))
        value = self.gamma(np.array([self.lo, self.hi]), np.array([1 - share, share]))
        if value is None or not self.lo < value < self.hi:
            return None
        return self._compare(np.array([self.lo, value, self.hi]), np.array([0.0, 1.0, 0.0]), np.array([1 - share, 0.0, share]))

    def _general(self) -> Counterexample | None:
        support = self._support()
        first = self._weights(support.size)
        value = self.gamma(support, first)
        if value is None:
            return None
        below, above = self._around(support, value)
        if below is None or above is None:
            return None
        share = crossing(lambda t: self.gamma(support, (1 - t) * below + t * above), value, 1e-12 * self.scale)
        return None if share is None else self._compare(support, first, (1 - share) * below + share * above)

    def _support(self) -> Array:
        size = int(self.random.integers(2, 6))
        # Half of the supports lie on a lattice: functionals that only see the order of labels need ties to be tested at all.
        unit = self.random.integers(0, 11, size) / 10 if self.random.random() < 0.5 else self.random.random(size)
        return self.lo + (self.hi - self.lo) * np.unique(unit)

    def _weights(self, size: int) -> Array:
        kept = self.random.random(size) < 0.7
        kept[self.random.integers(size)] = True
        weights = np.where(kept, self.random.exponential(size=size), 0.0)
        return np.asarray(weights / weights.sum())

    def _around(self, support: Array, value: float) -> tuple[Array | None, Array | None]:
        """Laws with Γ below and above `value`."""
        below: Array | None = None
        above: Array | None = None
        for _ in range(12):
            weights = self._weights(support.size)
            other = self.gamma(support, weights)
            if other is not None and other < value:
                below = weights
            elif other is not None and other > value:
                above = weights
            if below is not None and above is not None:
                break
        return below, above

    # ---- verdict on a candidate ----------------------------------------------------------------------------------
    def _compare(self, support: Array, first: Array, second: Array) -> Counterexample | None:
        one, two = self.gamma(support, first), self.gamma(support, second)
        if one is None or two is None or abs(one - two) > 1e-10 * self.scale:
            return None
        self.pairs += 1
        for share in SHARES:
            mixture = share * first + (1 - share) * second
            mixed = self.gamma(support, mixture)
            if mixed is None or abs(mixed - one) <= max(LEAST_GAP * self.scale, LEAST_RATIO * abs(one - two)):
                continue
            gap = abs(mixed - one)
            if gap <= self._needed(support, (first, second, mixture), (one, two, mixed)):
                continue
            if all(self._steady(support, w, v, gap) for w, v in ((first, one), (second, two), (mixture, mixed))):
                laws = Law.of(support, first), Law.of(support, second)
                origin = f"search, seed {self.seed}, trial {self.trial + 1}"
                made = Counterexample(*laws, share, one, mixed, self.functional, origin)
                if made.verify():
                    return made
        return None

    def _needed(self, support: Array, laws: tuple[Array, ...], values: tuple[float, ...]) -> float:
        """The gap that a proof must exceed: twenty times the error of Γ itself, which may be a solver's.

        It is measured by asking again a little to either side: a Γ without error moves along a line there, up to `STRIDE`², and what is
        off the line is error.
        """
        noise = 0.0
        for weights, value in zip(laws, values, strict=True):
            for atom in np.flatnonzero((weights > 2 * STRIDE) & (weights < 1)):
                step = STRIDE * (np.eye(support.size)[atom] - weights)
                near = [self.gamma(support, weights + sign * step) for sign in (1.0, -1.0, 0.5, -0.5)]
                if None not in near:
                    there, back, half, half_back = (float(answer or 0.0) for answer in near)
                    noise = max(noise, abs(there + back - 2 * value) / 2, abs(half + half_back - 2 * value) / 2)
        return 20 * noise

    def _steady(self, support: Array, weights: Array, value: float, gap: float) -> bool:
        own = np.flatnonzero(weights)
        unit = np.eye(support.size)
        # Only the atoms a law has are shaken: that exposes rounding at a jump, and leaves genuine jumps at new atoms alone.
        for noise in (unit[own].mean(axis=0), unit[own[0]], unit[own[-1]]):
            near = self.gamma(support, (1 - SHAKE) * weights + SHAKE * noise)
            if near is None or abs(near - value) > 0.01 * gap:
                return False
        return True


def _describe(error: BaseException) -> str:
    if isinstance(error, ValueError) and str(error).startswith("it "):
        return str(error)
    return f"it raised {type(error).__name__}: {error!s:.80}"
