"""A regressor that is right on average for every group."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.linear_model import Ridge
from sklearn.utils.validation import check_array, check_is_fitted

from multivalid.errors import InputError
from multivalid.estimators.each_column import EachColumn
from multivalid.estimators.meta import Multicalibrated, one_of
from multivalid.properties.base import Array
from multivalid.scope import require


class MulticalibratedRegressor(RegressorMixin, Multicalibrated):  # type: ignore[misc]
    """Fit a regressor, then make its predictions right on average for every group.

    Parameters
    ----------
    estimator : regressor or list of regressors, optional
        The model underneath; `Ridge` when not given. For a quantile or another property, one that predicts it. A
        `sklearn.frozen.FrozenEstimator` is taken as it is and calibrated on all rows given to `fit`; any other is fitted on folds, and the
        predictions for the rows left out are calibrated.
    groups : list of items, function of X, or list or dict of functions, optional
        For whom. Predicates, columns, `bins` and `cross` refer to the columns of X (x0, x1, … where X is an array); a function gets X
        and returns booleans. The population is always a group.
    property : Property, Quantiles or str
        What is predicted. With `Quantiles` the model predicts a column per level (or is a list of regressors, one per level), and so
        does `predict`; its columns never cross.
    cv : int, splitter or iterable of splits, optional
        Folds, as elsewhere in scikit-learn; five by default.
    mode, m, alpha, lipschitz, max_updates, features, positive, missing_rows
        As in `multivalid.multicalibrate`.

    Attributes
    ----------
    estimator_ : regressor
        The model fitted on all rows.
    calibration_ : Calibration
        Patches and certificate.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (2000, 2))
    >>> y = X[:, 0] + (X[:, 1] > 0.5)
    >>> model = MulticalibratedRegressor(groups=["x1 > 0.5"], mode="theorem", m=50).fit(X, y)
    >>> bool(model.score(X, y) > model.estimator_.score(X, y))
    True
    """

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, group_data: Any = None, sensitive_features: Any = None, **params: Any
    ) -> MulticalibratedRegressor:
        """Fit the model and its calibration.

        Parameters
        ----------
        X, y : rows and labels
        sample_weight : array-like, optional
            Counts in both.
        group_data, sensitive_features : frame, optional
            Where the columns that `groups` names are looked up, when they are not among those of X: the model then need not see
            them. Two names of one thing.
        **params
            `groups`, one value per row, for a `cv` that keeps rows together (`GroupKFold`); with scikit-learn's metadata routing
            switched on, whatever the model's `fit` requests.
        """
        given = {"X": X, "sample_weight": sample_weight, "group_data": one_of(group_data, sensitive_features)}
        y, known, params = self._known(y, given, params)
        y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        X = self._checked(known["X"], reset=True)
        predictions, weights = self._fit_model(X, y, known["sample_weight"], params)
        self.calibration_ = self._calibrate(X, y, predictions, weights, self.property, known["group_data"])
        return self

    def predict(self, X: Any, *, group_data: Any = None, sensitive_features: Any = None) -> Array:
        """Calibrated predictions; `group_data` as in `fit`."""
        check_is_fitted(self)
        X = self._checked(X)
        return self._calibrated(self.calibration_, X, self._raw(self.estimator_, X), one_of(group_data, sensitive_features))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the calibration as JSON, which `multivalid.load` reads; the model underneath is yours to keep."""
        check_is_fitted(self)
        self.calibration_.save(path)

    def _model(self) -> Any:
        if isinstance(self.estimator, (list, tuple)):
            return EachColumn(self.estimator)
        if self.estimator is None and len(require(self.property).coordinates) > 1:
            raise InputError(
                f"estimator=None is a Ridge regression, which gives one column, but property={self.property!r} has "
                f"{len(require(self.property).coordinates)}; pass estimator=, a model that predicts as many columns or a list with one "
                f"model for each."
            )
        return Ridge() if self.estimator is None else self.estimator

    def _raw(self, model: Any, X: Any) -> Array:
        return np.asarray(model.predict(X), dtype=np.float64)
