"""A classifier whose probabilities are right on average for every group."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from multivalid.errors import InputError
from multivalid.estimators.meta import Multicalibrated, one_of
from multivalid.properties import Classes, Mean, parse_any
from multivalid.properties.base import Array


class MulticalibratedClassifier(ClassifierMixin, Multicalibrated):  # type: ignore[misc]
    """Fit a classifier, then make its probabilities right on average for every group.

    With two classes the probability of the second is calibrated; with more, all classes together (see `multivalid.Classes`): they sum to
    one, and are right for every group as they are.

    Parameters
    ----------
    estimator : classifier with predict_proba, optional
        The model underneath; `LogisticRegression` when not given. A `sklearn.frozen.FrozenEstimator` is taken as it is and
        calibrated on all rows given to `fit`; any other is fitted on folds, and the probabilities for the rows left out are calibrated.
    groups : list of items, function of X, or list or dict of functions, optional
        For whom. Predicates, columns, `bins` and `cross` refer to the columns of X (x0, x1, … where X is an array); a function gets X
        and returns booleans. The population is always a group.
    property : "mean"
        A probability is the mean of a 0/1 label, so this is the only one; here so that both estimators take the same arguments. Other
        properties are for `MulticalibratedRegressor`.
    cv : int, splitter or iterable of splits, optional
        Folds, as elsewhere in scikit-learn; five stratified ones by default.
    mode, m, alpha, lipschitz, max_updates, features, missing_rows
        As in `multivalid.multicalibrate`.
    positive : optional
        The class that counts: the classes are then False and True, whether it is this one. Without it they are those of y, by name.

    Attributes
    ----------
    classes_ : array
        The classes, sorted.
    estimator_ : classifier
        The model fitted on all rows.
    calibrations_ : list of Calibration
        One for two classes; a single `SeveralCalibration` of all for more.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (4000, 2))
    >>> chance = np.where(X[:, 1] > 0, 0.5 + 0.4 * X[:, 0], 0.5 - 0.4 * X[:, 0])
    >>> y = rng.random(4000) < chance
    >>> groups = ["x1 > 0 and x0 > 0", "x1 > 0 and x0 < 0", "x1 < 0 and x0 > 0"]
    >>> model = MulticalibratedClassifier(groups=groups, mode="theorem", m=40).fit(X, y)
    >>> model.predict([[0.9, 0.5], [0.9, -0.5]])
    array([ True, False])
    """

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, group_data: Any = None, sensitive_features: Any = None, **params: Any
    ) -> MulticalibratedClassifier:
        """Fit the model and its calibrations; the arguments are those of `MulticalibratedRegressor.fit`."""
        if parse_any(self.property) != Mean():
            raise InputError(
                f"property must be 'mean' for a classifier, which predicts probabilities, the means of 0/1 labels; got {self.property!r}. "
                f"For another property of a numeric label use MulticalibratedRegressor(property={self.property!r})."
            )
        given = {"X": X, "sample_weight": sample_weight, "group_data": one_of(group_data, sensitive_features)}
        y, known, params = self._known(y, given, params)
        check_classification_targets(y)
        y = y if self.positive is None else y == 1
        self.classes_ = np.unique(y)
        X = self._checked(known["X"], reset=True)
        predictions, weights = self._fit_model(X, y, known["sample_weight"], params)
        where = known["group_data"]
        if self._together():
            codes = np.searchsorted(self.classes_, y).astype(np.float64)
            target = Classes(range(self.classes_.size))
            self.calibrations_ = [self._calibrate(X, codes, predictions, weights, target, where)]
            return self
        self.calibrations_ = [
            self._calibrate(X, (y == label).astype(np.float64), predictions[:, 1], weights, "mean", where)
            for label in self.classes_[1:]
        ]
        return self

    def predict_proba(self, X: Any, *, group_data: Any = None, sensitive_features: Any = None) -> Array:
        """Calibrated probabilities of the classes, in the order of `classes_`; `group_data` as in `fit`."""
        check_is_fitted(self)
        X = self._checked(X)
        raw, where = self._raw(self.estimator_, X), one_of(group_data, sensitive_features)
        if self._together():
            return self._calibrated(self.calibrations_[0], X, raw, where)
        if not self.calibrations_:
            return np.ones((raw.shape[0], 1))  # one class alone
        second = self._calibrated(self.calibrations_[0], X, raw[:, 1], where)
        return np.column_stack([1 - second, second])

    def predict(self, X: Any, *, group_data: Any = None, sensitive_features: Any = None) -> NDArray[Any]:
        """The most probable class; `group_data` as in `fit`."""
        most = np.argmax(self.predict_proba(X, group_data=one_of(group_data, sensitive_features)), axis=1)
        return np.asarray(self.classes_[most])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the calibration as JSON, which `multivalid.load` reads; the model underneath is yours to keep."""
        check_is_fitted(self)
        if not self.calibrations_:
            raise InputError("there is nothing to save: with one class alone nothing was calibrated.")
        self.calibrations_[0].save(path)

    def _together(self) -> bool:
        """Whether all classes are fitted at once."""
        return bool(self.classes_.size > 2)

    def _model(self) -> Any:
        return LogisticRegression() if self.estimator is None else self.estimator

    def _stratify(self) -> bool:
        return True

    def _raw(self, model: Any, X: Any) -> Array:
        if not hasattr(model, "predict_proba"):
            raise InputError(f"estimator must have predict_proba, but {type(model).__name__} has not.")
        found = model.predict_proba(X)
        out = np.zeros((found.shape[0], self.classes_.size))
        known = np.isin(model.classes_, self.classes_)  # a fold, or the rows given to a frozen model, may lack a class
        out[:, np.searchsorted(self.classes_, model.classes_[known])] = found[:, known]
        return out
