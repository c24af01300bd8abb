"""Rows of a frame that a condition names: a mask where they are in memory, an expression where an engine has them."""

from __future__ import annotations

from typing import Any

import narwhals as nw

from multivalid.errors import InputError
from multivalid.groups.blocks import Holds
from multivalid.groups.columns import Columns
from multivalid.groups.engine import condition_expression
from multivalid.groups.nodes import render
from multivalid.groups.predicate import parse
from multivalid.groups.remote import Frame, schema_of


def holds(text: str, data: Any, argument: str) -> Any:
    """The mask that a predicate, or the name of a boolean column, makes of `data`."""
    if data is None:
        raise InputError(f"{argument}={text!r} is a condition on columns, but data=None; pass the frame as data=.")
    return Holds(parse(text).condition).codes(Columns(data)) == 0


def where(text: str, frame: Frame) -> nw.Expr:
    """The same as an expression on a lazy frame."""
    condition = parse(text).condition
    return condition_expression(condition, schema_of(frame), render(condition))
