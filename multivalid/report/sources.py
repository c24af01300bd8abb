"""What a report needs to know of audits and of a certificate; anything with these fields will do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from multivalid.cells.sentences import Units
from multivalid.errors import InputError
from multivalid.grid import Grid
from multivalid.groups.family import FittedGroups
from multivalid.properties import Property, Target
from multivalid.properties.pairs.base import SecondCoordinate
from multivalid.report.origin import origin

Columns = Mapping[str, NDArray[Any]]
Predicted = Property | SecondCoordinate


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
    def units(self) -> Units: ...
    @property
    def property(self) -> Predicted: ...  # last: it hides the decorator


class TargetAudited(Protocol):
    """The fields of an audit of one coordinate or several that a report reads."""

    @property
    def table(self) -> Columns: ...
    @property
    def coordinates(self) -> Sequence[Audited]: ...
    @property
    def fans(self) -> list[dict[str, Any]]: ...
    @property
    def given(self) -> tuple[Any, ...] | None: ...
    @property
    def groups(self) -> FittedGroups: ...
    @property
    def property(self) -> Any: ...


class Certified(Protocol):
    """The fields of a certificate that a report reads."""

    @property
    def status(self) -> str: ...
    @property
    def note(self) -> str: ...
    @property
    def potential(self) -> NDArray[np.float64]: ...
    def summary(self) -> str: ...
    def to_json(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Chapter:
    """Predictions of one thing, audited once, or before and after calibration.

    Attributes
    ----------
    audits : mapping of str to Audited
        Empty, one audit under "now", or two under "before" and "after" of the same rows and groups.
    key, name : str
        Of a coordinate of a pair, for machines and for people; empty where there is one chapter only.
    """

    prop: Predicted
    audits: Mapping[str, Audited]
    key: str = ""
    name: str = ""

    @property
    def first(self) -> Audited | None:
        """The audit that orders the groups: the one before, or the only one."""
        return next(iter(self.audits.values()), None)

    @property
    def last(self) -> Audited | None:
        """The audit of the predictions as they are now."""
        return list(self.audits.values())[-1] if self.audits else None


@dataclass(frozen=True)
class Story:
    """What a report tells.

    Attributes
    ----------
    chapters : sequence of Chapter
        One for a property, one per coordinate for a pair.
    certificate : Certified, optional
        Of the fit.
    notes : sequence of str
        What was left out of the groups, and other remarks.
    settings : mapping
        What to repeat to get the same numbers.
    fans : mapping of str to list
        Fans of the worst groups for several quantiles, before and after or "now"; empty elsewhere.
    found : sequence of str
        Names of the groups that a fit found rather than a person named.
    """

    prop: Target
    title: str
    chapters: Sequence[Chapter]
    certificate: Certified | None = None
    notes: Sequence[str] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    fans: Mapping[str, list[dict[str, Any]]] = field(default_factory=dict)
    found: Sequence[str] = ()

    @property
    def of_pair(self) -> bool:
        """Whether the chapters are coordinates of a pair."""
        return any(chapter.key for chapter in self.chapters)


OTHER_LEVELS = (
    "Before and after were audited on different levels, which error and rms depend on: compare gaps and p-values, or make both audits with "
    "the same grid=."
)


def story(
    now: TargetAudited,
    before: TargetAudited | None,
    certificate: Certified | None,
    title: str | None,
    notes: Sequence[str],
    settings: Mapping[str, Any],
) -> Story:
    """What an audit tells, alone or beside an earlier one of the same rows and groups: a chapter for every coordinate.

    Its settings say first where the rows came from, where the audit was given names.
    """
    settings = {**({} if now.given is None else origin(*now.given)), **settings}
    given = {"now": now} if before is None else {"before": _same(before, now), "after": now}
    if before is not None and any(a.grid != b.grid for a, b in zip(before.coordinates, now.coordinates, strict=True)):
        notes = [*notes, OTHER_LEVELS]
    chapters = [
        Chapter(part.predicted, {when: audit.coordinates[k] for when, audit in given.items()}, key, key and part.name)
        for k, (part, key) in enumerate(zip(now.property.coordinates, now.property.keys, strict=True))
    ]
    fans = {when: audit.fans for when, audit in given.items() if audit.fans}
    names = now.groups.names
    found = names[len(names) - now.groups.found :]
    return Story(now.property, title or _heading(before), chapters, certificate, notes, settings, fans, found)


def _heading(before: Any) -> str:
    return "Audit of predictions for every group" if before is None else "Predictions before and after calibration"


def _same(before: Any, now: Any) -> Any:
    same = list(before.table["name"]) == list(now.table["name"]) and list(before.table["rows"]) == list(now.table["rows"])
    if not same or before.property != now.property:
        raise InputError("before must be an audit of the same property for the same groups and rows.")
    return before
