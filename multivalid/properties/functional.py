"""Functionals of a label distribution that have no identification function: computable, but not calibratable alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NoReturn

from numpy.typing import ArrayLike

from multivalid.errors import ScopeError
from multivalid.properties.base import Array
from multivalid.properties.law import normal_form
from multivalid.properties.scale import at_ordinary_size


class NoIdentificationError(ScopeError, AttributeError):
    """An identification or score was asked of a functional that has none (an AttributeError too, so `hasattr` says no)."""


class Functional(ABC):
    """A functional Γ of a label distribution with one verb, `solve`.

    It is not a `Property`: it has no `identify` and no `score`, because none exists. `multivalid.scope` says why, and with
    which partner it can be calibrated. Subclasses are small frozen dataclasses and implement `value_of`.

    Examples
    --------
    >>> from multivalid.properties.dispersion import Variance
    >>> Variance().solve([0, 1], sample_weight=[3, 1])
    0.1875
    >>> hasattr(Variance(), "identify")
    False
    """

    @abstractmethod
    def value_of(self, values: Array, weights: Array) -> float:
        """Γ of the law with these distinct sorted values and positive weights of sum one."""

    def solve(self, labels: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Γ of the weighted empirical law of `labels`."""
        values, weights = normal_form(labels, sample_weight)
        return at_ordinary_size(values, self.degree, lambda v: float(self.value_of(v, weights)), repr(self))

    @property
    def degree(self) -> int | None:
        """d with Γ(c·Y) = c^d·Γ(Y) for every c > 0; None where there is none."""
        return None

    @property
    def spec(self) -> str | None:
        """Text that `parse_any` reads back to an equal functional; None for one built from a user's function."""
        return None

    if not TYPE_CHECKING:  # a type checker that saw this hook would believe in every attribute

        def __getattr__(self, name: str) -> Any:
            return _refuse(self, name)


def _refuse(functional: Functional, name: str) -> NoReturn:
    if name in ("identify", "score"):
        raise NoIdentificationError(
            f"{functional!r} has no {'identification function' if name == 'identify' else 'consistent score'}, so it cannot be "
            f"calibrated alone; multivalid.scope({functional!r}) says why and names the pair that works."
        )
    raise AttributeError(f"{type(functional).__name__!r} object has no attribute {name!r}")
