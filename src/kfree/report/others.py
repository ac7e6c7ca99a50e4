"""Pages other than that of a path: places, cuts of a tree, levels, clusters that groups share, nodes of a graph."""

import numpy as np

from kfree.explain.units import short
from kfree.explain.view import distances_in_blocks, view_by_distances
from kfree.plot.graphs import spread_out
from kfree.report.data import assembled, number, require_rows_of_fit
from kfree.report.steps import SliderStep, slider_steps

# Cuts of a tree on the slider: all of few clusters, some beyond, and the best.
_FEW_CUTS, _MANY_CUTS = 10, (12, 15, 20, 30, 50)
# Digits of degrees: a metre or so.
_DIGITS = 8


def places_data(model, X, feature_names=None, **about):
    """What the page needs of a fitted DPMeans under haversine: one clustering, and centres in degrees.

    Means of longitudes mislead across the date line, so that no column describes a cluster.
    """
    require_rows_of_fit(model, X)
    names = ["latitude", "longitude"] if feature_names is None else list(map(str, feature_names))
    axes = dict(zip(names, X.T, strict=True))
    found = assembled(slider_steps(model, X, None), X, names, axes=axes, digits=_DIGITS, **about)
    (step,) = found["steps"]
    centres = [[number(degrees, _DIGITS) for degrees in centre] for centre in model.cluster_centers_]
    nothing = [[] for _ in centres]
    step |= {"centres": centres, "effects": nothing, "means": nothing, "sentences": None}
    step["note"] = f"lam {short(model.lam_)} km²"
    return found | {"features": [], "places": True}


def tree_data(model, X, feature_names=None, **about):
    """What the page needs of a fitted AgglomerativeBayes and its rows: the slider moves along the cuts."""
    X = np.asarray(X, dtype=np.float64)
    require_rows_of_fit(model, X)
    numbers = {k for k in (*range(1, _FEW_CUTS + 1), *_MANY_CUTS, model.n_clusters_) if k <= len(X)}
    steps = [_cut(model, X, k) for k in sorted(numbers)]
    return assembled(steps, X, feature_names, suggested=model.n_clusters_, **about)


def _cut(model, X, k):
    labels = model.labels_ if k == model.n_clusters_ else model.cut(k)
    means = np.array([X[labels == c].mean(axis=0) for c in range(k)])

    def view(rows):
        told = {"distance": "Euclidean distance to the mean", "columns": X[rows]}
        return view_by_distances(distances_in_blocks(X[rows], means), labels[rows], means, **told)

    note = f"free energy {model.free_energy_path_[-k]:.6g} nats"
    return SliderStep(labels, view, is_own=k == model.n_clusters_, note=note)


def chosen_data(model, X, feature_names=None, **about):
    """What the page needs of a fitted AutoCluster and its rows: one clustering, and why it was chosen."""
    X = np.asarray(X)
    require_rows_of_fit(model, X)
    why = model.reason_.partition(": ")[2]  # after the number of clusters, which the page tells itself
    note = why if model.n_clusters_ == 1 else f"{model.model_name_}: {why}"
    step = SliderStep(np.asarray(model.labels_), lambda rows: model._view(X[rows]), is_own=True, note=note)
    return assembled([step], X, feature_names, columns=model.columns_, **about)


def groups_data(model, X, feature_names=None, **about):
    """What the page needs of a fitted HardHDP and its rows: one clustering."""
    X = np.asarray(X)
    require_rows_of_fit(model, X)
    labels = np.asarray(model.labels_)

    def view(rows):
        told = {"distance": "Euclidean distance to the centre", "columns": X[rows]}
        return view_by_distances(model._distances(X[rows]), labels[rows], model.cluster_centers_, **told)

    note = f"{len(model.groups_)} groups, {int(np.sum(model.n_local_clusters_))} local clusters"
    return assembled([SliderStep(labels, view, is_own=True, note=note)], X, feature_names, **about)


def levels_data(model, X, feature_names=None, **about):
    """What the page needs of a fitted NestedDPMeans and its rows: a step for each level, whose groups can be opened."""
    X = np.asarray(X)
    require_rows_of_fit(model, X)
    steps = [_level(model, X, level) for level in range(len(model.levels_))]
    return assembled(steps, X, feature_names, **about)


def _level(model, X, level):
    is_finest, own = level == len(model.levels_) - 1, np.asarray(model.level_labels_[level])
    parents = None if level == 0 else model.tree_.siblings(level)
    note = f"level {level}" + (", the finest" if is_finest else ", the coarsest" if level == 0 else "")
    return SliderStep(own, lambda rows: model._view(X[rows], level), is_own=is_finest, note=note, parents=parents)


def graph_data(model, **about):
    """What the page needs of a fitted GraphDPMeans: its nodes, where linked ones lie close together."""
    view = model._view(None)
    across, up = spread_out(model._links()).T
    note = f"lam {model.lam_:.6g}, {np.mean(model.shares_):.0%} of the links of a cluster inside"
    step = SliderStep(view.labels, lambda rows: view.among(rows), is_own=True, note=note)
    about = {"row_numbers": model.node_names_} | about
    axes = {"place across": across, "place up": up, **dict(zip(view.names, view.columns.T, strict=True))}
    return assembled([step], view.columns, view.names, axes=axes, word="node", **about)
