"""A public data set by name: from a folder of yours, from scikit-learn, or from OpenML; and the map of kfree."""

import difflib
import os
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kfree.datasets.table import GRAPHS, ROWS


@dataclass(frozen=True)
class Dataset:
    """Rows to cluster, and what is known about them.

    Attributes
    ----------
    name, about : str
    source : str
        Where it was found.
    X : ndarray of shape (n_samples, n_features)
        As the paper that uses the set prepares it.
    y : ndarray of shape (n_samples,) or None
        Classes 0, 1, …, where known.
    feature_names, target_names : tuple of str
        Empty where the source has none, or where ``X`` was made from other columns.
    """

    name: str
    about: str
    source: str
    X: np.ndarray
    y: np.ndarray | None = None
    feature_names: tuple[str, ...] = ()
    target_names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Graph:
    """A graph to cluster.

    Attributes
    ----------
    name, about : str
    source : str
        Where it was found.
    edges : ndarray of shape (n_edges, 2)
        The two nodes of each edge, from 0 to ``n_nodes`` − 1.
    n_nodes : int
    weight : ndarray of shape (n_edges,) or None
    y : ndarray of shape (n_nodes,) or None
        Classes, where known.
    """

    name: str
    about: str
    source: str
    edges: np.ndarray
    n_nodes: int
    weight: np.ndarray | None = None
    y: np.ndarray | None = None


def names() -> list[str]:
    """The names that :func:`load` knows.

    Examples
    --------
    >>> from kfree.datasets import names
    >>> "iris" in names()
    True
    """
    return sorted(ROWS | GRAPHS)


def load(name: str) -> Any:
    """Load a public data set, prepared as in the papers that use it.

    It is looked for in the folder that the environment variable KFREE_DATA names, then among the sets that come with
    scikit-learn, then on OpenML (which needs a network; scikit-learn keeps what it has downloaded).

    Parameters
    ----------
    name : str
        One of :func:`names`.

    Returns
    -------
    data : Dataset or Graph

    Notes
    -----
    Columns of words (as in "car") are numbered in the order in which the file declares the words, and unknown values
    are NaN.

    Examples
    --------
    >>> from kfree.datasets import load
    >>> iris = load("iris")
    >>> iris.X.shape, iris.target_names
    ((150, 4), ('setosa', 'versicolor', 'virginica'))
    """
    entry = _entry(name)
    for source in _SOURCES:
        found = source(entry)
        if found is not None:
            return _graph(name, entry, *found) if name in GRAPHS else _rows(name, entry, *found)
    raise FileNotFoundError(_missing(name, entry))


def _entry(name):
    known = ROWS | GRAPHS
    if not isinstance(name, str) or name not in known:
        guess = difflib.get_close_matches(str(name), known, n=1)
        hint = f" Did you mean {guess[0]!r}?" if guess else ""
        raise ValueError(f"There is no data set {name!r}.{hint} Known are: {', '.join(names())}.")
    return known[name]


def _rows(name, entry, arrays, source):
    X, feature_names = arrays[entry.rows], tuple(map(str, arrays.get("feature_names", ())))
    if entry.prepare:
        X, feature_names = entry.prepare(X), ()
    return Dataset(
        name=name,
        about=entry.about,
        source=source,
        X=X,
        y=arrays.get("y"),
        feature_names=feature_names,
        target_names=tuple(map(str, arrays.get("target_names", ()))),
    )


def _graph(name, entry, arrays, source):
    return Graph(
        name=name,
        about=entry.about,
        source=source,
        edges=arrays["edges"],
        n_nodes=int(arrays["n_nodes"].item()),
        weight=arrays.get("weight"),
        y=arrays.get("y"),
    )


def from_folder(entry):
    """The folder that KFREE_DATA names: one ``.npz`` file per set, or per family of sets."""
    if not os.environ.get("KFREE_DATA"):
        return None
    path = Path(os.environ["KFREE_DATA"]) / f"{entry.file}.npz"
    if not path.exists():
        return None
    with np.load(path) as file:
        inside = [key for key in file.files if key.startswith(entry.prefix)]
        arrays = {key.removeprefix(entry.prefix): file[key] for key in inside}
    return (arrays, str(path)) if arrays else None


def from_sklearn(entry):
    """The sets that come with scikit-learn."""
    if entry.bundled is None:
        return None
    from sklearn import datasets

    found = getattr(datasets, entry.bundled)()
    arrays = {"X": found.data, "y": found.target}
    arrays |= {key: np.asarray(found[key]) for key in ("feature_names", "target_names")}
    return arrays, f"sklearn.datasets.{entry.bundled}"


def from_openml(entry):
    """OpenML, by a number that stands for one version of one set."""
    if entry.openml is None:
        return None
    from sklearn.datasets import fetch_openml

    try:
        # liac-arff numbers words in the order of their declaration, and needs no pandas.
        found = fetch_openml(data_id=entry.openml, as_frame=False, parser="liac-arff")
    except OSError as error:
        raise FileNotFoundError(
            f"The data set {entry.file!r} ({entry.about}) was not found: {_looked()}, and OpenML's data set "
            f"{entry.openml} cannot be fetched ({error}). Connect to a network, or set KFREE_DATA to a folder that "
            f"holds {entry.file}.npz with arrays {entry.rows!r} and 'y'."
        ) from error
    target_names, y = np.unique(found.target, return_inverse=True)
    arrays = {entry.rows: found.data, "y": y, "target_names": target_names.astype(str)}
    arrays["feature_names"] = np.asarray(found.feature_names)
    return arrays, f"OpenML data set {entry.openml}"


# A source gives (arrays by name, where from), or None if it has not got the set.
_SOURCES = [from_folder, from_sklearn, from_openml]


def _missing(name, entry):
    """What to say when no source has the set."""
    arrays = "edges" if name.startswith("graph-") else f"{entry.prefix}{entry.rows}"
    return (
        f"The data set {name!r} was not found: {_looked()}, and neither scikit-learn nor OpenML offers it. "
        f"Set KFREE_DATA to a folder with a file {entry.file}.npz that holds {arrays!r}."
    )


def _looked():
    given = os.environ.get("KFREE_DATA")
    return f"it is not in KFREE_DATA={given}" if given else "the environment variable KFREE_DATA is not set"


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
