"""The names of calibrations of more than one column, of a pair and of several; everything else is as in `Calibration`."""

from __future__ import annotations

from typing import ClassVar

from multivalid.calibration import C, Calibration, T
from multivalid.grid import Grid
from multivalid.joint.certificate import JointCertificate
from multivalid.properties import Pair, Target
from multivalid.several.certificate import SeveralCertificate


class ColumnsCalibration(Calibration[T, C]):
    """A calibration of more than one column of predictions."""

    @property
    def grid(self) -> tuple[Grid, ...]:  # type: ignore[override]
        """The same as `grids`, under the name that every calibration has."""
        return self.grids


class JointCalibration(ColumnsCalibration[Pair, JointCertificate]):
    """Two predictions made right together for every group; the result of `multicalibrate` with a pair.

    Everything is as in `Calibration`, with two columns of predictions: `predict` returns an array (rows, 2).

    Attributes
    ----------
    property, groups : the pair, and for whom
    grids : (Grid, Grid)
        The levels of both coordinates that the guarantee conditions on; also under the name `grid`.
    patches : list
        The ordered moves.
    certificate : JointCertificate
        What is guaranteed.
    levels : array (rows, 2) or None
        Levels of each fitted row (None after loading).

    Examples
    --------
    >>> import multivalid as mv
    >>> y, said = [0.0, 1.0, 0.0, 1.0], [[0.5, 0.9]] * 4
    >>> fitted = mv.multicalibrate(y, said, groups=[], property="mean_variance", mode="theorem", m=20)
    >>> fitted.predict([[0.5, 0.9]])
    array([[0.475, 0.275]])
    >>> [round(error, 6) for error in fitted.audit(y, said).errors]
    [0.000625, 0.000625]
    """

    kind: ClassVar[str] = "multivalid.joint_calibration"


class SeveralCalibration(ColumnsCalibration[Target, SeveralCertificate]):
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
    >>> [round(share, 1) for share in fitted.predict_one(said[0], [False])]
    [0.6, 0.2, 0.2]
    >>> fitted.output_names(None)
    ['calibrated_cat', 'calibrated_dog', 'calibrated_eel']
    """

    kind: ClassVar[str] = "multivalid.several_calibration"
