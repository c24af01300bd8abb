"""What a report needs to know of an audit and of a certificate; anything with these fields will do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from multivalid.errors import InputError
from multivalid.grid import Grid
from multivalid.properties import Property

Columns = Mapping[str, NDArray[Any]]


class Audited(Protocol):
    """The fields of an audit that a report reads."""

    @property
    def grid(self) -> Grid: ...
    @property
    def table(self) -> Columns: ...
    @property
    def cells(self) -> Columns: ...
    @property
    def verdict(self) -> str: ...
    @property
    def score(self) -> float | None: ...
    @property
    def fingerprint(self) -> str | None: ...
    @property
    def property(self) -> Property: ...  # last: it hides the decorator


class Certified(Protocol):
    """The fields of a certificate that a report reads."""

    @property
    def status(self) -> str: ...
    @property
    def potential(self) -> NDArray[np.float64]: ...
    def summary(self) -> str: ...
    def to_json(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Story:
    """What a report tells: predictions audited once, or before and after calibration, and what the fit guarantees.

    Attributes
    ----------
    audits : mapping of str to Audited
        Empty, one audit under "now", or two under "before" and "after" of the same rows and groups.
    certificate : Certified, optional
        Of the fit.
    notes : sequence of str
        What was left out of the groups, and other remarks.
    settings : mapping
        What to repeat to get the same numbers.
    """

    prop: Property
    title: str
    audits: Mapping[str, Audited] = field(default_factory=dict)
    certificate: Certified | None = None
    notes: Sequence[str] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def first(self) -> Audited | None:
        """The audit that orders the groups: the one before, or the only one."""
        return next(iter(self.audits.values()), None)

    @property
    def last(self) -> Audited | None:
        """The audit of the predictions as they are now."""
        return list(self.audits.values())[-1] if self.audits else None


def story(
    now: Audited,
    before: Audited | None,
    certificate: Certified | None,
    title: str | None,
    notes: Sequence[str],
    settings: Mapping[str, Any],
) -> Story:
    """What an audit tells, alone or beside an earlier one of the same rows and groups."""
    if before is None:
        return Story(now.property, title or "Audit of predictions for every group", {"now": now}, certificate, notes, settings)
    same = list(before.table["name"]) == list(now.table["name"]) and list(before.table["rows"]) == list(now.table["rows"])
    if not same or before.property != now.property:
        raise InputError("before must be an audit of the same property for the same groups and rows.")
    audits = {"before": before, "after": now}
    return Story(now.property, title or "Predictions before and after calibration", audits, certificate, notes, settings)
