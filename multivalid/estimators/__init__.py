"""scikit-learn faces: fit a model and calibrate it for every group in one `fit`."""

from multivalid.estimators.classifier import MulticalibratedClassifier
from multivalid.estimators.pair import MulticalibratedPairRegressor
from multivalid.estimators.regressor import MulticalibratedRegressor

__all__ = ["MulticalibratedClassifier", "MulticalibratedPairRegressor", "MulticalibratedRegressor"]
