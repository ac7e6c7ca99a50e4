"""Second opinions on what the judge chose: density dips, the lam path and ellipses."""

from dataclasses import replace

import numpy as np

from kfree.core.one_hot import one_hot_groups
from kfree.estimators._auto_models import ELLIPSES, Components
from kfree.estimators.bayesian_k_means import BayesianKMeans
from kfree.estimators.dp_means import DPMeans
from kfree.search.judge.choose import BY_CENTRES, CLEAN, ROUND, ROWS_GRAPH, SHARED, TIE, Candidate, why_worse
from kfree.search.path.lattice import circles_in

NO_DIPS = "there are no density dips, which clusters in few columns have"
# In few columns, density dips say that there are more clusters than the graph shows if they avoid this share of the
# links that it avoids: 0.89 to 0.98 for round clusters that touch, 0.4 to 0.55 for pieces of rings and strips. With
# levels, they say how many if the graph's score at this number is this share of its highest, and the links are, too.
_AS_CLEAN = 0.75
# Other numbers of clusters with this share of the best score are named.
CLOSE = 0.9
# If such numbers differ by this ratio, scores of unit rows do not decide between them.
_UNDECIDED = 2.0


def by_dips(rows, given, n_threads):
    """Labels of DPMeans, which tests density dips.

    It recognises one-hot columns, and sine and cosine of an angle, in the given units alone. With such columns it must
    find clusters there too.
    """
    labels = DPMeans(random_state=0, n_threads=n_threads).fit(rows).labels_.astype(np.int64)
    has_categories = bool(one_hot_groups(given)) or bool(circles_in(given))
    if has_categories and DPMeans(random_state=0, n_threads=n_threads).fit(given).n_clusters_ == 1:
        labels = np.zeros_like(labels)
    return labels


def with_dips(judge, chosen, candidates, curves, n_threads):
    """Density dips beside the candidates of a table of few columns, where they are seen wherever there are clusters.

    None is chosen if neither rows nor whitened rows have dips, unless hardly any link is cut. More round clusters
    than the graph has parts are chosen if they avoid about as many links, and if the graph scores more at this number
    than pieces of a curve may.
    """
    fits = (DPMeans(random_state=0, n_threads=n_threads).fit(rows).labels_ for rows in judge.views.rows)
    view, found = next(((view, labels) for view, labels in enumerate(fits) if labels.max()), (0, None))
    if found is None and chosen.avoided >= CLEAN:
        return chosen, candidates
    if found is None:
        return None, (replace(chosen, why_not=NO_DIPS), *candidates[1:])
    dips = _by_centres_of(found, judge, view)
    is_as_clean = dips.avoided >= _AS_CLEAN * judge.links(chosen.labels)[1]
    in_graph = max(np.interp(dips.k, numbers, scores.score) for numbers, scores in curves.values())
    if dips.k > chosen.k and is_as_clean and in_graph >= judge.gate:
        why = f"density dips show {dips.k} clusters, about as well separated"
        return dips, (dips, replace(chosen, why_not=why), *candidates[1:])
    return chosen, candidates


def with_path(judge, chosen, candidates, curves, n_threads):
    """The number of DPMeans beside those of unit rows whose scores do not decide: topics have sub-topics."""
    numbers, scores = curves[BY_CENTRES]
    close = numbers[scores.score >= CLOSE * scores.score.max()]
    if close.max() <= _UNDECIDED * close.min():
        return chosen, candidates
    k = DPMeans(metric="cosine", random_state=0, n_threads=n_threads).fit(judge.rows).n_clusters_
    if not close.min() <= k <= close.max():
        return chosen, candidates
    labels = judge.k_means_at(k)
    links, avoided = judge.links(labels)
    score = float(np.interp(k, numbers, scores.score))
    by_path = Candidate(ROUND, k, avoided, links, 0.0, score, labels)
    why = f"scores do not decide between {close.min()} and {close.max()} clusters, and density dips show {k}"
    return by_path, (by_path, replace(chosen, why_not=why), *candidates[1:])


def with_levels(judge, rows, chosen, candidates, curves, n_threads):
    """Clusters of DPMeans, which recognises levels, beside those of a table with levels whose scores are close."""
    numbers, scores = curves[ROWS_GRAPH]
    possible = numbers[scores.score >= _AS_CLEAN * scores.score.max()]
    if len(possible) < 2:
        return chosen, candidates
    dips = _by_centres_of(DPMeans(random_state=0, n_threads=n_threads).fit(rows).labels_, judge, 0)
    is_as_clean = dips.avoided >= _AS_CLEAN * chosen.avoided and dips.links >= _AS_CLEAN * chosen.links
    if dips.k not in possible or dips.k == chosen.k or not is_as_clean:
        return chosen, candidates
    why = f"its score is not far from that of {dips.k} clusters, and density dips show these"
    return dips, (dips, replace(chosen, why_not=why), *candidates[1:])


def _by_centres_of(found, judge, view):
    """Clusters of DPMeans in one view as a candidate."""
    labels = np.asarray(found, dtype=np.int64)
    links, avoided = judge.links(labels)
    return Candidate((ROUND, SHARED)[view], int(labels.max()) + 1, avoided, links, np.nan, np.nan, labels, view)


def with_ellipses(rows, judge, chosen, candidates, n_threads):
    """Ellipses of any direction beside the candidates; they are simpler than clusters of any shape."""
    labels = ellipses_of(rows, n_threads)
    links, avoided = judge.links(labels)
    ellipses = Candidate(ELLIPSES, int(labels.max()) + 1, avoided, links, np.nan, np.nan, labels)
    if links >= chosen.links - TIE and avoided >= chosen.avoided - TIE:
        lost = replace(chosen, why_not="ellipses are simpler, and cut about as few links between neighbours")
        return ellipses, (ellipses, lost, *candidates[1:])
    return chosen, (*candidates, replace(ellipses, why_not=why_worse(ellipses, chosen)))


def ellipses_of(rows, n_threads):
    """Labels of BayesianKMeans in a few principal components."""
    found = BayesianKMeans(random_state=0, n_threads=n_threads).fit(Components.of(rows)(rows)).labels_
    return np.unique(found, return_inverse=True)[1]
