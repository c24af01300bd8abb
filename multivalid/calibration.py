"""The fitted thing: predict on new rows, audit, save, load."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from multivalid.atoms import frames, select
from multivalid.atoms.opening import lazy_rows
from multivalid.atoms.predict import predicting_levels
from multivalid.atoms.summary import PREDICTION, complete_predictions
from multivalid.audit.audit import Audit
from multivalid.audit.audit import audit_source as audit_rows
from multivalid.audit.lazy import audit_lazy
from multivalid.batch.certificate import Certificate
from multivalid.batch.lazy import moves
from multivalid.batch.predictor import LevelPredictor, Predictor
from multivalid.errors import InputError, ModelFileError
from multivalid.grid import Grid
from multivalid.groups.family import FittedGroups
from multivalid.groups.remote import Frame, lazy_frame
from multivalid.model_file import described, parts, predictor_of
from multivalid.practical.lazy import predicting_link
from multivalid.practical.predictor import LinkPredictor
from multivalid.properties import Property
from multivalid.storage import write_json

if TYPE_CHECKING:
    from pathlib import Path

_AFTER = "__mv_calibrated"
KIND = "multivalid.calibration"
PREDICTORS: dict[str, Callable[[dict[str, Any], int], Predictor]] = {
    "levels": LevelPredictor.from_json,
    "link": LinkPredictor.from_json,
}


class Calibration:
    """Predictions made right on average for every group; the result of `multicalibrate`.

    Attributes
    ----------
    property, grid, groups : what was calibrated, on which levels, for whom
    patches : list
        The ordered moves: `Patch` (group, source level, target level), or in practical mode `Shift` (round, group, level, amount).
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
        rows = select.rows_for(self.groups, y_true, y_pred, data=data, groups=groups, sample_weight=sample_weight)
        return audit_rows(self._calibrated(rows), self.property, self.grid, beyond=True)

    def _calibrated(self, rows: select.Rows) -> select.Rows:
        """The same rows with the calibrated predictions in place of the model's own."""
        return replace(rows, predictions=self.predictor.predict(rows.predictions, rows.membership))

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
        from multivalid.report.sources import Chapter, Story

        settings = {"mode": self.certificate.mode, "levels of the model": len(self.grid), "patches": len(self.patches)}
        lazy = lazy_frame(data)
        if lazy is not None:
            stays = lazy_rows(y_true, y_pred, groups=self.groups, frame=lazy, sample_weight=sample_weight, prop=self.property)
            after = self.audit(y_true, y_pred, data=data, sample_weight=sample_weight)
            before = audit_lazy(stays, self.property)
            return after.report(path, before=before, certificate=self.certificate, title=title, settings=settings)
        rows = self._rows
        if y_true is not None:
            rows = select.rows_for(self.groups, y_true, y_pred, data=data, groups=groups, sample_weight=sample_weight)
        if rows is None:
            heading = title or "A calibration and what it guarantees"
            told = [Chapter(self.property, {})]
            return write(Story(self.property, heading, told, self.certificate, self.groups.notes, settings), path)
        before, after = audit_rows(rows, self.property), audit_rows(self._calibrated(rows), self.property)
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
        return described(KIND, self.property, self.groups, self.predictor, self.certificate)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Calibration:
        """The model that `to_json` described, every part checked."""
        found = parts(content, KIND)
        if not isinstance(found.property, Property):
            raise ModelFileError(f"property must be one that is calibrated alone, got {content['property']!r}.")
        predictor = predictor_of(found.predictor, len(found.groups), PREDICTORS)
        return cls(found.property, found.groups, predictor, Certificate.from_json(found.certificate))

    def __repr__(self) -> str:
        groups = len(self.groups)
        return f"<Calibration of {self.property!r} for {groups} groups: {self.certificate.status}, {len(self.patches)} patches>"
