"""How the mean of V is shown to a person; every coordinate of a target knows its own reading."""

from __future__ import annotations

from multivalid.properties import Property
from multivalid.properties.pairs.base import SecondCoordinate
from multivalid.properties.reading import Reading

__all__ = ["Reading", "reading_of"]


def reading_of(prop: Property | SecondCoordinate) -> Reading:
    """The reading of a property.

    Examples
    --------
    >>> from multivalid import Quantile
    >>> reading_of(Quantile(0.9)).axis
    'coverage'
    """
    return prop.reading
