"""OnlineDPMeans: clusters of a stream, in one pass and without keeping a row (Odashima et al. 2016)."""

import numpy as np
from sklearn.utils import check_random_state

from kfree.core.sites import Sites
from kfree.engines.local.stream import RowStream
from kfree.engines.registry import ENGINES
from kfree.estimators._events import EventLog, followed, places_of
from kfree.estimators._streaming import StreamClusterer, has_no_rows
from kfree.estimators._validation import (
    is_positive_number,
    require,
    require_choice,
    require_count,
    require_threads,
    validated_weights,
)
from kfree.objectives.dp_means import DPMeansObjective

ORDERS = ["given", "random"]
# What a stream is made from; it may not change while it runs.
SETTINGS = ["lam", "split", "max_clusters", "half_life", "engine"]


class OnlineDPMeans(StreamClusterer):
    """DP-means for streams: every row is looked at once, when it comes, and moves a centre or opens a cluster.

    With ``split=True`` this is split-merge DP-means (Odashima et al. 2016): a cluster is split when it has become so
    heavy and wide that two would be cheaper (Algorithm 3), and :meth:`merge` makes one what is cheaper as one
    (Algorithm 4). With ``split=False`` it is plain online DP-means (Algorithm 2). The answer depends on the order of
    the rows and not on how they are cut into chunks. For rows that fit into memory, :class:`kfree.DPMeans` finds
    better clusters.

    Parameters
    ----------
    lam : float > 0
        The penalty of a cluster, in units of squared distance: a row that is farther than √lam from every centre opens
        a cluster. A stream cannot be searched for a penalty beforehand, so this one has no default;
        :func:`kfree.farthest_first_lambda` finds one for a sample.
    split : bool, default=True
        Whether clusters are split (Algorithm 3) or only opened (Algorithm 2).
    max_clusters : int or None, default=None
        When a cluster more would be needed, the penalty doubles, clusters that are cheaper as one at the new penalty
        are merged, and the row is looked at again. ``lam_`` is the present penalty.
    half_life : float ≥ 1 or None, default=None
        After so many rows a row weighs half, so that old ones are forgotten; None forgets nothing. A cluster
        that no row has joined for ten half-lives dies.
    order : {"given", "random"}, default="given"
        The order in which ``fit`` visits the rows. ``partial_fit`` takes them as they come.
    engine : {"auto", "native", "reference"}, default="auto"
    n_threads : int or None, default=None
        Threads for ``predict``, ``transform``, ``score`` and the labels of ``fit``; the stream itself has one.
    random_state : int, RandomState or None, default=None
        Seed for ``order="random"``.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters_, n_features), float64
        Oldest first.
    cluster_ids_ : ndarray of shape (n_clusters_,), int64
        Numbers that clusters keep for life, ascending; none is used twice.
    weights_ : ndarray of shape (n_clusters_,)
        Weight of the rows of each cluster, less what is forgotten. A split shares it out as if rows were spread evenly.
    n_clusters_ : int
    lam_ : float
        The present penalty.
    labels_ : ndarray of shape (n_samples,), int32
        After ``fit``, the nearest centre of each row. After ``partial_fit``, the cluster that each row of the last
        chunk joined, or what that has become, as a place in ``cluster_centers_``; −1 if it is gone, or if the row has
        no weight and came before any cluster.
    joined_ids_ : ndarray of shape (n_samples,), int64
        The ids of the clusters that the rows of the last chunk joined, as they were then.
    events_ : ndarray with fields "row", "kind", "id", "other"
        What happened, and how many rows had come before: "birth" of ``id``; "split" of ``id``, whose right half is
        ``other``; "merge" of ``other`` into ``id``; "death" of ``id``; "penalty", when it doubled. The last 100,000.
    n_events_ : int
        Number of all events, whether still in ``events_`` or not.
    n_rows_seen_ : int
    inertia_, cost_ : float
        Squared distances of the rows to the centres, and that + lam_·n_clusters_. Only ``fit`` leaves them, for they
        take a second look at all rows; ``score(X)`` is −cost_ of any rows.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, where X has column names

    Notes
    -----
    A row of weight w opens a cluster when w·squared distance exceeds lam. Rows of weight zero get a label, count in
    ``n_rows_seen_`` and leave no other trace. Sparse chunks give the same bits as dense ones, and take as much time.

    Examples
    --------
    >>> from kfree import OnlineDPMeans
    >>> model = OnlineDPMeans(lam=4.0)
    >>> model.partial_fit([[0.0], [1.0], [9.0]]).labels_.tolist()
    [0, 0, 1]
    >>> model.partial_fit([[8.0], [20.0]]).cluster_centers_.ravel().tolist()
    [0.5, 8.5, 20.0]
    >>> model.weights_.tolist(), model.events_["row"].tolist()
    ([2.0, 2.0, 1.0], [0, 2, 4])
    """

    def __init__(
        self,
        lam,
        *,
        split=True,
        max_clusters=None,
        half_life=None,
        order="given",
        engine="auto",
        n_threads=None,
        random_state=None,
    ):
        self.lam = lam
        self.split = split
        self.max_clusters = max_clusters
        self.half_life = half_life
        self.order = order
        self.engine = engine
        self.n_threads = n_threads
        self.random_state = random_state

    def fit(self, X, y=None, sample_weight=None):
        """Begin anew: one pass over X, then, with ``split``, one :meth:`merge`; then every row gets a label.

        This is what Odashima et al. (2016) call SMD, and OD without ``split``. Their SD is ``partial_fit`` alone.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self : OnlineDPMeans
        """
        self._check_parameters()
        rows = self._new_rows(X)
        weight = validated_weights(sample_weight, rows.shape[0])
        stream, log = self._new_stream(rows.shape[1]), EventLog()
        rng = check_random_state(self.random_state)
        order = rng.permutation(rows.shape[0]) if self.order == "random" else None
        joined, events = stream.advance(rows, weight, order)
        log.add(events)
        if self.split:
            log.add(stream.merge())
        engine, centres = self._engine_in(stream.frame, stream.sites.centres, rows, weight)
        done = engine.nearest(Sites.of(centres))
        self._publish(X, stream, log, joined, engine.labels(done.assignment))
        self.inertia_ = DPMeansObjective(0.0).cost(done.stats)
        self.cost_ = self._objective_.cost(done.stats)
        return self

    def partial_fit(self, X, y=None, sample_weight=None):
        """Take the next rows of the stream. A call that fails or is interrupted changes nothing.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The next chunk, which may be empty.
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self : OnlineDPMeans
        """
        self._check_parameters()
        begun = hasattr(self, "_stream_")
        if begun:
            self._require_same_settings()
        if has_no_rows(X):
            return self._nothing_came(X) if begun else self
        rows = self._next_rows(X) if begun else self._new_rows(X)
        weight = validated_weights(sample_weight, rows.shape[0], all_may_be_zero=True)
        stream, log = (self._stream_, self._log_) if begun else (self._new_stream(rows.shape[1]), EventLog())
        # A single row cannot be broken off half-way, so it needs no copy, which would take longer than the row itself.
        if rows.shape[0] > 1:
            stream = stream.copy()
        joined, events = stream.advance(rows, weight)
        labels = places_of(followed(joined, events), stream.ids)
        log.add(events)
        self._publish(X, stream, log, joined, labels)
        return self

    def merge(self):
        """Merge clusters, cheapest pair first, as long as that lowers the cost at the present penalty (Algorithm 4).

        Returns
        -------
        self : OnlineDPMeans
        """
        self._check_parameters()
        stream = self._begun_stream().copy()
        self._require_same_settings()
        ids = np.append(self.cluster_ids_, -1)[self.labels_]
        events = stream.merge()
        self._log_.add(events)
        self._forget_cost()
        self._stream_, self.labels_ = stream, places_of(followed(ids, events), stream.ids)
        return self

    def _check_parameters(self):
        self._check_shared_parameters()
        require(
            is_positive_number(self.lam),
            "lam",
            self.lam,
            "a finite number > 0, the penalty of a cluster in squared-distance units; a stream cannot be searched for "
            "one beforehand, but kfree.farthest_first_lambda finds one for a sample",
        )
        require(isinstance(self.split, bool | np.bool_), "split", self.split, "True or False")
        require_count("max_clusters", self.max_clusters, or_none=True)
        require(
            self.half_life is None or (is_positive_number(self.half_life) and self.half_life >= 1),
            "half_life",
            self.half_life,
            "a finite number of rows ≥ 1 or None",
        )
        require_choice("order", self.order, ORDERS)

    def _check_shared_parameters(self):
        require_choice("engine", self.engine, list(ENGINES))
        require_threads(self.n_threads)

    def _new_stream(self, n_features):
        half_life = None if self.half_life is None else float(self.half_life)
        return RowStream(self.engine, n_features, float(self.lam), bool(self.split), self.max_clusters, half_life)

    def _settings(self):
        return {name: getattr(self, name) for name in SETTINGS}

    def _require_same_settings(self):
        for name, began_with in self._settings_.items():
            value = getattr(self, name)
            require(
                value == began_with,
                name,
                value,
                f"{began_with!r}, with which this stream began, or call fit to begin a new one",
            )
