"""Found trees on the rows of a lazy frame: what splits ask is worked out once, then trees are added some at a time."""

from __future__ import annotations

import operator

import narwhals as nw

from multivalid.groups.engine import balanced, condition_expression
from multivalid.groups.remote import Frame, schema_of
from multivalid.practical.forest import Forest
from multivalid.practical.predictor import TOGETHER
from multivalid.properties.ops import expressions


def add_forest(frame: Frame, forest: Forest, eta: str) -> Frame:
    """The lazy frame with what the trees add put on top of its column `eta`; the prediction is there under its fixed name."""
    schema = schema_of(frame)
    names = [f"__mv_split{k}" for k in range(len(forest.conditions))]
    staged = [
        condition_expression(one, schema, "a found split").alias(name) for one, name in zip(forest.conditions, names, strict=True)
    ]
    frame = frame.with_columns(*staged) if staged else frame
    answers = [nw.col(name) for name in names]
    for start in range(0, len(forest.trees), TOGETHER):
        terms = [forest.summed(expressions(), k, answers) for k in range(len(forest.trees))[start : start + TOGETHER]]
        frame = frame.with_columns((nw.col(eta) + balanced(terms, operator.add)).alias(eta))
    return frame
