"""What is known of the functionals in the catalogue: a counterexample, the pair that works, and why."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from multivalid.errors import InputError
from multivalid.properties import (
    CentralMoment,
    CoefficientOfVariation,
    CVaR,
    DispersionIndex,
    DualPower,
    Entropy,
    ExpectileVariantile,
    ExponentialSpectral,
    Functional,
    GiniDeviation,
    InterquartileRange,
    Kurtosis,
    Law,
    MeanAbsoluteDeviation,
    MeanMAD,
    MeanMoment,
    MeanStd,
    MeanVariance,
    MeanVarianceUtility,
    MedianAbsoluteDeviation,
    MinVar,
    Pair,
    ProportionalHazard,
    QuantileCVaR,
    QuantileIQR,
    QuantileSpectral,
    Range,
    RangeVaR,
    Skewness,
    Spectral,
    Std,
    Variance,
    Variantile,
    Wang,
)
from multivalid.properties.distortion import Distortion
from multivalid.scope import sources
from multivalid.scope.certificate import Counterexample, certify
from multivalid.scope.distortion import bernoulli_certificate, classify
from multivalid.scope.verdict import Claim

CONTINUOUS = Claim(True, "a continuous function of finitely many moments of bounded labels")
ORDER = Claim(False, "a quantile jumps where the distribution function is flat")
WHERE_DEFINED = Claim(True, "a continuous function of finitely many moments, wherever its denominator is not zero")
TAIL = Claim(True, "an average of quantiles, which moves little when the law does")


@dataclass(frozen=True)
class Known:
    """A counterexample to convex level sets with the reason, the partner and the sources.

    The certificate can be None for a functional so close to the mean that its gap drowns in rounding.
    """

    certificate: Counterexample | None
    reason: str
    partner: Pair | None
    cite: tuple[str, ...]
    continuous: Claim = CONTINUOUS


@singledispatch
def known(functional: Functional) -> Known | None:
    """What is known of a functional; None for one that is not in the catalogue."""
    return None


def _coin(functional: Functional) -> Counterexample:
    """Labels surely 0 against labels surely 1: no spread in either, all of it in the mixture."""
    return certify(functional, Law.point(0.0), Law.point(1.0))


@known.register
def _(functional: Variance) -> Known:
    reason = "Two laws without spread have a mixture with spread, because their means differ; once the mean is known it is a mean."
    return Known(_coin(functional), reason, MeanVariance(), (sources.SCOPE, sources.MOMENTS))


@known.register
def _(functional: Std) -> Known:
    reason = "Two laws without spread have a mixture with spread, because their means differ."
    return Known(_coin(functional), reason, MeanStd(), (sources.SCOPE, sources.MOMENTS))


@known.register
def _(functional: CentralMoment) -> Known:
    odd = functional.k % 2 == 1
    # Odd moments of symmetric laws vanish, whatever their centres; those of the mixture do not.
    made = certify(functional, Law.of([0.0, 0.2]), Law.of([0.0, 1.0])) if odd else _coin(functional)
    reason = "Laws of equal central moment have another in the mixture, because their means differ; given the mean it is a mean."
    return Known(made, reason, MeanMoment(functional.k), (sources.SCOPE, sources.MOMENTS))


@known.register
def _(functional: Skewness) -> Known:
    reason = (
        "Two symmetric laws have a skewed mixture; given mean and variance together it is a ratio of moments, but that is a triple "
        "and no pair is known."
    )
    return Known(certify(functional, Law.of([0.0, 0.2]), Law.of([0.0, 1.0])), reason, None, (sources.SCOPE,), WHERE_DEFINED)


@known.register
def _(functional: Kurtosis) -> Known:
    reason = (
        "Two even gambles have the same kurtosis, their mixture another; given mean and variance together it is a ratio of moments, but "
        "that is a triple and no pair is known."
    )
    return Known(certify(functional, Law.of([0.0, 0.2]), Law.of([0.0, 1.0])), reason, None, (sources.SCOPE,), WHERE_DEFINED)


@known.register
def _(functional: MedianAbsoluteDeviation) -> Known:
    # More than half of either law sits on one label, not so of the mixture.
    made = certify(functional, Law.of([0.0, 1.0], [0.6, 0.4]), Law.of([1.0, 2.0], [0.4, 0.6]))
    reason = (
        "Two laws with most of their mass on one label have a mixture without such a label. Once the median is known it is the median of "
        "|label − median|: Pair.from_identification(Quantile(0.5), lambda g, d, y: (abs(y - g) <= d) - 0.5, range=...) makes that pair."
    )
    return Known(made, reason, None, (sources.SCOPE,), ORDER)


@known.register
def _(functional: Range) -> Known:
    reason = "Two laws without spread have a mixture with spread; no number of rows shows the ends of a law, and no pair is known."
    return Known(
        _coin(functional), reason, None, (sources.SCOPE,), Claim(False, "it jumps when a label of small probability is added")
    )


@known.register
def _(functional: MeanAbsoluteDeviation) -> Known:
    reason = "Two laws without spread have a mixture with spread; once the mean is known it is the mean of |label − mean|."
    return Known(_coin(functional), reason, MeanMAD(), (sources.SCOPE,))


@known.register
def _(functional: CoefficientOfVariation) -> Known:
    reason = "Two laws without spread have a mixture with spread; the ratio follows from mean and standard deviation together."
    return Known(certify(functional, Law.point(0.2), Law.point(0.8)), reason, MeanStd(), (sources.SCOPE,), WHERE_DEFINED)


@known.register
def _(functional: DispersionIndex) -> Known:
    reason = "Two laws without spread have a mixture with spread; the ratio follows from mean and variance together."
    return Known(certify(functional, Law.point(0.2), Law.point(0.8)), reason, MeanVariance(), (sources.SCOPE,), WHERE_DEFINED)


@known.register
def _(functional: MeanVarianceUtility) -> Known:
    # Labels are scaled so that aversion × variance is half of them: a weak aversion shows on large labels only.
    size, sign = 0.5 / abs(functional.aversion), np.sign(functional.aversion)
    made = certify(functional, Law.point(size * (0.5 - sign / 8)), Law.of([0.0, size]))
    reason = "A sure label and a gamble of equal utility have a mixture of another; it follows from mean and variance together."
    return Known(made, reason, MeanVariance(), (sources.SCOPE, sources.GNEITING))


@known.register
def _(functional: InterquartileRange) -> Known:
    # The mixture must straddle both levels: more than `low` but less than `high` of its mass at zero.
    weight = 0.5 if functional.low < 0.5 < functional.high else (functional.low + functional.high) / 2
    made = certify(functional, Law.point(0.0), Law.point(1.0), weight)
    reason = (
        "Two laws without spread have a mixture with spread; once the low quantile is known, the high one lies a quantile away."
    )
    return Known(made, reason, QuantileIQR(functional.low, functional.high), (sources.SCOPE,), ORDER)


@known.register
def _(functional: GiniDeviation) -> Known:
    reason = "Two laws without spread have a mixture with spread; it depends on the whole law of two labels, and no pair is known."
    return Known(_coin(functional), reason, None, (sources.SCOPE,), TAIL)


@known.register
def _(functional: Variantile) -> Known:
    reason = "It is the Bayes risk of the expectile: a mean once the expectile is known, but not alone."
    return Known(_coin(functional), reason, ExpectileVariantile(functional.tau), (sources.SCOPE, sources.BAYES))


@known.register
def _(functional: Entropy) -> Known:
    reason = (
        "Two sure labels have no entropy and their mixture has; it is a Bayes risk given the probabilities of all labels but one, "
        "which is no pair (for 0/1 labels, calibrate the mean and take the entropy of that)."
    )
    continuous = Claim(None, "continuous on a finite label set, not in total variation on densities")
    return Known(_coin(functional), reason, None, (sources.SCOPE,), continuous)


@known.register
def _(functional: CVaR) -> Known:
    try:
        made: Counterexample | None = bernoulli_certificate(functional, (1 - functional.tau) / 2)
    except InputError:  # so close to the mean that the gap drowns in rounding
        made = None
    reason = "Its level sets are not convex; it is the Bayes risk of the quantile, so once the quantile is known it is a mean."
    return Known(made, reason, QuantileCVaR(functional.tau), (sources.GNEITING, sources.SHORTFALL, sources.SCOPE), TAIL)


@known.register
def _(functional: RangeVaR) -> Known:
    reason = "Its level sets are not convex; given both end quantiles it is a mean, but that is a triple and no pair is known."
    return Known(classify(functional).certificate, reason, None, (sources.WANG_ZIEGEL, sources.RANGE), TAIL)


@known.register
def _(functional: Spectral) -> Known:
    if len(functional.levels) == 2 and functional.levels[0] == 0:
        partner: Pair | None = QuantileSpectral(functional.levels[1], functional.shares[1])
        reason = "Its level sets are not convex; it is a Bayes risk of the quantile, so once the quantile is known it is a mean."
    else:
        partner = None
        reason = "Its level sets are not convex; it needs one quantile per level, which is more than a pair."
    return Known(classify(functional).certificate, reason, partner, (sources.WANG_ZIEGEL, sources.HIGHER_ORDER), TAIL)


@known.register(Wang)
@known.register(ProportionalHazard)
@known.register(DualPower)
@known.register(MinVar)
@known.register(ExponentialSpectral)
def _(functional: Distortion) -> Known:
    reason = (
        "Among distortion risk measures only the mean and quantiles can be calibrated alone, and no pair is known for this one."
    )
    return Known(classify(functional).certificate, reason, None, (sources.KOU_PENG, sources.WANG_ZIEGEL), TAIL)
