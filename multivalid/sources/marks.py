"""Rows of a frame in memory that a condition names."""

from __future__ import annotations

from typing import Any

from multivalid.errors import InputError
from multivalid.groups.blocks import Holds
from multivalid.groups.columns import Columns
from multivalid.groups.predicate import parse


def holds(text: str, data: Any, argument: str) -> Any:
    """The mask that a predicate, or the name of a boolean column, makes of `data`."""
    if data is None:
        raise InputError(f"{argument}={text!r} is a condition on columns, but data=None; pass the frame as data=.")
    return Holds(parse(text).condition).codes(Columns(data)) == 0
