"""The fitted thing: predict on new rows, audit, save, load. One class for every target; subclasses have other names only."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self

import numpy as np
from numpy.typing import NDArray

from multivalid import validate
from multivalid.errors import InputError
from multivalid.evaluators import RowMembers
from multivalid.groups.family import FittedGroups
from multivalid.model_file import Ends, describe, read_model
from multivalid.practical.predictor import LinkPredictor
from multivalid.properties.target import Target
from multivalid.storage import write_json

# What audits or reads frames is imported where that is done: a service that predicts row by row does not wait for it.
if TYPE_CHECKING:
    from pathlib import Path

    from typing_extensions import TypeVar  # a type variable with a default is in the standard library from 3.13 on

    from multivalid.audit.audit import Audit
    from multivalid.batch.certificate import Certificate
    from multivalid.batch.predictor import Predictor
    from multivalid.grid import Grid
    from multivalid.groups.remote import Frame
    from multivalid.properties import Property
    from multivalid.sources.open import Source

    T = TypeVar("T", bound=Target, default=Property)
    C = TypeVar("C", bound=Certificate[Any, Any, Any], default=Certificate)
else:
    from typing import TypeVar

    T, C = TypeVar("T"), TypeVar("C")


class Calibration(Generic[T, C]):
    """Predictions made right on average for every group; the result of `multicalibrate`.

    Attributes
    ----------
    property, grid, groups : what was calibrated, on which levels, for whom
    grids : tuple of Grid
        The levels of every column of the predictions; `grid` is the first of them for a single property.
    patches : list
        The ordered moves: `Patch` (group, source level, target level), or in practical mode `Shift` (round, group, level, amount).
    certificate : Certificate
        What is guaranteed.
    """

    kind: ClassVar[str] = "multivalid.calibration"

    def __init__(
        self,
        property: T,
        groups: FittedGroups,
        predictor: Predictor,
        certificate: C | Callable[[], C],
        levels: NDArray[np.intp] | Callable[[], NDArray[np.intp]] | None = None,
        rows: Source | None = None,
        seen: Ends | None = None,
        judged: Audit | None = None,
    ) -> None:
        self.property, self.groups, self.predictor, self._stated = property, groups, predictor, certificate
        self._levels, self._rows, self._judged = levels, rows, judged  # `judged`: the audit of the rows held out
        self.seen = seen  # how far the predictions reach that it was fitted on

    @cached_property
    def certificate(self) -> C:
        """What is guaranteed; tests of the rows fitted are made when it is first asked for, from sums taken at the fit."""
        stated = self._stated
        made: C = stated() if callable(stated) else stated
        self._stated = made  # what it was worked out from may go
        return made

    @cached_property
    def levels(self) -> NDArray[np.intp] | None:
        """Level of each fitted row; None after loading, and where rows stayed in an engine."""
        known = self._levels
        self._levels = None
        return known() if callable(known) else known

    @property
    def grids(self) -> tuple[Grid, ...]:
        """The levels of every column of the predictions, which the guarantee conditions on."""
        return self.predictor.grids

    @property
    def grid(self) -> Grid:
        """The levels that the guarantee conditions on."""
        return self.predictor.grids[0]

    @property
    def patches(self) -> Sequence[tuple[Any, ...]]:
        """The ordered moves."""
        return self.predictor.patches

    def predict(self, y_pred: Any, *, data: Any = None, groups: Any = None, output: Any = None) -> Any:
        """Calibrated predictions for new rows.

        Parameters
        ----------
        y_pred : array-like, or the name of a column of `data`
            The model's own predictions; for a pair an array (rows, 2), or two arrays or column names.
        data : data frame, optional
            Rows with the columns that the groups use; names decide, not positions.
        groups : boolean array or list of them, optional
            For groups that were fitted from boolean arrays: the same arrays for the new rows.
        output : str, or (str, str) for a pair, optional
            Return the frame with the predictions as this column, instead of an array. A lazy frame stays lazy and always returns
            a frame, with the column "calibrated" (for a pair "calibrated_first" and "calibrated_second") unless other names are given.

        Notes
        -----
        A prediction outside the range fitted on is not refused: models of levels (theorem, paper) take it to the outermost level, those of
        the practical mode go on along the link scale as at the end of the range. What was never seen cannot be promised: `audit` counts
        such rows.

        Examples
        --------
        >>> import multivalid as mv
        >>> fitted = mv.multicalibrate([0, 0, 1, 1], [0.5, 0.5, 0.5, 0.5], groups=[], mode="theorem", m=4)
        >>> fitted.predict([0.1, 0.9])
        array([0.125, 0.875])
        """
        from multivalid.atoms import frames
        from multivalid.groups.frames import enter
        from multivalid.groups.remote import lazy_frame
        from multivalid.sources.rows import membership_of, predictions_of

        lazy = lazy_frame(data)
        if lazy is not None:
            return self._predict_lazy(y_pred, lazy, output)
        frame = None if data is None else enter(data)
        predictions = predictions_of(y_pred, frame, len(self.grids))
        if len(self.grids) > 1:
            predictions = self.property.check_predictions(predictions)
        membership = membership_of(self.groups, data=data, groups=groups, rows=predictions.shape[0])
        values = self._predicted(predictions, membership, data)
        if output is None:
            return values
        if frame is None:
            columns = "column" if len(self.grids) == 1 else "columns"
            raise InputError(f"output={output!r} needs data=, the frame to add the {columns} to.")
        native = frame.to_native()
        for name, column in zip(self.output_names(output), values.reshape(len(values), -1).T, strict=True):
            native = frames.with_column(enter(native), name, column)
        return native

    def predict_one(self, prediction: Any, x: Mapping[str, Any] | Sequence[bool]) -> Any:
        """The calibrated prediction of one row, without a frame: what `predict` gives, to the last bit.

        Parameters
        ----------
        prediction : float, or a sequence with one for each column of the predictions
            The model's own prediction.
        x : mapping
            The columns that the groups use, by name; None or NaN is a missing value, other entries are ignored. For groups that were
            fitted from boolean arrays: the booleans.

        Returns
        -------
        float, or a tuple of one for each column

        Examples
        --------
        >>> import multivalid as mv, pandas as pd
        >>> data = pd.DataFrame({"site": ["a", "a", "b", "b"] * 50})
        >>> y = [0.0, 0.0, 1.0, 1.0] * 50
        >>> fitted = mv.multicalibrate(y, [0.5] * 200, groups=["site"], data=data, mode="theorem", m=10)
        >>> round(fitted.predict_one(0.5, {"site": "b"}), 6)
        0.95
        """
        width = len(self.grids)
        values = [prediction] if width == 1 else prediction
        if not isinstance(values, (list, tuple, np.ndarray)) or len(values) != width:
            raise InputError(f"prediction must be {width} numbers, one for each column of the predictions, got {prediction!r}.")
        given = [value if type(value) is float and isfinite(value) else validate.real(value, "prediction") for value in values]
        made = self.predictor.predict_row(given, RowMembers(self.groups.numbers_of(x), x))
        if width == 1:
            return made[0]
        self.property.check_predictions(np.asarray([given]), "prediction")
        return tuple(made)

    def to_sql(self, table: str, prediction: Any, *, dialect: str = "duckdb", output: Any = None) -> str:
        """One SELECT that adds the calibrated predictions to a table, for a database that this library is not installed in.

        Parameters
        ----------
        table : str
            Name of the table or view; with its schema, as "schema.table".
        prediction : str, or one for each column of the predictions
            The columns with the model's own predictions.
        dialect : {"duckdb", "sqlite", "postgres", "spark"}
            The database it is for.
        output : str, or one for each column, optional
            What the new columns are called, as in `predict`.

        Returns
        -------
        str
            All columns of the table, and the new ones. Rows come in no particular order, as in SQL they do. Where a prediction is missing,
            so is the calibrated one.

        Notes
        -----
        A constant text such as '2024-01-31' that a predicate compares with a timestamp is read by the database in its session's time zone.
        PostgreSQL raises an error where arithmetic of a predicate overflows; elsewhere the result is infinite.

        Examples
        --------
        >>> import multivalid as mv
        >>> fitted = mv.multicalibrate([0, 0, 1, 1], [0.5, 0.5, 0.5, 0.5], groups=[], mode="theorem", m=4)
        >>> fitted.to_sql("scores", "p").splitlines()[0]
        'WITH mv_stage0 AS ('
        """
        from multivalid.sql.statement import statement

        columns = [prediction] if isinstance(prediction, str) else list(prediction)
        if len(columns) != len(self.grids) or not all(isinstance(name, str) for name in columns):
            raise InputError(f"prediction must name {len(self.grids)} column(s) of the table, got {prediction!r}.")
        return statement(self.predictor, self.groups, table, columns, self.output_names(output), dialect)

    def output_names(self, output: Any) -> list[str]:
        """One column name per column of the predictions; "calibrated", and what tells them apart, unless others are given."""
        width = len(self.grids)
        if output is None:
            return ["calibrated"] if width == 1 else [f"calibrated_{key.replace(' ', '_')}" for key in self.property.keys]
        names = [output] if isinstance(output, str) else list(output) if isinstance(output, Sequence) else []
        if len(names) != width or not all(isinstance(name, str) for name in names):
            raise InputError(f"output must name {width} column{'s' if width > 1 else ''}, one for each prediction, got {output!r}.")
        return names

    def _predict_lazy(self, y_pred: Any, frame: Frame, output: Any) -> Any:
        names = self.output_names(output)
        if len(names) > 1:
            from multivalid.atoms.handing_back import as_lazy
            from multivalid.groups.remote import gather

            what = "pairs are predicted" if self.property.joint else "several columns are predicted"
            return as_lazy(self.predict(y_pred, data=gather(frame, what), output=names), frame)
        from multivalid.atoms.frame_columns import complete_predictions
        from multivalid.atoms.names import PREDICTION

        return self._on_frame(complete_predictions(frame, y_pred), names[0]).drop(PREDICTION).to_native()

    def _on_frame(self, frame: Frame, output: str) -> Frame:
        made: Frame = self.predictor.on_frame(frame, self.groups, output)  # type: ignore[attr-defined]  # of one column
        return made

    def audit(
        self,
        y_true: Any,
        y_pred: Any,
        *,
        data: Any = None,
        groups: Any = None,
        sample_weight: Any = None,
        cluster: Any = None,
        positive: Any = None,
        missing_rows: str = "refuse",
    ) -> Audit:
        """Audit the calibrated predictions on rows with known outcomes; `y_pred` are the model's own predictions.

        A note counts the predictions outside the range that the model was fitted on. `positive` and `missing_rows` are those of
        `multivalid.audit`.

        Examples
        --------
        >>> import multivalid as mv
        >>> fitted = mv.multicalibrate([0, 0, 1, 1], [0.5, 0.5, 0.5, 0.5], groups=[], mode="theorem", m=4)
        >>> fitted.audit([0, 1], [0.5, 0.5]).error
        0.015625
        """
        from multivalid.audit.audit import audit_source
        from multivalid.calibration_rows import calibrate_rows, given_rows, open_rows

        given = given_rows(self, y_true, y_pred, data, sample_weight, {"cluster": cluster, "groups": groups})
        return audit_source(calibrate_rows(self, open_rows(self, given.accept(positive, missing_rows))), self.property)

    def _predicted(self, predictions: Any, membership: Any, data: Any) -> Any:
        """Calibrated predictions; trees found in columns read them from the frame."""
        if isinstance(self.predictor, LinkPredictor):
            return self.predictor.predict(predictions, membership, self.predictor.tree_sums(data, predictions))
        return self.predictor.predict(predictions, membership)

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
        settings: Mapping[str, Any] | None = None,
    ) -> Path:
        """Write a page that compares the model's own predictions with the calibrated ones, and its numbers beside it as JSON.

        Parameters
        ----------
        path : path
            Ends in .html (page and JSON) or in .json (JSON only).
        y_true, y_pred, data, groups, sample_weight
            Rows to compare on, as for `audit`. Without them: the rows held out at the fit, or those fitted when none were; a
            model that was loaded has neither, and its report tells the certificate only.
        title : str, optional
            Heading of the page.
        settings : mapping, optional
            What else a reader needs to repeat the numbers: file names, model versions.

        Examples
        --------
        >>> import multivalid as mv, tempfile, pathlib
        >>> fitted = mv.multicalibrate([0, 0, 1, 1], [0.5, 0.5, 0.5, 0.5], groups=[], mode="theorem", m=4)
        >>> fitted.report(pathlib.Path(tempfile.mkdtemp()) / "report.html", [0, 1], [0.4, 0.6]).name
        'report.html'
        """
        from multivalid.calibration_report import write_report
        from multivalid.calibration_rows import given_rows

        given = None if y_true is None else given_rows(self, y_true, y_pred, data, sample_weight, {"groups": groups})
        return write_report(self, path, given, title, settings or {})

    def plot_potential(self, *, ax: Any = None) -> Any:
        """The mean score (of the first coordinate) after each update, on a matplotlib axis; returns the axis."""
        from multivalid.report import plots

        return plots.potential(self.certificate.potential, ax=ax)

    def __getstate__(self) -> dict[str, Any]:
        """Pickled without the rows it was judged on."""
        return {
            **self.__dict__,
            "_stated": self.certificate,
            "levels": self.levels,
            "_levels": None,
            "_rows": None,
            "_judged": None,
        }

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
        return describe(self.kind, self.property, self.groups, self.predictor, self.certificate, self.seen)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """The model that `to_json` describe, every part checked."""
        made: Any = read_model(content, cls.kind)
        return cls(made.property, made.groups, made.predictor, made.certificate, seen=made.seen)

    def _repr_html_(self) -> str:
        from multivalid.notebook import panel

        return panel(repr(self), self.certificate.summary())

    def __repr__(self) -> str:
        groups, moves = len(self.groups), len(self.patches)
        return f"<{type(self).__name__} of {self.property!r} for {groups} groups: {self.certificate.status}, {moves} patches>"
