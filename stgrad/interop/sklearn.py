"""Estimators of scikit-learn that are fitted by gradients: write a loss, get `fit`.

Parameters are numbers, arrays, and structures of them; the loss is compiled with its gradient, and SciPy's optimiser finds where it is least.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from stgrad.errors import NotDifferentiableError
from stgrad.interop.scipy import minimize


class GradientEstimator(BaseEstimator):
    """Base of estimators with a `loss`; mix in `RegressorMixin`, `ClassifierMixin`... for their scores.

    A subclass defines

        start(self, X, y)                          where the parameters begin: numbers, arrays, or a structure of them
        loss(params, X, y, settings)               a static method: one real number; `settings` are the arguments of the constructor, by name
        output(params, X, settings)                a static method: what `predict` gives

    and, like every estimator, keeps the arguments of its constructor as attributes. `fit` sets `params_`, `loss_`, the least loss, and `n_iter_`.
    `method` and `options`, class attributes, are those of `stgrad.interop.scipy.minimize`.

    >>> from sklearn.base import RegressorMixin
    >>> class Ridge(RegressorMixin, GradientEstimator):
    ...     def __init__(self, strength=0.0):
    ...         self.strength = strength
    ...     def start(self, X, y):
    ...         return {"w": np.zeros(X.shape[1]), "b": 0.0}
    ...     @staticmethod
    ...     def output(params, X, settings):
    ...         return X @ params["w"] + params["b"]
    ...     @staticmethod
    ...     def loss(params, X, y, settings):
    ...         error = X @ params["w"] + params["b"] - y
    ...         return np.mean(error**2) + settings["strength"] * np.sum(params["w"] ** 2)
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> Ridge().fit(X, 3.0 * X[:, 0] + 1.0).predict([[5.0]]).round(3)
    array([16.])
    """

    method: str | None = "L-BFGS-B"
    options: dict[str, Any] | None = None

    def start(self, X: Any, y: Any) -> Any:
        """Where the parameters begin."""
        raise NotDifferentiableError(f"{type(self).__name__} has no `start`", hint="define start(self, X, y), which returns the parameters to begin with")

    @staticmethod
    def loss(params: Any, X: Any, y: Any, settings: dict[str, Any]) -> Any:
        """What is to be least."""
        raise NotDifferentiableError("the estimator has no `loss`", hint="define the static method loss(params, X, y, settings)")

    @staticmethod
    def output(params: Any, X: Any, settings: dict[str, Any]) -> Any:
        """What `predict` gives."""
        raise NotDifferentiableError("the estimator has no `output`", hint="define the static method output(params, X, settings)")

    def fit(self, X: Any, y: Any = None) -> GradientEstimator:
        """Find the parameters for which the loss is least; X (n, features) and y, if there is one, are taken as float64 arrays."""
        if y is None:
            X = validate_data(self, X, dtype=np.float64)
        else:
            X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, multi_output=True)
            y = np.asarray(y, np.float64)
        found = minimize(type(self).loss, self.start(X, y), (X, y, self.get_params(deep=False)), method=self.method, options=self.options)
        self.params_, self.loss_, self.n_iter_ = found.x, float(found.fun), int(found.get("nit", 0))
        return self

    def predict(self, X: Any) -> Any:
        """The output for new data."""
        check_is_fitted(self, "params_")
        return self.output(self.params_, validate_data(self, X, dtype=np.float64, reset=False), self.get_params(deep=False))


__all__ = ["GradientEstimator"]
