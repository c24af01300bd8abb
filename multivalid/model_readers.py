"""Who reads which kind of model file: of a single property, of a pair, of several columns; each is imported with its first file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from multivalid.batch.certificate import Certificate
from multivalid.batch.predictor import LevelPredictor, Predictor, Reader
from multivalid.practical.predictor import LinkPredictor
from multivalid.properties.target import Kind, Target


class Readers(NamedTuple):
    """How the parts of a model of one target are read."""

    predictors: Mapping[str, Reader[Predictor]]
    certificate: Callable[..., Any]


def _single(target: Target) -> Readers:
    return Readers({"levels": LevelPredictor.from_json, "link": LinkPredictor.from_json}, Certificate.from_json)


def _pair(target: Target) -> Readers:
    from multivalid.joint.certificate import JointCertificate
    from multivalid.joint.link_predictor import PairLinkPredictor
    from multivalid.joint.predictor import PairLevelPredictor

    predictors: dict[str, Reader[Predictor]] = {
        "pair levels": PairLevelPredictor.from_json,
        "pair link": PairLinkPredictor.from_json,
    }
    return Readers(predictors, JointCertificate.from_json)


def _several(target: Target) -> Readers:
    from multivalid.several.certificate import SeveralCertificate
    from multivalid.several.predictor import ColumnsPredictor

    columns = partial(ColumnsPredictor.from_json, target=target)
    return Readers({"columns": columns}, partial(SeveralCertificate.from_json, keys=target.keys))


# For each kind of file: of which kind its target must be, in words, and who reads it.
KINDS: dict[str, tuple[Kind, str, Callable[[Target], Readers]]] = {
    "multivalid.calibration": ("single", "one that is calibrated alone", _single),
    "multivalid.joint_calibration": ("pair", "a pair", _pair),
    "multivalid.several_calibration": ("several", "one of several columns", _several),
}
