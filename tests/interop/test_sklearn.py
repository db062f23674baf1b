"""Estimators that are fitted by gradients."""

import numpy as np
import pytest
from sklearn.base import RegressorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from stgrad.errors import NotDifferentiableError
from stgrad.interop.sklearn import GradientEstimator


class Ridge(RegressorMixin, GradientEstimator):
    def __init__(self, strength=0.0, power=2):
        self.strength = strength
        self.power = power

    def start(self, X, y):
        return {"w": np.zeros(X.shape[1]), "b": 0.0}

    @staticmethod
    def output(params, X, settings):
        return X @ params["w"] + params["b"]

    @staticmethod
    def loss(params, X, y, settings):
        error = X @ params["w"] + params["b"] - y
        return np.mean(error ** settings["power"]) + settings["strength"] * np.sum(params["w"] ** 2)


def test_fits_as_the_normal_equations_do() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = X @ [1.0, -2.0, 0.5] + 3.0 + 0.1 * rng.standard_normal(60)
    model = Ridge(strength=0.1).fit(X, y)
    centred = X - X.mean(0)
    expected = np.linalg.solve(centred.T @ centred / 60 + 0.1 * np.eye(3), centred.T @ (y - y.mean()) / 60)
    np.testing.assert_allclose(model.params_["w"], expected, 1e-4)
    assert model.loss_ == pytest.approx(Ridge.loss(model.params_, X, y, model.get_params()))
    assert model.n_features_in_ == 3
    assert model.score(X, y) > 0.9
    search = GridSearchCV(make_pipeline(StandardScaler(), Ridge()), {"ridge__strength": [0.0, 10.0]}, cv=2).fit(X, y)
    assert search.best_params_ == {"ridge__strength": 0.0}
    assert clone(model).get_params() == model.get_params()


def test_what_is_missing_is_said() -> None:
    class Empty(GradientEstimator):
        pass

    with pytest.raises(NotDifferentiableError, match="Empty has no `start`"):
        Empty().fit(np.ones((3, 1)), np.ones(3))
    with pytest.raises(NotFittedError):
        Ridge().predict(np.ones((3, 1)))
