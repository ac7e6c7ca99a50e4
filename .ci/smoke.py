"""Whether an installed kfree works: the compiled core is there, and a fit finds two clusters."""

import numpy as np

import kfree
from kfree.native import _core

X = np.random.default_rng(0).normal(size=(200, 16)) + np.repeat([[0.0], [20.0]], 100, axis=0)
model = kfree.DPMeans(lam=1000.0).fit(X)
if model.n_clusters_ != 2 or len(set(model.predict(X[::100]))) != 2:
    raise SystemExit(f"expected 2 clusters, got {model.n_clusters_}")
print(f"kfree {kfree.__version__} works; instruction sets: {', '.join(_core.instruction_sets())}")
