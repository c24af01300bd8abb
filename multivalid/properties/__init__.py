"""What is predicted: properties of a label distribution."""

from multivalid.properties.base import Facts, Interval, Pieces, Property
from multivalid.properties.entropic import Entropic
from multivalid.properties.expectile import Expectile
from multivalid.properties.huber import Huber
from multivalid.properties.lp_quantile import LpQuantile
from multivalid.properties.mean import Mean
from multivalid.properties.moment import EventProbability, Moment
from multivalid.properties.parse import parse, register, spec_of
from multivalid.properties.quantile import Quantile
from multivalid.properties.ratio import Ratio
from multivalid.properties.shortfall import Shortfall

__all__ = [
    "Entropic", "EventProbability", "Expectile", "Facts", "Huber", "Interval", "LpQuantile", "Mean", "Moment", "Pieces",
    "Property", "Quantile", "Ratio", "Shortfall", "parse", "register", "spec_of",
]  # fmt: skip
