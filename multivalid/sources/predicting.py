"""What a source asks of a predictor: its answer for rows in memory, or as a column of a lazy frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from multivalid.evaluators import Evaluator, Members
from multivalid.grid import Grid
from multivalid.groups.family import FittedGroups
from multivalid.groups.membership import Membership
from multivalid.groups.remote import Frame
from multivalid.properties.base import Array
from multivalid.sources.looked_up import Lines

if TYPE_CHECKING:
    from multivalid.levels import ArrayValues
    from multivalid.sources.engine_rows import EngineRows


class Predicting(Protocol):
    """A predictor for a single column."""

    @property
    def grid(self) -> Grid:
        """The levels of its predictions."""

    @property
    def rounding(self) -> Grid | None:
        """Levels that predictions are rounded to before anything else; None where it looks at the predictions as they are."""

    def predict(self, predictions: Array, membership: Membership) -> Array:
        """New predictions for rows with these predictions and groups."""

    def on_frame(self, frame: Frame, groups: FittedGroups, output: str, lines: Lines | None = ...) -> Frame:
        """The lazy frame with the new predictions as the column `output`; in the place of the old ones unless another is named.

        `lines` are the combinations of the groups' columns that occur, where they are known.
        """


class Origin(NamedTuple):
    """Where the predictions of rows in an engine come from.

    The rows with their own predictions, who made others of them, whether the cells of both are wanted, and which predictions occur with
    their weight, where that is known.
    """

    source: EngineRows
    predictor: Predicting
    beside: bool
    occurring: ArrayValues | None


class Terms(Protocol):
    """Numbers to be summed, as formulas of a row's prediction, new prediction, label, weight and groups.

    Attributes
    ----------
    whole : how many of them, the last ones, are wanted for everyone alone; what they sum to in other groups means nothing
    """

    whole: int

    def __call__(self, by: Evaluator, prediction: Any, made: Any, label: Any, weight: Any, members: Members) -> list[Any]:
        """The terms, on arrays or on the expressions of an engine."""
