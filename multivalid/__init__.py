"""Predictions that are right on average for every group you name.

`audit` says for which groups predictions are off and whether it is noise; `multicalibrate` corrects them. Both take any property
of the label distribution that can be calibrated: means, quantiles, expectiles, a property of your own.
"""

from multivalid.audit.audit import Audit, audit
from multivalid.batch.certificate import Certificate
from multivalid.batch.theorem import recalibrate
from multivalid.calibration import Calibration, load
from multivalid.errors import MultivalidError
from multivalid.fit import multicalibrate
from multivalid.grid import Grid
from multivalid.groups.family import FittedGroups, Groups
from multivalid.groups.items import bins, cross
from multivalid.groups.membership import Membership
from multivalid.properties import (
    Entropic,
    EventProbability,
    Expectile,
    Huber,
    LpQuantile,
    Mean,
    Moment,
    Property,
    Quantile,
    Ratio,
    Shortfall,
    parse,
    register,
)

__version__ = "0.1.0"
__all__ = [
    "Audit", "Calibration", "Certificate", "Entropic", "EventProbability", "Expectile", "FittedGroups", "Grid", "Groups", "Huber",
    "LpQuantile", "Mean", "Membership", "Moment", "MultivalidError", "Property", "Quantile", "Ratio", "Shortfall", "audit", "bins",
    "cross", "load", "multicalibrate", "parse", "recalibrate", "register",
]  # fmt: skip
