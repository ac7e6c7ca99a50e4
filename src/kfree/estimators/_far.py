"""A warning for rows whose affinities to all rows of the fit vanish."""

import numpy as np

from kfree.core.warning import warn


def warn_out_of_reach(largest, least, estimator):
    """Warn if the largest affinity of a row to those of the fit, (n,), is below ``least``: its label is arbitrary."""
    n_far = int(np.count_nonzero(largest < least))
    if n_far:
        warn(
            f"{n_far} row(s) of X are so far from all rows of fit that their affinities vanish; their labels are "
            f"arbitrary. Use predict(X, allow_new=True) of {type(estimator).__name__}, which labels such rows −1.",
            UserWarning,
        )
