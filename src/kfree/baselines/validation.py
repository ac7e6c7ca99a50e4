"""Parameters by a validation set with classes (Kulis & Jordan 2012, §6.1)."""

import numpy as np
from sklearn.base import clone
from sklearn.metrics import normalized_mutual_info_score
from sklearn.model_selection import ParameterGrid


def select_by_validation(estimator, X, y, param_grid):
    """The parameters of a grid under which clusters of a validation set agree best with its classes.

    Parameters
    ----------
    estimator : clusterer
        Not changed.
    X : array-like of shape (n_samples, n_features)
        The validation set, which must not be clustered again afterwards.
    y : array-like of shape (n_samples,)
        Classes.
    param_grid : dict of str to list
        Values to try, as in :class:`sklearn.model_selection.ParameterGrid`.

    Returns
    -------
    selected : clusterer
        An unfitted copy with the best parameters.
    score : float
        Its normalised mutual information on the validation set: of ``labels_``, or the mean over ``label_samples_`` of
        a sampler that keeps them. The first of equals is taken.

    Examples
    --------
    >>> import numpy as np
    >>> from kfree import DPMeans
    >>> from kfree.baselines import select_by_validation
    >>> X, y = np.array([[0.0], [0.1], [1.0], [1.1]]), [0, 0, 1, 1]
    >>> model, score = select_by_validation(DPMeans(), X, y, {"lam": [1e-3, 0.1, 10.0]})
    >>> model.lam, round(score, 6)
    (0.1, 1.0)
    """
    best, highest = None, -np.inf
    for parameters in ParameterGrid(param_grid):
        model = clone(estimator).set_params(**parameters)
        score = agreement(clone(model).fit(X), y)
        if score > highest:
            best, highest = model, score
    return best, float(highest)


def agreement(model, y):
    """Normalised mutual information of a fitted clusterer with classes; for a sampler, the mean over kept samples."""
    samples = getattr(model, "label_samples_", None)
    return float(
        np.mean([normalized_mutual_info_score(y, z) for z in ([model.labels_] if samples is None else samples)])
    )
