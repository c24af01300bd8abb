"""Text such as "quantile:0.9" to a property, a pair or a functional: the only place where strings are understood."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any, TypeVar

from multivalid.errors import InputError, ScopeError
from multivalid.properties.atoms_only import Entropy, Mode
from multivalid.properties.base import Property
from multivalid.properties.dispersion import (
    CentralMoment,
    CoefficientOfVariation,
    DispersionIndex,
    MeanAbsoluteDeviation,
    MeanVarianceUtility,
    Skewness,
    Std,
    Variance,
)
from multivalid.properties.distortion import EndpointMix, QuantileMix
from multivalid.properties.entropic import Entropic
from multivalid.properties.expectile import Expectile
from multivalid.properties.functional import Functional
from multivalid.properties.huber import Huber
from multivalid.properties.lp_quantile import LpQuantile
from multivalid.properties.mean import Mean
from multivalid.properties.moment import EventProbability, Moment
from multivalid.properties.named_distortions import DualPower, ExponentialSpectral, MinVar, ProportionalHazard, Wang
from multivalid.properties.order_spread import GiniDeviation, InterquartileRange, Variantile
from multivalid.properties.pairs import (
    BayesPair,
    ExpectileVariantile,
    MeanMAD,
    MeanMoment,
    MeanStd,
    MeanVariance,
    Pair,
    QuantileCVaR,
    QuantileIQR,
    QuantileSpectral,
)
from multivalid.properties.quantile import Quantile
from multivalid.properties.ratio import Ratio
from multivalid.properties.tail_risk import CVaR, RangeVaR
from multivalid.properties.target import Target

Parsed = Target | Functional
Entry = tuple[Callable[..., Parsed], tuple[Callable[[str], Any], ...]]

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
PAIRS: dict[str, tuple[Callable[..., Pair], tuple[Callable[[str], Any], ...]]] = {
    "mean_variance": (MeanVariance, ()),
    "mean_std": (MeanStd, ()),
    "mean_moment": (MeanMoment, (int,)),
    "mean_mad": (MeanMAD, ()),
    "quantile_cvar": (QuantileCVaR, (float,)),
    "quantile_spectral": (QuantileSpectral, (float, float)),
    "expectile_variantile": (ExpectileVariantile, (float,)),
    "quantile_iqr": (QuantileIQR, (float, float)),
}
FUNCTIONALS: dict[str, tuple[Callable[..., Functional], tuple[Callable[[str], Any], ...]]] = {
    "variance": (Variance, ()),
    "std": (Std, ()),
    "central_moment": (CentralMoment, (int,)),
    "skewness": (Skewness, ()),
    "mad": (MeanAbsoluteDeviation, ()),
    "cv": (CoefficientOfVariation, ()),
    "dispersion_index": (DispersionIndex, ()),
    "mean_variance_utility": (MeanVarianceUtility, (float,)),
    "iqr": (InterquartileRange, (float, float)),
    "gini": (GiniDeviation, ()),
    "variantile": (Variantile, (float,)),
    "mode": (Mode, ()),
    "entropy": (Entropy, ()),
    "cvar": (CVaR, (float,)),
    "expected_shortfall": (CVaR, (float,)),
    "range_var": (RangeVaR, (float, float)),
    "wang": (Wang, (float,)),
    "proportional_hazard": (ProportionalHazard, (float,)),
    "dual_power": (DualPower, (float,)),
    "minvar": (MinVar, (float,)),
    "exponential_spectral": (ExponentialSpectral, (float,)),
    "quantile_mix": (QuantileMix, (float, float)),
    "endpoint_mix": (EndpointMix, (float,)),
}
# Names whose parameters may all be left out.
DEFAULTS = ("iqr", "quantile_iqr")
_USER: dict[str, Property | Pair] = {}
Named = TypeVar("Named", bound=Property | Pair)


def register(name: str, prop: Named) -> Named:
    """Give a property or a pair a name, so that it can be asked for by text and saved in a model.

    A model saved with a registered property stores the name alone; register the same property before loading it.

    Examples
    --------
    >>> third = register("lower third", Property.from_identification(lambda g, y: (y <= g) - 1 / 3))
    >>> parse("lower third") is third
    True
    >>> spread = register("median and spread", Pair.from_target(Quantile(0.5), lambda g, y: abs(y - g), range=(0, 1)))
    >>> parse_any("median and spread") is spread
    True
    """
    if not isinstance(name, str) or not name.strip() or name != name.strip() or ":" in name:
        raise InputError(f"name must be text without a colon, nor blanks around it, got {name!r}.")
    if name in _entries() or name == "bayes":
        raise InputError(f"{name!r} is a built-in property; choose another name.")
    if not isinstance(prop, (Property, Pair)):
        raise InputError(f"only a property or a pair can be registered, got {prop!r}.")
    _USER[name] = prop
    return prop


def parse(text: str | Parsed) -> Property:
    """The property that `text` names: "mean", "quantile:0.9", "lp_quantile:1.5:0.9", or a registered name.

    Names of pairs and of functionals without an identification are refused here; `parse_any` reads them.

    Examples
    --------
    >>> parse("expectile:0.8")
    Expectile(tau=0.8)
    """
    made = parse_any(text)
    if isinstance(made, Property):
        return made
    if isinstance(made, Pair):
        raise InputError(f"property {text!r} is a pair of functionals; one property with one value per row is needed here.")
    raise ScopeError(f"property {text!r} cannot be calibrated alone; multivalid.scope({text!r}) says why and names what works.")


def parse_any(text: str | Parsed) -> Parsed:
    """The property, pair or functional that `text` names: "quantile:0.9", "quantile_cvar:0.95", "bayes:quantile:0.9", "variance".

    Examples
    --------
    >>> parse_any("quantile_cvar:0.95")
    QuantileCVaR(tau=0.95)
    >>> parse_any("bayes:expectile:0.8")
    BayesPair(prop=Expectile(tau=0.8))
    """
    if isinstance(text, (Target, Functional)):
        return text
    if not isinstance(text, str):
        raise InputError(f"property must be a property or its name, got {text!r}.")
    if text in _USER:
        return _USER[text]
    name, *values = (part.strip() for part in text.split(":"))
    if name == "bayes" and values:
        return BayesPair(parse(":".join(values)))
    return _build(text, name, values)


def _build(text: str, name: str, values: list[str]) -> Parsed:
    entries = _entries()
    if name not in entries:
        known = [*entries, *_USER]
        near = difflib.get_close_matches(name, known, n=2)
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"known names: {', '.join(known)}."
        raise InputError(f"property {text!r} is not known; {hint}")
    build, readers = entries[name]
    if not values and name in DEFAULTS:
        return build()
    if len(values) != len(readers):
        raise InputError(f"property {name!r} takes {len(readers)} parameters after colons, got {len(values)} in {text!r}.")
    try:
        parameters = [read(value) for read, value in zip(readers, values, strict=True)]
    except ValueError:
        raise InputError(f"property {text!r}: {', '.join(values)} cannot be read as numbers.") from None
    return build(*parameters)


def _entries() -> dict[str, Entry]:
    return {**CATALOGUE, **PAIRS, **FUNCTIONALS}


def spec_of(prop: Parsed) -> str | None:
    """Text that `parse_any` reads back to `prop`; None when it was built from a function and has no registered name."""
    if prop.spec is not None:
        return prop.spec
    if isinstance(prop, BayesPair) and (inner := spec_of(prop.prop)) is not None:
        return f"bayes:{inner}"
    return next((name for name, known in _USER.items() if known is prop or known == prop), None)
