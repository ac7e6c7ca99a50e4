"""kfree: clustering with an unknown number of clusters.

Public names are imported when they are first used, so that ``import kfree`` is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kfree import baselines, datasets, exceptions, metrics, plot, report
    from kfree.clustering import Clustering, cluster
    from kfree.estimators.agglomerative_bayes import AgglomerativeBayes
    from kfree.estimators.auto_cluster import AutoCluster
    from kfree.estimators.bayesian_k_means import BayesianKMeans
    from kfree.estimators.choose_k import choose_k
    from kfree.estimators.dp_means import DPMeans
    from kfree.estimators.farthest_first import farthest_first_lambda
    from kfree.estimators.graph_dp_means import GraphDPMeans
    from kfree.estimators.hard_hdp import HardHDP
    from kfree.estimators.k_means import KMeans
    from kfree.estimators.kernel_dp_means import KernelDPMeans
    from kfree.estimators.lambda_path import lambda_path
    from kfree.estimators.nested_dp_means import NestedDPMeans
    from kfree.estimators.online import OnlineDPMeans
    from kfree.estimators.spectral_dp_means import SpectralDPMeans
    from kfree.files.rows import open_rows
    from kfree.saving import load
    from kfree.tables.encoder import TableEncoder

__version__ = "0.1.0"

__all__ = [
    "AgglomerativeBayes",
    "AutoCluster",
    "BayesianKMeans",
    "Clustering",
    "DPMeans",
    "GraphDPMeans",
    "HardHDP",
    "KMeans",
    "KernelDPMeans",
    "NestedDPMeans",
    "OnlineDPMeans",
    "SpectralDPMeans",
    "TableEncoder",
    "baselines",
    "choose_k",
    "cluster",
    "datasets",
    "exceptions",
    "farthest_first_lambda",
    "lambda_path",
    "load",
    "metrics",
    "open_rows",
    "plot",
    "report",
]

_HOME = {
    "AgglomerativeBayes": "kfree.estimators.agglomerative_bayes",
    "AutoCluster": "kfree.estimators.auto_cluster",
    "BayesianKMeans": "kfree.estimators.bayesian_k_means",
    "Clustering": "kfree.clustering",
    "DPMeans": "kfree.estimators.dp_means",
    "GraphDPMeans": "kfree.estimators.graph_dp_means",
    "HardHDP": "kfree.estimators.hard_hdp",
    "KMeans": "kfree.estimators.k_means",
    "KernelDPMeans": "kfree.estimators.kernel_dp_means",
    "NestedDPMeans": "kfree.estimators.nested_dp_means",
    "OnlineDPMeans": "kfree.estimators.online",
    "SpectralDPMeans": "kfree.estimators.spectral_dp_means",
    "TableEncoder": "kfree.tables.encoder",
    "choose_k": "kfree.estimators.choose_k",
    "cluster": "kfree.clustering",
    "farthest_first_lambda": "kfree.estimators.farthest_first",
    "lambda_path": "kfree.estimators.lambda_path",
    "load": "kfree.saving",
    "open_rows": "kfree.files.rows",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in __all__:
        return import_module(f"kfree.{name}")
    raise AttributeError(f"module 'kfree' has no attribute {name!r}; it offers {', '.join(__all__)}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
