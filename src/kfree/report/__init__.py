"""The report page: one HTML file without network access, to explore the clusters of a model at every penalty."""

import json
from collections.abc import Mapping, Sequence
from copy import copy
from importlib.resources import files
from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse as sp

from kfree.core.replacing import replacing
from kfree.validation.frames import printed_names, require_columns_of_fit
from kfree.validation.tensors import in_memory

__all__ = ["page", "write_report"]


def write_report(
    path: str | PathLike[str],
    model: Any,
    X: Any = None,
    feature_names: Sequence[str] | None = None,
    *,
    title: str = "kfree",
    encoder: Any = None,
    row_numbers: Any = None,
    certainty: str | None = None,
    names: Mapping[int, str] | None = None,
    remarks: Sequence[str] = (),
) -> None:
    """Write a page about a fitted model.

    Parameters
    ----------
    path : str or path
        The HTML file; an older one is replaced only when the new one is complete.
    model : a fitted AutoCluster, DPMeans, NestedDPMeans, AgglomerativeBayes, HardHDP or GraphDPMeans
        The page of a DPMeans has the staircase of penalties and a slider along its steps, that of places on the Earth
        (``metric="haversine"``) a map, that of a tree a slider along
        its cuts, and that of a NestedDPMeans a position for each level; the others show one clustering.
    X : array of shape (n_samples, n_features)
        The rows of ``fit``, which may be a frame; a graph has none.
    feature_names : sequence of str or None, default=None
        Names of the columns; None takes those of the encoder, else of X or of the rows of ``fit``, else x0, x1, …
    title : str, default="kfree"
    encoder : a fitted TableEncoder or None, default=None
        The one that made X, so that columns have their names and means are those of the table, in its units.
    row_numbers : array of shape (n_samples,) or None, default=None
        The numbers or names of rows on the page; None counts from 1.
    certainty : str or None, default=None
        How sure the number of clusters is, in words; None takes that of the model.
    names : dict or None, default=None
        Names of clusters by label.
    remarks : sequence of str, default=()
        What else readers should know, such as columns that were left out.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from kfree import DPMeans, datasets
    >>> from kfree.report import write_report
    >>> X = datasets.load_archipelago()
    >>> path = Path(tempfile.mkdtemp()) / "report.html"
    >>> write_report(path, DPMeans().fit(X), X, ["east", "north"])
    >>> "<title>kfree</title>" in path.read_text()
    True
    """
    from kfree.report.kinds import report_data

    about = {"title": title, "encoder": encoder, "row_numbers": row_numbers}
    told = {
        "certainty": model.certainty() if certainty is None else certainty,
        "names": {str(label): str(name) for label, name in (names or {}).items()},
        "remarks": [*map(str, remarks), *_preparation(encoder)],
    }
    if X is not None:
        model, X, feature_names = _with_rows(model, X, feature_names, encoder)
    with replacing(path) as file:
        file.write(page(report_data(model, X, feature_names, **about) | told).encode())


def _with_rows(model, X, feature_names, encoder):
    """The model without names of columns, the rows of X as an array, and the names for the page."""
    if sp.issparse(X):
        raise TypeError("X is sparse, and a page takes dense rows only. Use X.toarray(), if that fits in memory.")
    require_columns_of_fit(model, X)
    if feature_names is None and encoder is None:
        feature_names = printed_names(X, model)
    model = copy(model)
    vars(model).pop("feature_names_in_", None)
    return model, np.asarray(in_memory(X)), feature_names


def _preparation(encoder):
    """How columns were encoded, one line each."""
    encoder = getattr(encoder, "encoder", encoder)  # that of a command, which may have none
    return [] if encoder is None else encoder.describe().splitlines()


def page(data):
    """The page for data that JSON can hold: template, style, script and data in one text."""
    from html import escape

    parts = {name: files("kfree.report").joinpath(name).read_text("utf-8") for name in ("page.css", "page.js")}
    text = files("kfree.report").joinpath("page.html").read_text("utf-8")
    text = text.replace("{{style}}", parts["page.css"]).replace("{{script}}", parts["page.js"])
    # Data come last, so that nothing in them is taken for a part of the template.
    head, tail = text.split("{{data}}")
    head = head.replace("{{title}}", escape(str(data["title"])))
    return head + embedded(data) + tail


def embedded(data):
    """JSON for a script element: no text in it can end the element or begin another one."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
