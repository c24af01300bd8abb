"""What was typed, as objects of the library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from multivalid.cli.exits import usage
from multivalid.errors import InputError, MultivalidError
from multivalid.groups.items import Bins, Cross, bins, cross
from multivalid.properties import Property, Target
from multivalid.scope.decide import require

Number = TypeVar("Number", int, float)


def group_item(text: str) -> str | Bins | Cross:
    """A predicate or column name as it is; `bins:age:5`, `bins:age:0,18,65`, `bins:sold:month` and `cross:sex,region` as in Python.

    Examples
    --------
    >>> group_item("bins:age:5"), group_item("cross:sex,bins:age:3"), group_item("age >= 18"), group_item("bins:sold:hour")
    (bins('age', 5), cross('sex', bins('age', 3)), 'age >= 18', bins('sold', 'hour'))
    """
    try:
        if text.startswith("cross:"):
            parts = [group_item(part.strip()) for part in text.removeprefix("cross:").split(",")]
            return cross(*(part for part in parts if not isinstance(part, Cross)))
        if text.startswith("bins:"):
            column, _, how = text.removeprefix("bins:").rpartition(":")
            if not column:
                raise usage(f"--groups {text!r}: write bins:COLUMN:NUMBER, for example bins:age:5, or bins:sold:month.")
            if "," in how:
                return bins(column, edges=[float(edge) for edge in how.split(",")])
            return bins(column, how if how.isalpha() else int(how))
    except (InputError, ValueError) as error:
        raise usage(f"--groups {text!r}: {error}") from None
    return text


def group_items(texts: list[str] | None) -> list[str | Bins | Cross]:
    """All that was given as --groups."""
    return [group_item(text) for text in texts or []]


def target_named(text: str) -> Target:
    """What is predicted, as the library reads it, or a usage error."""
    try:
        return require(text)
    except MultivalidError as error:
        raise usage(f"--property: {error}") from None


def property_named(text: str) -> Property:
    """The same where one value per row is predicted."""
    found = target_named(text)
    if not isinstance(found, Property):
        what = "is a pair" if found.joint else "has several columns"
        raise usage(f"--property {text} {what}; this command takes one property with one value per row.")
    return found


def fitted_named(text: str) -> Target:
    """The same where columns may be several, though not a pair."""
    found = target_named(text)
    return property_named(text) if found.joint else found


def label_numbers(label: str, target: Target) -> list[str]:
    """The label among the columns that must be numeric, unless it holds names of classes."""
    return [] if target.names_labels else [label]


def option(check: Callable[..., Number], value: Any, name: str) -> Number:
    """A number checked by a rule of the library, or a usage error in the words of the command line."""
    try:
        return check(value, name)
    except InputError as error:
        raise usage(str(error)) from None


def limit(value: float | None) -> float | None:
    """The number after --fail-above."""
    if value is not None and not 0 <= value < float("inf"):
        raise usage(f"--fail-above {value} must be a number of at least 0.")
    return value


def prediction_columns(text: str, target: Target) -> list[str]:
    """The columns with predictions: one, or one for each coordinate of the target, with commas between.

    Examples
    --------
    >>> from multivalid.properties import Mean, QuantileCVaR
    >>> prediction_columns("var, es", QuantileCVaR(0.975)), prediction_columns("p, q", Mean())
    (['var', 'es'], ['p, q'])
    """
    wanted = len(target.coordinates)
    if wanted == 1:
        return [text]
    names = [name.strip() for name in text.split(",")]
    if len(names) != wanted or not all(names):
        how_many = "a pair has two columns" if wanted == 2 else f"{target!r} has {wanted} columns"
        raise usage(f"--prediction {text!r}: {how_many}; write them with a comma, for example var,es.")
    return names
