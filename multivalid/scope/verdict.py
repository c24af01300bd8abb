"""The answer to "can this be calibrated?": a status, a reason, what it rests on, and something to check it with."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from multivalid.properties import Pair, Property
from multivalid.scope.certificate import Counterexample
from multivalid.scope.level_sets import Search

Status = Literal["alone", "jointly", "impossible", "undecided"]
OPENINGS: dict[str, str] = {
    "alone": "{subject} can be calibrated on its own.",
    "jointly": "{subject} cannot be calibrated on its own, but can be together with a partner.",
    "impossible": "{subject} cannot be calibrated on its own.",
    "undecided": "Whether {subject} can be calibrated is not decided.",
}
CLAIMS = ("identifiable", "elicitable", "convex_level_sets", "continuous", "strictly_locally_non_constant")


@dataclass(frozen=True)
class Claim:
    """One statement about a functional: it holds, it fails, or it is left open (None), and because of what."""

    holds: bool | None
    because: str


@dataclass(frozen=True)
class Verdict:
    """What `scope` answers; `print` it for a paragraph to forward.

    Attributes
    ----------
    status : "alone", "jointly", "impossible" or "undecided"
        "jointly": not alone, but as the second coordinate of `partner`. "impossible": not alone, and no pair is known.
    reason : str
        Why, in a sentence.
    partner : Pair or None
        The pair to calibrate instead.
    hypotheses : tuple of str
        What the answer rests on.
    certificate : Counterexample or None
        Two laws that prove that level sets are not convex.
    cite : tuple of str
        Where the facts were published.
    equivalent : Property or None
        The property that this functional is under another name.
    claims : mapping of str to Claim
        Identifiable, elicitable, convex level sets, continuous, strictly locally non-constant: each with what it was drawn from.
        Elicitability is never inferred from convex level sets alone: that step needs continuity.
    search : Search or None
        What a search did, when the answer comes from one.

    Examples
    --------
    >>> import multivalid as mv
    >>> verdict = mv.scope(mv.Variance())
    >>> verdict.status, verdict.partner, verdict.certificate.verify()
    ('jointly', MeanVariance(), True)
    """

    subject: str
    status: Status
    reason: str
    partner: Pair | None = None
    hypotheses: tuple[str, ...] = ()
    certificate: Counterexample | None = None
    cite: tuple[str, ...] = ()
    equivalent: Property | None = None
    claims: Mapping[str, Claim] = field(default_factory=dict)
    search: Search | None = None

    def __str__(self) -> str:
        parts = [self._first_sentence(), self.reason]
        if self.certificate is not None:
            parts.append(_example(self.certificate))
        if self.partner is not None and self.status == "jointly" and repr(self.partner) != self.subject:
            parts.append(f"What works: {self.partner!r}, that is {' and '.join(self.partner.names)} together.")
        if self.equivalent is not None and repr(self.equivalent) != self.subject:
            parts.append(f"What to use: {self.equivalent!r}.")
        if self.hypotheses:
            parts.append(f"This rests on: {'; '.join(self.hypotheses)}.")
        if self.cite:
            parts.append(f"See {'; '.join(self.cite)}.")
        return textwrap.fill(" ".join(parts), width=110)

    def _repr_html_(self) -> str:
        from multivalid.notebook import panel

        return panel(f"{self.subject}: {self.status}", str(self))

    def _first_sentence(self) -> str:
        if self.status == "jointly" and self.partner is not None and repr(self.partner) == self.subject:
            return f"{self.subject} can be calibrated as a pair."
        return OPENINGS[self.status].format(subject=self.subject)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "subject": self.subject, "status": self.status, "reason": self.reason,
            "partner": None if self.partner is None else (self.partner.spec or repr(self.partner)),
            "equivalent": None if self.equivalent is None else (self.equivalent.spec or repr(self.equivalent)),
            "hypotheses": list(self.hypotheses), "cite": list(self.cite),
            "certificate": None if self.certificate is None else self.certificate.to_dict(),
            "claims": {name: {"holds": claim.holds, "because": claim.because} for name, claim in self.claims.items()},
            "search": None if self.search is None else self.search.summary(),
        }  # fmt: skip


def _example(found: Counterexample) -> str:
    value, mixture = _apart(found.value, found.mixture_value)
    return (
        f"Counterexample: labels that are {found.first} and labels that are {found.second} both have the value {value}, "
        f"yet mixed in shares {found.weight:.6g} and {1 - found.weight:.6g} they have {mixture}. So a predictor "
        f"that is right at every point is off by {found.gap:.6g} on its own level set."
    )


def _apart(first: float, second: float) -> tuple[str, str]:
    """Two numbers with so many digits, six at least, that they look as different as they are.

    Examples
    --------
    >>> _apart(0.5, 0.625), _apart(0.5, 0.50000000025)
    (('0.5', '0.625'), ('0.5', '0.50000000025'))
    """
    shown = [(f"{first:.{digits}g}", f"{second:.{digits}g}") for digits in range(6, 18)]
    some = next((k for k, (one, other) in enumerate(shown) if one != other), len(shown) - 1)
    return shown[min(some + 2, len(shown) - 1) if some else 0]


def claims_refuted(continuous: Claim, certificate: Counterexample | None) -> dict[str, Claim]:
    """Claims when level sets are known not to be convex; the rest follows without continuity."""
    return {
        "identifiable": Claim(False, "the mean of an identification function is linear in the law, so its zero sets are convex"),
        "elicitable": Claim(False, "laws on which one prediction is best form a convex set"),
        "convex_level_sets": Claim(False, "by theorem" if certificate is None else "the certificate"),
        "continuous": continuous,
        "strictly_locally_non_constant": Claim(None, "not needed to refute"),
    }
