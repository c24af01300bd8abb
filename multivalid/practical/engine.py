"""Predictions of the practical mode where the rows live: the formula of the model as expressions of an engine."""

from __future__ import annotations

import narwhals as nw

from multivalid.atoms.names import PREDICTION
from multivalid.errors import InputError
from multivalid.evaluators import Members
from multivalid.groups.family import FittedGroups
from multivalid.groups.remote import Frame, schema_of
from multivalid.practical.forest_frame import add_forest
from multivalid.practical.predictor import LinkPredictor
from multivalid.sources.expressions import ExpressionMembers, Expressions, Unevaluated
from multivalid.sources.looked_up import LineMembers, Lines

FOUND = "__mv_found"


def predicting_link(
    frame: Frame, groups: FittedGroups, predictor: LinkPredictor, output: str = PREDICTION, lines: Lines | None = None
) -> Frame:
    """Final predictions as expressions of the base prediction and the groups; nothing is computed yet.

    With `lines`, the combinations of the groups' columns that occur, what groups add is looked up instead of worked out row by row.
    """
    # First: a column that is missing is an error in any case.
    members: Members = ExpressionMembers(groups.expressions(schema_of(frame))) if lines is None else LineMembers(lines)
    if predictor.model is None:
        return frame.with_columns(nw.col(PREDICTION).alias(output))
    if frame.implementation.is_ibis():
        raise InputError(
            "predictions of a practical model are not supported on Ibis, which hands numbers to its engine as decimals; use the engine "
            'itself (a DuckDB relation, Spark), polars, or mode="theorem".'
        )
    names = [name for name in frame.collect_schema().names() if name != output]
    found = None
    if predictor.forest is not None:
        frame = add_forest(frame.with_columns(nw.lit(0.0, dtype=nw.Float64).alias(FOUND)), predictor.forest, FOUND)
        found = nw.col(FOUND)
    if isinstance(members, LineMembers):
        assert lines is not None
        predictor.calibrate(Unevaluated(), nw.col(PREDICTION), members, found)  # only to see what it asks of its groups
        frame = lines.join(frame, members.columns)
    by = Expressions(frame)
    made = predictor.calibrate(by, nw.col(PREDICTION), members, found)
    return by.frame.select(*names, made.alias(output))
