"""What both estimators share: the model underneath, its predictions on rows it has not seen, and the calibration of those."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags, _safe_indexing, get_tags
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    has_fit_parameter,
    validate_data,
)

from multivalid.calibration import Calibration
from multivalid.estimators.row_groups import RowGroups
from multivalid.fit import multicalibrate
from multivalid.properties.base import Array


class Multicalibrated(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the two estimators; what the parameters mean is said there."""

    def __init__(
        self,
        estimator: Any = None,
        *,
        groups: Any = None,
        property: Any = "mean",
        cv: Any = None,
        mode: str = "practical",
        m: int | None = None,
        alpha: float | None = None,
        lipschitz: float | None = None,
        max_updates: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.groups = groups
        self.property = property
        self.cv = cv
        self.mode = mode
        self.m = m
        self.alpha = alpha
        self.lipschitz = lipschitz
        self.max_updates = max_updates

    def _model(self) -> Any:
        """The model underneath, not fitted."""
        raise NotImplementedError

    def _raw(self, model: Any, X: Any) -> Array:
        """Predictions of a fitted model, one row per row of X."""
        raise NotImplementedError

    def _stratify(self) -> bool:
        """Whether folds keep the shares of the labels."""
        return False

    # ---- fitting -----------------------------------------------------------------------------------------------
    def _fit_model(self, X: Any, y: NDArray[Any], sample_weight: Any) -> tuple[Array, Array]:
        """Fit `estimator_`; predictions for all rows by models that did not see them, and the weights."""
        check_consistent_length(X, y)
        weights = _check_sample_weight(sample_weight, y, dtype=np.float64)
        given = None if sample_weight is None else weights
        model = self._model()
        if isinstance(model, FrozenEstimator):
            check_is_fitted(model)
            self.estimator_ = model
            return self._raw(model, X), weights
        folds = list(check_cv(self.cv, y, classifier=self._stratify()).split(X, y))
        self.estimator_ = fitted(model, X, y, given)  # first, so that bad input is reported for all rows
        out: list[tuple[NDArray[np.intp], Array]] = []
        for train, test in folds:
            part = fitted(model, _safe_indexing(X, train), y[train], None if given is None else given[train])
            out.append((np.asarray(test), self._raw(part, _safe_indexing(X, test))))
        predictions = np.full((y.shape[0], *out[0][1].shape[1:]), np.nan)
        for test, values in out:
            predictions[test] = values
        return predictions, weights

    def _calibrate(self, X: Any, labels: Array, predictions: Array, weights: Array, property: Any) -> Calibration:
        seen = np.isfinite(predictions)  # rows that no fold tests take no part
        rows = RowGroups(self.groups)
        X = X if seen.all() else _safe_indexing(X, np.flatnonzero(seen))
        made: Calibration = multicalibrate(
            labels[seen], predictions[seen], groups=rows.items(X), data=rows.frame(X), property=property, sample_weight=weights[seen],
            mode=self.mode, m=self.m, alpha=self.alpha, lipschitz=self.lipschitz, max_updates=self.max_updates,
        )  # fmt: skip
        return made

    def _checked(self, X: Any, *, reset: bool = False) -> Any:
        """X with its number and names of columns checked: a frame as it is, for groups and the model; all else as an array."""
        if hasattr(X, "columns"):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        sparse = "csr" if get_tags(self).input_tags.sparse else False
        return validate_data(self, X, reset=reset, accept_sparse=sparse, dtype=None, ensure_all_finite=False)

    # ---- predicting --------------------------------------------------------------------------------------------
    def _calibrated(self, calibration: Calibration, X: Any, predictions: Array) -> Array:
        rows = RowGroups(self.groups)
        found: Array = calibration.predict(predictions, data=rows.frame(X), groups=rows.arrays(X))
        return found

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._model()).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        return tags


def fitted(model: Any, X: Any, y: NDArray[Any], weights: Array | None) -> Any:
    """A fitted copy; weights go to the model, or to the last step of a pipeline, where it takes them."""
    if weights is None:
        return clone(model).fit(X, y)
    last = model.steps[-1] if isinstance(model, Pipeline) else None
    if last is not None and has_fit_parameter(last[1], "sample_weight"):
        return clone(model).fit(X, y, **{f"{last[0]}__sample_weight": weights})
    if last is None and has_fit_parameter(model, "sample_weight"):
        return clone(model).fit(X, y, sample_weight=weights)
    return clone(model).fit(X, y)
