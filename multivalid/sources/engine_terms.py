"""The terms of a fit as expressions of the engine that has the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals as nw

from multivalid.atoms.names import BEFORE, LABEL, PREDICTION, WEIGHT
from multivalid.groups.remote import Frame, schema_of
from multivalid.sources.expressions import ExpressionMembers, Expressions, Unevaluated
from multivalid.sources.looked_up import LineMembers

if TYPE_CHECKING:
    from multivalid.sources.engine_rows import EngineRows
    from multivalid.sources.predicting import Predicting, Terms


def terms_of(source: EngineRows, predictor: Predicting, terms: Terms) -> tuple[Frame, list[Any]]:
    """A frame with what the terms look at, and the terms; what they ask of groups is looked up by line where lines are known."""
    by = Expressions(source.predicted_by(predictor, beside=True).frame)
    given = nw.col(BEFORE), nw.col(PREDICTION), nw.col(LABEL), nw.col(WEIGHT)
    if source.lines is None:
        made = terms(by, *given, ExpressionMembers(source.groups.expressions(schema_of(by.frame))))
    else:
        members = LineMembers(source.lines)
        terms(Unevaluated(), *given, members)  # only to see what it asks of its groups
        by.frame = source.lines.join(by.frame, members.columns)
        made = terms(by, *given, members)
    return by.frame, made
