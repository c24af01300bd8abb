"""What can be calibrated, what cannot, and with whom."""

from typing import TYPE_CHECKING

from multivalid.lazy_names import lazy_names

if TYPE_CHECKING:
    from multivalid.scope.certificate import Counterexample, certify
    from multivalid.scope.decide import require, scope
    from multivalid.scope.distortion import DistortionClass, bernoulli_certificate, classify
    from multivalid.scope.finite import FiniteWorld, sensible
    from multivalid.scope.level_sets import Search, falsify
    from multivalid.scope.representation import check_representation, identification_from_score, score_from_identification
    from multivalid.scope.two_point import TwoPoint
    from multivalid.scope.verdict import Claim, Verdict

__all__ = [
    "Claim",
    "Counterexample",
    "DistortionClass",
    "FiniteWorld",
    "Search",
    "TwoPoint",
    "Verdict",
    "bernoulli_certificate",
    "certify",
    "check_representation",
    "classify",
    "falsify",
    "identification_from_score",
    "require",
    "scope",
    "score_from_identification",
    "sensible",
]  # fmt: skip
_HOMES = {
    "certificate": ["Counterexample", "certify"],
    "decide": ["require", "scope"],
    "distortion": ["DistortionClass", "bernoulli_certificate", "classify"],
    "finite": ["FiniteWorld", "sensible"],
    "level_sets": ["Search", "falsify"],
    "representation": ["check_representation", "identification_from_score", "score_from_identification"],
    "two_point": ["TwoPoint"],
    "verdict": ["Claim", "Verdict"],
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy_names(
        __name__,
        globals(),
        {name: f"multivalid.scope.{home}" for home, names in _HOMES.items() for name in names},
    )
