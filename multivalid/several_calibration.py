"""The fitted thing for several columns: everything is as in `Calibration`, and predictions always keep the constraint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from multivalid.atoms.handing_back import as_lazy
from multivalid.calibration import Calibration
from multivalid.errors import InputError, ModelFileError
from multivalid.grid import Grid
from multivalid.groups.remote import Frame, gather
from multivalid.model_file import parts, seen_in
from multivalid.properties.target import Target
from multivalid.several.certificate import SeveralCertificate
from multivalid.several.predictor import ColumnsPredictor


class SeveralCalibration(Calibration[Target, SeveralCertificate]):
    """Several columns made right for every group; the result of `multicalibrate` with `Quantiles` or `Classes`.

    Everything is as in `Calibration`, with as many columns of predictions as the target has: `predict` returns an array (rows, columns)
    in which quantiles never cross and probabilities sum to one.

    Examples
    --------
    >>> import numpy as np, multivalid as mv
    >>> rng = np.random.default_rng(0)
    >>> side = rng.random(3000) < 0.4
    >>> kind = np.where(rng.random(3000) < np.where(side, 0.2, 0.6), "cat", np.where(rng.random(3000) < 0.5, "dog", "eel"))
    >>> said = np.full((3000, 3), 1 / 3)
    >>> fitted = mv.multicalibrate(kind, said, groups=[side], property=mv.Classes(["cat", "dog", "eel"]))
    >>> fitted.predict(said[:2], groups=[np.array([False, True])]).round(1)
    array([[0.6, 0.2, 0.2],
           [0.2, 0.4, 0.4]])
    """

    kind: ClassVar[str] = "multivalid.several_calibration"

    @property
    def grid(self) -> tuple[Grid, ...]:  # type: ignore[override]
        """The same as `grids`, under the name that every calibration has."""
        return self.predictor.grids

    def predict(self, y_pred: Any, *, data: Any = None, groups: Any = None, output: Any = None) -> Any:
        """Calibrated predictions for new rows; see `Calibration.predict`.

        Without `output`, a lazy frame gets one column per column of the predictions: "calibrated_" and the column's name.

        Examples
        --------
        >>> import multivalid as mv
        >>> y = [float(k % 10) for k in range(200)]
        >>> fitted = mv.multicalibrate(y, [[2.0, 5.0]] * 200, groups=[], property="quantiles:0.2,0.8", mode="theorem", m=10)
        >>> fitted.predict([[5.0, 2.0]])
        array([[2.25, 7.65]])
        """
        return super().predict(y_pred, data=data, groups=groups, output=output)

    def predict_one(self, prediction: Any, x: Any) -> tuple[float, ...]:
        """The calibrated prediction of one row; see `Calibration.predict_one`.

        Examples
        --------
        >>> import multivalid as mv
        >>> y = [float(k % 10) for k in range(200)]
        >>> fitted = mv.multicalibrate(y, [[2.0, 5.0]] * 200, groups=[], property="quantiles:0.2,0.8", mode="theorem", m=10)
        >>> fitted.predict_one([5.0, 2.0], {})
        (2.25, 7.65)
        """
        made: tuple[float, ...] = super().predict_one(prediction, x)
        self.property.check_predictions(np.asarray([prediction]), "prediction")
        return made

    def _suffixes(self) -> list[str]:
        return [key.replace(" ", "_") for key in self.property.keys]

    def _predict_lazy(self, y_pred: Any, frame: Frame, output: Any) -> Any:
        names = self.output_names(output)
        native = self.predict(y_pred, data=gather(frame, "several columns are predicted"), output=names)
        return as_lazy(native, frame)

    def _chapters(self) -> list[Any]:
        from multivalid.report.sources import Chapter

        return [
            Chapter(one.predicted, {}, key, one.name)
            for one, key in zip(self.property.coordinates, self.property.keys, strict=True)
        ]

    def to_json(self) -> dict[str, Any]:
        """The model as plain data."""
        if self.property.spec is None:
            raise InputError(
                f"{self.property!r} has class names that a model file cannot hold (with a comma, a colon, or spaces at an end, or text "
                f"that reads as a number); rename the classes before the fit."
            )
        return super().to_json()

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> SeveralCalibration:
        """The model that `to_json` described, every part checked."""
        found = parts(content, cls.kind)
        target = found.property
        if not isinstance(target, Target) or target.joint or len(target.coordinates) < 2:
            raise ModelFileError(f"property must be one of several columns, got {content['property']!r}.")
        if not isinstance(found.predictor, dict) or found.predictor.get("kind") != "columns":
            raise ModelFileError("predictor must be an object of kind columns.")
        predictor = ColumnsPredictor.from_json(found.predictor, len(found.groups), target)
        certificate = SeveralCertificate.from_json(found.certificate, target.keys, complete=found.complete)
        return cls(target, found.groups, predictor, certificate, seen=seen_in(found.range, target))
