"""scope(property): can it be calibrated alone, only with a partner, or not at all?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from multivalid.errors import InputError, ScopeError
from multivalid.properties import EndpointMix, Functional, Mode, Property, QuantileMix, parse_any
from multivalid.properties.distortion import Distortion
from multivalid.properties.target import OwnColumn, Target
from multivalid.scope import sources
from multivalid.scope.convex_without_v import about_distortion, endpoint_mix, mode, quantile_mix
from multivalid.scope.elicitable import about_property
from multivalid.scope.evaluate import label_of
from multivalid.scope.known import Known, known
from multivalid.scope.level_sets import falsify
from multivalid.scope.verdict import Claim, Status, Verdict, claims_refuted

Subject = str | Target | Functional | Callable[..., Any]


def scope(
    prop: Subject,
    *,
    labels: tuple[float, float] = (0.0, 1.0),
    trials: int = 400,
    seconds: float | None = 1.2,
    seed: int = 0,
) -> Verdict:
    """Say whether a property can be calibrated alone, only with a partner, or not; with the reason and something to check.

    Properties, pairs and functionals of the catalogue are decided by their structure. Any other function of (values, weights) is
    searched for a counterexample with `falsify`; finding none leaves it undecided.

    Parameters
    ----------
    prop : str, Property, Pair, Functional or callable
        What to judge, or its text ("cvar:0.95").
    labels, trials, seconds, seed
        For a function that is not in the catalogue: how to search; see `falsify`.

    Examples
    --------
    >>> verdict = scope("variance")
    >>> verdict.status, verdict.partner, verdict.certificate.mixture_value
    ('jointly', MeanVariance(), 0.25)
    >>> scope("quantile:0.9").status
    'alone'
    >>> scope(lambda values, weights: max(values) - min(values)).status
    'impossible'
    """
    subject: Any = parse_any(prop) if isinstance(prop, str) else prop
    if isinstance(subject, Property):
        return about_property(subject)
    if isinstance(subject, Target):
        return _pair(subject) if subject.joint else _several(subject)
    if isinstance(subject, Functional):
        decided = _functional(subject)
        if decided is not None:
            return decided
    elif isinstance(subject, type) or not callable(subject):
        raise InputError(
            f"prop must be a property such as Quantile(0.9), its text, or a function of (values, weights), got {subject!r:.80}."
        )
    return _search(subject, labels, trials, seconds, seed)


def require(prop: Subject) -> Target:
    """What the algorithms can work on, or a `ScopeError` whose message is the verdict.

    Examples
    --------
    >>> require("quantile:0.9")
    Quantile(tau=0.9)
    >>> require("quantile_mix:0.9:1")  # the lower quantile under another name
    Quantile(tau=0.9)
    """
    subject: Any = parse_any(prop) if isinstance(prop, str) else prop
    if isinstance(subject, Target):
        return subject
    verdict = scope(subject)
    if verdict.equivalent is not None:
        return verdict.equivalent
    raise ScopeError(str(verdict))


def _pair(pair: Any) -> Verdict:
    first, second = pair.names
    reason = (
        f"The first coordinate ({first}) has an identification function of its own; the second ({second}) has one given the first."
    )
    return Verdict(
        repr(pair), "jointly", reason, pair, about_property(pair.first).hypotheses, None, (sources.SCOPE, sources.BAYES)
    )  # fmt: skip


def _several(target: Target) -> Verdict:
    names = [coordinate.name for coordinate in target.coordinates]
    reason = (
        f"Each of its {len(names)} columns ({', '.join(names)}) has an identification function of its own, so each can be calibrated by "
        f"itself; that predictions keep their constraint (quantiles do not cross, probabilities sum to one) is restored afterwards, and "
        f"what is promised is checked after that."
    )
    used = tuple(dict.fromkeys(about_property(c.predicted).hypotheses[0] for c in target.coordinates if isinstance(c, OwnColumn)))
    return Verdict(repr(target), "alone", reason, None, used, None, (sources.SCOPE, sources.STEINWART))


def _functional(functional: Functional) -> Verdict | None:
    if isinstance(functional, Mode):
        return mode(functional)
    if isinstance(functional, QuantileMix):
        return quantile_mix(functional)
    if isinstance(functional, EndpointMix):
        return endpoint_mix(functional)
    facts = known(functional)
    if facts is not None:
        return _refute(functional, facts)
    return about_distortion(functional) if isinstance(functional, Distortion) else None


def _refute(functional: Functional, facts: Known) -> Verdict:
    status: Status = "impossible" if facts.partner is None else "jointly"
    used = ("laws on at most four labels are among those allowed",)
    return Verdict(
        repr(functional), status, facts.reason, facts.partner, used, facts.certificate, facts.cite,
        claims=claims_refuted(facts.continuous, facts.certificate),
    )  # fmt: skip


def _search(subject: Any, labels: tuple[float, float], trials: int, seconds: float | None, seed: int) -> Verdict:
    search = falsify(subject, labels=labels, trials=trials, seconds=seconds, seed=seed)
    name = label_of(subject)
    if search.certificate is not None:
        reason = f"A search found laws of equal value whose mixture has another ({search.summary()})."
        used = ("the function gives the same answer whenever it is asked", "laws on at most five labels are among those allowed")
        claims = claims_refuted(Claim(None, "not examined"), search.certificate)
        return Verdict(
            name, "impossible", reason, None, used, search.certificate, (sources.OSBAND, sources.SCOPE), None, claims, search
        )
    if search.failures * 2 > search.calls or search.calls == search.failures:
        reason = f"The function could not be examined: {search.problem or 'it gave no answer'} ({search.summary()})."
    elif not search.finished and search.trials == 0:
        reason = f"The function could not be examined: it did not return in time ({search.summary()})."
    else:
        reason = (
            f"No counterexample was found ({search.summary()}), which proves nothing: a search can only refute, and convex level "
            f"sets alone would not make it elicitable. If you know an identification function, use Property.from_identification."
        )
    open_claim = Claim(None, "a search can only refute")
    claims = dict.fromkeys(("identifiable", "elicitable", "convex_level_sets", "continuous"), open_claim)
    return Verdict(name, "undecided", reason, None, (), None, (sources.SCOPE,), None, claims, search)
