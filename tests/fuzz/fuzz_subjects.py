"""What is fuzzed: every public estimator, made from a case, and the functions of ``fuzz_functions``."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kfree import (
    AgglomerativeBayes,
    AutoCluster,
    BayesianKMeans,
    DPMeans,
    GraphDPMeans,
    HardHDP,
    KernelDPMeans,
    KMeans,
    NestedDPMeans,
    OnlineDPMeans,
    SpectralDPMeans,
)
from kfree.baselines import (
    CollapsedGibbsDPMixture,
    GaussianMixtureBIC,
    GibbsDPMixture,
    GMeans,
    KMeansBIC,
    VariationalMixture,
)
from tests.fuzz.fuzz_functions import FUNCTIONS

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
    "DPMeans": Subject(lambda case: DPMeans(lam=case.penalty)),
    "DPMeans, auto": Subject(lambda case: DPMeans()),
    "DPMeans, target": Subject(lambda case: DPMeans(target_k=min(3, case.n_rows))),
    "DPMeans, sweep": Subject(lambda case: DPMeans(lam=case.penalty, search="sweep")),
    "DPMeans, cosine": Subject(lambda case: DPMeans(lam=10.0 ** (case.log_penalty / 6), metric="cosine")),
    "DPMeans, reference": Subject(lambda case: DPMeans(lam=case.penalty, engine="reference", max_iter=50)),
    "NestedDPMeans": Subject(lambda case: NestedDPMeans()),
    "NestedDPMeans, levels": Subject(lambda case: NestedDPMeans(levels=(1, 2))),
    "AutoCluster": Subject(lambda case: AutoCluster(), all_used=False),
    "KMeans": Subject(lambda case: KMeans(min(3, case.n_rows), random_state=0), all_used=False),
    "OnlineDPMeans": Subject(lambda case: OnlineDPMeans(lam=case.penalty), all_used=False),
    "OnlineDPMeans, split": Subject(
        lambda case: OnlineDPMeans(lam=case.penalty, search="published", max_clusters=5), all_used=False
    ),
    "OnlineDPMeans, forgetting": Subject(lambda case: OnlineDPMeans(lam=case.penalty, half_life=5.0), all_used=False),
    "HardHDP": Subject(lambda case: HardHDP(lam_local=case.penalty, lam_global=case.penalty)),
    "HardHDP, sweep": Subject(lambda case: HardHDP(lam_local=case.penalty, lam_global=case.penalty, search="sweep")),
    "HardHDP, kernel": Subject(lambda case: HardHDP(lam_local=0.5, lam_global=0.5, kernel="rbf")),
    "HardHDP, polynomial": Subject(
        lambda case: HardHDP(lam_local=case.penalty, lam_global=case.penalty, kernel="polynomial", degree=2)
    ),
    "KernelDPMeans": Subject(lambda case: KernelDPMeans(lam=10.0 ** (case.log_penalty / 6))),
    "KernelDPMeans, linear": Subject(lambda case: KernelDPMeans(lam=case.penalty, kernel="linear")),
    "KernelDPMeans, polynomial": Subject(lambda case: KernelDPMeans(lam=case.penalty, kernel="polynomial", degree=2)),
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
        lambda case: GraphDPMeans(lam=-(10.0 ** (case.log_penalty / 6 - 1)), patience=1),
        False,
        lambda case: case.adjacency(),
    ),
    "GraphDPMeans, ratio": Subject(
        lambda case: GraphDPMeans(lam=-case.penalty, cut="ratio"), False, lambda case: case.adjacency()
    ),
    "GraphDPMeans, edges": Subject(lambda case: GraphDPMeans(patience=1), False, lambda case: case.edges()),
    "BayesianKMeans": Subject(lambda case: BayesianKMeans(), weighted=False),
    "BayesianKMeans, counts": Subject(lambda case: BayesianKMeans("multinomial"), weighted=False),
    "BayesianKMeans, bits": Subject(lambda case: BayesianKMeans("bernoulli"), weighted=False),
    # A merge cannot be undone, though some rows may be more likely elsewhere.
    "AgglomerativeBayes": Subject(lambda case: AgglomerativeBayes(), weighted=False, predicts_labels=False),
    "AgglomerativeBayes, counts": Subject(
        lambda case: AgglomerativeBayes("multinomial"), weighted=False, predicts_labels=False
    ),
    "AgglomerativeBayes, bits": Subject(
        lambda case: AgglomerativeBayes("bernoulli"), weighted=False, predicts_labels=False
    ),
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

SUBJECTS = [*ESTIMATORS, *FUNCTIONS]
# Those that take ten milliseconds a case or more, which are drawn less often.
DEAR = {
    "AutoCluster",
    "BayesianKMeans",
    "DPMeans, auto",
    "DPMeans, reference",
    "DPMeans, target",
    "GaussianMixtureBIC",
    "GraphDPMeans",
    "GraphDPMeans, edges",
    "GraphDPMeans, ratio",
    "HardHDP",
    "HardHDP, kernel",
    "HardHDP, polynomial",
    "KernelDPMeans",
    "KernelDPMeans, linear",
    "KernelDPMeans, polynomial",
    "NestedDPMeans",
    "NestedDPMeans, levels",
    "OnlineDPMeans",
    "OnlineDPMeans, forgetting",
    "SpectralDPMeans",
    "SpectralDPMeans, neighbours",
    "choose_k",
    "lambda_path",
    "plot",
    "select_by_validation",
}
DRAWN_SUBJECTS = [subject for subject in SUBJECTS for _ in range(1 if subject in DEAR else 12)]
