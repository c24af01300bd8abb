"""The odd cases: functionals with convex level sets that still have no identification function, and users' distortions."""

from __future__ import annotations

import numpy as np

from multivalid.properties import CVaR, EndpointMix, Mean, Mode, Pair, Quantile, QuantileCVaR, QuantileMix, QuantileSpectral
from multivalid.properties.distortion import Distortion
from multivalid.scope import sources
from multivalid.scope.distortion import classify
from multivalid.scope.elicitable import INTERVALS, about_property
from multivalid.scope.verdict import Claim, Status, Verdict, claims_refuted

ONLY_CONVEX = "convex level sets would give elicitability only for a continuous functional, and this one jumps"
READ = "h was read at about two thousand probabilities"


def mode(functional: Mode) -> Verdict:
    """Convex level sets, elicited by 0–1 loss on a finite label set, but its level sets are too fat for an identification."""
    claims = {
        "identifiable": Claim(
            False, "its level sets have an interior, and a linear function that vanishes there vanishes everywhere"
        ),
        "elicitable": Claim(None, "by 0–1 loss on a finite label set; not for laws with a density"),
        "convex_level_sets": Claim(True, "if a label is the likeliest in two laws, it is in their mixture"),
        "continuous": Claim(False, "it jumps when the lead changes"),
        "strictly_locally_non_constant": Claim(False, "small changes of most laws do not move it"),
    }
    reason = (
        "Its level sets are convex, so no two-point counterexample exists and the true predictor is calibrated on finitely many "
        "points; but it has no identification function, so there is nothing to drive to zero. For few labels, calibrate the "
        "probability of each of them (EventProbability) and take the largest."
    )
    return Verdict(
        repr(functional), "impossible", reason, None, (ONLY_CONVEX,), None, (sources.HEINRICH, sources.STEINWART), None, claims
    )


def quantile_mix(functional: QuantileMix, subject: str | None = None, extra: tuple[str, ...] = ()) -> Verdict:
    """q¹: the lower and upper quantile for c = 1 and c = 0; in between convex level sets, but not elicitable."""
    name, quantile = subject or repr(functional), Quantile(functional.tau)
    if functional.c in (0.0, 1.0):
        return _quantile(name, quantile, extra)
    reason = (
        f"Its level sets are convex, yet it is not elicitable: 0/1 labels with probability just below, at and just above "
        f"{1 - functional.tau:g} have the values 0, {1 - functional.c:g} and 1, so by continuity of expected scores no score can "
        f"prefer the middle value at the middle law. Wherever the distribution function rises strictly it is {quantile!r}."
    )
    return Verdict(name, "impossible", reason, None, (ONLY_CONVEX, *extra), None, _WHO, None, _not_elicitable())


def endpoint_mix(functional: EndpointMix, subject: str | None = None, extra: tuple[str, ...] = ()) -> Verdict:
    """q²: convex level sets, not elicitable for any c."""
    name = subject or repr(functional)
    reason = (
        f"Its level sets are convex, yet it is not elicitable: 0/1 labels with probability 0, strictly between, and 1 have the "
        f"values 0, {1 - functional.c:g} and 1, however close to the ends, so by continuity of expected scores none can prefer "
        f"the right one. A quantile close to 0 or 1 can be calibrated instead."
    )
    return Verdict(name, "impossible", reason, None, (ONLY_CONVEX, *extra), None, _WHO, None, _not_elicitable())


def about_distortion(risk: Distortion) -> Verdict | None:
    """A user's h: recognised, refuted with a certificate, or None when neither can be seen."""
    found = classify(risk)
    name = repr(risk)
    if found.kind == "mean":
        same = about_property(Mean()).claims
        return Verdict(name, "alone", "h(u) = u: it is the mean.", None, (READ,), None, (sources.SCOPE,), Mean(), same)
    if found.kind == "quantile" and found.tau is not None:
        return _quantile(name, Quantile(found.tau), (READ,))
    if found.kind == "q1" and found.tau is not None and found.c is not None:
        return quantile_mix(QuantileMix(found.tau, found.c), name, (READ,))
    if found.kind == "q2" and found.c is not None:
        return endpoint_mix(EndpointMix(found.c), name, (READ,))
    if found.certificate is None:
        return None
    partner = partner_of(risk)
    tail = "and no pair is known for this one." if partner is None else "but this one is a Bayes risk of a quantile."
    reason = f"Among distortion risk measures only the mean and quantiles can be calibrated alone, {tail}"
    claims = claims_refuted(Claim(None, "not examined"), found.certificate)
    status: Status = "impossible" if partner is None else "jointly"
    return Verdict(name, status, reason, partner, (), found.certificate, (sources.KOU_PENG, sources.WANG_ZIEGEL), None, claims)


def partner_of(risk: Distortion) -> Pair | None:
    """The pair for an h made of two straight lines from (0, 0) to (1, 1), concave: a mixture of the mean and one CVaR.

    Examples
    --------
    >>> from multivalid.properties import DistortionRisk
    >>> partner_of(DistortionRisk(lambda u: (u / 0.1).clip(0, 1)))
    QuantileCVaR(tau=0.9)
    """
    u = np.linspace(0.0, 1.0, 1001)
    h = risk.distort(u)
    steep, flat = float(risk.distort(np.array([1e-6]))[0]) / 1e-6, (1 - float(risk.distort(np.array([1 - 1e-6]))[0])) / 1e-6
    share = 1 - flat
    if not (0 < share <= 1 + 1e-9 and steep > flat + 1e-9):
        return None
    share, tau = min(_digits(share), 1.0), _digits(1 - share / (steep - flat))
    if not 0 < tau < 1 or np.abs(share * CVaR(tau).distort(u) + (1 - share) * u - h).max() > 1e-7:
        return None
    return QuantileCVaR(tau) if share == 1 else QuantileSpectral(tau, share)


def _quantile(name: str, quantile: Quantile, extra: tuple[str, ...]) -> Verdict:
    reason, claims = f"It is a {quantile.tau:g}-quantile.", about_property(quantile).claims
    return Verdict(name, "alone", reason, None, (INTERVALS, *extra), None, (sources.SCOPE,), quantile, claims)


def _not_elicitable() -> dict[str, Claim]:
    return {
        "identifiable": Claim(
            False, "a linear function that vanishes on the 0/1 laws on one side of the jump vanishes on the other side too"
        ),
        "elicitable": Claim(False, "the limit of expected scores on both sides of the jump contradicts a strict preference at it"),
        "convex_level_sets": Claim(True, "of two laws with one value, the mixture keeps an end of the interval of values"),
        "continuous": Claim(False, "it jumps along 0/1 laws"),
        "strictly_locally_non_constant": Claim(False, "on 0/1 laws it is constant on either side of its jump"),
    }


def _digits(value: float) -> float:
    return float(f"{value:.9g}")


_WHO = (sources.KOU_PENG, sources.WANG_ZIEGEL, sources.STEINWART)
