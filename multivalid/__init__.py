"""Predictions that are right on average for every group you name.

`audit` says for which groups predictions are off and whether it is noise; `multicalibrate` corrects them. Both take any property
of the label distribution that can be calibrated: means, quantiles, expectiles, a property of your own.
"""

from multivalid.audit.audit import Audit, audit
from multivalid.audit.pair import PairAudit
from multivalid.batch.certificate import Certificate
from multivalid.batch.theorem import recalibrate
from multivalid.calibration import Calibration, load
from multivalid.errors import MultivalidError
from multivalid.fit import multicalibrate
from multivalid.grid import Grid
from multivalid.groups.family import FittedGroups, Groups
from multivalid.groups.items import bins, cross
from multivalid.groups.membership import Membership
from multivalid.joint.backtest import Backtest, backtest
from multivalid.joint.bounds import cvar_constants
from multivalid.joint.calibration import JointCalibration
from multivalid.joint.certificate import JointCertificate
from multivalid.joint.score import joint_score
from multivalid.properties import (
    BayesPair,
    Entropic,
    EventProbability,
    Expectile,
    ExpectileVariantile,
    Huber,
    LpQuantile,
    Mean,
    MeanMAD,
    MeanMoment,
    MeanStd,
    MeanVariance,
    Moment,
    Pair,
    Property,
    Quantile,
    QuantileCVaR,
    QuantileIQR,
    QuantileSpectral,
    Ratio,
    Shortfall,
    parse,
    register,
)

__version__ = "0.1.0"
__all__ = [
    "Audit", "Backtest", "BayesPair", "Calibration", "Certificate", "Entropic", "EventProbability", "Expectile", "ExpectileVariantile",
    "FittedGroups", "Grid", "Groups", "Huber", "JointCalibration", "JointCertificate", "LpQuantile", "Mean", "MeanMAD", "MeanMoment",
    "MeanStd", "MeanVariance", "Membership", "Moment", "MultivalidError", "Pair", "PairAudit", "Property", "Quantile", "QuantileCVaR",
    "QuantileIQR", "QuantileSpectral", "Ratio", "Shortfall", "audit", "backtest", "bins", "cross", "cvar_constants", "joint_score",
    "load", "multicalibrate", "parse", "recalibrate", "register",
]  # fmt: skip
