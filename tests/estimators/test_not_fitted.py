"""Before fit, every public method of every estimator raises NotFittedError, with rows and without."""

import inspect

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import kfree
from kfree import baselines, plot

ESTIMATORS = [
    estimator
    for module in (kfree, baselines)
    for estimator in (getattr(module, name) for name in module.__all__)
    if hasattr(estimator, "get_params")
]
# Methods that fit, and those of scikit-learn for parameters.
FITTING = ("fit", "fit_predict", "fit_transform", "partial_fit", "get_params", "get_metadata_routing")
X = np.eye(12, 2)


def asked(estimator):
    """The public methods that need a fit, with the names of their parameters without a default."""
    for name, method in inspect.getmembers(estimator, inspect.isfunction):
        if name not in FITTING and not name.startswith(("_", "set_")):
            _, *parameters = inspect.signature(method).parameters.values()
            yield name, [one.name for one in parameters if one.default is one.empty and one.kind != one.VAR_KEYWORD]


METHODS = [(estimator, name, needed) for estimator in ESTIMATORS for name, needed in asked(estimator)]


def made(estimator):
    return estimator(3) if estimator is kfree.KMeans else estimator()


@pytest.mark.parametrize(("estimator", "name", "needed"), METHODS, ids=lambda given: getattr(given, "__name__", given))
def test_a_method_says_that_the_estimator_is_not_fitted(estimator, name, needed, tmp_path):
    method, given = getattr(made(estimator), name), {"path": tmp_path / "file"}
    with pytest.raises(NotFittedError):
        method(*(given.get(parameter, X) for parameter in needed))
    if "X" in inspect.signature(method).parameters and "X" not in needed:
        with pytest.raises(NotFittedError):
            method(*(given.get(parameter, X) for parameter in needed), X=X)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("function", [kfree.explain.summarize, plot.profiles])
@pytest.mark.parametrize("estimator", [one for one in ESTIMATORS if hasattr(one, "summary")])
def test_functions_of_a_model_say_so_too(estimator, function):
    for rows in (None, X):
        with pytest.raises(NotFittedError):
            function(made(estimator), rows)
