"""The fitted pair: predict both coordinates on new rows, audit, save."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from multivalid.atoms import frames, select
from multivalid.audit.audit import audit_source as audit_pair_rows
from multivalid.audit.pair import PairAudit
from multivalid.errors import InputError, ModelFileError
from multivalid.grid import Grid
from multivalid.groups.family import FittedGroups
from multivalid.groups.remote import gather, lazy_frame
from multivalid.joint.certificate import JointCertificate
from multivalid.joint.link_predictor import PairLinkPredictor
from multivalid.joint.predictor import PairLevelPredictor, PairPredictor
from multivalid.model_file import described, parts, predictor_of
from multivalid.properties import Pair
from multivalid.properties.pairs.base import SecondCoordinate
from multivalid.storage import write_json

if TYPE_CHECKING:
    from pathlib import Path

KIND = "multivalid.joint_calibration"
PREDICTORS: dict[str, Callable[[dict[str, Any], int], PairPredictor]] = {
    "pair levels": PairLevelPredictor.from_json,
    "pair link": PairLinkPredictor.from_json,
}


class JointCalibration:
    """Two predictions made right together for every group; the result of `multicalibrate` with a pair.

    Attributes
    ----------
    property, groups : the pair, and for whom
    grids : (Grid, Grid)
        The levels of both coordinates that the guarantee conditions on.
    patches : list
        The ordered moves.
    certificate : JointCertificate
        What is guaranteed.
    levels : array (rows, 2) or None
        Levels of each fitted row (None after loading).
    """

    def __init__(
        self,
        property: Pair,
        groups: FittedGroups,
        predictor: PairPredictor,
        certificate: JointCertificate,
        levels: NDArray[np.intp] | None = None,
        rows: select.Rows | None = None,
    ) -> None:
        self.property, self.groups, self.certificate, self.levels = property, groups, certificate, levels
        self._rows = rows
        self.predictor = predictor

    @property
    def grids(self) -> tuple[Grid, Grid]:
        """The levels of both coordinates."""
        return self.predictor.grids

    @property
    def grid(self) -> tuple[Grid, Grid]:
        """The same as `grids`, under the name that every calibration has."""
        return self.predictor.grids

    @property
    def patches(self) -> Sequence[tuple[Any, ...]]:
        """The ordered moves."""
        return self.predictor.patches

    def predict(self, y_pred: Any, *, data: Any = None, groups: Any = None, output: tuple[str, str] | None = None) -> Any:
        """Calibrated predictions for new rows: an array (rows, 2).

        Parameters
        ----------
        y_pred : array (rows, 2), or two arrays or names of columns of `data`
            The model's own predictions of both coordinates.
        data : data frame, optional
            Rows with the columns that the groups use.
        groups : boolean array or list of them, optional
            For groups that were fitted from boolean arrays: the same arrays for the new rows.
        output : (str, str), optional
            Return the frame with the predictions as these two columns, instead of an array.

        Examples
        --------
        >>> import multivalid as mv
        >>> y, said = [0.0, 1.0, 0.0, 1.0], [[0.5, 0.9]] * 4
        >>> fitted = mv.multicalibrate(y, said, groups=[], property="mean_variance", mode="theorem", m=20)
        >>> fitted.predict([[0.5, 0.9]])
        array([[0.475, 0.275]])
        """
        frame = None if data is None else frames.eager(data)
        predictions = select.predictions_of(y_pred, frame, 2)
        membership = select.membership_of(self.groups, data=data, groups=groups, rows=predictions.shape[0])
        values = self.predictor.predict(predictions, membership)
        if output is None:
            return values
        if frame is None:
            raise InputError(f"output={output!r} needs data=, the frame to add the columns to.")
        if isinstance(output, str) or len(output) != 2:
            raise InputError(f"output must be two column names, one per coordinate, got {output!r}.")
        native = frame.to_native()
        for name, column in zip(output, values.T, strict=True):
            native = frames.with_column(frames.eager(native), name, column)
        return native

    def audit(self, y_true: Any, y_pred: Any, *, data: Any = None, groups: Any = None, sample_weight: Any = None) -> PairAudit:
        """Audit the calibrated predictions on rows with known outcomes; `y_pred` are the model's own predictions.

        Calibrated predictions outside the range of the fitted levels count at the outermost level.

        Examples
        --------
        >>> import multivalid as mv
        >>> y, said = [0.0, 1.0, 0.0, 1.0], [[0.5, 0.9]] * 4
        >>> fitted = mv.multicalibrate(y, said, groups=[], property="mean_variance", mode="theorem", m=20)
        >>> [round(error, 6) for error in fitted.audit(y, said).errors]
        [0.000625, 0.000625]
        """
        lazy = lazy_frame(data)
        data = data if lazy is None else gather(lazy, "pairs are audited")
        rows = select.rows_for(self.groups, y_true, y_pred, data=data, groups=groups, sample_weight=sample_weight, width=2)
        calibrated = self.predictor.predict(rows.predictions, rows.membership)
        grids = tuple(_widened(g, calibrated[:, k]) for k, g in enumerate(self.grids))
        return audit_pair_rows(replace(rows, predictions=calibrated), self.property, grids)

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
        """Write a page that compares the model's own pairs of predictions with the calibrated ones, and its numbers as JSON.

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
        >>> y, said = [0.0, 1.0, 0.0, 1.0], [[0.5, 0.9]] * 4
        >>> fitted = mv.multicalibrate(y, said, groups=[], property="mean_variance", mode="theorem", m=20)
        >>> fitted.report(pathlib.Path(tempfile.mkdtemp()) / "pair.html").name
        'pair.html'
        """
        from multivalid.report.page import write
        from multivalid.report.sources import Chapter, Story

        lazy = lazy_frame(data)
        data = data if lazy is None else gather(lazy, "pairs are reported on")
        rows = (
            self._rows
            if y_true is None
            else select.rows_for(self.groups, y_true, y_pred, data=data, groups=groups, sample_weight=sample_weight, width=2)
        )
        settings = {
            "mode": self.certificate.mode,
            "levels of the model": [len(g) for g in self.grids],
            "patches": len(self.patches),
        }
        if rows is None:
            heading = title or "A calibration and what it guarantees"
            empty = [Chapter(self.property.first, {}, "first"), Chapter(SecondCoordinate(self.property), {}, "second")]
            return write(Story(self.property, heading, empty, self.certificate, self.groups.notes, settings), path)
        calibrated = replace(rows, predictions=self.predictor.predict(rows.predictions, rows.membership))
        before, after = audit_pair_rows(rows, self.property), audit_pair_rows(calibrated, self.property)
        return after.report(path, before=before, certificate=self.certificate, title=title, settings=settings)

    def plot_potential(self, *, ax: Any = None) -> Any:
        """The mean score of the first coordinate after each update, on a matplotlib axis; returns the axis."""
        from multivalid.report import plots

        return plots.potential(self.certificate.potential, ax=ax)

    def __getstate__(self) -> dict[str, Any]:
        """Pickled without the rows it was judged on."""
        return {**self.__dict__, "_rows": None}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as one JSON file, whole or not at all; `multivalid.load` reads it back."""
        write_json(path, self.to_json())

    def to_json(self) -> dict[str, Any]:
        """The model as plain data."""
        return described(KIND, self.property, self.groups, self.predictor, self.certificate)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> JointCalibration:
        """The model that `to_json` described, every part checked."""
        found = parts(content, KIND)
        if not isinstance(found.property, Pair):
            raise ModelFileError(f"property must be a pair, got {content['property']!r}.")
        predictor = predictor_of(found.predictor, len(found.groups), PREDICTORS)
        return cls(found.property, found.groups, predictor, JointCertificate.from_json(found.certificate))

    def __repr__(self) -> str:
        groups = len(self.groups)
        return (
            f"<JointCalibration of {self.property!r} for {groups} groups: {self.certificate.status}, {len(self.patches)} patches>"
        )


def _widened(grid: Grid, values: NDArray[np.float64]) -> Grid:
    return Grid(grid.points, lo=min(grid.lo, float(values.min())), hi=max(grid.hi, float(values.max())))
