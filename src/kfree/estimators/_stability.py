"""How sure the number of clusters is: the same fit again on halves of the rows."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from kfree.estimators._base import rows_like_those_of_fit
from kfree.search.judge.choose import FEWEST_ROWS
from kfree.search.judge.stability import Refit, interval_of, is_sure, jaccard, refits_on_halves
from kfree.validation.parameters import is_positive_number, random_seed
from kfree.validation.rows import validated_weights
from kfree.validation.tensors import in_memory

# Random splits into halves, and rows of a half.
_N_SPLITS, _MOST_ROWS = 4, 2000


def stability(self, X: Any, sample_weight: Any = None) -> Any:
    """Fit again on halves of the rows, and set ``k_interval_``, ``stability_`` and ``is_sure_``.

    Four times, the rows are split into two halves at random, of at most 2,000 rows each, and both are fitted with the
    parameters of this model. A ``lam`` that is a number is multiplied by the share of the weight that a half has.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows of ``fit``, or others from the same source; at least 48.
    sample_weight : array-like of shape (n_samples,), default=None

    Returns
    -------
    self : the estimator
    """
    rows = in_memory(rows_like_those_of_fit(self, X))
    weight = validated_weights(sample_weight, rows.shape[0])
    counting = np.arange(rows.shape[0]) if weight is None else np.flatnonzero(weight > 0)
    if len(counting) < 2 * FEWEST_ROWS:
        raise ValueError(
            f"X has {len(counting)} rows of positive weight, and stability takes at least {2 * FEWEST_ROWS}: halves of "
            "fewer say nothing about clusters. Give more rows."
        )
    labels = np.asarray(in_memory(self.predict(X)))
    rng = np.random.default_rng(random_seed(self.random_state))
    refits = refits_on_halves(counting, _N_SPLITS, rng, lambda half: _refitted(self, rows, weight, half), _MOST_ROWS)
    self.k_interval_ = interval_of(self.n_clusters_, refits)
    found = jaccard(labels, refits)
    self.stability_ = np.append(found, np.zeros(self.n_clusters_ - len(found)))  # clusters without rows in X
    self.is_sure_ = is_sure(self.k_interval_, self.stability_)
    return self


def _refitted(model, rows, weight, half):
    """The clusters of some rows; rows that are left out as noise are none of these."""
    engine = "auto" if model.engine == "dask" else model.engine  # workers take no rows in memory
    again = clone(model).set_params(engine=engine, verbose=0, memory=None, checkpoint=None, time_budget=None, init=None)
    own = None if weight is None else weight[half]
    if is_positive_number(model.lam):
        total = np.ones(rows.shape[0]) if weight is None else weight
        again.set_params(lam=model.lam * total[half].sum() / total.sum())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fewer rows than those of the model
        found = in_memory(again.fit(rows[half], sample_weight=own).labels_)
    return Refit(half[found >= 0], found[found >= 0].astype(np.int64))
