"""What the page of each kind of model shows: steps of penalties, cuts of a tree, levels, places, nodes of a graph."""

import numpy as np

from kfree.estimators.lambda_path import lambda_path
from kfree.explain.units import short
from kfree.explain.view import distances_in_blocks, view_by_distances
from kfree.plot.graphs import spread_out
from kfree.report.data import assembled, number
from kfree.report.steps import SliderStep, slider_steps
from kfree.validation.tensors import in_memory

# With other metrics, the page of a model without a path shows this model alone.
_METRICS_OF_PATHS = ("euclidean", "cosine")
# Rows whose labels show that they are those of the fit.
_COMPARED = 2000
# Cuts of a tree on the slider: all of few clusters, some beyond, and the best.
_FEW_CUTS, _MANY_CUTS = 10, (12, 15, 20, 30, 50)
# Digits of degrees: a metre or so.
_DIGITS = 8


def report_data(model, X, feature_names=None, **about):
    """What the page needs of a fitted model and its rows; ``about`` are title, encoder and row_numbers."""
    kind = type(model).__name__
    if kind == "GraphDPMeans":  # which has no rows
        return _graph(model, about.get("title", "kfree"))
    if kind not in KINDS:
        raise TypeError(f"there is no report page for {kind}; give one of GraphDPMeans, {', '.join(KINDS)}.")
    X = np.asarray(X)
    require_rows_of_fit(model, X)
    if kind == "DPMeans" and model.metric == "haversine":
        return _places(model, X, feature_names, about)
    steps, settings = KINDS[kind](model, X)
    return assembled(steps, X, feature_names, **settings, **about)


def require_rows_of_fit(model, X):
    """Raise unless X has as many rows as the fit had, with the labels of these.

    A model that knows its rows by a digest compares all of them itself; otherwise some rows show it.
    """
    labels = in_memory(model.labels_)
    if len(X) != len(labels):
        raise ValueError(f"X has {len(X)} rows and the model was fitted with {len(labels)}; give the rows of fit.")
    some = slice(None) if hasattr(model, "_labels_of_") else slice(None, None, -(-len(X) // _COMPARED))
    kept = labels[some] >= 0  # rows that were left out as noise
    n_other = int((model._view(X[some]).labels != labels[some])[kept].sum())
    if n_other:
        raise ValueError(f"X holds other rows than fit: {n_other} have labels that differ; give the rows of fit.")


def _path(model, X):
    """Steps of the path of penalties, along which the slider moves."""
    path = model.path_
    if path is None and model.metric in _METRICS_OF_PATHS:
        path = lambda_path(X, metric=model.metric, n_threads=model.n_threads)
    return slider_steps(model, X, path), {"path": path}


def _chosen(model, X):
    """One clustering, and why it was chosen."""
    why = model.reason_.partition(": ")[2]  # after the number of clusters, which the page tells itself
    note = f"because {why}" if model.n_clusters_ == 1 else f"{model.model_name_}: {why}"
    step = SliderStep(np.asarray(model.labels_), lambda rows: model._view(X[rows]), is_own=True, note=note)
    return [step], {"columns": model.columns_}


def _cuts(model, X):
    """Cuts of the tree, along which the slider moves."""
    X = X.astype(np.float64)
    numbers = {k for k in (*range(1, _FEW_CUTS + 1), *_MANY_CUTS, model.n_clusters_) if k <= len(X)}
    return [_cut(model, X, k) for k in sorted(numbers)], {"suggested": model.n_clusters_}


def _cut(model, X, k):
    labels = model.labels_ if k == model.n_clusters_ else model.cut(k)
    means = np.array([X[labels == c].mean(axis=0) for c in range(k)])

    def view(rows):
        told = {"distance": "Euclidean distance to the mean", "columns": X[rows]}
        return view_by_distances(distances_in_blocks(X[rows], means), labels[rows], means, **told)

    note = f"free energy {model.free_energy_path_[-k]:.6g} nats"
    return SliderStep(labels, view, is_own=k == model.n_clusters_, note=note)


def _groups(model, X):
    """One clustering."""
    labels = np.asarray(model.labels_)

    def view(rows):
        told = {"distance": "Euclidean distance to the centre", "columns": X[rows]}
        return view_by_distances(model._distances(X[rows]), labels[rows], model.cluster_centers_, **told)

    note = f"{len(model.groups_)} groups, {int(np.sum(model.n_local_clusters_))} local clusters"
    return [SliderStep(labels, view, is_own=True, note=note)], {}


def _levels(model, X):
    """A step for each level, whose groups can be opened."""
    return [_level(model, X, level) for level in range(len(model.levels_))], {}


def _level(model, X, level):
    is_finest, own = level == len(model.levels_) - 1, model.tree_.at_level(np.asarray(model.labels_), level)
    parents = None if level == 0 else model.tree_.siblings(level)
    note = f"level {level}" + (", the finest" if is_finest else ", the coarsest" if level == 0 else "")
    return SliderStep(own, lambda rows: model._view(X[rows], level), is_own=is_finest, note=note, parents=parents)


# Class of a model → its clusterings by ascending numbers of clusters, and what else the page is assembled of.
KINDS = {
    "AutoCluster": _chosen,
    "DPMeans": _path,
    "NestedDPMeans": _levels,
    "AgglomerativeBayes": _cuts,
    "HardHDP": _groups,
}


def _places(model, X, feature_names, about):
    """One clustering of places on the Earth, and centres in degrees.

    Means of longitudes mislead across the date line, so that no column describes a cluster.
    """
    names = ["latitude", "longitude"] if feature_names is None else list(map(str, feature_names))
    axes = dict(zip(names, X.T, strict=True))
    found = assembled(slider_steps(model, X, None), X, names, axes=axes, digits=_DIGITS, **about)
    (step,) = found["steps"]
    centres = [[number(degrees, _DIGITS) for degrees in centre] for centre in model.cluster_centers_]
    nothing = [[] for _ in centres]
    step |= {"centres": centres, "effects": nothing, "means": nothing, "sentences": None}
    step["note"] = f"lam {short(model.lam_)} km²"
    return found | {"features": [], "places": True}


def _graph(model, title):
    """The nodes of a graph, where linked ones lie close together."""
    view = model._view(None)
    across, up = spread_out(model._links()).T
    note = f"lam {model.lam_:.6g}, {np.mean(model.shares_):.0%} of the links of a cluster inside"
    step = SliderStep(view.labels, lambda rows: view.among(rows), is_own=True, note=note)
    axes = {"place across": across, "place up": up, **dict(zip(view.names, view.columns.T, strict=True))}
    about = {"title": title, "row_numbers": model.node_names_, "word": "node"}
    return assembled([step], view.columns, view.names, axes=axes, **about)
