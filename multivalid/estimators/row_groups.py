"""Groups of the rows of an X, whatever X is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from multivalid.atoms.frames import from_columns
from multivalid.errors import InputError


class RowGroups:
    """The `groups` argument of an estimator, applied to one X after another.

    Items are those of `multivalid.Groups`, with columns looked up in X, or in `elsewhere`, a frame of the same rows; or functions of that
    which return booleans (rows, or rows × groups). Where it is an array, its columns are called x0, x1, …, and a whole number stands for
    a column.

    Examples
    --------
    >>> RowGroups([lambda X: X[:, 0] > 0]).items(np.array([[1.0], [-1.0]]))
    [array([ True, False])]
    """

    def __init__(self, groups: Any, elsewhere: Any = None, columns: bool = False) -> None:
        self.groups, self.elsewhere, self.columns = groups, elsewhere, columns
        given = [] if groups is None else groups
        self.listed = given if isinstance(given, (list, tuple, Mapping)) else [given]
        values = list(self.listed.values()) if isinstance(self.listed, Mapping) else list(self.listed)
        if any(isinstance(value, np.ndarray) for value in values):
            raise InputError(
                "groups: an estimator cannot take boolean arrays, as they hold for the rows of one X only; "
                "give a function of X, or column names and predicates."
            )
        self.functions: list[Callable[[Any], Any]] = [value for value in values if callable(value)]
        self.needs_frame = columns or len(self.functions) < len(values)  # groups may be found in columns, too

    def take(self, rows: NDArray[np.intp]) -> RowGroups:
        """The same for some of the rows."""
        return RowGroups(self.groups, None if self.elsewhere is None else _safe_indexing(self.elsewhere, rows), self.columns)

    def items(self, X: Any) -> Any:
        """What `multicalibrate` takes as groups: functions are applied to X, everything else stays."""
        X = self._where(X)
        if isinstance(self.listed, Mapping):
            return {name: self._item(value, X) for name, value in self.listed.items()}
        made = [self._item(value, X) for value in self.listed]
        return made[0] if len(made) == 1 and not callable(self.listed[0]) else made

    def arrays(self, X: Any) -> list[Any]:
        """The booleans of the functions alone, for rows to predict."""
        X = self._where(X)
        return [_booleans(function, X) for function in self.functions]

    def frame(self, X: Any) -> Any:
        """X as a frame when some item names a column; None otherwise."""
        X = self._where(X)
        if not self.needs_frame or hasattr(X, "columns"):
            return X if self.needs_frame else None
        if not isinstance(X, np.ndarray):
            raise InputError(
                f"groups: columns can be named in a frame or an array, but X is a {type(X).__name__}; give functions of X."
            )
        return from_columns({f"x{i}": _safe_indexing(X, i, axis=1) for i in range(X.shape[1])}, None)

    def _where(self, X: Any) -> Any:
        """Where groups are looked up."""
        if self.elsewhere is None:
            return X
        if len(self.elsewhere) != X.shape[0]:
            raise InputError(f"group_data has {len(self.elsewhere)} rows but X has {X.shape[0]}; both must describe the same rows.")
        return self.elsewhere

    def _item(self, value: Any, X: Any) -> Any:
        if callable(value):
            return _booleans(value, X)
        if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
            return f"x{value}" if isinstance(X, np.ndarray) else str(X.columns[value])
        return value


def _booleans(function: Callable[[Any], Any], X: Any) -> Any:
    found = np.asarray(function(X))
    rows = X.shape[0]
    if found.dtype != np.bool_ or found.ndim not in (1, 2) or found.shape[0] != rows:
        raise InputError(
            f"groups: {getattr(function, '__name__', function)!s} must return booleans for {rows} rows (one column or several), "
            f"got {found.dtype} of shape {found.shape}."
        )
    return found
