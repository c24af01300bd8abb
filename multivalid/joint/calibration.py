"""The fitted pair: predict both coordinates on new rows, audit, save."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid import validate
from multivalid.atoms import frames, select
from multivalid.audit.pair import PairAudit, audit_pair_rows
from multivalid.errors import InputError, ModelFileError
from multivalid.grid import Grid
from multivalid.groups.family import FittedGroups
from multivalid.groups.remote import gather, lazy_frame
from multivalid.joint.certificate import JointCertificate
from multivalid.joint.predictor import PairPredictor, pair_predictor_from_json
from multivalid.properties import Pair, parse_any, spec_of
from multivalid.storage import write_json

KIND, VERSION = "multivalid.joint_calibration", 1


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
    ) -> None:
        self.property, self.groups, self.certificate, self.levels = property, groups, certificate, levels
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

        Levels that the rows do not reach are widened to: predictions outside the fitted range count at the outermost level.
        """
        lazy = lazy_frame(data)
        data = data if lazy is None else gather(lazy, "pairs are audited")
        frame = None if data is None else frames.eager(data)
        calibrated = self.predict(y_pred, data=data, groups=groups)
        labels = validate.vector(select.resolve(y_true, frame, "y_true"), "y_true")
        validate.same_length(calibrated, labels.size, "y_pred", "y_true")
        weights = validate.weights(select.resolve(sample_weight, frame, "sample_weight"), labels.size)
        membership = select.membership_of(self.groups, data=data, groups=groups, rows=labels.size)
        rows = select.Rows(labels, calibrated, weights, self.groups, membership, frame)
        return audit_pair_rows(rows, self.property, tuple(_widened(g, calibrated[:, k]) for k, g in enumerate(self.grids)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as one JSON file, whole or not at all; `multivalid.load` reads it back."""
        write_json(path, self.to_json())

    def to_json(self) -> dict[str, Any]:
        """The model as plain data."""
        spec = spec_of(self.property)
        if spec is None:
            raise InputError(f"{self.property!r} is built from a function, which a model file cannot hold.")
        return {
            "kind": KIND,
            "version": VERSION,
            "property": spec,
            "groups": self.groups.to_json(),
            "predictor": self.predictor.to_json(),
            "certificate": self.certificate.to_json(),
        }

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> JointCalibration:
        """The model that `to_json` described, every part checked."""
        fields = {"kind", "version", "property", "groups", "predictor", "certificate"}
        if set(content) != fields:
            raise ModelFileError(f"the model has fields {sorted(set(content) ^ fields)} too many or too few.")
        if content["version"] != VERSION or isinstance(content["version"], bool):
            raise ModelFileError(f"the model has version {content['version']!r}; this release reads version {VERSION}.")
        if not isinstance(content["certificate"], dict):
            raise ModelFileError("certificate must be an object.")
        groups = FittedGroups.from_json(content["groups"])
        predictor = pair_predictor_from_json(content["predictor"], len(groups))
        return cls(_pair(content["property"]), groups, predictor, JointCertificate.from_json(content["certificate"]))

    def __repr__(self) -> str:
        groups = len(self.groups)
        return (
            f"<JointCalibration of {self.property!r} for {groups} groups: {self.certificate.status}, {len(self.patches)} patches>"
        )


def _pair(spec: Any) -> Pair:
    if not isinstance(spec, str):
        raise ModelFileError(f"property must be text, got {spec!r}.")
    try:
        pair = parse_any(spec)
    except InputError as error:
        raise ModelFileError(f"property: {error}") from None
    if not isinstance(pair, Pair):
        raise ModelFileError(f"property must be a pair, got {spec!r}.")
    return pair


def _widened(grid: Grid, values: NDArray[np.float64]) -> Grid:
    return Grid(grid.points, lo=min(grid.lo, float(values.min())), hi=max(grid.hi, float(values.max())))
