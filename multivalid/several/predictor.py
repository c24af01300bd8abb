"""The predictor of several columns: each is corrected by itself, or all together, between two applications of the constraint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from multivalid import json_checks as read
from multivalid.batch.predictor import LevelPredictor, Predictor, Reader, predictor_of
from multivalid.errors import ModelFileError
from multivalid.evaluators import Evaluator, Members, OneRow, RowMembers, in_memory
from multivalid.grid import Grid
from multivalid.groups.membership import Membership
from multivalid.practical.predictor import LinkPredictor
from multivalid.properties.base import Array
from multivalid.properties.target import Target
from multivalid.several.forest import ColumnTrees
from multivalid.several.shares import LEAST, Shares, raised

KINDS: dict[str, Reader[Predictor]] = {"link": LinkPredictor.from_json, "levels": LevelPredictor.from_json}


@dataclass(frozen=True)
class ColumnsPredictor:
    """constraint(parts(constraint(columns))): whatever the parts do, what comes out is sorted, or sums to one.

    Attributes
    ----------
    target : Target
        Whose constraint it is.
    grids : tuple of Grid
        The levels of each column of the final predictions, which the certificate conditions on.
    parts : list
        One predictor of a single column for each column; none where all are corrected together, or none is.
    together : Shares or None
        What corrects all columns at once; dividing by the sum makes it a softmax.
    trees : ColumnTrees or None
        What groups together and all columns together add to each column on the scale of its part (or of `together`).
    """

    target: Target
    grids: tuple[Grid, ...]
    parts: Sequence[Predictor]
    together: Shares | None = None
    trees: ColumnTrees | None = None

    @property
    def patches(self) -> list[tuple[int, Any]]:
        """The moves of all columns, each with its column."""
        return [(k, move) for k, part in enumerate(self.parts) for move in part.patches]

    def predicted(self, by: Evaluator, predictions: Sequence[Any], members: Members) -> list[Any]:
        """Calibrated predictions of all columns, for rows of any kind."""
        given = self._restored(by, "given", predictions)
        added = None if self.trees is None else self.trees.added(by, self.looked_at(by, given), members)
        return self._made(by, given, members, added)

    def _made(self, by: Evaluator, given: list[Any], members: Members, added: Sequence[Any] | None) -> list[Any]:
        """From predictions that keep the constraint, and from what the trees add."""
        if added is not None:
            starts = zip(self.starts(by, given, members), added, strict=True)
            made = self.ends(by, [by.keep(f"eta{k}", eta + more) for k, (eta, more) in enumerate(starts)])
        elif self.together is not None:
            made = [by.keep(f"column{k}", share) for k, share in enumerate(self.together.shares(by, given, members))]
        elif self.parts:
            made = [
                by.keep(f"column{k}", part.predicted(by, [value], members)[0])
                for k, (part, value) in enumerate(zip(self.parts, given, strict=True))
            ]
        else:
            made = given
        return self._restored(by, "final", made)

    def looked_at(self, by: Evaluator, given: Sequence[Any]) -> list[Any]:
        """The numbers whose sizes and gaps trees ask for: logarithms of shares of one whole, else the predictions themselves."""
        if not self.target.coupled:
            return list(given)
        return [by.keep(f"looked{k}", by.ops.log(by.ops.maximum(value, LEAST))) for k, value in enumerate(given)]

    def starts(self, by: Evaluator, given: Sequence[Any], members: Members) -> list[Any]:
        """What trees stand on: every column on its scale, before they are added and before patches."""
        if self.together is not None:
            return self.together.starts(by, given, members)
        return [
            by.keep(f"eta{k}", part.start(by, value, members))
            for k, (part, value) in enumerate(zip(self.links, given, strict=True))
        ]

    def ends(self, by: Evaluator, etas: Sequence[Any]) -> list[Any]:
        """Predictions from where they stand on their scales; the constraint is not restored yet."""
        if self.together is not None:
            return [by.keep(f"column{k}", share) for k, share in enumerate(raised(by, etas))]
        return [by.keep(f"column{k}", part.end(by, eta)) for k, (part, eta) in enumerate(zip(self.links, etas, strict=True))]

    @property
    def links(self) -> list[LinkPredictor]:
        """The parts that a practical fit makes."""
        return [part for part in self.parts if isinstance(part, LinkPredictor)]

    def predict_row(self, predictions: Sequence[float], members: RowMembers) -> list[float]:
        """Calibrated predictions of all columns of a single row."""
        by = OneRow()
        given = self._restored(by, "given", predictions)
        return self._made(by, given, members, None if self.trees is None else self.trees.of_row(self.looked_at(by, given), members))

    def predict(self, predictions: Array, membership: Membership) -> Array:
        """Calibrated predictions of all columns, for rows in memory."""

        def formula(by: Evaluator, columns: list[Any], members: Members) -> list[Any]:
            given = self._restored(by, "given", columns)
            return self._made(
                by, given, members, None if self.trees is None else self.trees.of_arrays(self.looked_at(by, given), members)
            )

        return in_memory(formula, predictions, membership)

    def _restored(self, by: Evaluator, name: str, columns: Sequence[Any]) -> list[Any]:
        return self.target.constrained(by.ops, columns, lambda place, value: by.keep(f"{name}{place}", value))

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "kind": "columns",
            "grids": [grid.to_json() for grid in self.grids],
            "parts": [part.to_json() for part in self.parts],
            **({} if self.together is None else {"together": self.together.to_json()}),
            **({} if self.trees is None else {"trees": self.trees.to_json()}),
        }

    @classmethod
    def from_json(cls, data: Any, groups: int, target: Target) -> ColumnsPredictor:
        """The predictor that `to_json` described, every part checked."""
        width = len(target.coordinates)
        fields = ("kind", "grids", "parts", *(name for name in ("together", "trees") if name in data))
        found = read.record(data, "a predictor of several columns", fields)
        grids = tuple(Grid.from_json(grid) for grid in read.items(found["grids"], "grids", width))
        parts = [predictor_of(part, groups, KINDS) for part in read.items(found["parts"], "parts")]
        if parts and ("together" in found or len(parts) != width):
            raise ModelFileError(
                f"parts must be {width}, one for each column, or none where all are corrected together or none is."
            )
        together = Shares.from_json(found["together"], width, groups - 1) if "together" in found else None
        trees = ColumnTrees.from_json(found["trees"], width, groups) if "trees" in found else None
        made = cls(target, grids, parts, together, trees)
        if trees is not None and together is None and len(made.links) != width:
            raise ModelFileError("trees need a part for each column, or all of them together, to stand on.")
        return made
