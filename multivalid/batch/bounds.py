"""What the theorems promise, as plain functions.

C bounds |V|, m_G is the number of levels a group uses, T the number of updates, g the gap between levels.
"""

from __future__ import annotations

from math import ceil, floor, log, sqrt

from multivalid import validate


def update_bound(initial: float, optimal: float, lipschitz: float, threshold: float) -> int:
    """Most updates that lower the potential by threshold/(4L) each: ⌊4L·(C_init − C_opt)/θ⌋.

    Examples
    --------
    >>> update_bound(0.5, 0.0, lipschitz=1.0, threshold=4 / 40**3)
    32000
    """
    validate.positive(threshold, "threshold")
    # A hair of room, so that a bound that is a whole number is not lost to rounding.
    return floor(4 * lipschitz * max(initial - optimal, 0.0) / threshold * (1 + 1e-12))


def error_bound(levels: int, threshold: float, lipschitz: float, gap: float, mass: float = 1.0) -> float:
    """Error of a group of this mass when no cell is left to move: m_G·θ + 4L²g²·μ(G).

    Examples
    --------
    >>> round(error_bound(40, 4 / 40**3, lipschitz=1.0, gap=1 / 40), 6)
    0.005
    """
    return levels * threshold + 4 * lipschitz**2 * gap**2 * mass


def generalisation(
    error: float, *, rows: float, bound: float, levels: int, groups: int, updates: int = 0, delta: float = 0.05
) -> float:
    """Error on the whole population, with probability 1 − delta for all groups at once, from the error on `rows` rows.

    √E ≤ √Ê + C(√m_G + 3√(2λ))/√n  with  λ = ln(2|G|/δ) + T·ln(|G|m²). With updates=0 the rows must not have been used for fitting
    (a held-out set); otherwise `updates` is the number of patches fitted on these very rows.

    Parameters
    ----------
    error : float
        V-error on the rows.
    rows : float
        Number of rows; with unequal weights the effective number (Σw)²/Σw².
    bound : float
        C with |V| ≤ C.
    levels, groups : int
        m and |G|.

    Examples
    --------
    >>> round(generalisation(1e-4, rows=1_000_000, bound=1.0, levels=20, groups=50), 5)
    0.00068
    """
    delta = validate.fraction(delta, "delta")
    effort = log(2 * groups / delta) + updates * log(groups * levels**2)
    return (sqrt(error) + bound * (sqrt(levels) + 3 * sqrt(2 * effort)) / sqrt(rows)) ** 2


def sample_size(*, lipschitz: float, bound: float, span: float, levels: int, groups: int, delta: float = 0.05) -> int:
    """Rows after which the printed threshold 4L²/m² also lowers the population's potential at every step.

    n ≥ 32C²m⁴λ/L² with λ = ln(2(m² + 4)m|G|/δ) + T̄·ln(|G|m²) and T̄ = `halting_bound`.

    Examples
    --------
    >>> sample_size(lipschitz=1.0, bound=1.0, span=0.5, levels=5, groups=3)
    2526729
    """
    delta = validate.fraction(delta, "delta")
    most = halting_bound(lipschitz=lipschitz, span=span, levels=levels)
    effort = log(2 * (levels**2 + 4) * levels * groups / delta) + most * log(groups * levels**2)
    return ceil(32 * bound**2 * levels**4 * effort / lipschitz**2)


def halting_bound(*, lipschitz: float, span: float, levels: int) -> int:
    """T̄ = 2.2·B·m²/L, the most updates on a sample of at least `sample_size` rows, with probability 1 − delta.

    Examples
    --------
    >>> halting_bound(lipschitz=1.0, span=0.5, levels=20)
    440
    """
    return floor(2.2 * span * levels**2 / lipschitz * (1 + 1e-12))
