"""The kd-tree of Bayesian k-means against kfree's own pass over all rows, as in Fig. 5 of Kurihara & Welling (2009).

One label update with statistics of all clusters, from the posteriors of a fit, over the number of rows, of columns, and
the separation τ of five clusters; defaults are the paper's N = 20,000, D = 2, τ = 3. The tree is built once for a fit,
so building it is timed apart. Seconds are those of the processor, in one thread.
"""

import time

import numpy as np
from ratio import arguments, chosen, race, report

from kfree import BayesianKMeans
from kfree.datasets import make_gaussians
from kfree.engines.cost_rules.gaussian import GaussianRows
from kfree.native import _core

DEFAULT = {"n_rows": 20_000, "n_features": 2, "separation": 3.0}
CASES = [
    *({"n_rows": n} for n in [1000, 5000, 20_000, 80_000, 320_000]),
    *({"n_features": d} for d in [4, 8, 16, 32]),
    *({"separation": tau} for tau in [0.5, 1.0, 2.0, 5.0]),
]
SPEED = {"n_rows": 80_000}
# Passes in one measurement, because the tree's are too short for the clock.
N_PASSES = 10


def passes(engine, rule):
    for _ in range(N_PASSES):
        assignment, _ = engine.assign(rule)
    return engine.labels(assignment)


def measured(case, rounds):
    setting = DEFAULT | case
    X, _ = make_gaussians(n_clusters=5, random_state=0, **setting)
    model = BayesianKMeans(n_threads=1).fit(X[:20_000])
    rows = np.ascontiguousarray(model._model_.frame.inward(X))
    started = time.process_time()
    tree = GaussianRows(_core, rows, "kd-tree", 1)
    building = time.process_time() - started
    brute = GaussianRows(_core, rows, "brute", 1)
    row = race(
        f"N={setting['n_rows']}, D={setting['n_features']}, τ={setting['separation']:g}",
        {
            "kfree": lambda: passes(tree, model._model_.rule),
            "kfree, all rows": lambda: passes(brute, model._model_.rule),
        },
        rounds,
        target=20.0 if case == SPEED else None,
        clock=time.process_time,
    )
    same = np.array_equal(passes(tree, model._model_.rule), passes(brute, model._model_.rule))
    share = brute.n_evaluations / max(tree.n_evaluations, 1)
    row.notes["kfree"] = (
        f"kd-tree: 1/{share:.0f} of the evaluations, K={model.n_clusters_}, built in {building:.3f} s, "
        f"{'same labels' if same else 'OTHER LABELS'}"
    )
    return row


def main():
    options = arguments(__doc__)
    rows = [measured(case, options.rounds) for case in chosen(CASES, options)]
    report("kd_tree", rows, "numpy", only=options.only)


if __name__ == "__main__":
    main()
