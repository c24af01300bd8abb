"""One round of the game: which levels to mix, given how much each level owes.

The round's coefficient c_j says how much the learner loses when V(γ_j, y) is positive. It wants Σ_j P_j·c_j·V(γ_j, y) small for
whatever label comes. Two ways to choose the mixture P:

* the *crossing rule*: find neighbours with c_i ≤ 0 < c_{i+1} and mix them so that both count the same; what is left is
  κ·[V(γ_{i+1}, y) − V(γ_i, y)], small because V can only rise a little from one level to the next;
* the *exact game*, a linear program over all mixtures, against every label or against laws with a bounded density.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multivalid.errors import MultivalidError

Array = NDArray[np.float64]
UP = b"\x00\x01"  # a level whose coefficient is not positive, then one whose is


class Pair(NamedTuple):
    """A mixture of `low` (with probability `share`) and `high`; both are the same level for a sure play."""

    low: int
    high: int
    share: float


class CrossingRule:
    """Mixes two neighbouring levels at a sign change of the coefficients, the one nearest a guess.

    Parameters
    ----------
    points : array
        The levels, increasing.

    Notes
    -----
    Think of one more level with a negative coefficient below the grid and one with a positive coefficient above it: then there is
    always an up-crossing. If it is at an end, the end itself is played. With `free=True` a level with coefficient exactly zero
    (nothing is owed there, for instance because it was never played) may be played alone: it costs nothing in this round.

    Examples
    --------
    >>> rule = CrossingRule(np.array([0.1, 0.5, 0.9]))
    >>> rule.choose(np.array([-1.0, 3.0, 3.0]), guess=0.0)
    Pair(low=0, high=1, share=0.75)
    >>> rule.choose(np.array([2.0, 3.0, 3.0]), guess=0.9)
    Pair(low=0, high=0, share=1.0)
    """

    def __init__(self, points: Array) -> None:
        self.points = points
        self.last = points.size - 1
        self._middles = np.concatenate([points[:1], (points[:-1] + points[1:]) / 2, points[-1:]]).tolist()
        self._signs = np.zeros(points.size + 2, dtype=bool)
        self._signs[-1] = True
        self._inner = self._signs[1:-1]

    def choose(self, c: Array, guess: float, *, free: bool = False, log_scale: Array | None = None) -> Pair:
        """The mixture to play. `log_scale` says that level j's true coefficient is c_j·exp(log_scale_j)."""
        # As bytes: searching for "no, yes" in a string is far cheaper than arrays of this size.
        np.greater(c, 0.0, out=self._inner)
        signs = self._signs.tobytes()
        at = signs.find(UP)
        other = signs.find(UP, at + 2)
        while other >= 0:
            if abs(self._middles[other] - guess) < abs(self._middles[at] - guess):
                at = other
            other = signs.find(UP, other + 2)
        if free:
            zeros = np.flatnonzero(c == 0.0)
            if zeros.size:
                level = int(zeros[np.abs(self.points[zeros] - guess).argmin()])
                if abs(self.points[level] - guess) < abs(self._middles[at] - guess):
                    return Pair(level, level, 1.0)
        if at == 0:
            return Pair(0, 0, 1.0)
        if at > self.last:
            return Pair(self.last, self.last, 1.0)
        below, above = -c.item(at - 1), c.item(at)
        if log_scale is not None:
            difference = float(log_scale[at] - log_scale[at - 1])
            below, above = below * np.exp(min(0.0, -difference)), above * np.exp(min(0.0, difference))
        return Pair(at - 1, at, above / (below + above))


class LabelCells(NamedTuple):
    """Labels that decide the exact game: `values[j, k]` = V(γ_j, y_k), and how much mass a law may put on label k."""

    values: Array
    caps: Array | None


def solve_game(losses: Array, caps: Array | None = None) -> tuple[Array, float]:
    """The mixture P that makes max over the adversary's laws μ of Σ_jk P_j·losses[j, k]·μ_k smallest, and that value.

    Parameters
    ----------
    losses : array (actions of the learner, actions of the adversary)
    caps : array, optional
        Most mass the adversary may put on each of its actions; none means all mass may go anywhere.

    Notes
    -----
    The inner maximum over laws with μ_k ≤ cap_k is, by duality, min over s and t ≥ 0 of s + Σ_k cap_k·t_k with
    s + t_k ≥ (P @ losses)_k. So one linear program in (P, s, t) solves the game.

    Examples
    --------
    >>> mixture, value = solve_game(np.array([[1.0, -1.0], [-1.0, 1.0]]))
    >>> mixture, value
    (array([0.5, 0.5]), 0.0)
    """
    from scipy.optimize import linprog

    actions, replies = losses.shape
    # Coefficients may be as small as e^-500; the solver's tolerances are absolute.
    size = float(np.abs(losses).max())
    if size == 0.0:
        return np.full(actions, 1.0 / actions), 0.0
    slack = 0 if caps is None else replies
    cost = np.concatenate([np.zeros(actions), [1.0], np.zeros(0) if caps is None else caps])
    rows = np.zeros((replies, actions + 1 + slack))
    rows[:, :actions] = losses.T / size
    rows[:, actions] = -1.0
    if caps is not None:
        rows[:, actions + 1 :] = -np.eye(replies)
    total = np.zeros((1, cost.size))
    total[0, :actions] = 1.0
    limits = [(0.0, None)] * actions + [(None, None)] + [(0.0, None)] * slack
    found = linprog(cost, A_ub=rows, b_ub=np.zeros(replies), A_eq=total, b_eq=[1.0], bounds=limits, method="highs")
    if not found.success or found.x is None or found.fun is None:
        raise MultivalidError(f"the linear program of the round has no solution: {found.message}")
    mixture = np.clip(found.x[:actions], 0.0, None)
    return mixture / mixture.sum(), float(found.fun) * size
