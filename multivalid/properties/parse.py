"""Text such as "quantile:0.9" to a property, a pair or a functional: the only place where strings are understood."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from multivalid.errors import InputError, ScopeError

if TYPE_CHECKING:
    from multivalid.properties.base import Property
    from multivalid.properties.functional import Functional
    from multivalid.properties.pairs import Pair
    from multivalid.properties.target import Target

    Parsed = Target | Functional
    Named = TypeVar("Named", bound=Property | Pair)

# What to build, as "module.name" where its module is read on first use, and how to read each parameter.
Entry = tuple[str | Callable[..., Any], tuple[Callable[[str], Any], ...]]

CATALOGUE: dict[str, Entry] = {
    "mean": ("mean.Mean", ()),
    "median": (lambda: _builder("quantile.Quantile")(0.5), ()),
    "quantile": ("quantile.Quantile", (float,)),
    "expectile": ("expectile.Expectile", (float,)),
    "huber": ("huber.Huber", (float,)),
    "lp_quantile": ("lp_quantile.LpQuantile", (float, float)),
    "entropic": ("entropic.Entropic", (float,)),
    "moment": ("moment.Moment", (int,)),
    "event": ("moment.EventProbability", (float, float)),
    "ratio": ("ratio.Ratio", (int, int)),
    "geometric_mean": ("geometric_mean.GeometricMean", ()),
}
PAIRS: dict[str, Entry] = {
    "mean_variance": ("pairs.MeanVariance", ()),
    "mean_std": ("pairs.MeanStd", ()),
    "mean_moment": ("pairs.MeanMoment", (int,)),
    "mean_mad": ("pairs.MeanMAD", ()),
    "quantile_cvar": ("pairs.QuantileCVaR", (float,)),
    "lower_quantile_cvar": ("pairs.LowerQuantileCVaR", (float,)),
    "quantile_spectral": ("pairs.QuantileSpectral", (float, float)),
    "expectile_variantile": ("pairs.ExpectileVariantile", (float,)),
    "quantile_iqr": ("pairs.QuantileIQR", (float, float)),
}
FUNCTIONALS: dict[str, Entry] = {
    "variance": ("dispersion.Variance", ()),
    "std": ("dispersion.Std", ()),
    "central_moment": ("dispersion.CentralMoment", (int,)),
    "skewness": ("dispersion.Skewness", ()),
    "mad": ("dispersion.MeanAbsoluteDeviation", ()),
    "cv": ("dispersion.CoefficientOfVariation", ()),
    "dispersion_index": ("dispersion.DispersionIndex", ()),
    "mean_variance_utility": ("dispersion.MeanVarianceUtility", (float,)),
    "iqr": ("order_spread.InterquartileRange", (float, float)),
    "interquartile_range": ("order_spread.InterquartileRange", (float, float)),
    "median_absolute_deviation": ("order_spread.MedianAbsoluteDeviation", ()),
    "range": ("order_spread.Range", ()),
    "kurtosis": ("dispersion.Kurtosis", ()),
    "trimmed_mean": ("tail_risk.trimmed_mean", (float,)),
    "gini": ("order_spread.GiniDeviation", ()),
    "variantile": ("order_spread.Variantile", (float,)),
    "mode": ("mode_entropy.Mode", ()),
    "entropy": ("mode_entropy.Entropy", ()),
    "cvar": ("tail_risk.CVaR", (float,)),
    "expected_shortfall": ("tail_risk.CVaR", (float,)),
    "es": ("tail_risk.CVaR", (float,)),
    "range_var": ("tail_risk.RangeVaR", (float, float)),
    "wang": ("named_distortions.Wang", (float,)),
    "proportional_hazard": ("named_distortions.ProportionalHazard", (float,)),
    "dual_power": ("named_distortions.DualPower", (float,)),
    "minvar": ("named_distortions.MinVar", (float,)),
    "exponential_spectral": ("named_distortions.ExponentialSpectral", (float,)),
    "quantile_mix": ("distortion.QuantileMix", (float, float)),
    "endpoint_mix": ("distortion.EndpointMix", (float,)),
}
# "var" is what statistics and risk management both call something: the variance, and with a level the value at risk.
EITHER: dict[str, Entry] = {"var": (lambda *tau: _builder("quantile.Quantile" if tau else "dispersion.Variance")(*tau), (float,))}
SEVERAL: dict[str, Entry] = {
    "quantiles": ("quantiles.Quantiles", (lambda text: [float(part) for part in text.split(",")],)),
    "classes": ("classes.Classes", (lambda text: [_builder("classes.read_class")(part.strip()) for part in text.split(",")],)),
}
ENTRIES = {**CATALOGUE, **PAIRS, **FUNCTIONALS, **EITHER, **SEVERAL}
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


def register(name: str, prop: Named) -> Named:
    """Give a property or a pair a name, so that it can be asked for by text and saved in a model.

    A model saved with a registered property stores its name and a few values of V; register the same property before loading it.

    Examples
    --------
    >>> from multivalid import Pair, Property, Quantile
    >>> third = register("lower third", Property.from_identification(lambda g, y: (y <= g) - 1 / 3))
    >>> parse("lower third") is third
    True
    >>> spread = register("median and spread", Pair.from_target(Quantile(0.5), lambda g, y: abs(y - g), range=(0, 1)))
    >>> parse_any("median and spread") is spread
    True
    """
    if not isinstance(name, str) or not name.strip() or name != name.strip() or ":" in name:
        raise InputError(f"name must be text without a colon, nor blanks around it, got {name!r}.")
    if name in ENTRIES or name == "bayes":
        raise InputError(f"{name!r} is a built-in property; choose another name.")
    from multivalid.properties.base import Property
    from multivalid.properties.pairs import Pair

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
    from multivalid.properties.base import Property

    made = parse_any(text)
    if isinstance(made, Property):
        return made
    from multivalid.properties.pairs import Pair
    from multivalid.properties.target import Target

    if isinstance(made, Pair):
        raise InputError(f"property {text!r} is a pair of functionals; one property with one value per row is needed here.")
    if isinstance(made, Target):
        columns = len(made.coordinates)
        raise InputError(f"property {text!r} has {columns} columns; one property with one value per row is needed here.")
    raise ScopeError(f"property {text!r} cannot be calibrated alone; multivalid.scope({text!r}) says why and names what works.")


def parse_pair(text: str | Parsed) -> Pair:
    """The pair that `text` names, one whose second coordinate is the mean of a pseudo-label, so that a regressor can learn it.

    Examples
    --------
    >>> parse_pair("quantile_cvar:0.95")
    QuantileCVaR(tau=0.95)
    """
    from multivalid.properties.pairs import Pair

    made = parse_any(text)
    if not isinstance(made, Pair) or not made.has_target:
        raise InputError(f"property must be a pair with a target, such as 'quantile_cvar:0.95', got {text!r}.")
    return made


def parse_any(text: str | Parsed) -> Parsed:
    """The property, pair or functional that `text` names: "quantile:0.9", "quantile_cvar:0.95", "bayes:quantile:0.9", "variance".

    Examples
    --------
    >>> parse_any("quantile_cvar:0.95")
    QuantileCVaR(tau=0.95)
    >>> parse_any("bayes:expectile:0.8")
    BayesPair(prop=Expectile(tau=0.8))
    """
    if not isinstance(text, str):
        from multivalid.properties.functional import Functional
        from multivalid.properties.target import Target

        if isinstance(text, (Target, Functional)):
            return text
        raise InputError(f"property must be a property or its name, got {text!r}.")
    if text in _USER:
        return _USER[text]
    name, *values = (part.strip() for part in text.split(":"))
    if name == "bayes" and values:
        made: Parsed = _builder("pairs.BayesPair")(parse(":".join(values)))
        return made
    # As people type them: VARIANCE, trimmed mean, Trimmed-Mean.
    known = name if name in ENTRIES else "_".join(name.lower().replace("-", " ").split())
    if known not in ENTRIES:
        import difflib

        near = difflib.get_close_matches(known, [*ENTRIES, *_USER], n=3, cutoff=0.0)
        raise InputError(f"property {text!r} is not known; did you mean {', '.join(map(repr, near[:-1]))} or {near[-1]!r}?")
    build, readers = ENTRIES[known]
    if not values and known in DEFAULTS:
        return _builder(build)()  # type: ignore[no-any-return]
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
    return _builder(build)(*parameters)  # type: ignore[no-any-return]


def _builder(build: str | Callable[..., Any]) -> Callable[..., Any]:
    """What builds a property; given as "module.name", its module is imported now."""
    if not isinstance(build, str):
        return build
    module, name = build.split(".")
    found: Callable[..., Any] = getattr(import_module(f"multivalid.properties.{module}"), name)
    return found


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
    from multivalid.properties.pairs import BayesPair

    if isinstance(prop, BayesPair) and (inner := spec_of(prop.prop)) is not None:
        return f"bayes:{inner}"
    return next((name for name, known in _USER.items() if known is prop or known == prop), None)
