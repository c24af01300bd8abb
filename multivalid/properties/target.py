"""What is predicted: a target has one or more coordinates, and a prediction has one column for each.

A `Property` has one coordinate, a `Pair` two, `Quantiles` and `Classes` several. Whoever handles a prediction asks for
`len(target.coordinates)` columns and treats coordinate after coordinate; nobody asks which kind of target it is.

=====================  ====================================================================================================
of a target            ``coordinates``, ``names``, ``joint``, ``kind``, ``spec``, ``check_labels``, ``label_code``,
                       ``check_predictions``, ``residuals``, ``scores``, ``losses``, ``names_labels``, ``coupled``, ``check_ends``,
                       and of its constraint ``breaking``, ``breaks``, ``broken``, ``constrained``, ``mend``
of a coordinate        ``column``, ``name``, ``residual`` (V), ``scoring`` (S), ``solve_segments`` (Γ), ``reading``
=====================  ====================================================================================================

V is a generalised residual: γ − y for a mean, 1[y ≤ γ] − τ for a quantile. A target is calibrated for a group when each coordinate's V
averages to zero at every level of its predictions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from multivalid import validate
from multivalid.errors import InputError
from multivalid.properties.ops import NUMPY, Ops
from multivalid.properties.reading import Reading

if TYPE_CHECKING:
    from multivalid.properties.base import Property

Array = NDArray[np.float64]
Kind = Literal["single", "pair", "several"]

Keep = Callable[[int, Any], Any]  # a number of its own and a value → the same value, worked out once


def as_it_is(place: int, value: Any) -> Any:
    """The value itself: arrays and numbers are worked out already."""
    return value


class Coordinate(ABC):
    """One column of a prediction: its V, S and Γ, where the other columns may have a say (the second coordinate of a pair)."""

    column: int  # which column of the predictions this is
    name: str  # what it is called in tables and reports
    predicted: Any  # what it is a prediction of: a property, or a coordinate that is none by itself

    @property
    @abstractmethod
    def reading(self) -> Reading:
        """How its mean V is shown to a person."""

    @abstractmethod
    def residual(self, ops: Ops, columns: Sequence[Any], label: Any) -> Any:
        """V, from all columns of the predictions: arrays with `NUMPY`, expressions with `expressions()`."""

    @abstractmethod
    def scoring(self, ops: Ops, columns: Sequence[Any], label: Any) -> Any:
        """S, whose slope in the own column is V."""

    @abstractmethod
    def solve_segments(self, labels: Array, weights: Array, starts: NDArray[np.intp], earlier: Sequence[Array]) -> Array:
        """Γ of many laws at once (see `Property.solve_segments`), given the values of the earlier coordinates, one array each."""


@dataclass(frozen=True)
class OwnColumn(Coordinate):
    """A property that reads its own column alone."""

    predicted: Property
    column: int
    name: str

    @property
    def reading(self) -> Reading:
        return self.predicted.reading

    def residual(self, ops: Ops, columns: Sequence[Any], label: Any) -> Any:
        if ops is NUMPY:  # a user's property may know arrays only
            return self.predicted.identify(columns[self.column], label)
        return self.predicted.residual(ops, columns[self.column], label)

    def scoring(self, ops: Ops, columns: Sequence[Any], label: Any) -> Any:
        if ops is NUMPY:
            return self.predicted.score(columns[self.column], label)
        return self.predicted.scoring(ops, columns[self.column], label)

    def solve_segments(self, labels: Array, weights: Array, starts: NDArray[np.intp], earlier: Sequence[Array] = ()) -> Array:
        return self.predicted.solve_segments(labels, weights, starts)


class Target(ABC):
    """What is predicted, as a list of coordinates.

    Examples
    --------
    >>> import multivalid as mv
    >>> [coordinate.name for coordinate in mv.MeanVariance().coordinates]
    ['mean', 'variance']
    >>> mv.MeanVariance().residuals([[0.5, 0.1]], [1.0])  # one row, a column of V for each coordinate
    array([[-0.5 , -0.15]])
    >>> mv.Mean().residuals([0.5, 0.25], [1.0, 0.0])  # one coordinate: predictions may be a plain vector
    array([[-0.5 ],
           [ 0.25]])
    """

    kind: ClassVar[Kind] = "several"  # how it is worked on: one column, two that need each other, or several under one constraint
    joint: ClassVar[bool] = (
        False  # whether cells are crossings of the levels of all columns (a pair), not levels of each column by itself
    )
    names_labels: ClassVar[bool] = False  # whether labels may be names, such as text, which `check_labels` turns into numbers
    coupled: ClassVar[bool] = (
        False  # whether the constraint moves every column of a row (shares of one whole): they are fitted together
    )

    @property
    @abstractmethod
    def coordinates(self) -> tuple[Coordinate, ...]:
        """One per column of the predictions, in order."""

    @property
    def keys(self) -> tuple[str, ...]:
        """What the columns of tables that speak of a coordinate begin with; empty where there is one coordinate only."""
        return tuple(coordinate.name for coordinate in self.coordinates)

    @property
    @abstractmethod
    def spec(self) -> str | None:
        """Text that `parse_any` reads back to an equal target; None for one built from a user's function."""

    @property
    def why_no_spec(self) -> str:
        """What to say where a model of this target cannot be saved as there is no `spec`, and the way out."""
        word, name = ("pair", "pair") if self.joint else ("property", "prop")
        return (
            f"{self!r} is built from a function, which a model file cannot hold; give it a name first with "
            f"multivalid.register('my {word}', {name}), then save, and register it again before loading."
        )

    @abstractmethod
    def check_labels(self, values: Any, name: str = "y_true") -> Array:
        """Labels as float64, or an error that names the first that will not do."""

    def label_code(self, ops: Ops, label: Any) -> Any:
        """The number that V and S are evaluated with, as a formula of the label: itself, or the code of its class (−1 for none)."""
        return label

    def check_predictions(self, predictions: Any, name: str = "y_pred") -> Array:
        """Predictions as (rows, coordinates), or an error; a vector will do where there is one coordinate."""
        return validate.columns(_as_columns(predictions, len(self.coordinates)), name, len(self.coordinates))

    def check_ends(self, ends: Sequence[tuple[float, float]], name: str = "y_pred") -> None:
        """Refuse columns of predictions that reach from and to where none may; of rows that are not looked at one by one."""
        return

    def of_returns(self) -> Target:
        """The same target where outcomes are returns, so that the low ones hurt; refused where there is no such side."""
        raise InputError(
            f"losses=False is for value at risk with expected shortfall, such as 'quantile_cvar:0.975', got {self.spec or self!r}; "
            f"leave losses=True."
        )

    def check_sides(self, predictions: Array, labels: Array, most: float = 0.0) -> None:
        """Refuse predictions (rows, coordinates) or labels on the wrong side for this target, in more than a share `most` of the rows."""
        return

    def residuals(self, predictions: ArrayLike, labels: ArrayLike) -> Array:
        """V of every row and coordinate: (rows, coordinates)."""
        columns, y = self._columns(predictions, labels)
        return np.stack([np.asarray(c.residual(NUMPY, columns, y), dtype=np.float64) for c in self.coordinates], axis=1)

    def scores(self, predictions: ArrayLike, labels: ArrayLike) -> Array:
        """S of every row and coordinate: (rows, coordinates)."""
        columns, y = self._columns(predictions, labels)
        return np.stack([np.asarray(c.scoring(NUMPY, columns, y), dtype=np.float64) for c in self.coordinates], axis=1)

    def solve_cells(self, labels: Array, predictions: Array, weights: Array, starts: NDArray[np.intp]) -> Array:
        """Γ of every coordinate for many laws at once (see `Property.solve_segments`): shape (coordinates, laws)."""
        found: list[Array] = []
        for coordinate in self.coordinates:
            found.append(coordinate.solve_segments(labels, weights, starts, found))
        return np.stack(found)

    def solve_groups(self, labels: Array, predictions: Array, weights: Array, starts: NDArray[np.intp]) -> Array:
        """What the predictions of a group as a whole should be on average: shape (coordinates, laws)."""
        return self.solve_cells(labels, predictions, weights, starts)

    def losses(self, predictions: Array, codes: Array) -> Array:
        """What is lost on each row, all columns taken together: the score by which two predictions are compared.

        `codes` are labels that `check_labels` has seen.
        """
        columns = list(np.asarray(predictions).reshape(codes.size, -1).T)
        return np.asarray(sum(coordinate.scoring(NUMPY, columns, codes) for coordinate in self.coordinates))

    def breaking(self, ops: Ops, columns: Sequence[Any]) -> Any:
        """Whether rows of any kind break the target's constraint: quantiles that cross, shares that do not sum to one."""
        return columns[0] != columns[0]

    def breaks(self, predictions: Array) -> NDArray[np.bool_]:
        """The same for rows of (rows, coordinates)."""
        return np.asarray(self.breaking(NUMPY, list(predictions.T)))

    def broken(self, rows: int, among: int) -> str:
        """What to say of so many rows that break the constraint; nothing where there are none."""
        return ""

    def constrained(self, ops: Ops, columns: Sequence[Any], keep: Keep = as_it_is) -> list[Any]:
        """The columns with the constraint restored, as a formula for rows of any kind; `keep` names what is used more than once."""
        return list(columns)

    def mend(self, predictions: Array) -> Array:
        """The same predictions with the constraint restored; rows that keep it are not changed."""
        return np.stack(self.constrained(NUMPY, list(predictions.T)), axis=1)

    def _columns(self, predictions: ArrayLike, labels: ArrayLike) -> tuple[list[Array], Array]:
        table = np.asarray(_as_columns(predictions, len(self.coordinates)), dtype=np.float64)
        return list(table.T), self.check_labels(np.asarray(labels))


def _as_columns(predictions: Any, width: int) -> Any:
    if width == 1 and np.ndim(predictions) == 1:
        return np.asarray(predictions)[:, None]
    return predictions
