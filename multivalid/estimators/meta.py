"""What both estimators share: the model underneath, its predictions on rows it has not seen, and the calibration of those."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import Bunch, Tags, _safe_indexing, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, _routing_enabled, process_routing
from sklearn.utils.validation import (
    _check_method_params,
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    has_fit_parameter,
    validate_data,
)

from multivalid.calibration import Calibration
from multivalid.errors import InputError
from multivalid.estimators.known_labels import Rowwise, known_labels
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
        features: Any = None,
        positive: Any = None,
        missing_rows: str = "refuse",
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
        self.features = features
        self.positive = positive
        self.missing_rows = missing_rows

    def _known(self, y: Any, rowwise: Rowwise, params: dict[str, Any]) -> tuple[Any, Rowwise, dict[str, Any]]:
        """Labels that are there, what belongs to their rows, and what goes on to model and splitter (values per row are cut too)."""
        y = column_or_1d(y, warn=True)
        rows = len(y)
        cut = {name: value for name, value in params.items() if np.ndim(value) and len(value) == rows}
        labels, held = known_labels(y, self.positive, self.missing_rows, {**rowwise, **cut})
        return labels, {name: held[name] for name in rowwise}, {**params, **{name: held[name] for name in cut}}

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
    def _fit_model(self, X: Any, y: NDArray[Any], sample_weight: Any, params: dict[str, Any]) -> tuple[Array, Array]:
        """Fit `estimator_`; predictions for all rows by models that did not see them, and the weights."""
        check_consistent_length(X, y)
        weights = _check_sample_weight(sample_weight, y, dtype=np.float64)
        given = None if sample_weight is None else weights
        model = self._model()
        routed = self._routed(given, params)
        if isinstance(model, FrozenEstimator):
            check_is_fitted(model)
            self.estimator_ = model
            return self._raw(model, X), weights
        folds = self._folds(X, y, routed.splitter.split)
        self.estimator_ = fitted(model, X, y, routed.estimator.fit)  # first, so that bad input is reported for all rows
        out: list[tuple[NDArray[np.intp], Array]] = []
        for train, test in folds:
            part = fitted(model, _safe_indexing(X, train), y[train], _check_method_params(X, routed.estimator.fit, indices=train))
            out.append((np.asarray(test), self._raw(part, _safe_indexing(X, test))))
        predictions = np.full((y.shape[0], *out[0][1].shape[1:]), np.nan)
        for test, values in out:
            predictions[test] = values
        return predictions, weights

    def _folds(self, X: Any, y: NDArray[Any], given: dict[str, Any]) -> list[Any]:
        splitter = check_cv(self.cv, y, classifier=self._stratify())
        try:
            return list(splitter.split(X, y, **given))
        except ValueError as error:
            if "groups" in given or "'groups'" not in str(error):
                raise
            raise InputError(
                f"cv={self.cv!r} keeps rows together and needs to know which: pass groups= to fit, one value per row."
            ) from None

    def _routed(self, weights: Array | None, params: dict[str, Any]) -> Any:
        """What goes to the model and what to the splitter: by scikit-learn's routing where it is on, else weights to whom takes them."""
        if _routing_enabled():
            known = params if weights is None else {**params, "sample_weight": weights}
            return process_routing(self, "fit", **known)
        unknown = set(params) - {"groups"}
        if unknown:
            raise InputError(
                f"fit got {', '.join(sorted(unknown))}; it takes sample_weight, group_data and groups (for cv), and what else the model "
                f"requests once sklearn.set_config(enable_metadata_routing=True) is on."
            )
        to_model = {} if weights is None else weights_for(self._model(), weights)
        return Bunch(estimator=Bunch(fit=to_model), splitter=Bunch(split=params))

    def get_metadata_routing(self) -> MetadataRouter:
        """What `fit` passes on: to the model's `fit`, and to the splitter's `split`."""
        to_fit, to_split = MethodMapping().add(caller="fit", callee="fit"), MethodMapping().add(caller="fit", callee="split")
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(estimator=self._model(), method_mapping=to_fit)
            .add(splitter=check_cv(self.cv), method_mapping=to_split)
        )

    def _calibrate(
        self, X: Any, labels: Array, predictions: Array, weights: Array, property: Any, group_data: Any = None
    ) -> Calibration:
        seen = np.isfinite(predictions.reshape(len(labels), -1)).all(axis=1)  # rows that no fold tests take no part
        rows = RowGroups(self.groups, group_data, self.features is not None)
        if not seen.all():
            X, rows = _safe_indexing(X, np.flatnonzero(seen)), rows.take(np.flatnonzero(seen))
        made: Calibration = multicalibrate(
            labels[seen], predictions[seen], groups=rows.items(X), data=rows.frame(X), property=property, sample_weight=weights[seen],
            mode=self.mode, m=self.m, alpha=self.alpha, lipschitz=self.lipschitz, max_updates=self.max_updates,
            features=self.features,
        )  # fmt: skip
        return made

    def _checked(self, X: Any, *, reset: bool = False) -> Any:
        """X with its number and names of columns checked: a frame as it is, for groups and the model; all else as an array."""
        if hasattr(X, "columns"):
            X = X if reset else self._known_columns(X)
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        sparse = "csr" if get_tags(self).input_tags.sparse else False
        return validate_data(self, X, reset=reset, accept_sparse=sparse, dtype=None, ensure_all_finite=False)

    def _known_columns(self, X: Any) -> Any:
        """X without columns that came after the fit; all others in their order, which scikit-learn checks."""
        known = set(getattr(self, "feature_names_in_", X.columns))
        kept = [name for name in X.columns if name in known]
        return X if len(kept) == len(X.columns) else X[kept]

    # ---- predicting --------------------------------------------------------------------------------------------
    def _calibrated(self, calibration: Calibration, X: Any, predictions: Array, group_data: Any = None) -> Array:
        rows = RowGroups(self.groups, group_data, self.features is not None)
        found: Array = calibration.predict(predictions, data=rows.frame(X), groups=rows.arrays(X))
        return found

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._model()).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        return tags


def one_of(group_data: Any, sensitive_features: Any) -> Any:
    """The frame that groups are looked up in; the second name is the one fairness libraries use."""
    if group_data is not None and sensitive_features is not None:
        raise InputError("group_data and sensitive_features are two names of one argument; give one of them.")
    given = group_data if sensitive_features is None else sensitive_features
    if not hasattr(given, "to_frame") or hasattr(given, "columns"):
        return given
    if not isinstance(given.name, str) or not given.name:  # a single column, as fairness libraries take it
        raise InputError(f"group_data given as a series needs a name that groups can refer to, but it is called {given.name!r}.")
    return given.to_frame()


def fitted(model: Any, X: Any, y: NDArray[Any], params: dict[str, Any]) -> Any:
    """A fitted copy."""
    return clone(model).fit(X, y, **params)


def weights_for(model: Any, weights: Array) -> dict[str, Array]:
    """Weights as an argument of the model's fit, or of the last step of a pipeline; nothing where it takes none."""
    last = model.steps[-1] if isinstance(model, Pipeline) else None
    if last is not None:
        return {f"{last[0]}__sample_weight": weights} if has_fit_parameter(last[1], "sample_weight") else {}
    return {"sample_weight": weights} if has_fit_parameter(model, "sample_weight") else {}
