"""From what a user gives to checked settings: one door for every algorithm."""

from __future__ import annotations

from typing import Any

from multivalid.errors import InputError, ModelFileError
from multivalid.online.classic.setup import Setup, make_classic_setup
from multivalid.online.engine import Engine
from multivalid.online.members import members
from multivalid.online.sharp.setup import SharpSetup, make_sharp_setup, sharp_setup_from_json
from multivalid.properties.base import Property
from multivalid.properties.quantiles import Quantiles
from multivalid.scope.decide import require

ALGORITHMS = ("sharp", "B", "A", "paper")
SHARP_ONLY = {"shares", "copies", "batch"}
CLASSIC_ONLY = {"lipschitz", "grid", "horizon", "rule", "jitter"}
AnySetup = SharpSetup | Setup


def make_setup(property: Any, groups: Any, *, algorithm: str = "sharp", **options: Any) -> AnySetup:
    """Check every setting; options left at None are those not given."""
    prop, who = _property(property), members(groups)
    if algorithm not in ALGORITHMS:
        raise InputError(f"algorithm must be one of {', '.join(map(repr, ALGORITHMS))}, got {algorithm!r}.")
    given = {name: value for name, value in options.items() if value is not None}
    foreign = sorted(set(given) & (CLASSIC_ONLY if algorithm == "sharp" else SHARP_ONLY))
    if foreign:
        where = "algorithms 'A', 'B' and 'paper'" if algorithm == "sharp" else "algorithm 'sharp'"
        raise InputError(f"{', '.join(foreign)}: only {where} have such a setting; leave it out, or choose that algorithm.")
    if algorithm == "sharp":
        return make_sharp_setup(prop, who, **given)
    if not isinstance(prop, Property):
        raise InputError(f"property {prop!r} has several levels, which only algorithm 'sharp' plays; use one learner per level.")
    return make_classic_setup(prop, who, algorithm=algorithm, **given)


def setup_from_json(data: dict[str, Any]) -> AnySetup:
    """The setup that `to_json` described."""
    try:
        algorithm, prop = data["algorithm"], _property(data["property"])
    except (KeyError, TypeError) as error:
        raise ModelFileError(f"the settings of the saved learner are damaged: {error!r}.") from None
    return sharp_setup_from_json(data, prop) if algorithm == "sharp" else Setup.from_json(data)


def engine_for(setup: AnySetup) -> Engine:
    """A fresh state for the settings."""
    if isinstance(setup, SharpSetup) and isinstance(setup.prop, Quantiles):
        from multivalid.online.sharp.fan import FanEngine

        return FanEngine(setup)
    if isinstance(setup, SharpSetup):
        from multivalid.online.sharp.engine import SharpEngine

        return SharpEngine(setup)
    from multivalid.online.classic.engine import ClassicEngine

    return ClassicEngine(setup)


def _property(given: Any) -> Property | Quantiles:
    found = require(given)
    if not isinstance(found, Property | Quantiles):
        raise InputError(f"property {given!r} is not one the online learner predicts; it needs one property, or several quantiles.")
    return found
