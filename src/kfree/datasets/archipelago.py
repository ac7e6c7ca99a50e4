"""The map that comes with kfree."""

from importlib import resources

import numpy as np
from numpy.typing import NDArray


def load_archipelago() -> NDArray[np.float64]:
    """1,082 made-up settlements on a group of islands: east and north, in kilometres.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)

    Examples
    --------
    >>> from kfree.datasets import load_archipelago
    >>> load_archipelago().shape
    (1082, 2)
    """
    with resources.files("kfree").joinpath("data/archipelago.csv").open() as file:
        return np.loadtxt(file, delimiter=",", skiprows=1)
