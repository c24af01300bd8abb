"""Worlds in which it is known whether predictions are right: what is said about chance can be measured on them.

A world is a function of a random generator and a number of rows. It returns labels y, predictions f, groups (boolean arrays), the
property's text, and `bias`: the mean of V given everything, row by row, so 0 in `NULLS`. Some have weights or clusters. In `OFF` the
group `target` (0 is everyone) is off.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import gamma, norm, poisson

from benchmarks import shared

Drawn = dict[str, Any]
World = Callable[..., Drawn]


def groups_of(rng: np.random.Generator, n: int, count: int = 10, share: float = 0.2) -> list[np.ndarray]:
    return [rng.random(n) < share for _ in range(count)]


def drawn(rng: np.random.Generator, y: np.ndarray, f: np.ndarray, property: str = "mean", **more: Any) -> Drawn:
    n = len(y)
    return {"y": y, "f": f, "groups": groups_of(rng, n), "property": property, "bias": np.zeros(n), "weights": None} | more


def expit(z: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-z))


def logit(p: np.ndarray) -> np.ndarray:
    return np.log(p / (1 - p))


# ---- predictions that are right ------------------------------------------------------------------------------------
def counts(rng: np.random.Generator, n: int = 4000, typical: float = 0.3) -> Drawn:
    """Numbers of events, mostly 0."""
    f = typical * np.exp(rng.normal(0, 0.7, n))
    return drawn(rng, rng.poisson(f).astype(float), f)


def zero_inflated(rng: np.random.Generator, n: int = 8000) -> Drawn:
    """Amounts that are 0 in 97 rows of 100, and lognormal otherwise."""
    rate, size = expit(rng.normal(-3.5, 0.5, n)), np.exp(rng.normal(5, 0.5, n))
    return drawn(rng, (rng.random(n) < rate) * size * np.exp(rng.normal(-0.32, 0.8, n)), rate * size)


def shares(rng: np.random.Generator, n: int = 3000) -> Drawn:
    """Shares of successes among few or many trials, more spread than coins; trials are the weights."""
    f, trials = rng.beta(2, 5, n), rng.integers(1, 200, n)
    own = rng.beta(20 * f + 1e-9, 20 * (1 - f) + 1e-9)
    return drawn(rng, rng.binomial(trials, own) / trials, f, weights=trials.astype(float))


def two_spreads(rng: np.random.Generator, n: int = 3000) -> Drawn:
    """Noise of spread 1 in nine rows of ten, of spread 10 in the tenth."""
    f = rng.normal(0, 1, n)
    return drawn(rng, f + np.where(rng.random(n) < 0.1, 10, 1) * rng.normal(size=n), f)


def student(rng: np.random.Generator, n: int = 3000, freedom: float = 3) -> Drawn:
    """Noise with heavy tails on both sides."""
    f = rng.normal(0, 1, n)
    return drawn(rng, f + rng.standard_t(freedom, n), f)


def lognormal(rng: np.random.Generator, n: int = 3000, spread: float = 2.0) -> Drawn:
    """Amounts whose sample mean is mostly too low."""
    f = np.exp(rng.normal(0, 0.5, n))
    return drawn(rng, f * np.exp(spread * rng.normal(size=n) - spread**2 / 2), f)


def far_from_zero(rng: np.random.Generator, n: int = 2000) -> Drawn:
    """Labels near 10⁹ whose noise is of size 1."""
    f = 1e9 + rng.normal(0, 5, n)
    return drawn(rng, f + rng.exponential(size=n) - 1, f)


def mostly_tied(rng: np.random.Generator, n: int = 3000, tau: float = 0.9) -> Drawn:
    """95 labels of 100 are 0, and so is the right 90 % quantile."""
    y = (rng.random(n) < 0.05) * rng.exponential(size=n)
    return drawn(rng, y, np.zeros(n), f"quantile:{tau}")


def tied_quantile(rng: np.random.Generator, n: int = 3000, tau: float = 0.8) -> Drawn:
    """Counts: the right quantile is one of the values that labels take, and is covered more often than tau."""
    rate = np.exp(rng.normal(1, 0.5, n))
    return drawn(rng, rng.poisson(rate).astype(float), poisson.ppf(tau, rate), f"quantile:{tau}")


def far_quantile(rng: np.random.Generator, n: int = 4000, tau: float = 0.999) -> Drawn:
    """A quantile that four rows exceed."""
    spread = np.exp(rng.normal(0, 1, n))
    return drawn(rng, spread * rng.normal(size=n), spread * norm.ppf(tau), f"quantile:{tau}")


def heavy_rows(rng: np.random.Generator, n: int = 3000) -> Drawn:
    """Probabilities with weights of which the largest are thousands of times the smallest."""
    f = rng.beta(1, 4, n)
    return drawn(rng, (rng.random(n) < f) * 1.0, f, weights=rng.gamma(0.3, 1.0, n) + 1e-9)


def expectile(rng: np.random.Generator, n: int = 3000) -> Drawn:
    """An expectile of skewed amounts; solved on a large sample once."""
    size = np.exp(rng.normal(0, 0.5, n))
    return drawn(rng, size * rng.gamma(2.0, 1.0, n), size * _gamma_expectile(2.0, 0.8), "expectile:0.8")


def _gamma_expectile(shape: float, tau: float) -> float:
    """(1 − τ)·E(e − Y)₊ = τ·E(Y − e)₊ for a gamma law."""
    low, high = 0.0, 50.0
    for _ in range(80):
        e = (low + high) / 2
        below = e * gamma.cdf(e, shape) - shape * gamma.cdf(e, shape + 1)
        low, high = (e, high) if (1 - tau) * below < tau * (below + shape - e) else (low, e)
    return low


def days(rng: np.random.Generator, n: int = 6000, size: int = 30) -> Drawn:
    """Amounts with a good or bad day in common."""
    f, day = np.exp(rng.normal(0, 0.5, n)), np.arange(n) // size
    luck = np.exp(0.5 * rng.normal(size=n // size + 1) - 0.125)[day]
    whole = [rng.random(n // size + 1)[day] < 0.3 for _ in range(5)]
    return drawn(rng, f * luck * rng.gamma(2.0, 0.5, n), f, groups=[*groups_of(rng, n, 5), *whole], cluster=day)


def mean_and_variance(rng: np.random.Generator, n: int = 3000) -> Drawn:
    """A pair: both right."""
    mean, spread = rng.normal(0, 1, n), np.exp(rng.normal(0, 0.5, n))
    return drawn(rng, mean + spread * rng.normal(size=n), np.stack([mean, spread**2], axis=1), "mean_variance")


def tail(rng: np.random.Generator, n: int = 4000, tau: float = 0.9) -> Drawn:
    """A pair: value at risk and expected shortfall of normal losses."""
    spread = np.exp(rng.normal(0, 0.5, n))
    q = norm.ppf(tau)
    f = np.stack([spread * q, spread * norm.pdf(q) / (1 - tau)], axis=1)
    return drawn(rng, spread * rng.normal(size=n), f, f"quantile_cvar:{tau}")


def three_quantiles(rng: np.random.Generator, n: int = 3000) -> Drawn:
    spread = np.exp(rng.normal(0, 1, n))
    f = spread[:, None] * norm.ppf([0.1, 0.5, 0.9])
    return drawn(rng, spread * rng.normal(size=n), f, "quantiles:0.1,0.5,0.9")


NULLS: dict[str, World] = {
    "counts": counts,
    "zero-inflated": zero_inflated,
    "shares of trials": shares,
    "two spreads": two_spreads,
    "Student 3": student,
    "lognormal 2": lognormal,
    "far from zero": far_from_zero,
    "mostly tied": mostly_tied,
    "tied quantile": tied_quantile,
    "quantile .999": far_quantile,
    "heavy rows": heavy_rows,
    "expectile": expectile,
    "days": days,
    "mean and variance": mean_and_variance,
    "VaR and ES": tail,
    "three quantiles": three_quantiles,
}


# ---- predictions of which one group's are off ---------------------------------------------------------------------
def event(rng: np.random.Generator, f: np.ndarray, truth: np.ndarray, **more: Any) -> Drawn:
    return drawn(rng, (rng.random(len(f)) < truth) * 1.0, f, bias=f - truth, **more)


def rare_gap(rng: np.random.Generator, n: int = 40_000) -> Drawn:
    """Rate 0.01; a tenth of the rows have three quarters of it."""
    f, target = expit(rng.normal(-5, 0.8, n)), rng.random(n) < 0.1
    return event(rng, f, np.where(target, 0.75 * f, f), groups=[target, *groups_of(rng, n)], target=1)


def rare_tilt(rng: np.random.Generator, n: int = 40_000) -> Drawn:
    """Rate 0.01; over-confident for three rows of ten."""
    z, target = rng.normal(-5, 1, n), rng.random(n) < 0.3
    truth = expit(np.where(target, 0.6 * (z + 5) - 4.75, z))
    return event(rng, expit(z), truth, groups=[target, *groups_of(rng, n)], target=1)


def rare_turned(rng: np.random.Generator, n: int = 40_000) -> Drawn:
    """Rate 0.01, ranked the wrong way round."""
    f = rng.uniform(0, 0.02, n)
    return event(rng, f, 0.02 - f, target=0)


def amounts(rng: np.random.Generator, n: int = 10_000) -> Drawn:
    """Gamma amounts; a tenth of the rows are 15 % larger than said."""
    f, target = np.exp(rng.normal(0, 0.5, n)), rng.random(n) < 0.1
    truth = np.where(target, 1.15 * f, f)
    return drawn(rng, truth * rng.gamma(1.5, 1 / 1.5, n), f, bias=f - truth, groups=[target, *groups_of(rng, n)], target=1)


def claim_counts(rng: np.random.Generator, n: int = 20_000) -> Drawn:
    """Poisson counts; a tenth of the rows have a quarter more."""
    f, target = 0.1 * np.exp(rng.normal(0, 0.7, n)), rng.random(n) < 0.1
    truth = np.where(target, 1.25 * f, f)
    return drawn(rng, rng.poisson(truth).astype(float), f, bias=f - truth, groups=[target, *groups_of(rng, n)], target=1)


def weighted_gap(rng: np.random.Generator, n: int = 20_000) -> Drawn:
    """Probabilities with unequal weights; a tenth of the rows are lower by a fifth."""
    f, target = expit(rng.normal(-1.5, 1, n)), rng.random(n) < 0.1
    return event(
        rng, f, np.where(target, 0.8 * f, f), groups=[target, *groups_of(rng, n)], target=1, weights=np.exp(rng.normal(0, 1, n))
    )  # fmt: skip


def narrow(rng: np.random.Generator, n: int = 10_000, tau: float = 0.9) -> Drawn:
    """90 % limits that are too narrow where they are narrow and too wide where they are wide, right on average."""
    spread = np.exp(rng.normal(0, 0.5, n))
    factor = np.where(spread < 1, 1.1, 0.88)
    covered = norm.cdf(norm.ppf(tau) / factor)
    return drawn(rng, factor * spread * rng.normal(size=n), spread * norm.ppf(tau), f"quantile:{tau}", bias=covered - tau, target=0)


OFF: dict[str, World] = {
    "amounts": amounts,
    "counts": claim_counts,
    "weighted gap": weighted_gap,
    "limits too narrow": narrow,
}
RARE_OFF: dict[str, World] = {"rare gap": rare_gap, "rare tilt": rare_tilt, "rare turned": rare_turned}


# ---- the worlds of the shared folder -------------------------------------------------------------------------------
def shared_worlds() -> tuple[dict[str, World], dict[str, World]]:
    """Its worlds of right and of wrong predictions, with `bias` added; nothing where the folder is absent."""
    module = shared.module("chance")
    if module is None:
        return {}, {}
    off = {
        "mean gap": (module.shifted, lambda d: d["f"] - np.where(d["groups"][0], 0.82, 1.0) * d["f"]),
        "tilt": (module.tilted, lambda d: d["f"] - expit(np.where(d["groups"][0], 0.75, 1.0) * logit(d["f"]))),
        "turned round": (module.turned, lambda d: d["f"] - (0.05 - d["f"])),
        "coverage gap": (module.covered_less, lambda d: np.where(d["groups"][0], norm.cdf(norm.ppf(0.9) / 1.186) - 0.9, 0.0)),
        "fraud +0.5": (module.fraud_shift, lambda d: d["f"] - expit(logit(d["f"]) + 0.5)),
    }
    nulls = {name: _with_bias(world, lambda d: np.zeros(len(d["y"]))) for name, world in module.NULLS.items()}
    return nulls, {name: _with_bias(world, bias) for name, (world, bias) in off.items()}


def _with_bias(world: World, bias: Callable[[Drawn], np.ndarray]) -> World:
    def made(rng: np.random.Generator, *n: int) -> Drawn:
        found = world(rng, *n)
        return {**found, "bias": bias(found)}

    return made
