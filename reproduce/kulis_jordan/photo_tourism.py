"""§6.2: seconds per iteration on data of the size of Photo Tourism, 312,320 × 128; the descriptors are made up.

Seconds are those of the processor, in one thread.
"""

import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kfree import DPMeans, farthest_first_lambda
from kfree.baselines import GibbsDPMixture
from reproduce.result import Result
from reproduce.table import Line

N_ROWS, QUICK_ROWS, N_FEATURES = 312_320, 31_232, 128
N_WORDS, TARGET_K = 200, 100
DP_MEANS_ITERATIONS, GIBBS_SWEEPS = 5, 1


def descriptors(n_rows, seed=0):
    """Like SIFT: 128 numbers ≥ 0, many of them small, around a few hundred patterns; float32."""
    rng = np.random.default_rng(seed)
    words = rng.gamma(0.6, 40.0, size=(N_WORDS, N_FEATURES)).astype(np.float32)
    noise = rng.standard_normal((n_rows, N_FEATURES), dtype=np.float32)
    return np.clip(words[rng.integers(N_WORDS, size=n_rows)] + 12 * noise, 0, 255)


def result(quick):
    """DP-means for a few iterations, and one Gibbs sweep from one cluster with a σ that suits the rows."""
    n_rows = QUICK_ROWS if quick else N_ROWS
    X = descriptors(n_rows)
    lam = farthest_first_lambda(X[:10_000], TARGET_K)
    # The first state of a search is the one cluster that it begins with.
    model = DPMeans(lam=lam, search="sweep", max_iter=DP_MEANS_ITERATIONS + 1, n_threads=1)
    seconds, n_iter, k = _timed(model, X)
    per_iteration = seconds / (n_iter - 1)
    share = N_ROWS / n_rows
    case = f"made-up descriptors, {n_rows} × {N_FEATURES}"
    note = "" if share == 1 else f"times {share:.0f}, the rows of the paper per row here"
    lines = [
        Line(
            case,
            "DP-means",
            "seconds per iteration",
            37.9,
            share * per_iteration,
            note=f"k={k}, whole fit. {note}".strip(),
        )
    ]
    chain = {"n_burn_in": 0, "n_samples": GIBBS_SWEEPS, "thin": 1, "random_state": 0}
    sampler = GibbsDPMixture(1.0, 150.0, prior_mean=X.mean(axis=0), **chain)
    started = time.process_time()
    sampler.fit(X)
    swept = (time.process_time() - started) / GIBBS_SWEEPS
    note = f"k={sampler.n_clusters_}. {note}".strip()
    lines.append(Line(case, "Gibbs", "seconds per iteration", 29.4, share * swept, note=note))
    return Result(lines)


def _timed(model, X):
    """Processor seconds of a fit, its iterations and clusters."""
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X)
    return time.process_time() - started, model.n_iter_, model.n_clusters_
