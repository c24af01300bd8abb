"""Named groups: a list of items, fitted on the rows seen first, then applied to any rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from multivalid.errors import InputError
from multivalid.groups import codec
from multivalid.groups.blocks import Holds
from multivalid.groups.kept import EVERYONE, Kept, Span
from multivalid.groups.nodes import render
from multivalid.validate import count

# What fits groups or reads frames is imported where that is done: a saved model that gets single rows does neither.
if TYPE_CHECKING:
    import narwhals as nw

    from multivalid.groups.items import Entry, Mask
    from multivalid.groups.membership import Membership

MISSING = ("group", "ignore")  # the first is what happens by default


class Groups:
    """The groups to be right for, not yet fitted to data.

    Parameters
    ----------
    items : list, dict, or a single item
        A predicate (``"age >= 18"``), a column name (every value becomes a group, as do true and false of a boolean column),
        `bins`, `cross`, a boolean array (rows, or rows × groups); a dict gives items a name of your own.
    min_size : int
        Groups with fewer rows are left out, with a note.
    names : sequence of str, optional
        A name per item; for one 2-D array, a name per column.
    missing : {"group", "ignore"}
        Whether the rows where a column that is listed, cut or crossed has no value become a group too, such as ``race is missing``.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"origin": ["JFK", "LGA", "JFK"], "delay": [3.0, 20.0, None]})
    >>> groups = Groups(["origin", "delay > 15", "delay > 100"])
    >>> fitted = groups.fit(data)
    >>> fitted.names
    ('everyone', 'origin = JFK', 'origin = LGA')
    >>> fitted.notes
    ["group 'delay > 15' has the same rows as 'origin = LGA': left out", "group 'delay > 100' has no rows: left out"]
    """

    def __init__(
        self, items: Any, *, min_size: int = 0, names: Sequence[str | None] | None = None, missing: str | None = None
    ) -> None:
        from multivalid.groups.items import entries

        if missing not in (None, *MISSING):
            raise InputError(f'missing must be "group" or "ignore", got {missing!r}.')
        self.missing: str = missing or MISSING[0]
        self.entries: tuple[Entry, ...]
        self.notes: tuple[str, ...] = ()
        if isinstance(items, Groups):
            self.entries = items.entries if names is None else entries([one.item for one in items.entries], names)
            min_size = max(count(min_size, "min_size", least=0), items.min_size)
            self.notes, self.missing = items.notes, missing or items.missing
        else:
            self.entries = entries(items, names)
        self.min_size: int = count(min_size, "min_size", least=0)

    def of_entries(self, listed: Sequence[Entry]) -> Groups:
        """The same with other entries, which were read already."""
        made = copy(self)
        made.entries = tuple(listed)
        return made

    def noting(self, notes: Sequence[str]) -> Groups:
        """The same with notes on the rows, which the fitted groups will carry."""
        made = copy(self)
        made.notes = (*self.notes, *notes)
        return made

    def fit(self, data: Any = None, *, n_rows: int | None = None) -> FittedGroups:
        """Find categories, bin edges and combinations, and leave out groups that are empty, too small or there twice.

        Parameters
        ----------
        data : frame in memory, optional
            pandas, polars, pyarrow and others narwhals knows. Without it only boolean arrays, predicates and bins with edges
            can be fitted; with neither data nor arrays nothing is left out, as there are no rows to look at.
        n_rows : int, optional
            Number of rows expected; arrays and data must agree with it.
        """
        from multivalid.groups.selection import fit_family

        family = fit_family(self.entries, self.min_size, self.missing == MISSING[0], data, n_rows)
        return FittedGroups(family.names, family.kept, family.arrays, [*self.notes, *family.notes])

    def fit_rows(self, data: Any, n_rows: int) -> tuple[FittedGroups, Membership]:
        """The fitted groups, and which of these rows they hold: what `fit` and `membership` give, in one go."""
        from multivalid.groups.selection import fit_family

        family = fit_family(self.entries, self.min_size, self.missing == MISSING[0], data, n_rows)
        assert family.membership is not None
        return FittedGroups(family.names, family.kept, family.arrays, [*self.notes, *family.notes]), family.membership

    def __repr__(self) -> str:
        size = f", min_size={self.min_size}" if self.min_size else ""
        missing = "" if self.missing == MISSING[0] else f", missing={self.missing!r}"
        return f"Groups([{', '.join(repr(entry) for entry in self.entries)}]{size}{missing})"


@dataclass(frozen=True)
class FittedGroups:
    """Groups with their categories and edges settled; the whole population is always the first.

    Attributes
    ----------
    names : tuple of str
        One readable, unique name per group; the first is "everyone".
    notes : list of str
        What was left out, and why.
    found : int
        How many of the groups, the last ones, were found by a fit rather than named.

    Examples
    --------
    >>> import polars as pl
    >>> groups = Groups(["origin", "hour >= 18"]).fit(pl.DataFrame({"origin": ["JFK", "LGA"], "hour": [None, 19]}))
    >>> for name, mask in zip(groups.names, groups.masks(pl.DataFrame({"origin": ["SFO", "LGA"], "hour": [20, 1]}))):
    ...     print(name, mask)
    everyone [ True  True]
    origin = JFK [False False]
    origin = LGA [False  True]
    >>> groups.row({"origin": "JFK", "hour": 6})
    array([ True,  True, False])
    """

    names: tuple[str, ...]
    kept: tuple[Kept, ...]
    arrays: int = 0
    notes: list[str] = field(default_factory=list, compare=False)
    found: int = 0

    def __len__(self) -> int:
        return len(self.names)

    def noting(self, notes: Sequence[str]) -> FittedGroups:
        """The same groups with further notes, where there are any."""
        said = [note for note in notes if note]
        return replace(self, notes=[*self.notes, *said]) if said else self

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns a frame or row must have."""
        used = (one.block.columns for one in self.kept if one.codes and not isinstance(one.block, Span))
        return tuple(dict.fromkeys(name for names in used for name in names))

    def masks(self, data: Any = None, *, arrays: Any = None, n_rows: int | None = None) -> Iterator[Mask]:
        """One boolean array per group, in the order of `names`.

        Parameters
        ----------
        data : frame in memory, optional
            Needed when `columns` is not empty.
        arrays : boolean array, or list of them, optional
            The columns of the boolean arrays, in the same order as at fit.
        n_rows : int, optional
            Needed when there is neither.
        """
        members = self.membership(data, arrays=arrays, n_rows=n_rows)
        return (part.mask(group) for part in members.parts for group in range(part.size))

    def membership(self, data: Any = None, *, arrays: Any = None, n_rows: int | None = None) -> Membership:
        """The same in parts: one code per row for the groups of a column, packed bits for others; see `masks` for the arguments."""
        from multivalid.groups.evaluation import membership_on

        return membership_on(self.kept, self.columns, self.arrays, data, arrays, n_rows)

    def expressions(self, schema: Mapping[str, nw.dtypes.DType]) -> list[nw.Expr]:
        """One boolean narwhals expression per group, without nulls, for a frame (eager or lazy) with this schema."""
        import narwhals as nw

        from multivalid.groups.engine import condition_expression

        answer = [nw.lit(True)]
        for one in self.kept:
            if isinstance(one.block, Span):
                raise InputError("groups: boolean arrays cannot be used on a lazy frame; make them columns of the frame.")
            conditions = [one.block.condition(code) for code in one.codes]
            answer += [condition_expression(condition, schema, render(condition)) for condition in conditions]
        return answer

    def row(self, row: Mapping[str, Any] | Sequence[bool] | Mask) -> Mask:
        """The groups of a single row: a mapping from column to value, or the booleans of the array groups."""
        answer = np.zeros(len(self.names), dtype=np.bool_)
        answer[0] = True
        answer[self.numbers_of(row)] = True
        return answer

    def numbers_of(self, row: Mapping[str, Any] | Sequence[bool] | Mask) -> list[int]:
        """The same as the numbers of those groups in `names`, in order; everyone, number 0, is left out.

        Examples
        --------
        >>> FittedGroups.of_flags(3).numbers_of([False, True, True])
        [2, 3]
        """
        if isinstance(row, Mapping):
            return [place for code_of, places in self._lookups if (place := places[code_of(row)])]
        held = self._check_row(row)[self._flag_columns]
        return [int(place) for place in self._flag_places[held]]

    @cached_property
    def _lookups(self) -> list[tuple[Callable[[Mapping[str, Any]], int], list[int]]]:
        """Per block, its code for a row and where each code goes (0: left out)."""
        if self.arrays:
            raise InputError("groups were given as boolean arrays, so a row must be a sequence of booleans.")
        lookups: list[tuple[Callable[[Mapping[str, Any]], int], list[int]]] = []
        place = 1
        for one in self.kept:
            assert not isinstance(one.block, Span)
            places = [0] * (one.block.size + 1)  # the last is for rows in no group of the block, whose code is −1
            for code in one.codes:
                places[code] = place
                place += 1
            if one.codes and isinstance(one.block, Holds):  # one call less for each condition: False is place 0, True is its own
                lookups.append((one.block.row_test, [0, places[0]]))
            elif one.codes:
                lookups.append((one.block.code, places))
        return lookups

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lookups"}  # closures cannot be pickled

    @cached_property
    def _flag_columns(self) -> Any:
        spans = [(one.block, one.codes) for one in self.kept if isinstance(one.block, Span)]
        return np.array([span.start + code for span, codes in spans for code in codes], dtype=np.intp)

    @cached_property
    def _flag_places(self) -> Any:
        flags = [isinstance(one.block, Span) for one in self.kept for _ in one.codes]
        return np.flatnonzero([False, *flags])

    def _check_row(self, row: Any) -> Mask:
        if self.columns:
            raise InputError(f"groups use the columns {', '.join(self.columns)}, so a row must be a mapping, got {row!r}.")
        flags = np.asarray(row)
        if flags.dtype != np.bool_ or flags.shape != (self.arrays,):
            raise InputError(f"a row must be {self.arrays} booleans, got {row!r}.")
        return flags

    @classmethod
    def of_flags(cls, names: Sequence[str] | int) -> FittedGroups:
        """Groups whose rows are given as booleans, one per group, with nothing to fit.

        Examples
        --------
        >>> FittedGroups.of_flags(2).row([False, True])
        array([ True, False,  True])
        """
        given = [f"group {i + 1}" for i in range(count(names, "groups"))] if isinstance(names, int) else list(names)
        if len({EVERYONE, *given}) != len(given) + 1:
            raise InputError(f"the names of groups must be unique and none of them {EVERYONE!r}, got {given!r}.")
        number = len(given)
        return cls((EVERYONE, *given), (Kept(Span(0, number), tuple(range(number))),), number)

    def to_json(self) -> dict[str, Any]:
        """Plain values that `json.dumps` takes as they are."""
        return codec.family_to_json(self.names, self.kept, self.arrays, self.notes, self.found)

    @classmethod
    def from_json(cls, value: Any) -> FittedGroups:
        """The groups that `to_json` wrote; `ModelFileError` when the value is anything else."""
        return cls(*codec.family_from_json(value))
