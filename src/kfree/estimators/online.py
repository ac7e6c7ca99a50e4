"""OnlineDPMeans: clusters of a stream in one pass, by micro-clusters or as published by Odashima et al. (2016)."""

import numpy as np

from kfree.core.sites import Sites
from kfree.estimators._events import EventLog, followed
from kfree.estimators._stream_settings import StreamSettings
from kfree.estimators._streaming import has_no_rows
from kfree.estimators._warnings import warn_penalty_rose
from kfree.objectives.dp_means import DPMeansObjective
from kfree.validation.parameters import random_generator
from kfree.validation.rows import validated_weights


class OnlineDPMeans(StreamSettings):
    """Online DP-means: every row is processed once, on arrival, and no row is kept.

    By default the stream is summarised by up to ``n_micro`` micro-clusters, small clusters of which only weight and
    centre are kept. Reading a result runs split-merge DP-means on these weighted centres, so that clusters open, split,
    merge and close as rows arrive. ``search="published"`` runs the algorithms of Odashima et al. (2016) as printed. The
    result depends on the order of the rows and not on how they are divided into chunks.

    Parameters
    ----------
    lam : float > 0 or "auto", default="auto"
        The penalty of a cluster, in units of squared distance: a cluster is kept if it lowers the inertia of the rows
        that the stream remembers by more than this. ``"auto"`` fits :class:`kfree.DPMeans` to the first chunk, at least
        100 rows, and then keeps the penalty in proportion to the weight that the stream remembers. For a sample, this
        is ``DPMeans().fit(sample).lam_`` times rows remembered / rows of the sample. In published algorithms a row that
        is farther than √lam from every centre opens a cluster, and lam must be a number.
    search : {"micro-clusters", "published"}, default="micro-clusters"
    split : bool, default=True
        For published algorithms: whether a cluster is split when its weight times squared range exceeds 16 lam
        (Algorithm 3), or clusters are only opened (Algorithm 2). The rule assumes rows spread evenly over a box; it
        over-splits Gaussian clusters.
    n_micro : int, default=1000
        Maximum number of micro-clusters. Use at least ten times the number of clusters.
    max_clusters : int or None, default=None
        Maximum number of clusters: the penalty doubles while there are more, and a warning says so once.
        ``lam_`` is the current penalty.
    half_life : float ≥ 1 or None, default=None
        The number of rows after which the weight of a row has halved; None keeps all weights. A cluster, or
        micro-cluster, that no row has joined for ten half-lives is removed.
    order : {"given", "random"}, default="given"
        The order in which ``fit`` visits the rows. ``partial_fit`` takes them as they come.
    engine : {"auto", "native", "reference"}, default="auto"
    n_threads : int or None, default=None
        Threads for ``predict``, ``transform``, ``score`` and the labels of ``fit``; the stream itself has one.
    random_state : int, RandomState or None, default=None
        Seed for ``order="random"`` and for ``lam="auto"``.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters_, n_features), float64
        Oldest first.
    cluster_ids_ : ndarray of shape (n_clusters_,), int64
        Numbers that clusters keep while they exist, ascending; none is used twice. A cluster of micro-clusters has the
        number of its oldest one.
    weights_ : ndarray of shape (n_clusters_,)
        Weight of the rows of each cluster, after decay. A published split divides it as if rows were spread evenly.
    n_clusters_ : int
    lam_ : float
        The current penalty.
    labels_ : ndarray of shape (n_samples,), int32
        After ``fit``, the nearest centre of each row. After ``partial_fit``, the cluster that each row of the last
        chunk joined, or its successor, as an index into ``cluster_centers_``; −1 if it was removed, or if the row has
        no weight and came before any cluster.
    confidence_ : ndarray of shape (n_samples,)
        :meth:`confidence` of the rows of ``fit`` or of the last chunk, computed at first access, while these rows are
        still in memory and their labels are those of ``predict``.
    joined_ids_ : ndarray of shape (n_samples,), int64
        The ids of the clusters that the rows of the last chunk joined, as they were then; with micro-clusters, as
        they are at the end of the chunk.
    events_ : ndarray with fields "row", "kind", "id", "other"
        The last 100,000 events, each with the number of rows before it: "birth" of ``id``; "split" of ``id``, of which
        ``other`` is a part; "merge" of ``other`` into ``id``; "death" of ``id``; "penalty", when it doubled in a
        published algorithm. With micro-clusters, clusters are compared after 1,000 rows, whenever the number of rows
        has grown by a tenth, twice in a half-life, and at the end of ``fit``.
    n_events_ : int
        Number of all events, whether still in ``events_`` or not.
    n_rows_seen_ : int
    inertia_, cost_ : float
        Summed squared distances of the rows to the centres, and that + lam_·n_clusters_. Only ``fit`` sets them,
        because they take a second pass over all rows; ``score(X)`` is −cost_ of any rows.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, where X has column names

    Notes
    -----
    Rows of weight zero get a label, count in ``n_rows_seen_`` and have no other effect. Sparse chunks give the same
    bits as dense ones, and take as much time. For rows that fit into memory, :class:`kfree.DPMeans` finds better
    clusters; ``benchmarks/online_quality.py`` compares the two.

    Examples
    --------
    >>> import numpy as np
    >>> from kfree import OnlineDPMeans
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(3000, 2)) + 20 * rng.integers(0, 3, size=(3000, 1))
    >>> stream = OnlineDPMeans()
    >>> for chunk in np.array_split(X, 10):
    ...     stream = stream.partial_fit(chunk)
    >>> stream.n_clusters_, int(stream.weights_.sum())
    (3, 3000)
    >>> published = OnlineDPMeans(4.0, search="published").partial_fit([[0.0], [1.0], [9.0]])
    >>> published.labels_.tolist(), published.events_["row"].tolist()
    ([0, 0, 1], [0, 2])
    """

    def __init__(
        self,
        lam="auto",
        *,
        search="micro-clusters",
        split=True,
        n_micro=1000,
        max_clusters=None,
        half_life=None,
        order="given",
        engine="auto",
        n_threads=None,
        random_state=None,
    ):
        self.lam = lam
        self.search = search
        self.split = split
        self.n_micro = n_micro
        self.max_clusters = max_clusters
        self.half_life = half_life
        self.order = order
        self.engine = engine
        self.n_threads = n_threads
        self.random_state = random_state

    def fit(self, X, y=None, sample_weight=None):
        """Start a new stream with one pass over X; then label every row by its nearest centre.

        With ``search="published"`` and ``split`` there is one :meth:`merge` between the two. This is what Odashima et
        al. (2016) call SMD, and OD without ``split``. Their SD is ``partial_fit`` alone.

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
        rng = random_generator(self.random_state)
        order = rng.permutation(rows.shape[0]) if self.order == "random" else None
        stream, log = self._new_stream(rows, weight, order), EventLog()
        joined, events = stream.advance(rows, weight, order)
        log.add(events)
        if self.search == "micro-clusters":
            log.add(stream.review())
        elif self.split:
            log.add(stream.merge())
        engine, centres = self._engine_in(stream.frame, stream.sites.centres, rows, weight)
        done = engine.nearest(Sites.of(centres))
        self._publish_chunk(X, stream, log, joined, joined, engine.labels(done.assignment))
        self.inertia_ = DPMeansObjective(0.0).cost(done.stats)
        self.cost_ = self._objective_.cost(done.stats)
        self._tell_limit(self.lam)
        return self

    def partial_fit(self, X, y=None, sample_weight=None):
        """Process the next rows of the stream. A call that fails or is interrupted changes nothing.

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
        stream, log = (self._stream_, self._log_) if begun else (self._new_stream(rows, weight), EventLog())
        # A single row is processed in one step and needs no copy, which would take longer than the step.
        if rows.shape[0] > 1:
            stream = stream.copy()
        before = stream.lam if self.search == "published" else None
        joined, events = stream.advance(rows, weight)
        log.add(events)
        self._publish_chunk(
            X, stream, log, joined, joined if self.search == "micro-clusters" else followed(joined, events)
        )
        self._tell_limit(before)
        return self

    def merge(self):
        """Merge clusters, cheapest pair first, while that lowers the cost at the current penalty (Algorithm 4).

        For published algorithms; micro-clusters are merged as rows come, and clusters of them need no call.

        Returns
        -------
        self : OnlineDPMeans
        """
        self._check_parameters()
        stream = self._begun_stream().copy()
        self._require_same_settings()
        if self.search == "micro-clusters":
            return self
        ids = np.append(self.cluster_ids_, -1)[self.labels_]
        events = stream.merge()
        self._log_.add(events)
        self._forget_cost()
        self._stream_, self._last_, self._labels_ = stream, followed(ids, events), None
        return self._remember(self._fitted_rows.rows)

    def _tell_limit(self, before):
        """Warn when the penalty of a published algorithm, ``before`` this chunk the given one, has risen.

        Micro-clusters warn when their clusters are searched for, which may be when these are read.
        """
        if self.search == "published" and before == self.lam < self.lam_:
            warn_penalty_rose(self.max_clusters, self.lam, self.lam_)
