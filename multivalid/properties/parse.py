"""Text such as "quantile:0.9" to a property: the only place where strings are understood."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

from multivalid.errors import InputError
from multivalid.properties.base import Property
from multivalid.properties.entropic import Entropic
from multivalid.properties.expectile import Expectile
from multivalid.properties.huber import Huber
from multivalid.properties.lp_quantile import LpQuantile
from multivalid.properties.mean import Mean
from multivalid.properties.moment import EventProbability, Moment
from multivalid.properties.quantile import Quantile
from multivalid.properties.ratio import Ratio

# name → (what to build, how to read each parameter)
CATALOGUE: dict[str, tuple[Callable[..., Property], tuple[Callable[[str], Any], ...]]] = {
    "mean": (Mean, ()),
    "median": (lambda: Quantile(0.5), ()),
    "quantile": (Quantile, (float,)),
    "expectile": (Expectile, (float,)),
    "huber": (Huber, (float,)),
    "lp_quantile": (LpQuantile, (float, float)),
    "entropic": (Entropic, (float,)),
    "moment": (Moment, (int,)),
    "event": (EventProbability, (float, float)),
    "ratio": (Ratio, (int, int)),
}
_USER: dict[str, Property] = {}


def register(name: str, prop: Property) -> Property:
    """Give a property a name, so that it can be asked for by text and saved in a model.

    A model saved with a registered property stores the name alone; register the same property before loading it.

    Examples
    --------
    >>> third = register("lower third", Property.from_identification(lambda g, y: (y <= g) - 1 / 3))
    >>> parse("lower third") is third
    True
    """
    if not isinstance(name, str) or not name.strip() or ":" in name:
        raise InputError(f"name must be text without a colon, got {name!r}.")
    if name in CATALOGUE:
        raise InputError(f"{name!r} is a built-in property; choose another name.")
    if not isinstance(prop, Property):
        raise InputError(f"only a property can be registered, got {prop!r}.")
    _USER[name] = prop
    return prop


def parse(text: str | Property) -> Property:
    """The property that `text` names: "mean", "quantile:0.9", "lp_quantile:1.5:0.9", or a registered name.

    Examples
    --------
    >>> parse("expectile:0.8")
    Expectile(tau=0.8)
    """
    if isinstance(text, Property):
        return text
    if not isinstance(text, str):
        raise InputError(f"property must be a property or its name, got {text!r}.")
    if text in _USER:
        return _USER[text]
    name, *values = (part.strip() for part in text.split(":"))
    if name not in CATALOGUE:
        known = [*CATALOGUE, *_USER]
        near = difflib.get_close_matches(name, known, n=2)
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"known names: {', '.join(known)}."
        raise InputError(f"property {text!r} is not known; {hint}")
    build, readers = CATALOGUE[name]
    if len(values) != len(readers):
        raise InputError(f"property {name!r} takes {len(readers)} parameters after colons, got {len(values)} in {text!r}.")
    try:
        parameters = [read(value) for read, value in zip(readers, values, strict=True)]
    except ValueError:
        raise InputError(f"property {text!r}: {', '.join(values)} cannot be read as numbers.") from None
    return build(*parameters)


def spec_of(prop: Property) -> str | None:
    """Text that `parse` reads back to `prop`; None when it was built from a function and has no registered name."""
    if prop.spec is not None:
        return prop.spec
    return next((name for name, known in _USER.items() if known is prop or known == prop), None)
