"""A regressor with two outputs whose coordinates are right together for every group."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.dummy import DummyRegressor
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_is_fitted

from multivalid import validate
from multivalid.errors import InputError
from multivalid.fit import multicalibrate
from multivalid.properties import Pair, parse_any
from multivalid.properties.base import Array


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
    groups : list of items, Groups, callable or None
        For whom: items on the columns of a data frame X, or a function from X to a boolean array (rows × groups).
    cv : int or splitter
        Both regressors are fitted on folds to give each row predictions that have not seen it; calibration uses those.
    mode, m, random_state
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
    ) -> None:
        self.first = first
        self.second = second
        self.property = property
        self.groups = groups
        self.cv = cv
        self.mode = mode
        self.m = m
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> MulticalibratedPairRegressor:
        """Fit both regressors on folds and on all rows, and the calibration on the predictions from the folds."""
        pair = self._pair()
        labels = pair.check_labels(validate.vector(y, "y"), "y")
        folds = list(check_cv(self.cv).split(np.zeros(labels.size)))
        said = np.empty((labels.size, 2))
        for rows, other in folds:
            first = self._regressor(self.first).fit(_take(X, rows), labels[rows])
            said[other, 0] = first.predict(_take(X, other))
        # The second regressor learns from first predictions that have not seen their own row.
        pseudo = pair.target(said[:, 0], labels)
        for rows, other in folds:
            second = self._regressor(self.second).fit(_take(X, rows), pseudo[rows])
            said[other, 1] = second.predict(_take(X, other))
        self.first_ = self._regressor(self.first).fit(X, labels)
        self.second_ = self._regressor(self.second).fit(X, pseudo)
        self.n_features_in_ = np.shape(X)[1]
        arrays, data = self._groups(X)
        self.calibration_ = multicalibrate(
            labels, said, groups=arrays if data is None else self.groups, data=data, property=pair, mode=self.mode, m=self.m,
            random_state=self.random_state,
        )  # fmt: skip
        return self

    def predict(self, X: Any) -> Array:
        """Both coordinates: an array (rows, 2)."""
        check_is_fitted(self)
        said = np.stack([self.first_.predict(X), self.second_.predict(X)], axis=1)
        arrays, data = self._groups(X)
        given = arrays if data is None and np.size(arrays) else None
        return np.asarray(self.calibration_.predict(said, data=data, groups=given))

    def _pair(self) -> Pair:
        pair = parse_any(self.property)
        if not isinstance(pair, Pair) or not pair.has_target:
            raise InputError(f"property must be a pair with a target, such as 'quantile_cvar:0.95', got {self.property!r}.")
        return pair

    def _regressor(self, given: Any) -> Any:
        return DummyRegressor() if given is None else clone(given)

    def _groups(self, X: Any) -> tuple[Any, Any]:
        """Groups as boolean arrays, or the frame whose columns they name."""
        if self.groups is None:
            return [], None
        return (self.groups(X), None) if callable(self.groups) else ([], X)


def _take(X: Any, rows: Any) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else (X[rows] if isinstance(X, np.ndarray) else np.asarray(X)[rows])
