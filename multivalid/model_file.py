"""What every saved calibration holds, of whatever target: the same fields, written and checked in one place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from multivalid.batch.predictor import Predictor, predictor_of
from multivalid.errors import InputError, ModelFileError
from multivalid.groups.family import FittedGroups
from multivalid.json_checks import shown
from multivalid.model_readers import KINDS, Readers
from multivalid.properties.meaning import meaning, same_meaning
from multivalid.properties.parse import is_registered, parse_any, spec_of
from multivalid.properties.target import Target
from multivalid.storage import is_number

VERSION = 3  # 2: the practical model has twists; 3: certificates say what a constant prediction would reach
READABLE = (2, 3)
FIELDS = {"kind", "version", "property", "groups", "predictor", "certificate"}
OPTIONAL = {"range", "meaning"}  # files of earlier versions have neither
Ends = tuple[tuple[float, float], ...]  # least and largest prediction fitted on, of every column


class Writable(Protocol):
    """A part of a model that can be written as plain data."""

    def to_json(self) -> dict[str, Any]:
        """The part as plain data."""


class Model(NamedTuple):
    """What a model file holds."""

    property: Target
    groups: FittedGroups
    predictor: Predictor
    certificate: Any
    seen: Ends | None


def describe(
    kind: str, property: Target, groups: FittedGroups, predictor: Writable, certificate: Writable, seen: Ends | None = None
) -> dict[str, Any]:
    """A fitted model as plain data."""
    spec = spec_of(property)
    if spec is None:
        raise InputError(property.why_no_spec)
    optional: dict[str, Any] = {} if seen is None else {"range": [list(ends) for ends in seen]}
    if is_registered(spec):
        optional["meaning"] = meaning(property)  # a name may be given to something else before the file is read
    return optional | {
        "kind": kind,
        "version": VERSION,
        "property": spec,
        "groups": groups.to_json(),
        "predictor": predictor.to_json(),
        "certificate": certificate.to_json(),
    }


def read_model(content: Mapping[str, Any], kind: str) -> Model:
    """The model that `described` wrote; anything else is a `ModelFileError` with the reason."""
    if set(content) - OPTIONAL != FIELDS:
        raise ModelFileError(f"the model has fields {sorted((set(content) - OPTIONAL) ^ FIELDS)} too many or too few.")
    if content["kind"] != kind:
        raise ModelFileError(f"the model is a {content['kind']!r}, not a {kind!r}.")
    version = content["version"]
    if isinstance(version, bool) or not isinstance(version, int) or version not in READABLE:
        known = " and ".join(map(str, READABLE))
        raise ModelFileError(f"the model has version {shown(version)}; this release reads versions {known}.")
    if not isinstance(content["certificate"], dict):
        raise ModelFileError("certificate must be an object.")
    groups = FittedGroups.from_json(content["groups"])
    target, readers = _read_target(content, kind)
    predictor = predictor_of(content["predictor"], len(groups), readers.predictors)
    certificate = readers.certificate(content["certificate"], complete=version == VERSION)
    return Model(target, groups, predictor, certificate, _read_range(content.get("range"), target))


def _read_target(content: Mapping[str, Any], kind: str) -> tuple[Target, Readers]:
    """What the model is of, and who reads the rest; a registered name must mean what it did when the model was saved."""
    name = content["property"]
    if not isinstance(name, str):
        raise ModelFileError(f"property must be text, got {shown(name)}.")
    try:
        target = parse_any(name)
    except InputError as error:
        raise ModelFileError(f"property: {error} A property or pair of your own must be registered before loading.") from None
    wanted, what, readers = KINDS[kind]
    if not isinstance(target, Target) or target.kind != wanted:
        raise ModelFileError(f"property must be {what}, got {name!r}.")
    if "meaning" in content:
        _check_meaning(name, target, content["meaning"])
    return target, readers(target)


def _check_meaning(name: str, target: Target, saved: Any) -> None:
    if not isinstance(saved, list) or not all(value is None or is_number(value) for value in saved):
        raise ModelFileError("meaning must be a list of numbers, of a property or pair.")
    if not same_meaning(saved, meaning(target)):
        raise ModelFileError(
            f"property: {name!r} is registered as something else than when the model was saved (its V has other values); register the "
            f"property that the model was fitted with before loading."
        )


def _read_range(value: Any, target: Target) -> Ends | None:
    """The range of the predictions fitted on, where the file has it."""
    if value is None:
        return None
    columns = len(target.coordinates)
    ends = [tuple(one) for one in value if isinstance(one, list)] if isinstance(value, list) else []
    sound = all(len(one) == 2 and all(is_number(end) for end in one) for one in ends)
    if len(ends) != columns or not sound or any(low > high for low, high in ends):
        raise ModelFileError(f"range must be {columns} pairs of numbers, got {shown(value)}.")
    return tuple((float(low), float(high)) for low, high in ends)
