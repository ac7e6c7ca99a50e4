"""Every pass on several threads, small enough for ThreadSanitizer. Run by .ci/race, not by pytest."""

import os

import numpy as np
import scipy.sparse as sp

from kfree import AgglomerativeBayes, HardHDP
from kfree.core.row_costs import MeanRowCosts
from kfree.core.rules import QuadraticRule
from kfree.core.sites import Sites
from kfree.engines.cost_rules.gaussian import GaussianRows
from kfree.engines.registry import open_engine
from kfree.native import _core

N_THREADS = 4


def exercise(X, k, rng):
    """All that an engine offers, with sites that move between passes so that bounds and lists are in use."""
    engine = open_engine("native", X, n_threads=N_THREADS)
    sites = Sites.of(engine.rows(np.arange(k)))
    for _ in range(4):
        found = engine.nearest(sites)
        sites = sites.moved(sites.centres + 0.05 * rng.normal(size=sites.centres.shape))
    sq_dist = engine.sq_dists(found.assignment, found.centres)
    engine.sweep(sites, float(np.quantile(sq_dist, 0.9)), np.random.RandomState(0).permutation(engine.n_rows), 50)
    engine.best_of(sites.centres[:5], sq_dist)
    engine.sq_distances(sites.centres[:3])
    seeding = engine.seeding()
    seeding.approach(sites.centres[0])
    seeding.best(seeding.draw(rng.random(5)))
    costs = engine.deletion_costs()
    costs.update(found.assignment, sites)
    costs.costs()
    engine.exchange(found.assignment, sites.centres, found.stats, MeanRowCosts, 1e-9)
    pairs = np.repeat(sites.centres, 2, axis=0) + 0.1 * rng.normal(size=(2 * k, engine.n_features))
    bisection = engine.bisection(found.assignment, np.arange(k, dtype=np.int32), k)
    bisection.choose(pairs, np.ones(k, dtype=bool))
    bisection.scatter_product(pairs)


def share_clusters(rng):
    """Groups side by side."""
    X = rng.normal(size=(3_000, 3))
    HardHDP(lam_local=1.0, lam_global=2.0, search="sweep", n_threads=N_THREADS).fit(
        X, groups=np.repeat(np.arange(30), 100)
    )


def grow_trees(rng):
    """Trees by free energy, with rows enough for several threads."""
    X = rng.normal(size=(320, 40))
    for model, rows in [("gaussian", X), ("multinomial", (X > 1) * 3.0), ("bernoulli", (X > 1) * 1.0)]:
        AgglomerativeBayes(model, n_threads=N_THREADS).fit(rows)


def exercise_tree(rng):
    """Quadratic costs of all rows and of the boxes of a tree."""
    X = rng.normal(size=(6_000, 3))
    rule = QuadraticRule(X[:20].copy(), np.tile(np.eye(3), (20, 1, 1)), np.zeros(20))
    for algorithm in ["brute", "kd-tree"]:
        GaussianRows(_core, X, algorithm, N_THREADS).assign(rule)


def main():
    if "libtsan" not in os.environ.get("LD_PRELOAD", ""):
        raise SystemExit("this proves nothing without ThreadSanitizer: run .ci/race")
    rng = np.random.default_rng(0)
    for d, k in [(2, 150), (16, 200), (200, 40)]:
        X = rng.normal(size=(6_000, d)).astype(np.float32)
        exercise(X, k, rng)
        exercise(sp.csr_array(X * (X > 1)), min(k, 80), rng)
    share_clusters(rng)
    grow_trees(rng)
    exercise_tree(rng)
    print("no race")


if __name__ == "__main__":
    main()
