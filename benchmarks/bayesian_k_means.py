"""BayesianKMeans against scikit-learn's BayesianGaussianMixture with twice as many components as there are clusters.

N = 100,000 rows, D = 8 columns, K = 20 Gaussians of random shape. Processor seconds in one thread. The mixture takes
more than a minute a fit, so one round is enough.
"""

import time
import warnings

import numpy as np
from ratio import arguments, chosen, race, report
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import normalized_mutual_info_score
from sklearn.mixture import BayesianGaussianMixture
from threadpoolctl import threadpool_limits

from kfree import BayesianKMeans
from kfree.datasets import make_gaussians

N_CLUSTERS = 20
SEPARATIONS = [2.0, 0.5]


def mixture_labels(X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it stops after 100 iterations, its default
        return BayesianGaussianMixture(n_components=2 * N_CLUSTERS, random_state=0).fit_predict(X)


def measured(separation, rounds):
    X, y = make_gaussians(100_000, 8, N_CLUSTERS, separation, random_state=0)
    return race(
        f"100,000 × 8, 20 Gaussians, τ={separation:g}",
        {
            "kfree": lambda: BayesianKMeans(n_threads=1).fit_predict(X),
            "scikit-learn BayesianGaussianMixture(40)": lambda: mixture_labels(X),
        },
        rounds,
        target=10.0,
        notes=lambda _, labels: f"{len(np.unique(labels))} clusters, NMI {normalized_mutual_info_score(y, labels):.4f}",
        clock=time.process_time,
    )


def main():
    options = arguments(__doc__)
    with threadpool_limits(1):
        rows = [measured(separation, options.rounds) for separation in chosen(SEPARATIONS, options)]
    report("bayesian_k_means", rows, "scikit-learn", only=options.only)


if __name__ == "__main__":
    main()
