"""One model per column of the predictions, as one regressor."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils.validation import has_fit_parameter

from multivalid.properties.base import Array


class EachColumn(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Several regressors of the same label, one for each column: a model for each quantile, say.

    Examples
    --------
    >>> from sklearn.dummy import DummyRegressor
    >>> pair = [DummyRegressor(strategy="quantile", quantile=tau) for tau in (0.0, 1.0)]
    >>> EachColumn(pair).fit([[0], [0], [0]], [1.0, 2.0, 4.0]).predict([[0]])
    array([[1., 4.]])
    """

    def __init__(self, estimators: Any) -> None:
        self.estimators = estimators

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> EachColumn:
        """Fit a copy of each model; weights go to those that take them."""
        self.estimators_ = []
        for model in self.estimators:
            taken = sample_weight is not None and has_fit_parameter(model, "sample_weight")
            self.estimators_.append(clone(model).fit(X, y, **({"sample_weight": sample_weight} if taken else {})))
        return self

    def predict(self, X: Any) -> Array:
        """The predictions of all models, a column each."""
        return np.column_stack([np.asarray(model.predict(X), dtype=np.float64) for model in self.estimators_])
