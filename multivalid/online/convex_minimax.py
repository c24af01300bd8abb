"""The same game over continuous actions: losses convex in the learner's action and concave in the adversary's reply.

Both intervals are cut into a grid, the matrix game on it is solved, and the learner plays the mean of its mixture, which by convexity is
no worse than the mixture. What the grid costs is known from the Lipschitz constants, and is part of the promise.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from multivalid import validate
from multivalid.errors import InputError, NotFittedError
from multivalid.online.classic.game import solve_game
from multivalid.online.minimax import Certificate, Minimax

Array = NDArray[np.float64]
Losses = Callable[[Array, Array], Array]  # (actions, replies) -> (objectives, actions, replies)


class ConvexMinimax:
    """Exponential weights over objectives, a convex–concave game on two intervals per round.

    Parameters
    ----------
    objectives, bound, horizon
        As for `Minimax`: the number of losses, the size that none of them exceeds, and the number of rounds, if known.
    actions, replies : (float, float)
        The interval of the learner and that of the adversary.
    lipschitz : (float, float)
        How much any loss changes at most with the learner's action and with the reply, per unit.
    points : int
        Points of either grid.

    Notes
    -----
    With h and k the distances of neighbouring points in both grids, and L, M the Lipschitz constants. For every reply b, with b' the
    nearest point: Σ w·ℓ(mean action, b) ≤ Σ p_i·w·ℓ(a_i, b) ≤ Σ p_i·w·ℓ(a_i, b') + M·k/2 ≤ value of the matrix game + M·k/2. That is
    the first promise: the largest total is at most Σ value + the regret term of `Minimax` + T·M·k/2. The adversary's mixture may be
    replaced by its mean as well, by concavity; so the matrix game's value is at most L·h/2 above what the learner could have reached
    had the adversary moved first (AMF): regret against that is at most T·L·h/2 larger.

    Examples
    --------
    >>> def losses(a, b):  # two objectives: stay near the reply, from both sides
    ...     return np.stack([a[:, None] - b[None, :], b[None, :] - a[:, None]])
    >>> game = ConvexMinimax(2, 1.0, 100, actions=(0, 1), replies=(0, 1), lipschitz=(1, 1))
    >>> for t in range(100):
    ...     action = game.play(losses)
    ...     loss = game.observe(float(action < 0.5))
    >>> game.certificate().holds
    True
    """

    def __init__(
        self, objectives: int, bound: float, horizon: int | None = None, *, actions: tuple[float, float], replies: tuple[float, float],
        lipschitz: tuple[float, float], points: int = 33,
    ) -> None:  # fmt: skip
        self.game = Minimax(objectives, bound, horizon)
        count = validate.count(points, "points", 2)
        self.actions, self.replies = (_grid(ends, count, name) for ends, name in ((actions, "actions"), (replies, "replies")))
        own, others = (validate.positive(value, "lipschitz") for value in lipschitz)
        self.reply_error = others * float(self.replies[1] - self.replies[0]) / 2
        self.action_error = own * float(self.actions[1] - self.actions[0]) / 2
        self._round: tuple[Losses, float, float] | None = None

    def play(self, losses: Losses) -> float:
        """The learner's action for the game `losses(actions, replies)`, an array (objectives, actions, replies)."""
        table = self._table(losses, self.actions, self.replies)
        mixture, value = solve_game(np.tensordot(self.game.weights, table, axes=1))
        action = float(mixture @ self.actions)
        self._round = losses, action, value
        return action

    def observe(self, reply: float) -> Array:
        """The adversary's reply to the round just played; returns the round's loss per objective."""
        if self._round is None:
            raise NotFittedError("there is no round to observe: call play() first.")
        answer = validate.real(reply, "reply")
        if not self.replies[0] <= answer <= self.replies[-1]:
            raise InputError(f"reply must lie in [{self.replies[0]:g}, {self.replies[-1]:g}], got {reply!r}.")
        losses, action, value = self._round
        loss = self._table(losses, np.array([action]), np.array([answer]))[:, 0, 0]
        self.game.settle(loss, value)
        self._round = None
        return np.asarray(loss)

    def certificate(self) -> Certificate:
        """max_j Σℓ_j, Σ value of the games on the grid, their difference, and the most it may be, the grid's error included."""
        made = self.game.certificate()
        return made._replace(allowed=made.allowed + self.game.rounds * self.reply_error)

    @property
    def amf_allowed(self) -> float:
        """The most that regret may be against a learner who sees the adversary's reply first (AMF regret)."""
        return self.certificate().allowed + self.game.rounds * self.action_error

    def _table(self, losses: Losses, actions: Array, replies: Array) -> Array:
        table = np.asarray(losses(actions, replies), dtype=np.float64)
        shape = (self.game.objectives, actions.size, replies.size)
        if table.shape != shape:
            raise InputError(f"losses must return an array of shape {shape}, got {table.shape}.")
        if not np.abs(table).max() <= self.game.bound:
            raise InputError(
                f"losses must lie in [-{self.game.bound:g}, {self.game.bound:g}], the largest is {np.abs(table).max():g}."
            )
        return table


def _grid(ends: tuple[float, float], count: int, name: str) -> Array:
    low, high = (validate.real(end, name) for end in ends)
    if not low < high:
        raise InputError(f"{name} must be an interval (low, high) with low < high, got {ends!r}.")
    return np.linspace(low, high, count)
