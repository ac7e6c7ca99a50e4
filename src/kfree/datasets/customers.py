"""A table of customers with numbers, categories and gaps, made of four planted segments."""

from typing import Any

import numpy as np

from kfree.validation.parameters import is_number, random_generator, require, require_count

SHARES = [0.35, 0.3, 0.2, 0.15]
# One value per segment. Any single column overlaps, so that only several together tell segments apart.
_AGE, _AGE_STD = [28.0, 43.0, 62.0, 48.0], 6.0
_LOG_INCOME, _LOG_INCOME_STD = [10.0, 10.8, 10.3, 11.3], 0.3
_ORDERS, _VISITS = [18.0, 9.0, 4.0, 13.0], [4.0, 12.0, 6.0, 20.0]
_PLANS = {"basic": [0.85, 0.05, 0.05, 0.05], "family": [0.05, 0.85, 0.05, 0.05], "gold": [0.05, 0.05, 0.05, 0.85]}
_REGIONS = {"north": [0.8, 0.1, 0.1, 0.6], "south": [0.1, 0.8, 0.1, 0.3]}


def make_customers(n_rows: int = 1200, missing: float = 0.05, shuffled: bool = False, random_state: Any = None) -> Any:
    """Customers of four segments: age in years, log-normal income, two counts, two categories, some values missing.

    Parameters
    ----------
    n_rows : int, default=1200
    missing : float, default=0.05
        The share of values that are missing, in every column: NaN in numbers, None in categories.
    shuffled : bool, default=False
        Whether each column is shuffled on its own, so that no segments are left.
    random_state : int, RandomState or None, default=None

    Returns
    -------
    table : dict of ndarrays
        Columns by name, as a DataFrame of pandas or polars takes them.
    segment : ndarray of shape (n_rows,)
        The segment that each row came from, before columns were shuffled.

    Examples
    --------
    >>> import pandas as pd
    >>> from kfree.datasets import make_customers
    >>> table, segment = make_customers(500, random_state=0)
    >>> pd.DataFrame(table).columns.tolist()
    ['age', 'income', 'orders', 'visits', 'plan', 'region']
    """
    require_count("n_rows", n_rows)
    require(is_number(missing) and 0 <= missing <= 1, "missing", missing, "a share of values from 0 to 1")
    require(isinstance(shuffled, bool | np.bool_), "shuffled", shuffled, "True or False")
    rng = random_generator(random_state)
    segment = rng.choice(4, n_rows, p=SHARES)
    table = {
        "age": np.round(rng.normal(np.take(_AGE, segment), _AGE_STD)).clip(18),
        "income": np.exp(rng.normal(np.take(_LOG_INCOME, segment), _LOG_INCOME_STD)).round(2),
        "orders": rng.poisson(np.take(_ORDERS, segment)).astype(np.float64),
        "visits": rng.poisson(np.take(_VISITS, segment)).astype(np.float64),
        "plan": _drawn(_PLANS, "senior", segment, rng),
        "region": _drawn(_REGIONS, "west", segment, rng),
    }
    if shuffled:
        table = {name: rng.permutation(column) for name, column in table.items()}
    for column in table.values():
        column[rng.uniform(size=n_rows) < missing] = None if column.dtype == object else np.nan
    return table, segment


def _drawn(shares, last, segment, rng):
    """Levels by the shares that each has among the rows of a segment; what is left goes to the last."""
    levels = np.array([*shares, last], dtype=object)
    limit = np.cumsum([np.take(share, segment) for share in shares.values()], axis=0)
    return levels[(rng.uniform(size=len(segment)) >= limit).sum(axis=0)]
