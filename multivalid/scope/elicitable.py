"""Verdicts on properties that come with an identification function."""

from __future__ import annotations

from multivalid.properties import Huber, Property, Quantile, Shortfall
from multivalid.properties.custom import Identified
from multivalid.scope import sources
from multivalid.scope.verdict import Claim, Verdict

LINEAR = "the mean of the identification function is linear in the law, so laws with one zero mix to laws with the same zero"
REASON = (
    "It has an identification function, nondecreasing in the prediction, whose mean is linear in the law; so laws with one value "
    "mix to laws with the same value, and a predictor that is right at every point is calibrated."
)
FLAT = "a law whose mean identification function is flat at zero has an interval of values, and any point of it counts"
INTERVALS = (
    "values are read as intervals: a law whose distribution function is flat at the level has an interval of values, and any point "
    "of it counts (as a strict point functional on laws with finite support even the lower quantile is not elicitable)"
)
MESH = "the identification function is nondecreasing in the prediction, which was checked on a mesh of 129 × 129 points only"
STRICT = "the mean of the identification function rises strictly in the prediction, so the value is one number"


def about_property(prop: Property) -> Verdict:
    """Alone: the identification function is at hand, and what convexity of level sets needs is linearity, not continuity."""
    hypothesis, smooth = _regularity(prop)
    claims = {
        "identifiable": Claim(True, f"it comes with an identification function; {hypothesis}"),
        "elicitable": Claim(True, "the integral of the identification function is a consistent score"),
        "convex_level_sets": Claim(True, LINEAR),
        "continuous": smooth,
        "strictly_locally_non_constant": smooth,
    }
    return Verdict(repr(prop), "alone", REASON, None, (hypothesis,), None, (sources.SCOPE, sources.STEINWART), prop, claims)


def _regularity(prop: Property) -> tuple[str, Claim]:
    if isinstance(prop, Quantile):
        where = "only on laws whose distribution function rises strictly; elsewhere values are intervals"
        return INTERVALS, Claim(None, where)
    if isinstance(prop, Huber) or (isinstance(prop, Shortfall) and prop.flat):
        return FLAT, Claim(None, "only where the value is a single number")
    if isinstance(prop, Identified):
        return MESH, Claim(None, "not examined")
    return STRICT, Claim(True, "the strictly rising mean identification moves continuously with the law of bounded labels")
