"""Algorithm B: one exponential weight per cell, sign and rate, each a function of (n, R) alone.

For a cell (G, γ) with weight n and sum R, sign ± and rate η_k = 2^−k the expert's weight is

    w = prior_k · exp(± η_k·R/C − (η_k·slack + η_k²/2)·n)

and the round's coefficient is c(γ) = Σ over active groups, k of s_k·(w⁺ − w⁻), s_k = sinh(η_k)·exp(−η_k²/2 − η_k·slack).
If V rises by at most 2·C·slack between neighbouring levels, the average W of all weights is a nonnegative supermartingale that
starts at 1. So W ≥ 1/δ ever happens with probability at most δ: that gives the bound, and, read the other way round, an alarm.

Numbers: weights can leave the range of floats when the assumption fails for long. While every cell's mass is moderate, plain sums
of plain numbers are used; one outcome changes an exponent by little, so nothing can overflow before it is noticed. Otherwise each
cell keeps its largest exponent apart (`top`) and its coefficient relative to it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.online.classic.transcript import Transcript

Array = NDArray[np.float64]
Index = NDArray[np.intp]

RATES = 16  # η down to 2^−15 is the best rate for cells of up to 10^9 rounds; beyond, the bound is only less tight
MODERATE = 1e130  # masses in [1/MODERATE, MODERATE] are plain numbers
LARGEST = 650.0  # exponents above this count as this: far beyond moderate, yet sums stay finite
CHECK_EVERY = 16  # rounds between looks at the evidence; looking less often keeps the alarm's level


class Experts:
    """The weights of algorithm B over the cells of a transcript.

    Parameters
    ----------
    transcript : Transcript
    bound : float
        C, a bound on |V|.
    slack : array
        Per level: half the rise of V to a neighbouring level (or, at an end, the whole rise to the edge of the range), over C.
    horizon : int, optional
        Number of rounds, if known: fewer rates with equal priors. Unknown: prior 1/((k+1)(k+2)) on rate k.
    delta : float
        Allowed probability that the bound fails.

    Examples
    --------
    >>> t = Transcript(1, 2)
    >>> experts = Experts(t, 1.0, np.array([0.1, 0.1]), None, 0.05)
    >>> n, r = t.add(np.array([0]), 1, 0.5, 1.0)
    >>> experts.update(np.array([0]), 1, 0.5, 1.0, n, r)
    >>> experts.coefficients(np.array([0]))[0] > 0
    array([False,  True])
    """

    name = "B"
    peak: float
    raised_at: int | None
    _plain: Array  # [group, level]: a round sums whole rows
    _masses: Array  # [level, group], like the transcript
    _apart: tuple[Array, Array] | None
    _extreme: int  # cells whose mass is not moderate
    _start: float

    def __init__(self, transcript: Transcript, bound: float, slack: Array, horizon: int | None, delta: float) -> None:
        self.transcript, self.bound_on_value, self.slack, self.delta = transcript, bound, slack, delta
        if horizon is None:
            k = np.arange(RATES)
            self.prior = 1.0 / ((k + 1.0) * (k + 2.0))
        else:
            k = np.arange(max(1, int(np.ceil(np.log2(np.sqrt(horizon)))) + 1))
            self.prior = np.full(k.size, 1.0 / k.size)
        self.rates = 2.0**-k
        lead = self.prior * np.sinh(self.rates) * np.exp(-(self.rates**2) / 2 - np.outer(slack, self.rates))
        decay = np.outer(slack, self.rates) + self.rates**2 / 2
        self._rise = np.concatenate([self.rates, -self.rates])[:, None] / bound
        self._decay = np.concatenate([decay, decay], axis=1)[:, :, None]
        self._lead, self._prior = lead[:, :, None], self.prior[:, None]
        self._safe = float((np.log(MODERATE * self.prior[-1]) / self._decay[:, -1, 0]).min())
        self.rebuild()

    # ---- what the learner asks -----------------------------------------------------------------------------------
    def coefficients(self, active: Index) -> tuple[Array, Array | None]:
        """c per level, and None, or the logarithm of a factor per level when weights are extreme."""
        if self._extreme == 0:
            return np.add.reduce(self._plain.take(active, axis=0), axis=0), None
        relative, top = self._separate()
        exponents = top[:, active]
        scale = exponents.max(axis=1)
        return np.asarray((relative[:, active] * np.exp(exponents - scale[:, None])).sum(axis=1)), scale

    def losses(self, active: Index, values: Array) -> Array:
        """Loss of each level against each label for the exact game; at most zero in value, which is what the bound needs."""
        c, scale = self.coefficients(active)
        if scale is not None:
            c = c * np.exp(scale - scale.max())
        return np.asarray(c[:, None] * values - (self.bound_on_value * self.slack * np.abs(c))[:, None])

    def update(self, active: Index, level: int, value: float, weight: float, n: Array, r: Array) -> None:
        """Refresh the cells that a round has just changed; n and r are their new values."""
        masses, calm = self._masses[level], self._extreme == 0
        if calm:
            plain, mass = self._cells(level, n, r)
        else:
            relative, top, mass = self._cells_apart(level, n, r)
            store = self._separate()
            store[0][level, active], store[1][level, active] = relative, top
            factor = np.exp(np.minimum(top, LARGEST))
            plain, mass = relative * factor, mass * factor
            self._extreme -= _count_extreme(masses[active])
        # The slowest expert alone keeps a cell's mass up for that many rounds.
        if self._extreme or self.transcript.rounds > self._safe or np.add.reduce(mass) > MODERATE:
            self._extreme += _count_extreme(mass)
        self._plain[:, level][active] = plain
        masses[active] = mass
        if calm != (self._extreme == 0):  # rare; keeps the caches what a restored learner would compute
            self.rebuild()
        if self.transcript.rounds % CHECK_EVERY == 0:
            self.peak = max(self.peak, self.evidence)
            if self.raised_at is None and self.peak >= 1.0 / self.delta:
                self.raised_at = self.transcript.rounds

    def rebuild(self) -> None:
        """All caches from (n, R)."""
        t = self.transcript
        levels, groups = t.n.shape
        self._plain, self._masses = np.empty((groups, levels)), np.empty((levels, groups))
        self._apart = None
        self._extreme = 0
        for level in range(levels):
            relative, top, mass = self._cells_apart(level, t.n[level], t.r[level])
            factor = np.exp(np.minimum(top, LARGEST))
            self._plain[:, level], self._masses[level] = relative * factor, mass * factor
        self._extreme = _count_extreme(self._masses)
        if self._extreme == 0:
            for level in range(levels):
                self._plain[:, level], self._masses[level] = self._cells(level, t.n[level], t.r[level])
        self._start = 2.0 * float(self.prior.sum()) * t.n.size
        if t.rounds == 0:
            self.peak, self.raised_at = 1.0, None

    # ---- the promise and its monitor -----------------------------------------------------------------------------
    @property
    def evidence(self) -> float:
        """W, the average weight now (capped at e^650 per cell)."""
        return float(self._masses.sum()) / self._start

    def bound(self, late: int) -> Array:
        """Bound on K₂ per group, good at all times together with probability 1 − delta; infinite once an outcome came late."""
        n = self.transcript.n
        if late:
            return np.full(n.shape[1], np.inf)
        # Per cell: |R| ≤ C·(slack·n + η·n/2 + λ_k/η) for every rate; the best rate for this n.
        need = np.log(2.0 * n.size * self.prior.sum() / (self.prior * self.delta)) / self.rates
        spread = np.min([rate * n / 2 + price for rate, price in zip(self.rates, need, strict=True)], axis=0)
        r = self.bound_on_value * np.minimum(n, self.slack[:, None] * n + spread)
        return np.asarray((r**2 / np.where(n > 0, n, 1.0)).sum(axis=0))

    def state(self) -> dict[str, Any]:
        """What (n, R) do not determine."""
        return {"peak": self.peak, "raised_at": self.raised_at}

    def restore(self, state: dict[str, Any]) -> None:
        """Rebuild from the transcript, then take over `state`."""
        self.rebuild()
        self.peak, self.raised_at = float(state["peak"]), state["raised_at"]

    # ---- inside --------------------------------------------------------------------------------------------------
    def _cells(self, level: int, n: Array, r: Array) -> tuple[Array, Array]:
        """Coefficient and mass of cells of one level."""
        # A single column would be summed in another order than many: two at least, so that a rebuild is equal to the last bit.
        if n.size == 1:
            plain, mass = self._cells(level, np.repeat(n, 2), np.repeat(r, 2))
            return plain[:1], mass[:1]
        return self._sums(level, np.exp(self._rise * r - self._decay[level] * n))

    def _cells_apart(self, level: int, n: Array, r: Array) -> tuple[Array, Array, Array]:
        """The same divided by exp(top), and top."""
        exponent = self._rise * r - self._decay[level] * n
        top = exponent.max(axis=0)
        plain, mass = self._sums(level, np.exp(exponent - top))
        return plain, top, mass

    def _sums(self, level: int, w: Array) -> tuple[Array, Array]:
        # The difference first: where R = 0 the coefficient must be exactly zero, or levels never played would look owed.
        up, down = w[: self.rates.size], w[self.rates.size :]
        return np.add.reduce(self._lead[level] * (up - down), axis=0), np.add.reduce(self._prior * (up + down), axis=0)

    def _separate(self) -> tuple[Array, Array]:
        """Relative coefficients and exponents of all cells [level, group], made when first needed."""
        if self._apart is None:
            t = self.transcript
            relative, top = np.empty_like(t.n), np.empty_like(t.n)
            for level in range(t.n.shape[0]):
                relative[level], top[level], _ = self._cells_apart(level, t.n[level], t.r[level])
            self._apart = relative, top
        return self._apart


def _count_extreme(mass: Array) -> int:
    return int(np.count_nonzero((mass > MODERATE) | (mass < 1.0 / MODERATE)))
