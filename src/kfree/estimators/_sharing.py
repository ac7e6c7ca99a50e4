"""Methods of a fitted model of shared clusters: predict, score, attributes, further groups."""

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted, validate_data

from kfree.core.frame import Frame
from kfree.core.sites import Sites
from kfree.engines.local.grouped import GroupedRows
from kfree.estimators._centres import CentreClusterer
from kfree.estimators._explained import column_names, require_rows, spreads_by, view_by_distances
from kfree.estimators._groups import is_list, renumbered, stacked, stacked_weights
from kfree.estimators._order import LABEL_ORDERS, ranks
from kfree.estimators._validation import (
    require_choice,
    require_sound_centres,
    require_threads,
    shown,
    validated_weights,
)
from kfree.native.implementations import IMPLEMENTATIONS


class SharedClusterer(CentreClusterer):
    """Base of estimators whose clusters are shared between groups."""

    _used_: np.ndarray  # (k, number of groups): which groups use which cluster
    _weights_: np.ndarray  # (k,)

    def predict(self, X, groups=None, allow_new=False):  # type: ignore[override]
        """The global cluster of each row; on the data of ``fit`` this is ``labels_``.

        A row of a known group goes to the nearest of the clusters that its group uses. The rows of a new group choose
        together which of the clusters they use, each at the penalty lam_local_.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a list of such
        groups : array-like of shape (n_samples,), default=None
            Names as in ``fit``; others are new groups. May be left out where ``fit`` had none.
        allow_new : bool, default=False
            Label a row −1 if its :meth:`outlier_score` is above 1: it is farther from every centre than all but one in
            a thousand rows of a cluster.

        Returns
        -------
        labels : ndarray of shape (n_samples,), int32
        """
        engine, done = self._assigned(X, groups, None)
        return self._or_new(self._rank_[engine.labels(done.assignment)], X, allow_new)

    def score(self, X, y=None, groups=None, sample_weight=None):  # type: ignore[override]
        """Minus the cost of these rows under this model, local and global clusters included.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a list of such
        y : ignored
        groups : array-like of shape (n_samples,), default=None
        sample_weight : array-like of shape (n_samples,), or a list like X, default=None

        Returns
        -------
        score : float
        """
        done = self._assigned(X, groups, sample_weight)[1]
        if self._space_ is not None and not self._space_.knows_lengths:
            raise ValueError(
                "score needs κ(x, x) of every row, which kernel='precomputed' lacks. Use a named kernel or a function."
            )
        return -self._objective_.cost(done.stats)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags

    def _seen(self, rows):
        """New rows in the coordinates of the fit: unchanged, or in coordinates of the kernel's feature space."""
        return rows if self._space_ is None else self._space_.of(rows)

    def _view(self, X, groups=None):
        """Rows of named groups need these names, unless they are as many as the rows of the last fit."""
        require_rows(X, self)
        check_is_fitted(self)
        rows, _ = stacked(X, groups, self)
        is_fitted = groups is None and not self._unnamed_ and rows.shape[0] == len(self.labels_)
        labels = self.labels_ if is_fitted else self.predict(X, groups)
        distance = "Euclidean distance to the centre" + ("" if self._space_ is None else " in feature space")
        columns = None if self._space_ is not None and not self._space_.knows_lengths else rows
        names = None if is_list(X) else column_names(X, self)
        told = {"distance": distance, "columns": columns, "names": names}
        return view_by_distances(self._distances(X), labels, self.cluster_centers_, **told)

    def _distances(self, X):
        rows, _ = stacked(X, None, self)
        return super()._distances(rows if is_list(X) else X)

    def _check_shared_parameters(self):
        require_choice("engine", self.engine, IMPLEMENTATIONS)
        require_choice("label_order", self.label_order, LABEL_ORDERS)
        require_threads(self.n_threads)

    def _ask_for_groups(self):
        raise ValueError(
            f"this model was fitted with {len(self.groups_)} named groups, such as {shown(self.groups_[0])}; give "
            "groups, one name per row of X. Names that were not fitted are new groups."
        )

    def _assigned(self, X, groups, sample_weight):
        """An engine with new rows, and the pass that assigns them."""
        check_is_fitted(self)
        self._check_shared_parameters()
        rows, names = stacked(X, groups, self)
        validate_data(self, rows if is_list(X) else X, skip_check_array=True, reset=False)
        if groups is None and not self._unnamed_:
            self._ask_for_groups()
        distinct, group = renumbered(names)
        weight = validated_weights(stacked_weights(sample_weight, X), rows.shape[0])
        engine, centres = self._grouped_engine(self._seen(rows), group, weight)
        return engine, self._pass(engine, centres, distinct)

    def _pass(self, engine, centres, names):
        """Rows of known groups one by one, those of new groups together."""
        place = {name: number for number, name in enumerate(self.groups_.tolist())}
        known = np.array([place.get(name, -1) for name in names.tolist()])
        sites = Sites.of(centres).used_by(self._used_[:, known] & (known >= 0))
        is_new = (known < 0)[engine.group]
        labels = np.empty(engine.n_rows, dtype=np.int32)
        if not is_new.all():
            one_by_one = engine.weightless().visit(sites, np.inf)
            labels = engine.labels(one_by_one.assignment)
        if is_new.any():
            together = engine.nearest(Sites.of(centres))
            labels = np.where(is_new, engine.labels(together.assignment), labels)
        return engine.labelled(labels, centres)

    def _grouped_engine(self, rows, group, weight):
        """An engine with rows in the coordinates of the fit, and the centres in those of the engine."""
        frame, centres = self._frame_, self._sites_.centres
        if sp.issparse(rows):
            frame, centres = Frame.plain(rows.shape[1]), frame.outward(centres)
        require_sound_centres(centres, rows.shape[1])
        engine = GroupedRows.open(self.engine, rows, group, weight=weight, frame=frame, n_threads=self.n_threads)
        return engine.penalised(self._objective_), centres

    def _with_old_clusters(self, rows, group, weight):
        """Further rows together with the old clusters, each of which is one heavy row and a group of its own.

        Its cost in any cluster differs from that of its rows by a constant.
        """
        old, k = self._frame_.outward(self._sites_.centres), len(self._sites_.centres)
        all_rows = sp.vstack([old, rows], format="csr") if sp.issparse(rows) else np.vstack([old, rows])
        all_weights = np.concatenate([self._weights_, np.ones(len(group)) if weight is None else weight])
        engine, centres = self._grouped_engine(all_rows, np.concatenate([np.arange(k), k + group]), all_weights)
        used = np.zeros((k, engine.n_groups), dtype=bool)
        np.fill_diagonal(used, True)
        return engine, Sites(centres, self._sites_.uids, self._sites_.next_uid, used)

    def _publish_further(self, points, engine, state, descent):
        """Set the fitted attributes after a search over old clusters and further rows. Clusters keep their order."""
        k, labels = len(self._weights_), engine.labels(state.assignment)
        # A cluster takes the place of the first old one that went into it; new ones come last.
        place = np.full(len(state.sites.uids), k)
        np.minimum.at(place, labels[:k], self._rank_)
        order = np.argsort(place, kind="stable")
        seen = self._distances_in(engine.frame, state.sites.centres, order, points)
        self._spreads_ = spreads_by(seen, ranks(order)[labels[k:]], None)
        self._order_, self._rank_ = order, ranks(order)
        used = np.zeros((len(state.sites.uids), self._used_.shape[1]), dtype=np.bool_)
        np.logical_or.at(used, labels[:k], self._used_)
        self._used_ = np.hstack([used, state.stats.used[:, k:]])
        self._frame_, self._sites_, self._weights_ = engine.frame, state.sites, state.stats.n
        self.labels_, self.n_clusters_ = self._rank_[labels[k:]], len(order)
        self.cluster_centers_ = engine.frame.outward(state.sites.centres[order])
        self.inertia_ += state.inertia
        parts = self._objective_.lam_local * self._used_.sum() + self._objective_.lam * len(state.sites.uids)
        self.cost_ = float(self.inertia_ + parts)
        self.cost_history_ = np.array(descent.cost_history) + (self.cost_ - state.cost)
        self.n_iter_, self.converged_, self.stop_reason_ = descent.n_iter, descent.converged, descent.stop_reason
        self.n_distances_ = engine.n_distances

    def _describe(self, group):
        """Set the attributes derived from labels, penalties and the clusters that groups use; ``group`` (n,) is per
        row."""
        objective = self._objective_
        self.lam_local_, self.lam_global_ = objective.lam_local, objective.lam
        self.n_global_clusters_ = len(self.cluster_centers_)
        self.n_local_clusters_ = self._used_.sum(axis=0)
        self.local_cost_ = objective.lam_local * int(self.n_local_clusters_.sum())
        self.global_cost_ = objective.lam * self.n_global_clusters_
        self.local_labels_ = _numbers_within(group, self.labels_, self.n_global_clusters_)


def _numbers_within(group, labels, n_clusters):
    """Labels counted from 0 within each group, in the order of the labels."""
    pairs, local = np.unique(group * n_clusters + labels, return_inverse=True)
    owner = pairs // n_clusters
    first = np.searchsorted(owner, np.arange(group.max() + 1))
    return (local - first[owner[local]]).astype(np.int32)
