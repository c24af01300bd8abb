"""What every saved calibration holds, of a property or of a pair: the same fields, written and checked in one place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from multivalid.errors import InputError, ModelFileError
from multivalid.groups.family import FittedGroups
from multivalid.json_checks import shown
from multivalid.properties.meaning import meaning, same_meaning
from multivalid.properties.parse import is_registered, parse_any, spec_of
from multivalid.properties.target import Target
from multivalid.storage import is_number

if TYPE_CHECKING:
    from multivalid.properties.parse import Parsed

VERSION = 3  # 2: the practical model has twists; 3: certificates say what a constant prediction would reach
READABLE = (2, 3)
FIELDS = {"kind", "version", "property", "groups", "predictor", "certificate"}
OPTIONAL = {"range", "meaning"}  # files of earlier versions have neither
Ends = tuple[tuple[float, float], ...]  # least and largest prediction fitted on, of every column
P_co = TypeVar("P_co", covariant=True)
Reader = Callable[[dict[str, Any], int], P_co]  # plain data and the number of groups → a predictor


class Writable(Protocol):
    """A part of a model that can be written as plain data."""

    def to_json(self) -> dict[str, Any]:
        """The part as plain data."""


class Parts(NamedTuple):
    """A model file taken apart: property and groups read, predictor and certificate still plain data."""

    property: Parsed
    groups: FittedGroups
    predictor: Any
    certificate: dict[str, Any]
    complete: bool  # whether the file is of this version, so that no field may be missing
    range: Any = None  # of the predictions fitted on, for `seen_in`


def described(
    kind: str, property: Parsed, groups: FittedGroups, predictor: Writable, certificate: Writable, seen: Ends | None = None
) -> dict[str, Any]:
    """A fitted model as plain data."""
    spec = spec_of(property)
    if spec is None:
        from multivalid.properties.pairs import Pair

        word, name = ("pair", "pair") if isinstance(property, Pair) else ("property", "prop")
        raise InputError(
            f"{property!r} is built from a function, which a model file cannot hold; give it a name first with "
            f"multivalid.register('my {word}', {name}), then save, and register it again before loading."
        )
    optional: dict[str, Any] = {} if seen is None else {"range": [list(ends) for ends in seen]}
    if isinstance(property, Target) and is_registered(spec):
        optional["meaning"] = meaning(property)  # a name may be given to something else before the file is read
    return optional | {
        "kind": kind,
        "version": VERSION,
        "property": spec,
        "groups": groups.to_json(),
        "predictor": predictor.to_json(),
        "certificate": certificate.to_json(),
    }


def parts(content: Mapping[str, Any], kind: str) -> Parts:
    """The parts of what `described` wrote; anything else is a `ModelFileError` with the reason."""
    if set(content) - OPTIONAL != FIELDS:
        raise ModelFileError(f"the model has fields {sorted((set(content) - OPTIONAL) ^ FIELDS)} too many or too few.")
    if content["kind"] != kind:
        raise ModelFileError(f"the model is a {content['kind']!r}, not a {kind!r}.")
    version = content["version"]
    if isinstance(version, bool) or not isinstance(version, int) or version not in READABLE:
        known = " and ".join(map(str, READABLE))
        raise ModelFileError(f"the model has version {shown(version)}; this release reads versions {known}.")
    if not isinstance(content["property"], str):
        raise ModelFileError(f"property must be text, got {shown(content['property'])}.")
    if not isinstance(content["certificate"], dict):
        raise ModelFileError("certificate must be an object.")
    try:
        prop = parse_any(content["property"])
    except InputError as error:
        raise ModelFileError(f"property: {error} A property or pair of your own must be registered before loading.") from None
    if "meaning" in content:
        _check_meaning(content["property"], prop, content["meaning"])
    groups = FittedGroups.from_json(content["groups"])
    return Parts(prop, groups, content["predictor"], content["certificate"], version == VERSION, content.get("range"))


def _check_meaning(name: str, property: Parsed, saved: Any) -> None:
    """Refuse a registered name that means something else than when the model was saved."""
    numbers = isinstance(saved, list) and all(value is None or is_number(value) for value in saved)
    if not numbers or not isinstance(property, Target):
        raise ModelFileError("meaning must be a list of numbers, of a property or pair.")
    if not same_meaning(saved, meaning(property)):
        raise ModelFileError(
            f"property: {name!r} is registered as something else than when the model was saved (its V has other values); register the "
            f"property that the model was fitted with before loading."
        )


def seen_in(value: Any, property: Parsed) -> Ends | None:
    """The range of the predictions fitted on, where the file has it."""
    if value is None:
        return None
    columns = len(property.coordinates) if isinstance(property, Target) else 1
    ends = [tuple(one) for one in value if isinstance(one, list)] if isinstance(value, list) else []
    sound = all(len(one) == 2 and all(is_number(end) for end in one) for one in ends)
    if len(ends) != columns or not sound or any(low > high for low, high in ends):
        raise ModelFileError(f"range must be {columns} pairs of numbers, got {shown(value)}.")
    return tuple((float(low), float(high)) for low, high in ends)


def predictor_of(data: Any, groups: int, kinds: Mapping[str, Reader[P_co]]) -> P_co:
    """The predictor that a model file describes, by the reader of its kind."""
    if not isinstance(data, dict) or not isinstance(data.get("kind"), str) or data["kind"] not in kinds:
        raise ModelFileError(f"predictor must be an object of kind {' or '.join(kinds)}.")
    return kinds[data["kind"]](data, groups)
