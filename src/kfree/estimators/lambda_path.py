"""lambda_path: the staircase k(lam), and the number of clusters best supported by the data."""

from contextlib import nullcontext
from functools import partial
from typing import Any

from kfree.core.sphere import SQ_EARTH_RADIUS
from kfree.engines.registry import ENGINES, open_engine
from kfree.estimators._monitoring import progress_line
from kfree.estimators._opening import as_compared, is_direction
from kfree.explain.advice import advise_path
from kfree.objectives.dp_means import OBJECTIVES, PLACED_OBJECTIVES
from kfree.search.monitor import silent
from kfree.search.path.lam_path import lam_path
from kfree.search.path.staircase import Staircase
from kfree.validation.parameters import random_generator, require, require_choice, require_count, whole
from kfree.validation.rows import validated_rows, validated_weights


def lambda_path(
    X: Any,
    sample_weight: Any = None,
    *,
    max_k: int | None = None,
    metric: str = "euclidean",
    engine: str = "auto",
    n_threads: int | None = None,
    random_state: Any = 0,
    verbose: int = 0,
) -> Staircase:
    """The number of clusters for every penalty ``lam``, and the number best supported by the data.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    sample_weight : array-like of shape (n_samples,), default=None
        Weights ≥ 0; a row of weight zero changes nothing.
    max_k : int or None, default=None
        The largest number of clusters to consider. None considers up to 120, or a fifth of the rows, and more while the
        suggested number is near the end. If X seems to have more clusters than ``max_k``, a smaller number is
        suggested, with a warning (:class:`kfree.exceptions.DataAdvice`).
    metric : {"euclidean", "cosine", "haversine"}, default="euclidean"
        ``"haversine"`` is for two columns, latitude and longitude in degrees; penalties are in km².
    engine : {"auto", "native", "reference", "gpu"}, default="auto"
    n_threads : int or None, default=None
    random_state : int, RandomState or None, default=0
        Seed for the micro-clusters and for the split into two halves. The default always gives the same result.
    verbose : {0, 1}, default=0
        1 shows what is being done and the share of the work done, which needs rich.

    Returns
    -------
    path : Staircase

    Notes
    -----
    The rows are summarised by a few hundred micro-clusters, and the search minimises the cost of these for every k. The
    lower convex hull of the costs gives the best k for each penalty. A true number of clusters shows as a wide step. A
    wide step is accepted only if there are density dips between its clusters. To test this, one half of the rows is
    clustered, and the density of the other half is estimated along the line between each centre and its nearest one.
    Data without clusters, even if elongated, have no dip on such a line. For them the result is one cluster.

    Columns on a lattice, such as whole numbers or yes and no, are tested with uniform noise added, as wide as their
    step. Rows far from all others are left out where the path of all rows is doubtful, or that of the rest is clearer.
    ``path.summary()`` reports the strength of the evidence; ``docs/theory/density-dips.md`` states what each rule
    assumes.

    With ``metric="cosine"`` and 30 to 2,048 columns, up to 2,000 rows are compared with surrogate rows without clusters
    as well, for 2 to n / 8 clusters. ``path.judged_k`` is what this comparison suggests.

    With more than 20,000 rows, micro-clusters are seeded and steps are tested on a random sample. All rows are then
    assigned to the micro-clusters.

    Examples
    --------
    >>> import numpy as np
    >>> from kfree import lambda_path
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2)) + 9 * rng.integers(5, size=(500, 1))
    >>> path = lambda_path(X)
    >>> path.suggest().k
    5
    >>> lambda_path(rng.normal(size=(500, 2)) * [9, 1]).suggest().k
    1
    """
    require_count("max_k", max_k, or_none=True)
    require_choice("metric", metric, list(PLACED_OBJECTIVES))
    require_choice("engine", engine, list(ENGINES))
    require_count("n_threads", n_threads, or_none=True)
    require(verbose in (0, 1), "verbose", verbose, "0 or 1")
    rows = as_compared(validated_rows(X, "lambda_path"), metric)
    weight, unit = validated_weights(sample_weight, rows.shape[0]), is_direction(metric)
    opened = open_engine(engine, rows, weight=weight, unit=unit, n_threads=n_threads)
    with progress_line("lambda_path") if verbose else nullcontext(silent) as show:
        rng = random_generator(random_state)
        objective = OBJECTIVES["cosine" if unit else "euclidean"](0.0)
        path = lam_path(opened, objective, rng, whole(max_k), partial(_tell, show)).staircase
        show("path", 1.0)
    path = path.times(SQ_EARTH_RADIUS) if metric == "haversine" else path
    advise_path(path)
    return path


def _tell(show, doing, share):
    show(f"path, {doing}", share)
