"""Where data sets are looked for. A source gives (arrays by name, where from), or None if it has not got the set."""

import os
from pathlib import Path

import numpy as np


def folder(entry):
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


def bundled(entry):
    """The sets that come with scikit-learn."""
    if entry.bundled is None:
        return None
    from sklearn import datasets

    found = getattr(datasets, entry.bundled)()
    arrays = {"X": found.data, "y": found.target}
    arrays |= {key: np.asarray(found[key]) for key in ("feature_names", "target_names")}
    return arrays, f"sklearn.datasets.{entry.bundled}"


def openml(entry):
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


SOURCES = [folder, bundled, openml]


def missing(name, entry):
    """What to say when no source has the set."""
    arrays = "edges" if name.startswith("graph-") else f"{entry.prefix}{entry.rows}"
    return (
        f"The data set {name!r} was not found: {_looked()}, and neither scikit-learn nor OpenML offers it. "
        f"Set KFREE_DATA to a folder with a file {entry.file}.npz that holds {arrays!r}."
    )


def _looked():
    given = os.environ.get("KFREE_DATA")
    return f"it is not in KFREE_DATA={given}" if given else "the environment variable KFREE_DATA is not set"
