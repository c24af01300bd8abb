"""A regressor with two outputs whose coordinates are right together for every group."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin
from sklearn.dummy import DummyRegressor
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from multivalid import validate
from multivalid.estimators.known_labels import known_labels
from multivalid.estimators.meta import fitted, one_of, weights_for
from multivalid.estimators.row_groups import RowGroups
from multivalid.fit import multicalibrate
from multivalid.properties import Pair
from multivalid.properties.base import Array
from multivalid.properties.parse import parse_pair


class MulticalibratedPairRegressor(RegressorMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Fit two regressors, one per coordinate, then calibrate them together.

    Parameters
    ----------
    first : regressor, optional
        For the first coordinate, for example `HistGradientBoostingRegressor(loss="quantile", quantile=0.95)`; a constant when left out.
    second : regressor, optional
        For the second: fitted to the pseudo-label target(f⁰(x), y), whose mean it is; a constant when left out.
    property : Pair or str
        A pair with a target, such as "quantile_cvar:0.95" or "mean_variance".
    groups : list of items, function of X, or list or dict of functions, optional
        For whom, as for `MulticalibratedRegressor`.
    cv : int or splitter
        Both regressors are fitted on folds to give each row predictions that have not seen it; calibration uses those.
    mode, m, random_state, missing_rows
        As in `multicalibrate`.

    Attributes
    ----------
    first_, second_ : regressors fitted on all rows
    calibration_ : JointCalibration

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((600, 2))
    >>> y = X[:, 0] + rng.standard_normal(600) * (0.1 + X[:, 1])
    >>> model = MulticalibratedPairRegressor(LinearRegression(), LinearRegression(), property="mean_variance")
    >>> model.fit(X, y).predict(X[:2]).shape
    (2, 2)
    """

    def __init__(
        self,
        first: Any = None,
        second: Any = None,
        *,
        property: str | Pair = "mean_variance",
        groups: Any = None,
        cv: Any = 5,
        mode: str = "practical",
        m: Any = None,
        random_state: int = 0,
        missing_rows: str = "refuse",
    ) -> None:
        self.first = first
        self.second = second
        self.property = property
        self.groups = groups
        self.cv = cv
        self.mode = mode
        self.m = m
        self.random_state = random_state
        self.missing_rows = missing_rows

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        group_data: Any = None,
        sensitive_features: Any = None,
    ) -> MulticalibratedPairRegressor:
        """Fit both regressors on folds and on all rows, and the calibration on the predictions from the folds.

        `sample_weight` counts in the calibration, and in the regressors that take it; `groups` is for a `cv` that keeps rows together;
        `group_data` (or `sensitive_features`) is where the columns that the calibration's groups name are, if not in X.
        """
        pair = parse_pair(self.property)
        rowwise = {"X": X, "weight": sample_weight, "groups": groups, "where": one_of(group_data, sensitive_features)}
        y, known = known_labels(y, None, self.missing_rows, rowwise)
        X, sample_weight, groups, where = known.values()
        labels = pair.check_labels(validate.vector(y, "y"), "y")
        weights = None if sample_weight is None else validate.weights(sample_weight, labels.size)
        folds = list(check_cv(self.cv).split(np.zeros(labels.size), groups=groups))
        first = _out_of_fold(self.first, X, labels, weights, folds)
        # The second regressor learns from first predictions that have not seen their own row.
        pseudo = pair.target(first, labels)
        second = _out_of_fold(self.second, X, pseudo, weights, folds)
        self.first_ = _fit_rows(self.first, X, labels, weights)
        self.second_ = _fit_rows(self.second, X, pseudo, weights)
        self.n_features_in_ = np.shape(X)[1]
        rows = RowGroups(self.groups, where)
        self.calibration_ = multicalibrate(
            labels, np.stack([first, second], axis=1), groups=rows.items(X), data=rows.frame(X), property=pair, sample_weight=weights,
            mode=self.mode, m=self.m, random_state=self.random_state,
        )  # fmt: skip
        return self

    def predict(self, X: Any, *, group_data: Any = None, sensitive_features: Any = None) -> Array:
        """Both coordinates: an array (rows, 2); `group_data` as in `fit`."""
        check_is_fitted(self)
        said = np.stack([self.first_.predict(X), self.second_.predict(X)], axis=1)
        rows = RowGroups(self.groups, one_of(group_data, sensitive_features))
        return np.asarray(self.calibration_.predict(said, data=rows.frame(X), groups=rows.arrays(X)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the calibration as JSON, which `multivalid.load` reads; both regressors are yours to keep."""
        check_is_fitted(self)
        self.calibration_.save(path)


def _fit_rows(model: Any, X: Any, labels: Array, weights: Array | None) -> Any:
    """A fitted copy of the model; a constant where there is none."""
    model = DummyRegressor() if model is None else model
    return fitted(model, X, labels, {} if weights is None else weights_for(model, weights))


def _out_of_fold(model: Any, X: Any, labels: Array, weights: Array | None, folds: list[Any]) -> Array:
    """Predictions for all rows by models that did not see them."""
    out = np.empty(labels.size)
    for rows, other in folds:
        part = _fit_rows(model, _safe_indexing(X, rows), labels[rows], None if weights is None else weights[rows])
        out[other] = part.predict(_safe_indexing(X, other))
    return out
