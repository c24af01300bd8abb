"""Pearson's third law: a gamma law moved and scaled to mean 0 and variance 1, chosen by its skewness alone.

A sum of independent terms has moments that are sums themselves, so three sums give its tails, in memory or in an engine. For sums of
events, tails below a tenth agree with the exact mid-p values to 1.6 points even for ten coins, and to half a point where five events
are expected.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from multivalid.properties.base import Array

STRAIGHT = 1e-6  # a skewness below this is that of a normal law


def upper_tail(z: ArrayLike, skewness: ArrayLike) -> Array:
    """Pr[Z > z] for each z.

    Examples
    --------
    >>> upper_tail([1.0, 1.0, 1.0], [0.0, 1.0, -1.0]).round(4)
    array([0.1587, 0.1512, 0.1429])
    """
    from scipy.special import gammainc, gammaincc, ndtr  # imported late: only a test needs it

    z, g = np.broadcast_arrays(np.asarray(z, dtype=np.float64), np.asarray(skewness, dtype=np.float64))
    bent = np.abs(g) > STRAIGHT
    shape = 4 / np.where(bent, g, 1.0) ** 2
    place = np.maximum(shape + np.sign(g) * z * np.sqrt(shape), 0.0)
    tail = np.where(g > 0, gammaincc(shape, place), gammainc(shape, place))
    return np.asarray(np.where(bent, tail, ndtr(-z)))


def lower_tail(z: ArrayLike, skewness: ArrayLike) -> Array:
    """Pr[Z < z] for each z."""
    return upper_tail(-np.asarray(z, dtype=np.float64), -np.asarray(skewness, dtype=np.float64))


def quantile(probability: ArrayLike, skewness: ArrayLike) -> Array:
    """The z that Z stays below with this probability.

    Examples
    --------
    >>> quantile([0.05, 0.05], [0.0, 2.0]).round(4)
    array([-1.6449, -0.9487])
    """
    from scipy.special import gammainccinv, gammaincinv, ndtri

    p, g = np.broadcast_arrays(np.asarray(probability, dtype=np.float64), np.asarray(skewness, dtype=np.float64))
    bent = np.abs(g) > STRAIGHT
    shape = 4 / np.where(bent, g, 1.0) ** 2
    place = np.where(g > 0, gammaincinv(shape, p), gammainccinv(shape, p))
    return np.asarray(np.where(bent, np.sign(g) * (place - shape) / np.sqrt(shape), ndtri(p)))
