"""What is promised for each cell: the theorem of docs/online.md as numbers.

W, all bets together, never rises above 1.645 times its start. A single bet is part of it, so for every rate η of a cell

    Σ ln(1 + η·q·V) ≤ λ = ln(1.645·K·(1 + a·|G|·m)/(a·π)),

and ln(1 + x) ≥ x − κ·x² for x ≥ −½ with κ = 4·(ln 2 − ½). So R ≤ κ·η·Q + N·λ/η for every rate, N the outcomes that may be open.
"""

from __future__ import annotations

import numpy as np

from multivalid.online.sharp.tables import HIGH_VALUE, LOW_VALUE, STAKE, Array, Tables

KAPPA = 4.0 * (np.log(2.0) - 0.5)
FLOORS = 1.645  # Σ 1/(n + 1)² from n = 0: what floors can add, the start included


def cell_bounds(t: Tables, *, open_at_once: int, lost_rates: int, extra: float) -> tuple[Array, Array]:
    """The most that R, and that −R, can be in each cell.

    Parameters
    ----------
    open_at_once : int
        N, how many outcomes may be open: copies × batch.
    lost_rates : int
        Rates given up when the range grew; the slowest ones then in use started late and promise nothing.
    extra : float
        Added to λ: ln(1/delta) where shares are drawn.
    """
    low, high = t.setting[LOW_VALUE], t.setting[HIGH_VALUE]
    stake = t.setting[STAKE]
    start = (FLOORS + lost_rates) * t.rates * (1.0 + stake * t.groups * t.buckets) / stake
    rates = 0.5 ** np.arange(t.rates - lost_rates) / 2.0
    out = []
    for mine, other in ((low, high), (high, low)):
        need = open_at_once * (np.log(start * (low + high) / mine) + extra)
        if rates.size == 0:
            out.append(other * t.count)
            continue
        rows = [KAPPA * (rate / mine) * t.square + need * mine / rate for rate in rates.tolist()]
        out.append(np.minimum(np.min(rows, axis=0), other * t.count))
    return out[0], out[1]


def squared_bounds(t: Tables, above: Array, below: Array, excess: Array) -> Array:
    """The most that K₂ = Σ R²/n of each group can be; `excess` is what labels outside a growing range add to |R|."""
    most = np.maximum(above, below) + excess
    return np.asarray((most**2 / np.where(t.count > 0, t.count, 1.0)).sum(axis=1))
