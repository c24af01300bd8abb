"""What is predicted: properties of a label distribution, pairs of them, and functionals that can only be computed."""

from multivalid.properties.atoms_only import Entropy, Mode
from multivalid.properties.base import Facts, Interval, Pieces, Property
from multivalid.properties.dispersion import (
    CentralMoment,
    CoefficientOfVariation,
    DispersionIndex,
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
from multivalid.properties.huber import Huber
from multivalid.properties.law import Law
from multivalid.properties.lp_quantile import LpQuantile
from multivalid.properties.mean import Mean
from multivalid.properties.moment import EventProbability, Moment
from multivalid.properties.named_distortions import DualPower, ExponentialSpectral, MinVar, ProportionalHazard, Wang
from multivalid.properties.order_spread import GiniDeviation, InterquartileRange, Variantile
from multivalid.properties.pairs import (
    BayesPair,
    ExpectileVariantile,
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
from multivalid.properties.parse import parse, parse_any, register, spec_of
from multivalid.properties.quantile import Quantile
from multivalid.properties.ratio import Ratio
from multivalid.properties.shortfall import Shortfall
from multivalid.properties.tail_risk import CVaR, ExpectedShortfall, RangeVaR, Spectral
from multivalid.properties.target import Target

__all__ = [
    "BayesPair", "CVaR", "CentralMoment", "CoefficientOfVariation", "DispersionIndex", "DistortionRisk", "DualPower", "EndpointMix",
    "Entropic", "Entropy", "EventProbability", "ExpectedShortfall", "Expectile", "ExpectileVariantile", "ExponentialSpectral",
    "Facts", "Functional", "GiniDeviation", "Huber", "InterquartileRange", "Interval", "Law", "LpQuantile", "Mean",
    "MeanAbsoluteDeviation", "MeanMAD", "MeanMoment", "MeanStd", "MeanVariance", "MeanVarianceUtility", "MinVar", "Mode", "Moment",
    "Pair", "PairFacts", "Pieces", "Property", "ProportionalHazard", "Quantile", "QuantileCVaR", "QuantileIQR", "QuantileMix",
    "QuantileSpectral", "RangeVaR", "Ratio", "Shortfall", "Skewness", "Spectral", "Std", "Target", "Variance", "Variantile", "Wang",
    "parse", "parse_any", "register", "spec_of",
]  # fmt: skip
