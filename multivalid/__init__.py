"""Predictions that are right on average for every group you name.

`audit` says for which groups predictions are off and whether it is noise; `multicalibrate` corrects them. Both take any property
of the label distribution that can be calibrated: means, quantiles, expectiles, a property of your own.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from multivalid.lazy_names import lazy_names

if TYPE_CHECKING:
    from multivalid import estimators as estimators
    from multivalid import metrics as metrics
    from multivalid.audit.audit import Audit, audit
    from multivalid.audit.backtest import Backtest, backtest
    from multivalid.audit.pair import PairAudit
    from multivalid.audit.several import SeveralAudit
    from multivalid.batch.certificate import Certificate
    from multivalid.batch.recalibrate import recalibrate
    from multivalid.calibration import Calibration
    from multivalid.discover.discovery import Discovery, discover
    from multivalid.errors import MultivalidError
    from multivalid.fit import multicalibrate
    from multivalid.grid import Grid
    from multivalid.groups.family import FittedGroups, Groups
    from multivalid.groups.items import bins, cross
    from multivalid.groups.membership import Membership
    from multivalid.joint.bounds import cvar_constants
    from multivalid.joint.certificate import JointCertificate
    from multivalid.joint.score import joint_score
    from multivalid.loading import load
    from multivalid.online import Monitor, OnlineMulticalibrator
    from multivalid.properties import (
        BayesPair,
        CentralMoment,
        Classes,
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
        GeometricMean,
        GiniDeviation,
        Huber,
        InterquartileRange,
        Kurtosis,
        Law,
        LowerQuantileCVaR,
        LpQuantile,
        Mean,
        MeanAbsoluteDeviation,
        MeanMAD,
        MeanMoment,
        MeanStd,
        MeanVariance,
        MeanVarianceUtility,
        MedianAbsoluteDeviation,
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
        Quantiles,
        QuantileSpectral,
        Range,
        RangeVaR,
        Ratio,
        Shortfall,
        Skewness,
        Spectral,
        Std,
        Variance,
        Variantile,
        Wang,
    )
    from multivalid.properties.parse import parse, parse_any, register
    from multivalid.scope import Counterexample, Verdict, scope
    from multivalid.several.certificate import SeveralCertificate
    from multivalid.several_calibration import JointCalibration, SeveralCalibration

__version__ = "0.1.0"
__all__ = [
    "Audit",
    "Backtest",
    "BayesPair",
    "CVaR",
    "Calibration",
    "CentralMoment",
    "Certificate",
    "Classes",
    "CoefficientOfVariation",
    "Counterexample",
    "Discovery",
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
    "GeometricMean",
    "GiniDeviation",
    "Grid",
    "Groups",
    "Huber",
    "InterquartileRange",
    "JointCalibration",
    "JointCertificate",
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
    "Membership",
    "MinVar",
    "Mode",
    "Moment",
    "Monitor",
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
    "Quantiles",
    "Range",
    "RangeVaR",
    "Ratio",
    "SeveralAudit",
    "SeveralCalibration",
    "SeveralCertificate",
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
    "discover",
    "joint_score",
    "load",
    "multicalibrate",
    "parse",
    "parse_any",
    "recalibrate",
    "register",
    "scope",
]

# Where the names live that are not properties. They are imported on first use: an audit need not wait for the algorithms that correct,
# nor anything for scikit-learn. What type checkers and the pages read is the block above; a test holds the two together.
_HOMES = {
    "audit.audit": ["Audit", "audit"],
    "audit.pair": ["PairAudit"],
    "audit.several": ["SeveralAudit"],
    "several.certificate": ["SeveralCertificate"],
    "several_calibration": ["JointCalibration", "SeveralCalibration"],
    "batch.certificate": ["Certificate"],
    "batch.recalibrate": ["recalibrate"],
    "calibration": ["Calibration"],
    "discover.discovery": ["Discovery", "discover"],
    "errors": ["MultivalidError"],
    "estimators": ["estimators"],
    "metrics": ["metrics"],
    "fit": ["multicalibrate"],
    "grid": ["Grid"],
    "groups.family": ["FittedGroups", "Groups"],
    "groups.items": ["bins", "cross"],
    "groups.membership": ["Membership"],
    "audit.backtest": ["Backtest", "backtest"],
    "joint.bounds": ["cvar_constants"],
    "joint.certificate": ["JointCertificate"],
    "joint.score": ["joint_score"],
    "loading": ["load"],
    "online": ["Monitor", "OnlineMulticalibrator", "online"],
    "properties": ["properties"],
    "scope.certificate": ["Counterexample"],
    "scope.decide": ["scope"],
    "scope.verdict": ["Verdict"],
}
_PLACES = dict.fromkeys(__all__, "multivalid.properties") | {
    name: f"multivalid.{home}" for home, names in _HOMES.items() for name in names
}

# Three packages share their names with functions. Python binds a package's name when it loads it, once: done here, before the functions
# are asked for, no later import of something inside them can put the package in the function's place.
for _name in ("audit", "discover", "scope"):
    import_module(f"multivalid.{_name}")
    globals().pop(_name, None)

if not TYPE_CHECKING:  # else every misspelt name would pass the type checker
    __getattr__, __dir__ = lazy_names(__name__, globals(), _PLACES)
