"""Pairs of functionals that can be calibrated together."""

from multivalid.properties.pairs.about_mean import MeanMAD, MeanMoment, MeanStd, MeanVariance
from multivalid.properties.pairs.base import Pair, PairFacts
from multivalid.properties.pairs.bayes import BayesPair, ExpectileVariantile, LowerQuantileCVaR, QuantileCVaR, QuantileSpectral
from multivalid.properties.pairs.quantile_iqr import QuantileIQR

__all__ = [
    "BayesPair", "ExpectileVariantile", "LowerQuantileCVaR", "MeanMAD", "MeanMoment", "MeanStd", "MeanVariance", "Pair", "PairFacts",
    "QuantileCVaR", "QuantileIQR", "QuantileSpectral",
]  # fmt: skip
