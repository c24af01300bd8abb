"""From one row (a dict, or booleans) to the groups it is in; the whole population is always group 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import is_, itemgetter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from multivalid import validate
from multivalid.errors import InputError, PredicateError
from multivalid.groups.family import FittedGroups, Groups
from multivalid.groups.frames import enter

Bits = NDArray[np.bool_]
Index = NDArray[np.int64]
EVERYONE = "everyone"


class Members(Protocol):
    """What the learner needs of groups."""

    names: tuple[str, ...]

    def row(self, x: Any) -> Bits:
        """Which groups `x` is in; entry 0 is True."""

    def active(self, x: Any) -> Index:
        """The same as the numbers of those groups, in order."""

    def rows(self, data: Any) -> Bits:
        """The same for many rows at once: (rows, groups)."""

    def to_json(self) -> dict[str, Any]:
        """Plain data for a saved learner."""


class BooleanRows:
    """Groups given as k booleans per round.

    Examples
    --------
    >>> BooleanRows(3).row([True, False, True])
    array([ True,  True, False,  True])
    """

    def __init__(self, count: int) -> None:
        self.count = validate.count(count, "groups", 0)
        self.names = (EVERYONE, *(f"group {i}" for i in range(1, self.count + 1)))

    def row(self, x: Any) -> Bits:
        out = np.empty(self.count + 1, dtype=bool)
        out[0] = True
        # The common case first: checks cost as much as the round itself.
        plain = type(x) is np.ndarray and x.dtype == np.bool_ and x.shape == (self.count,)
        out[1:] = x if plain else self._booleans(x, (self.count,))
        return out

    def active(self, x: Any) -> Index:
        return self.row(x).nonzero()[0]

    def rows(self, data: Any) -> Bits:
        body = self._booleans(data, (None, self.count))
        return np.concatenate([np.ones((body.shape[0], 1), dtype=bool), body], axis=1)

    def to_json(self) -> dict[str, Any]:
        return {"count": self.count}

    def _booleans(self, x: Any, shape: tuple[int | None, ...]) -> Bits:
        if isinstance(x, Mapping):
            raise InputError(
                f"x must be {self.count} booleans because groups={self.count}; a dict needs groups given as predicates."
            )
        try:
            array = x if isinstance(x, np.ndarray) else np.asarray(x)
        except ValueError as error:
            raise InputError(f"x cannot be read as booleans: {error}.") from None
        if array.ndim != len(shape) or array.shape[-1] != shape[-1]:
            rule = f"{self.count} booleans" if len(shape) == 1 else f"rows of {self.count} booleans"
            raise InputError(f"x must be {rule} because groups={self.count}, got an array of shape {array.shape}.")
        if array.dtype != np.bool_:
            if array.size and (array.dtype.kind not in "iuf" or not np.isin(array, (0, 1)).all()):
                raise InputError(f"x must hold booleans (or 0 and 1), got values of type {array.dtype}.")
            array = array.astype(bool)
        return array


class Fitted:
    """Groups from the same items as elsewhere (predicates, columns, bins), evaluated on a dict without building a frame."""

    def __init__(self, groups: FittedGroups) -> None:
        self.groups = groups
        self.names = tuple(groups.names)
        self._columns = groups.columns
        self._values = itemgetter(*self._columns) if len(self._columns) > 1 else None
        self._last: tuple[tuple[Any, ...], Index] = ((), np.zeros(1, dtype=np.int64))

    def row(self, x: Any) -> Bits:
        self._check(x)
        return self.groups.row(x)

    def active(self, x: Any) -> Index:
        if type(x) is not dict:
            return self.row(x).nonzero()[0]
        # A row comes twice, to be predicted and to be learned: the very same values are in the same groups.
        try:
            values = self._values(x) if self._values else tuple(map(x.get, self._columns))
        except KeyError:
            values = tuple(map(x.get, self._columns))
        before, active = self._last
        if len(values) != len(before) or not all(map(is_, values, before)):
            active = np.array([0, *self.groups.numbers_of(x)], dtype=np.int64)
            self._last = values, active
        return active

    def _check(self, x: Any) -> None:
        if not isinstance(x, Mapping) and not self.groups.arrays:
            raise InputError(f"x must be a dict from feature to value because groups are conditions, got {type(x).__name__}.")

    def rows(self, data: Any) -> Bits:
        if isinstance(data, (Sequence, np.ndarray)) and not isinstance(data, (str, bytes)):
            return np.array([self.row(x) for x in data], dtype=bool).reshape(len(data), len(self.names))
        return np.stack(list(self.groups.masks(enter(data).to_native())), axis=1)

    def to_json(self) -> dict[str, Any]:
        return {"fitted": self.groups.to_json()}


def members(groups: Any) -> Members:
    """Whatever a user gives as `groups`, as `Members`."""
    if isinstance(groups, (BooleanRows, Fitted)):
        return groups
    if isinstance(groups, FittedGroups):
        return Fitted(groups)
    if isinstance(groups, (int, np.integer)) and not isinstance(groups, bool):
        return BooleanRows(int(groups))
    wanted = Groups(groups)
    try:
        bare = next((one.item for one in wanted.entries if isinstance(one.item, str) and one.item.isidentifier()), None)
        if bare is not None:  # without data it could only be read as a boolean column, and fail on the first row
            raise InputError(f"{bare!r} is a column")
        return Fitted(wanted.fit())
    except PredicateError:
        raise
    except InputError as error:
        raise InputError(
            f"groups need data to know their values ({error}); fit them on some first: groups=Groups([...]).fit(data). "
            f'Predicates such as "age >= 65" need no fitting.'
        ) from None


def from_json(data: dict[str, Any]) -> Members:
    """The groups that `to_json` described."""
    return BooleanRows(data["count"]) if "count" in data else Fitted(FittedGroups.from_json(data["fitted"]))
