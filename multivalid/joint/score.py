"""One number for both coordinates: the joint score of a Bayes pair.

For H concave and increasing, S(γ⁰, γ¹, y) = H(γ¹) + H'(γ¹)·(target(γ⁰, y) − γ¹) has its least mean at (Γ⁰, Γ¹): H' > 0 makes γ⁰
minimise the mean target, and a tangent of H lies above H. With H = log this is the FZ0 loss of (VaR, expected shortfall) and, for
(mean, variance), the Gaussian log-likelihood, twice and up to a constant.

References
----------
Fissler & Ziegel (2016), Higher order elicitability and Osband's principle, Annals of Statistics 44.
Patton, Ziegel & Chen (2019), Dynamic semiparametric models for expected shortfall (and Value-at-Risk), Journal of Econometrics 211.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from multivalid.errors import InputError
from multivalid.properties import Pair
from multivalid.properties.base import Array
from multivalid.properties.pairs.base import three


def joint_score(pair: Pair, first: ArrayLike, second: ArrayLike, label: ArrayLike, *, scale: float | None = None) -> Array:
    """The joint score of a Bayes pair, element by element; lower is better.

    Parameters
    ----------
    pair : Pair
        A Bayes pair, such as QuantileCVaR(0.95) or MeanVariance().
    first, second, label : array-like
        Predictions and outcome.
    scale : float, optional
        Without it H = log, and second predictions must be positive (of returns: negative). With it H(x) = −exp(−x/scale), for any
        second prediction; a number of the size of typical second predictions.

    Examples
    --------
    >>> from multivalid.properties import QuantileCVaR
    >>> float(joint_score(QuantileCVaR(0.5), 1.0, 2.0, 3.0))  # log 2 + 5/2 − 1
    2.1931471805599454
    """
    if not is_bayes(pair):
        raise InputError(f"{pair!r} is no Bayes pair, so it has no joint score of this kind; score the coordinates one by one.")
    g, e, y = three(first, second, label)
    excess = pair.target(g, y) - e
    if pair.of_gains:  # turned round: the score of losses −y
        e, excess = -e, -excess
    if scale is not None:
        slope = np.exp(-e / scale)
        return np.asarray(slope * (excess / scale - 1))
    if (e <= 0).any():
        side, worst = ("negative", -e.min()) if pair.of_gains else ("positive", e.min())
        raise InputError(f"second predictions must be {side} for the logarithmic joint score, got {float(worst):g}; pass scale=.")
    return np.asarray(np.log(e) + excess / e)


def is_bayes(pair: Pair) -> bool:
    """Whether the second coordinate is a Bayes risk of the first."""
    lo, hi = pair.first.label_domain
    return pair.facts(max(lo, 0.0), min(hi, 1.0)).bayes


def comparable_scores(pair: Pair, before: Array, after: Array, labels: Array) -> tuple[Array, Array] | None:
    """Joint scores of two sets of predictions (rows, 2) with one H for both: log where it exists; None for other pairs."""
    if not is_bayes(pair):
        return None
    scale = None
    sign = -1.0 if pair.of_gains else 1.0
    if min((sign * before[:, 1]).min(), (sign * after[:, 1]).min()) <= 0:
        scale = float(max(before[:, 1].std(), np.abs(before[:, 1]).max() / 10, 1e-300))
    made = [joint_score(pair, p[:, 0], p[:, 1], labels, scale=scale) for p in (before, after)]
    return made[0], made[1]
