"""Parameters need their names, and those of other libraries get an error that names kfree's."""

import inspect

import pytest
from sklearn.base import clone

import kfree

PENALISED = ["DPMeans", "GraphDPMeans", "HardHDP", "KernelDPMeans", "OnlineDPMeans", "SpectralDPMeans"]
WITHOUT_NUMBER = ["AgglomerativeBayes", "AutoCluster", "BayesianKMeans", "NestedDPMeans", "OnlineDPMeans"]
WITH_TARGET = ["DPMeans", "GraphDPMeans", "HardHDP", "KernelDPMeans", "SpectralDPMeans"]


@pytest.mark.parametrize("name", PENALISED)
def test_a_penalty_has_a_name(name):
    penalty = "lam_local" if name == "HardHDP" else "lam"
    with pytest.raises(
        TypeError, match=f"parameters of {name} need their names, and 3 has none.*{penalty}=3 for a pen"
    ):
        getattr(kfree, name)(3)


@pytest.mark.parametrize("given", ["n_clusters", "k"])
@pytest.mark.parametrize("name", WITH_TARGET)
def test_a_number_of_clusters_is_a_target(name, given):
    with pytest.raises(TypeError, match=rf"{name} has no parameter {given}\. Give target_k=5\."):
        getattr(kfree, name)(**{given: 5})


@pytest.mark.parametrize("name", WITHOUT_NUMBER)
def test_a_number_of_clusters_that_is_found(name):
    with pytest.raises(
        TypeError, match=rf"{name} determines the number of clusters\. Use kfree\.KMeans\(n_clusters=5\)"
    ):
        getattr(kfree, name)(n_clusters=5)


@pytest.mark.parametrize("given", ["eps", "min_cluster_size"])
@pytest.mark.parametrize("name", PENALISED)
def test_the_scale_of_a_cluster_is_its_penalty(name, given):
    with pytest.raises(
        TypeError, match=f"{name} has no parameter {given}.*set by lam.*a smaller one gives more clusters"
    ):
        getattr(kfree, name)(**{given: 0.5})


def test_other_names():
    with pytest.raises(TypeError, match=r"KMeans has no parameter k\. Give n_clusters=4\."):
        kfree.KMeans(k=4)
    with pytest.raises(TypeError, match=r"DPMeans has no parameter metrics\. Did you mean metric\?"):
        kfree.DPMeans(metrics="cosine")
    with pytest.raises(TypeError, match="KMeans has no parameter eps. Parameters: n_clusters, init"):
        kfree.KMeans(eps=0.5)
    assert kfree.KMeans(4).n_clusters == 4


@pytest.mark.parametrize("name", sorted({*PENALISED, *WITHOUT_NUMBER}))
def test_signatures_and_clones_stay(name):
    kind = getattr(kfree, name)
    model = kind(random_state=1)
    assert clone(model).get_params() == model.get_params()
    assert set(inspect.signature(kind).parameters) == set(model.get_params())
