"""Words of the command line to objects of the library."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from multivalid.cli.exits import usage
from multivalid.errors import InputError
from multivalid.groups.items import Bins, Cross, bins, cross
from multivalid.properties import Pair, Property, parse, parse_any


def group_item(text: str) -> str | Bins | Cross:
    """A predicate or column name as it is; `bins:age:5`, `bins:age:0,18,65` and `cross:sex,region` as in Python.

    Examples
    --------
    >>> group_item("bins:age:5"), group_item("cross:sex,bins:age:3"), group_item("age >= 18")
    (bins('age', 5), cross('sex', bins('age', 3)), 'age >= 18')
    """
    try:
        if text.startswith("cross:"):
            parts = [group_item(part.strip()) for part in text.removeprefix("cross:").split(",")]
            return cross(*(part for part in parts if not isinstance(part, Cross)))
        if text.startswith("bins:"):
            column, _, how = text.removeprefix("bins:").rpartition(":")
            if not column:
                raise usage(f"--groups {text!r}: write bins:COLUMN:NUMBER, for example bins:age:5.")
            return bins(column, edges=[float(edge) for edge in how.split(",")]) if "," in how else bins(column, int(how))
    except (InputError, ValueError) as error:
        raise usage(f"--groups {text!r}: {error}") from None
    return text


def property_named(text: str) -> Property:
    """The property, or a usage error."""
    try:
        return parse(text)
    except InputError as error:
        raise usage(str(error)) from None


def any_property_named(text: str) -> Property | Pair:
    """The property or pair, or a usage error."""
    try:
        found = parse_any(text)
    except InputError as error:
        raise usage(str(error)) from None
    return found if isinstance(found, Pair) else property_named(text)


def two_columns(text: str) -> list[str]:
    """The two columns of a pair, with a comma between.

    Examples
    --------
    >>> two_columns("var, es")
    ['var', 'es']
    """
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(names):
        raise usage(f"--prediction {text!r}: a pair has two columns; write them with a comma, for example var,es.")
    return names


def plain(value: Any) -> Any:
    """Anything the library returns as JSON values; NaN and infinities become null."""
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def as_json(value: Any) -> str:
    """One line of JSON.

    Examples
    --------
    >>> as_json({"error": np.float64("nan"), "rows": np.int64(3)})
    '{"error": null, "rows": 3}'
    """
    return json.dumps(plain(value), ensure_ascii=False, allow_nan=False)
