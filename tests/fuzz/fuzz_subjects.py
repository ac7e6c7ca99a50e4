"""What is fuzzed: every public estimator and function, made from a case."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kfree import (
    AgglomerativeBayes,
    BayesianKMeans,
    DPMeans,
    GraphDPMeans,
    HardHDP,
    KernelDPMeans,
    KMeans,
    OnlineDPMeans,
    SpectralDPMeans,
    TableEncoder,
    choose_k,
    farthest_first_lambda,
    lambda_path,
)
from kfree.baselines import (
    CollapsedGibbsDPMixture,
    GaussianMixtureBIC,
    GibbsDPMixture,
    GMeans,
    KMeansBIC,
    VariationalMixture,
    select_by_validation,
)
from kfree.metrics import dendrogram_purity

# A sampler that is run for a moment: the fuzzer asks whether it fails, not where it converges to.
SHORT = {"n_burn_in": 2, "n_samples": 2, "thin": 1, "random_state": 0}


@dataclass(frozen=True)
class Subject:
    """An estimator made from a case, what it is fitted to, and what may be asked of it."""

    make: Callable[..., Any]
    weighted: bool = True
    data: Callable[..., Any] = lambda case: case.X()
    predicts_labels: bool = True  # predict(X) gives labels_
    all_used: bool = True  # every cluster has a row


ESTIMATORS = {
    "DPMeans": Subject(lambda case: DPMeans(case.penalty)),
    "DPMeans, auto": Subject(lambda case: DPMeans()),
    "DPMeans, target": Subject(lambda case: DPMeans(target_k=min(3, case.n_rows))),
    "DPMeans, sweep": Subject(lambda case: DPMeans(case.penalty, search="sweep")),
    "DPMeans, cosine": Subject(lambda case: DPMeans(10.0 ** (case.log_penalty / 6), metric="cosine")),
    "DPMeans, reference": Subject(lambda case: DPMeans(case.penalty, engine="reference", max_iter=50)),
    "KMeans": Subject(lambda case: KMeans(min(3, case.n_rows), random_state=0), all_used=False),
    "OnlineDPMeans": Subject(lambda case: OnlineDPMeans(case.penalty), all_used=False),
    "OnlineDPMeans, split": Subject(
        lambda case: OnlineDPMeans(case.penalty, search="published", max_clusters=5), all_used=False
    ),
    "OnlineDPMeans, forgetting": Subject(lambda case: OnlineDPMeans(case.penalty, half_life=5.0), all_used=False),
    "HardHDP": Subject(lambda case: HardHDP(case.penalty, case.penalty)),
    "HardHDP, sweep": Subject(lambda case: HardHDP(case.penalty, case.penalty, search="sweep")),
    "HardHDP, kernel": Subject(lambda case: HardHDP(0.5, 0.5, kernel="rbf")),
    "KernelDPMeans": Subject(lambda case: KernelDPMeans(10.0 ** (case.log_penalty / 6))),
    "KernelDPMeans, linear": Subject(lambda case: KernelDPMeans(case.penalty, kernel="linear")),
    # New rows are placed by a formula that rounds; two rows at once may be a tie.
    "SpectralDPMeans": Subject(lambda case: SpectralDPMeans(), False, predicts_labels=False, all_used=False),
    "SpectralDPMeans, neighbours": Subject(
        lambda case: SpectralDPMeans(affinity="nearest_neighbors", n_neighbors=3),
        weighted=False,
        predicts_labels=False,
        all_used=False,
    ),
    "GraphDPMeans": Subject(lambda case: GraphDPMeans(patience=1), False, lambda case: case.adjacency()),
    "GraphDPMeans, penalty": Subject(
        lambda case: GraphDPMeans(-(10.0 ** (case.log_penalty / 6 - 1)), patience=1),
        False,
        lambda case: case.adjacency(),
    ),
    "GraphDPMeans, ratio": Subject(
        lambda case: GraphDPMeans(-case.penalty, cut="ratio"), False, lambda case: case.adjacency()
    ),
    "GraphDPMeans, edges": Subject(lambda case: GraphDPMeans(patience=1), False, lambda case: case.edges()),
    "BayesianKMeans": Subject(lambda case: BayesianKMeans(), weighted=False),
    "BayesianKMeans, counts": Subject(lambda case: BayesianKMeans("multinomial"), weighted=False),
    "BayesianKMeans, bits": Subject(lambda case: BayesianKMeans("bernoulli"), weighted=False),
    "AgglomerativeBayes": Subject(lambda case: AgglomerativeBayes(), weighted=False),
    "AgglomerativeBayes, counts": Subject(lambda case: AgglomerativeBayes("multinomial"), weighted=False),
    "AgglomerativeBayes, bits": Subject(lambda case: AgglomerativeBayes("bernoulli"), weighted=False),
    # Labels are those of the best or of the last sample.
    "GibbsDPMixture": Subject(lambda case: GibbsDPMixture(**SHORT), weighted=False, predicts_labels=False),
    "CollapsedGibbsDPMixture": Subject(
        lambda case: CollapsedGibbsDPMixture(**SHORT), weighted=False, predicts_labels=False
    ),
    "GMeans": Subject(lambda case: GMeans(), weighted=False),
    "KMeansBIC": Subject(lambda case: KMeansBIC(), weighted=False),
    "GaussianMixtureBIC": Subject(lambda case: GaussianMixtureBIC(), weighted=False, all_used=False),
    "VariationalMixture": Subject(lambda case: VariationalMixture(), weighted=False, all_used=False),
}


def _path(case):
    path = lambda_path(case.X(), sample_weight=case.weight())
    assert path.suggest().k >= 1, "a path suggests no number of clusters"
    assert (np.diff(path.k) > 0).all(), "the steps of a path are not in order"


def _farthest_first(case):
    lam = farthest_first_lambda(case.X(), min(3, case.n_rows), sample_weight=case.weight())
    assert np.isfinite(lam), f"lam={lam} is no penalty"


def _choice(case):
    choice = choose_k(case.X(), range(1, 4), n_init=1, n_folds=2, n_references=2)
    assert all(k >= 1 for k in choice.chosen.values()), f"choose_k chose {choice.chosen}"
    assert repr(choice), "a choice has no text"


def _selected(case):
    penalties = {"lam": [case.penalty, 10 * case.penalty]}
    model, score = select_by_validation(DPMeans(), case.X(), case.groups(), penalties)
    assert model.lam in penalties["lam"], "a penalty that was not on the grid"
    assert -1e-9 <= score <= 1 + 1e-9, f"an agreement of {score}"


def _purity(case):
    linkage = case.rows()
    if case.seed % 2:  # a chain, with heights as they come
        n = case.n_rows
        linkage = np.column_stack(
            [np.arange(1, n), np.r_[[0][: n - 1], n + np.arange(n - 2)], np.arange(1, n), np.arange(2, n + 1)]
        )
    purity = dendrogram_purity(linkage, case.groups())
    assert 0 < purity <= 1 + 1e-9, f"a purity of {purity}"


def _encoded(case):
    encoder, X = TableEncoder(), case.X()
    rows = encoder.fit_transform(X)
    assert np.isfinite(rows).all(), "an encoded table has NaN or infinity"
    assert np.array_equal(encoder.transform(case.X()), rows), "transform differs from fit_transform"
    assert len(encoder.inverse_transform(rows)) == case.n_rows, "a decoded table has other rows"
    assert encoder.describe(), "no description"


FUNCTIONS = {
    "lambda_path": _path,
    "farthest_first_lambda": _farthest_first,
    "choose_k": _choice,
    "select_by_validation": _selected,
    "dendrogram_purity": _purity,
    "TableEncoder": _encoded,
}
SUBJECTS = [*ESTIMATORS, *FUNCTIONS]
