"""The general game behind the online algorithms: many objectives, an adversary who shows the game first.

Each round brings a finite game: d loss matrices, one per objective, over the learner's and the adversary's pure actions; both play
mixtures. The learner weights objectives by exp(η·losses so far) and plays the mixture that is best for the weighted loss against
the worst reply. Then no objective's total exceeds the sum of the round values by more than the regret term, which can be read off
during play.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from multivalid import validate
from multivalid.errors import InputError, NotFittedError
from multivalid.online.classic.game import solve_game

Array = NDArray[np.float64]


class Certificate(NamedTuple):
    """What was reached and what was promised, both from what has been observed."""

    worst: float
    values: float
    regret: float
    allowed: float

    @property
    def holds(self) -> bool:
        """Whether regret ≤ allowed (always, up to the tolerance of the linear program)."""
        return self.regret <= self.allowed + 1e-6 * max(1.0, abs(self.worst))


@dataclass
class _Round:
    losses: Array
    mixture: Array
    value: float


class Minimax:
    """Exponential weights over objectives, an exact game per round.

    Parameters
    ----------
    objectives : int
        d, the number of losses to keep small together.
    bound : float
        C, with every entry of every loss matrix in [−C, C].
    horizon : int, optional
        T, if known; otherwise the rate falls with the rounds and the promise is √2 times as large.

    Notes
    -----
    Promise: max_j Σ_t ℓ_j ≤ Σ_t value_t + C·√(2·T·ln d) (known T), or + 2·C·√(T·ln d) at every T together. value_t is the optimum of
    round t's linear program, which is at most the value the learner could have reached had the adversary moved first (the AMF value:
    weights sum to one, so the weighted loss never exceeds the largest): `Certificate.regret` bounds AMF regret from above. Actions on
    intervals instead of finitely many: `multivalid.online.convex_minimax`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> game = Minimax(objectives=3, bound=1.0, horizon=50)
    >>> for _ in range(50):
    ...     mixture = game.play(rng.uniform(-1, 1, (3, 2, 2)))
    ...     losses = game.observe([1.0, 0.0])
    >>> game.certificate().holds
    True
    """

    def __init__(self, objectives: int, bound: float, horizon: int | None = None) -> None:
        self.objectives = validate.count(objectives, "objectives")
        self.bound = validate.positive(bound, "bound")
        self.horizon = None if horizon is None else validate.count(horizon, "horizon")
        self.total: Array = np.zeros(self.objectives)
        self.values = 0.0
        self.rounds = 0
        self._round: _Round | None = None

    @property
    def weights(self) -> Array:
        """The weight of each objective in the next round."""
        w = np.exp(self._rate() * (self.total - self.total.max()))
        return np.asarray(w / w.sum())

    def play(self, losses: ArrayLike, caps: ArrayLike | None = None) -> Array:
        """The learner's mixture for the game `losses[objective, action, reply]`.

        `caps` limits the mass of the adversary on each of its pure actions, for action sets smaller than all mixtures.
        """
        array = np.asarray(losses, dtype=np.float64)
        if array.ndim != 3 or array.shape[0] != self.objectives or 0 in array.shape:
            raise InputError(f"losses must have shape ({self.objectives}, actions, replies), got {array.shape}.")
        if not np.abs(array).max() <= self.bound:
            raise InputError(f"losses must lie in [-{self.bound:g}, {self.bound:g}], the largest is {np.abs(array).max():g}.")
        limits = None
        if caps is not None:
            limits = validate.vector(caps, "caps")
            if limits.size != array.shape[2] or (limits < 0).any() or limits.sum() < 1.0:
                raise InputError(f"caps must be {array.shape[2]} non-negative numbers with a sum of at least 1.")
        mixture, value = solve_game(np.tensordot(self.weights, array, axes=1), limits)
        self._round = _Round(array, mixture, value)
        return mixture

    def observe(self, reply: ArrayLike) -> Array:
        """The adversary's mixture for the round just played; returns the round's loss per objective."""
        if self._round is None:
            raise NotFittedError("there is no round to observe: call play() first.")
        y = validate.vector(reply, "reply")
        if y.size != self._round.losses.shape[2] or (y < -1e-12).any() or abs(float(y.sum()) - 1.0) > 1e-9:
            raise InputError(f"reply must be {self._round.losses.shape[2]} non-negative numbers with sum 1, got {y}.")
        loss = np.asarray(self._round.losses @ y) @ self._round.mixture
        self.settle(loss, self._round.value)
        self._round = None
        return np.asarray(loss)

    def settle(self, loss: Array, value: float) -> None:
        """Book a round that was played: its loss per objective, and the value of its game."""
        self.total = self.total + loss
        self.values += value
        self.rounds += 1

    def certificate(self) -> Certificate:
        """max_j Σℓ_j, Σ value, their difference, and the most it may be."""
        spread = float(np.log(self.objectives))
        if self.horizon is None:
            allowed = 2.0 * self.bound * np.sqrt(self.rounds * spread)
        else:
            allowed = self.bound * np.sqrt(self.horizon * spread / 2.0) * (1.0 + self.rounds / self.horizon)
        worst = float(self.total.max())
        return Certificate(worst, self.values, worst - self.values, float(allowed))

    def _rate(self) -> float:
        spread = float(np.log(self.objectives))
        if self.horizon is not None:
            return float(np.sqrt(2.0 * spread / self.horizon)) / self.bound
        return float(np.sqrt(spread / (self.rounds + 1.0))) / self.bound
