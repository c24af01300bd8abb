"""What others do on a stream, in a few lines each: one limit at level tau above a base prediction, no groups, one outcome at a time.

Each function takes the outcomes, the base predictions and tau, and returns what it would have published, each before its outcome.
"""

from __future__ import annotations

from bisect import insort

import numpy as np

STEPS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128)
WINDOW = 100


def _at(seen: list[float], level: float) -> float:
    return seen[min(max(int(level * len(seen)), 0), len(seen) - 1)]


def aci(y: np.ndarray, base: np.ndarray, tau: float, step: float = 0.005) -> np.ndarray:
    """Adaptive conformal inference (Gibbs and Candès, 2021): a quantile of all misses so far, at a level that adapts."""
    level, seen, answer = tau, [0.0], np.empty(len(y))
    for t, (label, start) in enumerate(zip(y.tolist(), base.tolist(), strict=True)):
        answer[t] = start + _at(seen, level)
        level += step * (tau - (label <= answer[t]))
        insort(seen, label - start)
    return answer


def dtaci(y: np.ndarray, base: np.ndarray, tau: float) -> np.ndarray:
    """Dynamically tuned adaptive conformal inference (Gibbs and Candès, 2024): eight steps, exponential weights, the recent misses."""
    steps, alpha, weight = np.array(STEPS), np.full(len(STEPS), 1 - tau), np.full(len(STEPS), 1 / len(STEPS))
    share, horizon = 1 / 1000, 500
    rate = np.sqrt(3 / horizon) * np.sqrt((np.log(len(STEPS) * horizon) + 2) / ((1 - tau) ** 2 * tau**3 + tau**2 * (1 - tau) ** 3))
    answer, recent = np.empty(len(y)), []
    for t, (label, start) in enumerate(zip(y.tolist(), base.tolist(), strict=True)):
        ordered = sorted(recent) or [0.0]
        answer[t] = start + _at(ordered, 1 - float(weight @ alpha))
        beta = 1 - np.searchsorted(ordered, label - start, side="left") / len(ordered)  # the level that would just have covered
        loss = np.where(beta > alpha, (1 - tau) * (beta - alpha), tau * (alpha - beta))
        weight = weight * np.exp(-rate * loss)
        weight = (1 - share) * weight / weight.sum() + share / len(STEPS)
        alpha = alpha + steps * ((1 - tau) - (beta < alpha))
        recent.append(label - start)
        del recent[: -5 * WINDOW]
    return answer


def sf_ogd(y: np.ndarray, base: np.ndarray, tau: float) -> np.ndarray:
    """Scale-free online gradient descent on the pinball loss of the shift (Bhatnagar and others, 2023)."""
    scale = float(np.abs(y - base)[:WINDOW].max()) / np.sqrt(3)
    shift, spent, answer = 0.0, 0.0, np.empty(len(y))
    for t, (label, start) in enumerate(zip(y.tolist(), base.tolist(), strict=True)):
        answer[t] = start + shift
        slope = (label <= answer[t]) - tau
        spent += slope**2
        shift -= scale * slope / np.sqrt(spent)
    return answer


def pid(
    y: np.ndarray, base: np.ndarray, tau: float, rate: float = 0.1, integral: float = 1.0, saturation: float = 20.0
) -> np.ndarray:
    """Conformal PID (Angelopoulos, Candès and Tibshirani, 2023): a tracked quantile and an error integrator, no scorecaster."""
    shift, total, answer, recent = 0.0, 0.0, np.empty(len(y)), [0.0]
    for t, (label, start) in enumerate(zip(y.tolist(), base.tolist(), strict=True)):
        size = max(abs(miss) for miss in recent)
        turn = np.clip(total * np.log(t + 2) / (saturation * (t + 2)), -np.pi / 2 + 0.01, np.pi / 2 - 0.01)
        answer[t] = start + shift + integral * size * np.tan(turn)
        missed = (label > answer[t]) - (1 - tau)
        shift += rate * size * missed
        total += missed
        recent.append(label - start)
        del recent[:-WINDOW]
    return answer


RIVALS = {"ACI": aci, "DtACI": dtaci, "SF-OGD": sf_ogd, "conformal PID": pid}
