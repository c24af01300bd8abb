"""New rows for a calibration: opened for the groups it was fitted with, and with its predictions in place of the model's own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from multivalid.atoms.names import PREDICTION
from multivalid.groups.remote import gather, lazy_frame
from multivalid.sources.engine_columns import EngineColumns
from multivalid.sources.given import Given
from multivalid.sources.memory import MemorySource
from multivalid.sources.open import Source, open_source
from multivalid.sources.unseen import noting_unseen

if TYPE_CHECKING:
    from multivalid.calibration import Calibration


def given_rows(
    model: Calibration[Any, Any], y_true: Any, y_pred: Any, data: Any, sample_weight: Any, others: dict[str, Any]
) -> Given:
    """What was handed over, for the groups of the model; what was noted of the rows fitted on says nothing of these."""
    return Given(y_true, y_pred, replace(model.groups, notes=[]), data, sample_weight, others)


def open_rows(model: Calibration[Any, Any], given: Given) -> Source:
    """The rows, wherever they live, with a note where the model has not seen such predictions."""
    frame = lazy_frame(given.data) if len(model.property.coordinates) > 1 else None
    data = given.data if frame is None else gather(frame, "several columns are predicted")
    source = open_source(
        given.y_true, given.y_pred, groups=given.groups, target=model.property, data=data, sample_weight=given.sample_weight,
        arrays=given.others.get("groups"), cluster=given.others.get("cluster"),
    )  # fmt: skip
    assert not isinstance(source, EngineColumns)  # they were fetched
    return source if model.seen is None else noting_unseen(source, model.seen)


def calibrate_rows(model: Calibration[Any, Any], source: Source) -> Source:
    """The same rows with the calibrated predictions in place of the model's own."""
    if isinstance(source, MemorySource):
        return source.with_predictions(model._predicted(source.predictions, source.membership, source.own_frame))
    return source.with_predictions(model._on_frame(source.frame, PREDICTION))
