"""What the theorems promise of a pair, as plain functions.

L⁰, L¹ bound the slopes of V⁰ and V¹ in their own predictions, L_c that of V¹ in γ⁰, L_a is the anti-Lipschitz constant of V⁰, D the
length of the range of the first coordinate. All constants are in the label's own units.
"""

from __future__ import annotations

from typing import NamedTuple

from multivalid import validate
from multivalid.errors import InputError
from multivalid.properties import PairFacts
from multivalid.properties.base import Interval


def bayes_error_bound(alpha_first: float, alpha_stage: float, *, diameter: float, scale: float = 1.0) -> float:
    """α¹* of a Bayes pair without any lower bound on densities: 2((c·D)²·α⁰ + α¹), for targets c·S⁰ + κ(y).

    A wrong γ⁰ raises the mean score by ∫V⁰ ≤ |V⁰(γ⁰)|·|γ⁰ − Γ⁰| ≤ D·|V⁰(γ⁰)|, because V⁰ does not decrease.

    Examples
    --------
    >>> bayes_error_bound(0.01, 0.02, diameter=1.0)
    0.06
    """
    return 2 * ((scale * diameter) ** 2 * alpha_first + alpha_stage)


def lipschitz_error_bound(alpha_first: float, alpha_stage: float, *, conditional: float, anti: float) -> float:
    """α¹* of any pair with known L_c and L_a: 2((L_c·L_a)²·α⁰ + α¹).

    Examples
    --------
    >>> lipschitz_error_bound(0.01, 0.02, conditional=2.0, anti=1.0)
    0.12
    """
    return 2 * ((conditional * anti) ** 2 * alpha_first + alpha_stage)


class SecondBound(NamedTuple):
    """α¹*, and the argument it rests on."""

    value: float | None
    reason: str


def second_error_bound(
    facts: PairFacts, alpha_first: float, alpha_stage: float, anti: float | None = None, *, reach: Interval | None = None
) -> SecondBound:
    """The smallest α¹* that the facts of a pair allow.

    `anti` is an L_a that the user knows. `reach` is where first predictions can lie: D is how far they can be from Γ⁰, so a grid
    that goes beyond the labels makes it larger.
    """
    anti = facts.first.anti_lipschitz if anti is None else anti
    found: list[tuple[float, str]] = []
    if facts.bayes_scale is not None:
        ends = facts.first.range
        diameter = ends.length if reach is None else max(reach.hi, ends.hi) - min(reach.lo, ends.lo)
        value = bayes_error_bound(alpha_first, alpha_stage, diameter=diameter, scale=facts.bayes_scale)
        found.append((value, "Bayes pair, no density bound: 2((cD)²α⁰ + α¹)"))
    if anti is not None and facts.conditional_lipschitz is not None:
        value = lipschitz_error_bound(alpha_first, alpha_stage, conditional=facts.conditional_lipschitz, anti=anti)
        found.append((value, "L_c and L_a known: 2((L_c·L_a)²α⁰ + α¹)"))
    if not found:
        missing = [name for name, v in (("L_c", facts.conditional_lipschitz), ("L_a", anti)) if v is None]
        return SecondBound(None, f"no bound in advance, as {' and '.join(missing)} are not known; the error is as measured")
    return SecondBound(*min(found))


def update_bound(first: int, second: int) -> int:
    """Most updates of Algorithm 3: T⁰ + (T⁰ + 1)·T¹, as stage 1 runs once more than f⁰ can change.

    Examples
    --------
    >>> update_bound(3, 10)
    43
    """
    return first + (first + 1) * second


class CVaRConstants(NamedTuple):
    """The (quantile, CVaR) theorem for labels in [0, 1] with density between M₁ and M₂, on m levels."""

    alpha_first: float
    alpha_stage: float
    alpha_second: float
    alpha_second_printed: float
    lipschitz: float
    anti_lipschitz: float


def cvar_constants(tau: float, m: int, *, least_density: float, most_density: float) -> CVaRConstants:
    """Constants of the joint (quantile, CVaR) theorem, corrected: the anti-Lipschitz constant is 1/M₁, not M₁.

    Parameters
    ----------
    tau : float
        Level of the quantile.
    m : int
        Levels of either grid; the second grid covers [0, 1/(1 − tau)].
    least_density, most_density : float
        M₁ and M₂.

    Returns
    -------
    CVaRConstants
        alpha_first = 4M₂²/m and alpha_stage = 4/((1 − τ)²m) are what the two stages reach. alpha_second = 2(α⁰/(1 − τ)² + α¹) needs
        no M₁. alpha_second_printed = 2((L_c/M₁)²·α⁰ + α¹), L_c = max(1, τ/(1 − τ)), is the printed constant with L_a put right.

    Examples
    --------
    >>> found = cvar_constants(0.5, 100, least_density=0.01, most_density=4.0)
    >>> found.anti_lipschitz, round(found.alpha_second, 12)
    (100.0, 5.44)
    """
    tau, m = validate.fraction(tau, "tau"), validate.count(m, "m")
    low, high = validate.positive(least_density, "least_density"), validate.positive(most_density, "most_density")
    if low > high:
        raise InputError(f"least_density must not exceed most_density, got {least_density!r} and {most_density!r}.")
    tail = 1 - tau
    first, stage = 4 * high**2 / m, 4 / (tail**2 * m)
    return CVaRConstants(
        first,
        stage,
        bayes_error_bound(first, stage, diameter=1.0, scale=1 / tail),
        lipschitz_error_bound(first, stage, conditional=max(1.0, tau / tail), anti=1 / low),
        high,
        1 / low,
    )
