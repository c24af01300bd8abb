"""Text such as "quantile:0.9" to a property, a pair or a functional: the only place where strings are understood."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any, TypeVar

from multivalid.errors import InputError, ScopeError
from multivalid.properties.base import Property
from multivalid.properties.classes import Classes, read_class
from multivalid.properties.dispersion import (
    CentralMoment,
    CoefficientOfVariation,
    DispersionIndex,
    Kurtosis,
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
from multivalid.properties.geometric_mean import GeometricMean
from multivalid.properties.huber import Huber
from multivalid.properties.lp_quantile import LpQuantile
from multivalid.properties.mean import Mean
from multivalid.properties.mode_entropy import Entropy, Mode
from multivalid.properties.moment import EventProbability, Moment
from multivalid.properties.named_distortions import DualPower, ExponentialSpectral, MinVar, ProportionalHazard, Wang
from multivalid.properties.order_spread import GiniDeviation, InterquartileRange, MedianAbsoluteDeviation, Range, Variantile
from multivalid.properties.pairs import (
    BayesPair,
    ExpectileVariantile,
    LowerQuantileCVaR,
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
from multivalid.properties.quantiles import Quantiles
from multivalid.properties.ratio import Ratio
from multivalid.properties.tail_risk import CVaR, RangeVaR, trimmed_mean
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
    "geometric_mean": (GeometricMean, ()),
}
PAIRS: dict[str, tuple[Callable[..., Pair], tuple[Callable[[str], Any], ...]]] = {
    "mean_variance": (MeanVariance, ()),
    "mean_std": (MeanStd, ()),
    "mean_moment": (MeanMoment, (int,)),
    "mean_mad": (MeanMAD, ()),
    "quantile_cvar": (QuantileCVaR, (float,)),
    "lower_quantile_cvar": (LowerQuantileCVaR, (float,)),
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
    "interquartile_range": (InterquartileRange, (float, float)),
    "median_absolute_deviation": (MedianAbsoluteDeviation, ()),
    "range": (Range, ()),
    "kurtosis": (Kurtosis, ()),
    "trimmed_mean": (trimmed_mean, (float,)),
    "gini": (GiniDeviation, ()),
    "variantile": (Variantile, (float,)),
    "mode": (Mode, ()),
    "entropy": (Entropy, ()),
    "cvar": (CVaR, (float,)),
    "expected_shortfall": (CVaR, (float,)),
    "es": (CVaR, (float,)),
    "range_var": (RangeVaR, (float, float)),
    "wang": (Wang, (float,)),
    "proportional_hazard": (ProportionalHazard, (float,)),
    "dual_power": (DualPower, (float,)),
    "minvar": (MinVar, (float,)),
    "exponential_spectral": (ExponentialSpectral, (float,)),
    "quantile_mix": (QuantileMix, (float, float)),
    "endpoint_mix": (EndpointMix, (float,)),
}
# "var" is what statistics and risk management both call something: the variance, and with a level the value at risk.
EITHER: dict[str, Entry] = {"var": (lambda tau=None: Variance() if tau is None else Quantile(tau), (float,))}
SEVERAL: dict[str, tuple[Callable[..., Target], tuple[Callable[[str], Any], ...]]] = {
    "quantiles": (Quantiles, (lambda text: [float(part) for part in text.split(",")],)),
    "classes": (Classes, (lambda text: [read_class(part.strip()) for part in text.split(",")],)),
}
# For every name with parameters, what a person would write.
EXAMPLES = {
    "quantile": "quantile:0.9", "expectile": "expectile:0.9", "huber": "huber:1.5", "lp_quantile": "lp_quantile:1.5:0.9",
    "entropic": "entropic:0.5", "moment": "moment:2", "event": "event:0:10", "ratio": "ratio:2:1", "mean_moment": "mean_moment:3",
    "quantile_cvar": "quantile_cvar:0.975", "lower_quantile_cvar": "lower_quantile_cvar:0.975",
    "quantile_spectral": "quantile_spectral:0.975:0.5",
    "expectile_variantile": "expectile_variantile:0.9", "quantile_iqr": "quantile_iqr:0.25:0.75", "central_moment": "central_moment:3",
    "mean_variance_utility": "mean_variance_utility:0.5", "iqr": "iqr:0.25:0.75", "interquartile_range": "interquartile_range:0.25:0.75",
    "variantile": "variantile:0.9", "cvar": "cvar:0.975", "expected_shortfall": "expected_shortfall:0.975", "es": "es:0.975",
    "var": "var:0.975", "range_var": "range_var:0.25:0.75", "trimmed_mean": "trimmed_mean:0.1", "wang": "wang:0.5",
    "proportional_hazard": "proportional_hazard:2", "dual_power": "dual_power:2", "minvar": "minvar:2",
    "exponential_spectral": "exponential_spectral:5", "quantile_mix": "quantile_mix:0.5:0.5", "endpoint_mix": "endpoint_mix:0.5",
    "quantiles": "quantiles:0.1,0.5,0.9", "classes": "classes:a,b,c",
}  # fmt: skip
# Names whose parameters may all be left out.
DEFAULTS = ("iqr", "interquartile_range", "quantile_iqr", "var")
_USER: dict[str, Property | Pair] = {}
Named = TypeVar("Named", bound=Property | Pair)


def register(name: str, prop: Named) -> Named:
    """Give a property or a pair a name, so that it can be asked for by text and saved in a model.

    A model saved with a registered property stores its name and a few values of V; register the same property before loading it.

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
    if isinstance(made, Target):
        columns = len(made.coordinates)
        raise InputError(f"property {text!r} has {columns} columns; one property with one value per row is needed here.")
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
    # As people type them: VARIANCE, trimmed mean, Trimmed-Mean.
    known = name if name in entries else "_".join(name.lower().replace("-", " ").split())
    if known not in entries:
        near = difflib.get_close_matches(known, [*entries, *_USER], n=3, cutoff=0.0)
        raise InputError(f"property {text!r} is not known; did you mean {', '.join(map(repr, near[:-1]))} or {near[-1]!r}?")
    build, readers = entries[known]
    if not values and known in DEFAULTS:
        return build()
    if len(values) != len(readers):
        takes = f"takes {len(readers)} parameter{'s' * (len(readers) != 1)} after colons" if readers else "takes no parameter"
        example = f"; for example {EXAMPLES[known]!r}" if readers else f"; write {known!r}"
        raise InputError(f"property {known!r} {takes}, got {len(values)} in {text!r}{example}.")
    try:
        parameters = [read(value) for read, value in zip(readers, values, strict=True)]
    except ValueError:
        raise InputError(
            f"property {text!r}: {', '.join(values)} cannot be read as numbers; for example {EXAMPLES[known]!r}."
        ) from None
    return build(*parameters)


def _entries() -> dict[str, Entry]:
    return {**CATALOGUE, **PAIRS, **FUNCTIONALS, **EITHER, **SEVERAL}


def is_registered(spec: str) -> bool:
    """Whether a text rests on a name that a user has registered.

    Examples
    --------
    >>> is_registered("quantile:0.9")
    False
    """
    return spec in _USER or spec.removeprefix("bayes:") in _USER


def spec_of(prop: Parsed) -> str | None:
    """Text that `parse_any` reads back to `prop`; None when it was built from a function and has no registered name."""
    if prop.spec is not None:
        return prop.spec
    if isinstance(prop, BayesPair) and (inner := spec_of(prop.prop)) is not None:
        return f"bayes:{inner}"
    return next((name for name, known in _USER.items() if known is prop or known == prop), None)
