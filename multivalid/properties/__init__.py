"""What is predicted: properties of a label distribution, pairs of them, and functionals that can only be computed."""

from typing import TYPE_CHECKING

from multivalid.lazy_names import lazy_names
from multivalid.properties.parse import parse, parse_any, register, spec_of

if TYPE_CHECKING:
    from multivalid.properties.base import Facts, Interval, Pieces, Property
    from multivalid.properties.classes import Classes
    from multivalid.properties.dispersion import (
        CentralMoment,
        CoefficientOfVariation,
        DispersionIndex,
        Kurtosis,
        MeanAbsoluteDeviation,
        MeanVarianceUtility,
        Skewness,
        Std,
        Variance,
    )
    from multivalid.properties.distortion import DistortionRisk, EndpointMix, QuantileMix
    from multivalid.properties.entropic import Entropic
    from multivalid.properties.expectile import Expectile
    from multivalid.properties.functional import Functional
    from multivalid.properties.geometric_mean import GeometricMean
    from multivalid.properties.huber import Huber
    from multivalid.properties.law import Law
    from multivalid.properties.lp_quantile import LpQuantile
    from multivalid.properties.mean import Mean
    from multivalid.properties.mode_entropy import Entropy, Mode
    from multivalid.properties.moment import EventProbability, Moment
    from multivalid.properties.named_distortions import DualPower, ExponentialSpectral, MinVar, ProportionalHazard, Wang
    from multivalid.properties.order_spread import GiniDeviation, InterquartileRange, MedianAbsoluteDeviation, Range, Variantile
    from multivalid.properties.pairs import (
        BayesPair,
        ExpectileVariantile,
        LowerQuantileCVaR,
        MeanMAD,
        MeanMoment,
        MeanStd,
        MeanVariance,
        Pair,
        PairFacts,
        QuantileCVaR,
        QuantileIQR,
        QuantileSpectral,
    )
    from multivalid.properties.quantile import Quantile
    from multivalid.properties.quantiles import Quantiles
    from multivalid.properties.ratio import Ratio
    from multivalid.properties.shortfall import Shortfall
    from multivalid.properties.tail_risk import CVaR, ExpectedShortfall, RangeVaR, Spectral
    from multivalid.properties.target import Coordinate, Target

__all__ = [
    "BayesPair",
    "CVaR",
    "CentralMoment",
    "Classes",
    "CoefficientOfVariation",
    "Coordinate",
    "DispersionIndex",
    "DistortionRisk",
    "DualPower",
    "EndpointMix",
    "Entropic",
    "Entropy",
    "EventProbability",
    "ExpectedShortfall",
    "Expectile",
    "ExpectileVariantile",
    "ExponentialSpectral",
    "Facts",
    "Functional",
    "GeometricMean",
    "GiniDeviation",
    "Huber",
    "InterquartileRange",
    "Interval",
    "Kurtosis",
    "Law",
    "LowerQuantileCVaR",
    "LpQuantile",
    "Mean",
    "MeanAbsoluteDeviation",
    "MeanMAD",
    "MeanMoment",
    "MeanStd",
    "MeanVariance",
    "MeanVarianceUtility",
    "MedianAbsoluteDeviation",
    "MinVar",
    "Mode",
    "Moment",
    "Pair",
    "PairFacts",
    "Pieces",
    "Property",
    "ProportionalHazard",
    "Quantile",
    "QuantileCVaR",
    "QuantileIQR",
    "QuantileMix",
    "QuantileSpectral",
    "Quantiles",
    "Range",
    "RangeVaR",
    "Ratio",
    "Shortfall",
    "Skewness",
    "Spectral",
    "Std",
    "Target",
    "Variance",
    "Variantile",
    "Wang",
    "parse",
    "parse_any",
    "register",
    "spec_of",
]  # fmt: skip

# Where the names live: a saved model needs one property, not all. What type checkers and the pages read is the block above; a test holds
# the two together.
_HOMES = {
    "mode_entropy": ["Entropy", "Mode"],
    "base": ["Facts", "Interval", "Pieces", "Property"],
    "classes": ["Classes"],
    "dispersion": [
        "CentralMoment",
        "CoefficientOfVariation",
        "DispersionIndex",
        "Kurtosis",
        "MeanAbsoluteDeviation",
        "MeanVarianceUtility",
        "Skewness",
        "Std",
        "Variance",
    ],
    "distortion": ["DistortionRisk", "EndpointMix", "QuantileMix"],
    "entropic": ["Entropic"],
    "expectile": ["Expectile"],
    "functional": ["Functional"],
    "geometric_mean": ["GeometricMean"],
    "huber": ["Huber"],
    "law": ["Law"],
    "lp_quantile": ["LpQuantile"],
    "mean": ["Mean"],
    "moment": ["EventProbability", "Moment"],
    "named_distortions": ["DualPower", "ExponentialSpectral", "MinVar", "ProportionalHazard", "Wang"],
    "order_spread": ["GiniDeviation", "InterquartileRange", "MedianAbsoluteDeviation", "Range", "Variantile"],
    "pairs": [
        "BayesPair",
        "ExpectileVariantile",
        "LowerQuantileCVaR",
        "MeanMAD",
        "MeanMoment",
        "MeanStd",
        "MeanVariance",
        "Pair",
        "PairFacts",
        "QuantileCVaR",
        "QuantileIQR",
        "QuantileSpectral",
    ],
    "quantile": ["Quantile"],
    "quantiles": ["Quantiles"],
    "ratio": ["Ratio"],
    "shortfall": ["Shortfall"],
    "tail_risk": ["CVaR", "ExpectedShortfall", "RangeVaR", "Spectral"],
    "target": ["Coordinate", "Target"],
}  # fmt: skip
_PLACES = {name: f"multivalid.properties.{home}" for home, names in _HOMES.items() for name in names}

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(__name__, globals(), _PLACES)
