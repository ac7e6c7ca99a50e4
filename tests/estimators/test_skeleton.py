"""The skeleton of docs/adding-an-estimator.md is an estimator: scikit-learn's checks, and what kfree adds."""

import re
from pathlib import Path

import numpy as np
import pytest
from common import blobs
from sklearn.utils.estimator_checks import parametrize_with_checks

import kfree

PAGE = Path(__file__).parents[2] / "docs" / "adding-an-estimator.md"


def skeleton():
    names = {"__name__": __name__}  # where pickle looks for the class
    exec(re.search(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)[1], names)
    return names["FarthestFirst"]


FarthestFirst = skeleton()


@parametrize_with_checks([FarthestFirst()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_what_every_estimator_can_do(rng):
    X, _ = blobs(rng)
    model = FarthestFirst(5).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    centres = model.cluster_centers_
    assert model.cost_ == pytest.approx((np.linalg.norm(X[:, None] - centres, axis=2).min(axis=1) ** 2).sum())
    assert -model.score(X) == model.cost_
    assert (model.confidence(X) <= 1).all()
    assert model.outlier_score([[1e3, 0.0, 0.0]])[0] > 1
    assert "cluster" in str(model.summary(X))


def test_it_is_saved_once_kfree_has_it(rng, tmp_path, monkeypatch):
    monkeypatch.setattr(kfree, "FarthestFirst", FarthestFirst, raising=False)
    monkeypatch.setattr(kfree, "__all__", [*kfree.__all__, "FarthestFirst"])
    X, _ = blobs(rng)
    model = FarthestFirst(5).fit(X).save(tmp_path / "m.kfree")
    loaded = kfree.load(tmp_path / "m.kfree")
    np.testing.assert_array_equal(loaded.predict(X), model.labels_)
    assert loaded.cost_ == model.cost_


def test_parameters_are_named(rng):
    with pytest.raises(ValueError, match="n_clusters=0 is not allowed; give a whole number ≥ 1"):
        FarthestFirst(0).fit(rng.normal(size=(10, 2)))
