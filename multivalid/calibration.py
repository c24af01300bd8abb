"""The fitted thing: predict on new rows, audit, save, load."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from multivalid import validate
from multivalid.atoms import frames, select
from multivalid.atoms.opening import lazy_rows
from multivalid.atoms.predict import predicting_levels
from multivalid.atoms.summary import PREDICTION, complete_predictions
from multivalid.audit.audit import Audit, audit_rows
from multivalid.audit.lazy import audit_lazy
from multivalid.batch.certificate import Certificate
from multivalid.batch.lazy import moves
from multivalid.batch.predictor import LevelPredictor, Predictor
from multivalid.errors import InputError, ModelFileError
from multivalid.grid import Grid
from multivalid.groups.family import FittedGroups
from multivalid.groups.remote import Frame, lazy_frame
from multivalid.joint import calibration as joint
from multivalid.practical.lazy import predicting_link
from multivalid.practical.predictor import LinkPredictor
from multivalid.properties import Property, parse, spec_of
from multivalid.storage import read_json, write_json

if TYPE_CHECKING:
    from pathlib import Path

_AFTER = "__mv_calibrated"
KIND, VERSION = "multivalid.calibration", 1


class Calibration:
    """Predictions made right on average for every group; the result of `multicalibrate`.

    Attributes
    ----------
    property, grid, groups : what was calibrated, on which levels, for whom
    patches : list of Patch
        The ordered moves (group, source level, target level).
    certificate : Certificate
        What is guaranteed.
    levels : array or None
        Level of each fitted row (None after loading).
    """

    def __init__(
        self,
        property: Property,
        groups: FittedGroups,
        predictor: Predictor,
        certificate: Certificate,
        levels: NDArray[np.intp] | None = None,
        rows: select.Rows | None = None,
    ) -> None:
        self.property, self.groups, self.certificate, self.levels = property, groups, certificate, levels
        self._rows = rows
        self.predictor = predictor

    @property
    def grid(self) -> Grid:
        """The levels that the guarantee conditions on."""
        return self.predictor.grid

    @property
    def patches(self) -> Sequence[tuple[Any, ...]]:
        """The ordered moves."""
        return self.predictor.patches

    def predict(self, y_pred: Any, *, data: Any = None, groups: Any = None, output: str | None = None) -> Any:
        """Calibrated predictions for new rows.

        Parameters
        ----------
        y_pred : array-like, or the name of a column of `data`
            The model's own predictions.
        data : data frame, optional
            Rows with the columns that the groups use; names decide, not positions.
        groups : boolean array or list of them, optional
            For groups that were fitted from boolean arrays: the same arrays for the new rows.
        output : str, optional
            Return the frame with the predictions as this column, instead of an array. A lazy frame stays lazy and always returns
            a frame, with the column "calibrated" unless another name is given.

        Examples
        --------
        >>> import multivalid as mv
        >>> fitted = mv.multicalibrate([0, 0, 1, 1], [0.5, 0.5, 0.5, 0.5], groups=[], mode="theorem", m=4)
        >>> fitted.predict([0.1, 0.9])
        array([0.125, 0.875])
        """
        lazy = lazy_frame(data)
        if lazy is not None:
            return self._predict_lazy(y_pred, lazy, output or "calibrated")
        frame = None if data is None else frames.eager(data)
        predictions = select.predictions_of(y_pred, frame, 1)
        membership = select.membership_of(self.groups, data=data, groups=groups, rows=predictions.shape[0])
        values = self.predictor.predict(predictions, membership)
        if output is None:
            return values
        if frame is None:
            raise InputError(f"output={output!r} needs data=, the frame to add the column to.")
        return frames.with_column(frame, output, values)

    def _predict_lazy(self, y_pred: Any, frame: Frame, output: str) -> Any:
        opened = complete_predictions(frame, y_pred)
        if isinstance(self.predictor, LinkPredictor):
            made = predicting_link(opened, self.groups, self.predictor, output)
        else:
            assert isinstance(self.predictor, LevelPredictor)
            targets = moves(self.predictor.patches, self.grid)
            made = predicting_levels(opened, self.groups, self.grid, self.predictor.patches, targets, output)
        return made.drop(PREDICTION).to_native()

    def audit(self, y_true: Any, y_pred: Any, *, data: Any = None, groups: Any = None, sample_weight: Any = None) -> Audit:
        """Audit the calibrated predictions on rows with known outcomes; `y_pred` are the model's own predictions.

        Examples
        --------
        >>> import multivalid as mv
        >>> fitted = mv.multicalibrate([0, 0, 1, 1], [0.5, 0.5, 0.5, 0.5], groups=[], mode="theorem", m=4)
        >>> fitted.audit([0, 1], [0.5, 0.5]).error
        0.015625
        """
        lazy = lazy_frame(data)
        if lazy is not None:
            after = lazy_frame(self._predict_lazy(y_pred, lazy, _AFTER))
            assert after is not None
            stays = lazy_rows(y_true, _AFTER, groups=self.groups, frame=after, sample_weight=sample_weight, prop=self.property)
            return audit_lazy(stays, self.property, self.grid, beyond=True)
        frame = None if data is None else frames.eager(data)
        calibrated = self.predict(y_pred, data=data, groups=groups)
        labels = validate.vector(select.resolve(y_true, frame, "y_true"), "y_true")
        validate.same_length(calibrated, labels.size, "y_pred", "y_true")
        weights = validate.weights(select.resolve(sample_weight, frame, "sample_weight"), labels.size)
        membership = select.membership_of(self.groups, data=data, groups=groups, rows=labels.size)
        rows = select.Rows(labels, calibrated, weights, self.groups, membership, frame)
        return audit_rows(rows, self.property, self.grid, beyond=True)

    def report(
        self,
        path: str | os.PathLike[str],
        y_true: Any = None,
        y_pred: Any = None,
        *,
        data: Any = None,
        groups: Any = None,
        sample_weight: Any = None,
        title: str | None = None,
    ) -> Path:
        """Write a page that compares the model's own predictions with the calibrated ones, and its numbers beside it as JSON.

        Parameters
        ----------
        path : path
            Ends in .html (page and JSON) or in .json (JSON only).
        y_true, y_pred, data, groups, sample_weight
            Rows to compare on, as for `audit`. Without them: the rows held out at the fit, or those fitted when none were; a
            model that was loaded has neither, and its report tells the certificate only.

        Examples
        --------
        >>> import multivalid as mv, tempfile, pathlib
        >>> fitted = mv.multicalibrate([0, 0, 1, 1], [0.5, 0.5, 0.5, 0.5], groups=[], mode="theorem", m=4)
        >>> fitted.report(pathlib.Path(tempfile.mkdtemp()) / "report.html", [0, 1], [0.4, 0.6]).name
        'report.html'
        """
        from multivalid.report.page import write
        from multivalid.report.sources import Story

        settings = {"mode": self.certificate.mode, "levels of the model": len(self.grid), "patches": len(self.patches)}
        lazy = lazy_frame(data)
        if lazy is not None:
            stays = lazy_rows(y_true, y_pred, groups=self.groups, frame=lazy, sample_weight=sample_weight, prop=self.property)
            after = self.audit(y_true, y_pred, data=data, sample_weight=sample_weight)
            before = audit_lazy(stays, self.property)
            return after.report(path, before=before, certificate=self.certificate, title=title, settings=settings)
        rows = self._rows
        if y_true is not None:
            frame = None if data is None else frames.eager(data)
            labels = validate.vector(select.resolve(y_true, frame, "y_true"), "y_true")
            predictions = select.predictions_of(y_pred, frame, 1)
            validate.same_length(predictions, labels.size, "y_pred", "y_true")
            weights = validate.weights(select.resolve(sample_weight, frame, "sample_weight"), labels.size)
            membership = select.membership_of(self.groups, data=data, groups=groups, rows=labels.size)
            rows = select.Rows(labels, predictions, weights, self.groups, membership, frame)
        if rows is None:
            heading = title or "A calibration and what it guarantees"
            return write(Story(self.property, heading, {}, self.certificate, self.groups.notes, settings), path)
        calibrated = replace(rows, predictions=self.predictor.predict(rows.predictions, rows.membership))
        before, after = audit_rows(rows, self.property), audit_rows(calibrated, self.property)
        return after.report(path, before=before, certificate=self.certificate, title=title, settings=settings)

    def plot_potential(self, *, ax: Any = None) -> Any:
        """The mean score after each update, on a matplotlib axis; returns the axis."""
        from multivalid.report import plots

        return plots.potential(self.certificate.potential, ax=ax)

    def __getstate__(self) -> dict[str, Any]:
        """Pickled without the rows it was judged on."""
        return {**self.__dict__, "_rows": None}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as one JSON file, whole or not at all; `multivalid.load` reads it back.

        Examples
        --------
        >>> import multivalid as mv, tempfile, pathlib
        >>> fitted = mv.multicalibrate([0, 0, 1, 1], [0.5, 0.5, 0.5, 0.5], groups=[], mode="theorem", m=4)
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.json"
        >>> fitted.save(path)
        >>> mv.load(path).predict([0.1])
        array([0.125])
        """
        write_json(path, self.to_json())

    def to_json(self) -> dict[str, Any]:
        """The model as plain data."""
        spec = spec_of(self.property)
        if spec is None:
            raise InputError(
                f"{self.property!r} is built from a function, which a model file cannot hold; give it a name first with "
                f"multivalid.register('my property', prop), then save, and register it again before loading."
            )
        return {
            "kind": KIND,
            "version": VERSION,
            "property": spec,
            "groups": self.groups.to_json(),
            "predictor": self.predictor.to_json(),
            "certificate": self.certificate.to_json(),
        }

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Calibration:
        """The model that `to_json` described, every part checked."""
        fields = {"kind", "version", "property", "groups", "predictor", "certificate"}
        if set(content) != fields:
            raise ModelFileError(f"the model has fields {sorted(set(content) ^ fields)} too many or too few.")
        if content["version"] != VERSION or isinstance(content["version"], bool):
            raise ModelFileError(f"the model has version {content['version']!r}; this release reads version {VERSION}.")
        if not isinstance(content["property"], str):
            raise ModelFileError(f"property must be text, got {content['property']!r}.")
        try:
            prop = parse(content["property"])
        except InputError as error:
            raise ModelFileError(f"property: {error} A user's own property must be registered before loading.") from None
        groups = FittedGroups.from_json(content["groups"])
        if not isinstance(content["certificate"], dict):
            raise ModelFileError("certificate must be an object.")
        return cls(
            prop, groups, predictor_from_json(content["predictor"], len(groups)), Certificate.from_json(content["certificate"])
        )

    def __repr__(self) -> str:
        groups = len(self.groups)
        return f"<Calibration of {self.property!r} for {groups} groups: {self.certificate.status}, {len(self.patches)} patches>"


def predictor_from_json(data: Any, groups: int) -> Predictor:
    """The predictor that a model file describes."""
    kinds: dict[str, Callable[[dict[str, Any], int], Predictor]] = {
        "levels": LevelPredictor.from_json,
        "link": LinkPredictor.from_json,
    }
    if not isinstance(data, dict) or not isinstance(data.get("kind"), str) or data["kind"] not in kinds:
        raise ModelFileError(f"predictor must be an object of kind {' or '.join(kinds)}.")
    return kinds[data["kind"]](data, groups)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote; a damaged, edited or foreign file is refused with the reason.

    Examples
    --------
    >>> load("no such file")
    Traceback (most recent call last):
    multivalid.errors.ModelFileError: cannot read no such file: No such file or directory.
    """
    content = read_json(path)
    if content.get("kind") == joint.KIND:
        return joint.JointCalibration.from_json(content)
    if content.get("kind") != KIND:
        raise ModelFileError(f"{path} holds a {content.get('kind')!r}, not a {KIND!r}.")
    return Calibration.from_json(content)
