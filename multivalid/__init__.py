"""Predictions that are right on average for every group you name.

`audit` says for which groups predictions are off and whether it is noise; `multicalibrate` corrects them. Both take any property
of the label distribution that can be calibrated: means, quantiles, expectiles, a property of your own.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
    CentralMoment,
    CoefficientOfVariation,
    CVaR,
    DispersionIndex,
    DistortionRisk,
    DualPower,
    EndpointMix,
    Entropic,
    Entropy,
    EventProbability,
    ExpectedShortfall,
    Expectile,
    ExpectileVariantile,
    ExponentialSpectral,
    Functional,
    GiniDeviation,
    Huber,
    InterquartileRange,
    Law,
    LpQuantile,
    Mean,
    MeanAbsoluteDeviation,
    MeanMAD,
    MeanMoment,
    MeanStd,
    MeanVariance,
    MeanVarianceUtility,
    MinVar,
    Mode,
    Moment,
    Pair,
    Property,
    ProportionalHazard,
    Quantile,
    QuantileCVaR,
    QuantileIQR,
    QuantileMix,
    QuantileSpectral,
    RangeVaR,
    Ratio,
    Shortfall,
    Skewness,
    Spectral,
    Std,
    Variance,
    Variantile,
    Wang,
    parse,
    parse_any,
    register,
)
from multivalid.scope import Counterexample, Verdict, scope

if TYPE_CHECKING:
    from multivalid.online import OnlineMulticalibrator

__version__ = "0.1.0"
__all__ = [
    "Audit",
    "Backtest",
    "BayesPair",
    "CVaR",
    "Calibration",
    "CentralMoment",
    "Certificate",
    "CoefficientOfVariation",
    "Counterexample",
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
    "FittedGroups",
    "Functional",
    "GiniDeviation",
    "Grid",
    "Groups",
    "Huber",
    "InterquartileRange",
    "JointCalibration",
    "JointCertificate",
    "Law",
    "LpQuantile",
    "Mean",
    "MeanAbsoluteDeviation",
    "MeanMAD",
    "MeanMoment",
    "MeanStd",
    "MeanVariance",
    "MeanVarianceUtility",
    "Membership",
    "MinVar",
    "Mode",
    "Moment",
    "MultivalidError",
    "OnlineMulticalibrator",
    "Pair",
    "PairAudit",
    "Property",
    "ProportionalHazard",
    "Quantile",
    "QuantileCVaR",
    "QuantileIQR",
    "QuantileMix",
    "QuantileSpectral",
    "RangeVaR",
    "Ratio",
    "Shortfall",
    "Skewness",
    "Spectral",
    "Std",
    "Variance",
    "Variantile",
    "Verdict",
    "Wang",
    "audit",
    "backtest",
    "bins",
    "cross",
    "cvar_constants",
    "joint_score",
    "load",
    "multicalibrate",
    "parse",
    "parse_any",
    "recalibrate",
    "register",
    "scope",
]


_LATE = {"estimators": "multivalid.estimators", "online": "multivalid.online"}


def __getattr__(name: str) -> Any:
    """`estimators` and the online learner on first use: most uses do without them, and scikit-learn takes a second to import."""
    if name in _LATE:
        return import_module(_LATE[name])
    if name == "OnlineMulticalibrator":
        return import_module("multivalid.online").OnlineMulticalibrator
    raise AttributeError(f"module 'multivalid' has no attribute {name!r}")
