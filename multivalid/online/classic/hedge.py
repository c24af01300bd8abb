"""Algorithm A, and the algorithm as printed: exponential weights over groups, or over (group, level) cells.

A: the loss of group G in a round is ℓ_G = 1[x ∈ G]·2·V·R/(n + 1), the part of the rise of K₂ that depends on the sign of V. Groups
are weighted by exp(η·Σℓ), and c(γ) = Σ over active groups of weight·2R/(n + 1).

Printed form ("paper"): one coordinate per cell, ℓ = (2·V·R + V²)/n at the level played. Deviations: a cell that was never played
divides by 1 instead of 0; the maximum over y is taken over the labels where the maximum can be (ends, grid points, just above
them). Its printed guarantee bounds single cells while K₂ sums m of them, so A or B are what to use.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.online.classic.transcript import Transcript

Array = NDArray[np.float64]
Index = NDArray[np.intp]


class GroupWeights:
    """The weights of algorithm A.

    Parameters
    ----------
    transcript : Transcript
    bound : float
        C, a bound on |V|.
    rise : float
        Most that V may rise, on average over rounds, from one level to the next (L·gap).
    horizon : int, optional
        Number of rounds, if known; otherwise the rate falls as 1/√t.
    """

    name = "A"

    def __init__(self, transcript: Transcript, bound: float, rise: float, horizon: int | None) -> None:
        self.transcript, self.bound_on_value, self.rise, self.horizon = transcript, bound, rise, horizon
        self.loss: Array = np.zeros(transcript.n.shape[1])
        self.weighted = False
        self.rebuild()

    def coefficients(self, active: Index) -> tuple[Array, Array | None]:
        """c per level."""
        share = np.exp(self._rate() * (self.loss - self.loss.max()))
        share /= share.sum()
        return np.asarray(share[active] @ self._ratio.take(active, axis=0)), None

    def losses(self, active: Index, values: Array) -> Array:
        """Loss of each level against each label for the exact game."""
        return np.asarray(self.coefficients(active)[0][:, None] * values)

    def update(self, active: Index, level: int, value: float, weight: float, n: Array, r: Array) -> None:
        """Charge each active group for the round, then refresh its cell."""
        ratio = self._ratio[:, level]
        self.loss[active] += weight * value * ratio[active]
        ratio[active] = 2.0 * r / (n + 1.0)
        self.weighted = self.weighted or weight != 1.0

    def rebuild(self) -> None:
        """The cached 2R/(n + 1) from the transcript."""
        self._ratio = np.ascontiguousarray((2.0 * self.transcript.r / (self.transcript.n + 1.0)).T)

    def bound(self, late: int) -> Array:
        """Bound on E[max over groups of K₂], the same number for each; `late` is the most outcomes that overtook another.

        Notes
        -----
        C·rise·T + C²·m·(1 + ln⁺(T/m)) + the price of not knowing which group is worst. An outcome that `late` others overtook met
        a state that lacked them: (1 + 4·late) times the middle term and 8·C²·late·√(2·T·ln|G|) more. Weights below one: three
        times the middle term.
        """
        m, groups = self.transcript.n.shape
        t, square = max(1, self.transcript.rounds), self.bound_on_value**2
        middle = square * m * (1.0 + max(0.0, float(np.log(t / m)))) * (3.0 if self.weighted else 1.0) * (1.0 + 4.0 * late)
        root = float(np.sqrt(t * np.log(groups)))
        if self.horizon is None:
            search = 4.0 * square * root
        else:  # the rate was set for `horizon` rounds: ln|G|/η + η·t·(2C²)²/2
            root = float(np.sqrt(self.horizon * np.log(groups)))
            search = np.sqrt(2.0) * square * root * (1.0 + t / self.horizon)
        search += 16.0 * square * late * root
        return np.full(groups, self.bound_on_value * self.rise * t + middle + search)

    def state(self) -> dict[str, Any]:
        """What (n, R) do not determine."""
        return {"loss": self.loss.tolist(), "weighted": self.weighted}

    def restore(self, state: dict[str, Any]) -> None:
        """Rebuild from the transcript, then take over `state`."""
        self.rebuild()
        self.loss[:] = state["loss"]
        self.weighted = bool(state["weighted"])

    def _rate(self) -> float:
        groups = self.transcript.n.shape[1]
        span = 2.0 * self.bound_on_value**2
        if self.horizon is not None:
            return float(np.sqrt(2.0 * np.log(groups) / self.horizon)) / span
        return float(np.sqrt(np.log(groups) / (self.transcript.rounds + 1.0))) / span


class CellWeights:
    """The weights of the algorithm as printed; play it with the exact game."""

    name = "paper"

    def __init__(self, transcript: Transcript, bound: float, rise: float, horizon: int | None) -> None:
        self.transcript, self.bound_on_value, self.rise, self.horizon = transcript, bound, rise, horizon
        self.loss: Array = np.zeros(transcript.n.shape)

    def losses(self, active: Index, values: Array) -> Array:
        """Loss of each level against each label, the V² term included."""
        share = np.exp(self._rate() * (self.loss - self.loss.max()))
        share /= share.sum()
        per = share[:, active] / np.maximum(self.transcript.n[:, active], 1.0)
        linear = (2.0 * per * self.transcript.r[:, active]).sum(axis=1)
        return np.asarray(linear[:, None] * values + per.sum(axis=1)[:, None] * values**2)

    def update(self, active: Index, level: int, value: float, weight: float, n: Array, r: Array) -> None:
        """Charge the cells of the level played (the transcript already holds the round)."""
        before = weight * (2.0 * value * (r - weight * value) + value**2) / np.maximum(n - weight, 1.0)
        self.loss[level, active] += before

    def rebuild(self) -> None:
        """Nothing is cached."""

    def bound(self, late: int) -> Array:
        """The printed figure, times T so that it compares with K₂; what is proved bounds each cell, not their sum."""
        m, groups = self.transcript.n.shape
        t, square = max(1, self.transcript.rounds), self.bound_on_value**2
        printed = 2 * self.bound_on_value * self.rise + 2 * square * np.log(t) / t + 12 * square * np.sqrt(np.log(groups * m) / t)
        return np.full(groups, np.inf if late else float(printed) * t)

    def state(self) -> dict[str, Any]:
        """What (n, R) do not determine."""
        return {"loss": self.loss.tolist()}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over `state`."""
        self.loss[:] = np.asarray(state["loss"])

    def _rate(self) -> float:
        t = self.horizon if self.horizon is not None else self.transcript.rounds + 1
        return float(np.sqrt(np.log(self.loss.size) / (4.0 * t))) / (3.0 * self.bound_on_value**2)
