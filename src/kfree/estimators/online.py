"""OnlineDPMeans: clusters of a stream in one pass, by micro-clusters or as published by Odashima et al. (2016)."""

from collections.abc import Sequence
from typing import Annotated, Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kfree.core.blocks import blocks
from kfree.core.fields import NumberOfCoordinates
from kfree.core.frame import differences_overflow
from kfree.core.marks import OPTIONAL, AtLeast, OneOf, Shape
from kfree.core.marks import require as require_field
from kfree.core.sites import Sites
from kfree.core.sparse import dense
from kfree.core.stats import Index, Labels
from kfree.core.warning import warn_penalty_rose
from kfree.engines.local.rows import require_directions
from kfree.engines.local.stream import RowStream
from kfree.estimators import _by_centres
from kfree.estimators._base import ClusterEstimator, remember, rows_of_fit
from kfree.estimators._keywords import keyword_only
from kfree.estimators._opening import is_direction
from kfree.explain.spread import SpreadSample
from kfree.explain.summary import summary_of, with_sizes
from kfree.explain.table import Summary
from kfree.models.centres import CentreModel
from kfree.native.implementations import IMPLEMENTATIONS
from kfree.objectives.dp_means import OBJECTIVES, DPMeansObjective
from kfree.search.events import EventLog, followed, places_of
from kfree.search.micro_stream import STREAMS, MicroStream, Penalty
from kfree.search.stream_sample import StreamSample
from kfree.validation.frames import note_columns, printed_names, require_columns_of_fit, require_names
from kfree.validation.parameters import (
    check,
    choice,
    count,
    is_auto,
    is_positive_number,
    random_generator,
    require,
    rule,
    threads,
    whole,
)
from kfree.validation.rows import validated_rows, validated_weights

# Differences between values up to this size do not overflow.
_LARGEST = np.finfo(np.float64).max / 4
# Parameters that may not change between calls of partial_fit.
SETTINGS = ["lam", "search", "split", "metric", "n_micro", "max_clusters", "half_life", "engine"]
# What predict, transform and score look at besides the rows.
ROWS = (choice("engine", IMPLEMENTATIONS), threads)
CONSTRAINTS = (
    *ROWS,
    choice("search", ["micro-clusters", "published"]),
    rule(
        "lam",
        lambda e: is_positive_number(e.lam) or (is_auto(e.lam) and e.search == "micro-clusters"),
        "a finite number > 0, the penalty of a cluster in squared-distance units, or 'auto' with "
        "search='micro-clusters'; for a sample, give DPMeans().fit(sample).lam_ times rows remembered / rows "
        "of the sample",
    ),
    choice("metric", list(OBJECTIVES)),
    rule(
        "metric",
        lambda e: e.metric == "euclidean" or e.search == "micro-clusters",
        "'euclidean' with search='published', or search='micro-clusters'",
    ),
    count("n_micro", least=10),
    rule("split", lambda e: isinstance(e.split, bool | np.bool_), "True or False"),
    count("max_clusters", or_none=True),
    rule(
        "half_life",
        lambda e: e.half_life is None or (is_positive_number(e.half_life) and e.half_life >= 1),
        "a finite number of rows ≥ 1 or None",
    ),
    choice("order", ["given", "random"]),
)


class OnlineDPMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterEstimator):
    """Online DP-means: every row is processed once, on arrival.

    By default the stream is summarised by up to ``n_micro`` micro-clusters, small clusters of which only weight and
    centre are kept. Reading a result runs split-merge DP-means on these weighted centres, so that clusters open, split,
    merge and close as rows arrive. ``search="published"`` runs the algorithms of Odashima et al. (2016) as printed. The
    result depends on the order of the rows and not on how they are divided into chunks. A sample of at most 4,000 rows
    is kept, from which :meth:`outlier_score` knows how wide clusters are.

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
    metric : {"euclidean", "cosine"}, default="euclidean"
        Under ``"cosine"`` rows are directions, such as embeddings or texts: a row costs 2 − 2 cos to the centre, and
        centres have length 1. For micro-clusters.
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
    >>> published = OnlineDPMeans(lam=4.0, search="published").partial_fit([[0.0], [1.0], [9.0]])
    >>> published.labels_.tolist(), published.events_["row"].tolist()
    ([0, 0, 1], [0, 2])
    """

    # Sums of a stream may overflow, which is no damage.
    inertia_: Annotated[float, OPTIONAL]
    cost_: Annotated[float, OPTIONAL]
    n_features_in_: NumberOfCoordinates
    _stream_: Annotated[RowStream | MicroStream, OneOf(STREAMS)]
    _log_: EventLog
    _sample_: StreamSample
    _joined_: Annotated[Index, Shape("n"), AtLeast(-1)]
    _last_: Annotated[Index, Shape("n"), AtLeast(-1)]
    _labels_: Annotated[Labels | None, Shape("n"), AtLeast(-1)]
    _settings_: dict[str, Any]

    @keyword_only
    def __init__(
        self,
        *,
        lam: float | str = "auto",
        search: str = "micro-clusters",
        split: bool = True,
        metric: str = "euclidean",
        n_micro: int = 1000,
        max_clusters: int | None = None,
        half_life: float | None = None,
        order: str = "given",
        engine: str = "auto",
        n_threads: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.lam = lam
        self.search = search
        self.split = split
        self.metric = metric
        self.n_micro = n_micro
        self.max_clusters = max_clusters
        self.half_life = half_life
        self.order = order
        self.engine = engine
        self.n_threads = n_threads
        self.random_state = random_state

    _constraints_of_methods = ROWS
    predict, transform, score = _by_centres.predict, _by_centres.transform, _by_centres.score
    _view, _distances = _by_centres.view_of, _by_centres.distances_of
    duplicates = _by_centres.duplicates

    def summary(self, X: Any = None, feature_names: Sequence[str] | None = None, encoder: Any = None) -> Summary:
        """A table of the clusters, as of every estimator; without X, of all rows that the stream remembers.

        Their numbers are then weights after decay, rounded. Spreads, and means of columns, are those of the sample of
        at most 4,000 rows that the stream keeps, and there are no exemplars.

        Parameters
        ----------
        X : rows, which are given to clusters by ``predict``, or None, default=None
        feature_names : sequence of str or None, default=None
            Names of the columns; None takes those of X, else x0, x1, ….
        encoder : a fitted TableEncoder or None, default=None
            The one that made the rows.

        Returns
        -------
        summary : kfree.explain.Summary
        """
        if X is not None:
            return super().summary(X, feature_names, encoder)
        model, rows = self._model_, self._sample_.rows
        labels = model.labels(rows, self.engine, self.n_threads)
        view = model.view(rows, labels, printed_names(rows, self), self.engine, self.n_threads)
        return with_sizes(summary_of(view, feature_names, encoder=encoder), self.weights_, len(rows))

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
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
        check(self, CONSTRAINTS)
        rows = self._validated(X, begun=False)
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
        model = _model_of(stream)
        opened, centres = model.opened(rows, weight, self.engine, self.n_threads)
        done = opened.nearest(Sites.of(centres))
        sample = StreamSample.empty(rows.shape[1]).extended(rows, weight, order, 0, self.half_life)
        self._publish_chunk(X, stream, log, sample, joined, joined, opened.labels(done.assignment))
        self.inertia_ = DPMeansObjective(0.0).cost(done.stats)
        self.cost_ = model.objective.cost(done.stats)
        self._tell_limit(self.lam)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
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
        check(self, CONSTRAINTS)
        begun = hasattr(self, "_stream_")
        if begun:
            self._require_same_settings()
        if has_no_rows(X):
            return self._nothing_came(X) if begun else self
        rows = self._validated(X, begun)
        weight = validated_weights(sample_weight, rows.shape[0], all_may_be_zero=True)
        stream, log = (self._stream_, self._log_) if begun else (self._new_stream(rows, weight), EventLog())
        # A single row is processed in one step and needs no copy, which would take longer than the step.
        if rows.shape[0] > 1:
            stream = stream.copy()
        before = stream.lam if self.search == "published" else None
        joined, events = stream.advance(rows, weight)
        log.add(events)
        sample = self._sample_ if begun else StreamSample.empty(rows.shape[1])
        sample = sample.extended(rows, weight, None, stream.n_rows - rows.shape[0], self.half_life)
        last = joined if self.search == "micro-clusters" else followed(joined, events)
        self._publish_chunk(X, stream, log, sample, joined, last)
        self._tell_limit(before)
        return self

    def merge(self) -> Self:
        """Merge clusters, cheapest pair first, while that lowers the cost at the current penalty (Algorithm 4).

        For published algorithms; micro-clusters are merged as rows come, and clusters of them need no call.

        Returns
        -------
        self : OnlineDPMeans
        """
        check(self, CONSTRAINTS)
        stream = self._begun_stream().copy()
        self._require_same_settings()
        if self.search == "micro-clusters":
            return self
        ids = np.append(self.cluster_ids_, -1)[self.labels_]
        events = stream.merge()
        self._log_.add(events)
        self._forget_cost()
        self._stream_, self._last_, self._labels_ = stream, followed(ids, events), None
        return remember(self, rows_of_fit(self).rows)

    def _restored(self):
        """A stream from a file is one of the search that it began with."""
        ok = set(self._settings_) == set(SETTINGS) and STREAMS.get(self._settings_["search"]) is type(self._stream_)
        require_field(ok, "stream", "is not one of its settings")

    def _tell_limit(self, before):
        """Warn when the penalty of a published algorithm, ``before`` this chunk the given one, has risen.

        Micro-clusters warn when their clusters are searched for, which may be when these are read.
        """
        if self.search == "published" and before == self.lam < self.lam_:
            warn_penalty_rose(self.max_clusters, float(self.lam), self.lam_)

    @property
    def cluster_centers_(self):
        stream = self._begun_stream()
        return stream.frame.outward(stream.sites.centres)

    @property
    def cluster_ids_(self):
        return self._begun_stream().ids

    @property
    def weights_(self):
        return self._begun_stream().weights

    @property
    def n_clusters_(self):
        return len(self._begun_stream().ids)

    @property
    def joined_ids_(self):
        return self._begun_stream().cluster_ids(self._joined_)

    @property
    def labels_(self):
        stream = self._begun_stream()
        if self._labels_ is None:
            self._labels_ = places_of(stream.cluster_ids(self._last_), stream.ids)
        return self._labels_

    @property
    def lam_(self):
        return self._begun_stream().lam

    @property
    def n_rows_seen_(self):
        return self._begun_stream().n_rows

    @property
    def events_(self):
        check_is_fitted(self)
        return self._log_.as_array()

    @property
    def n_events_(self):
        check_is_fitted(self)
        return self._log_.n_events

    def _begun_stream(self):
        check_is_fitted(self)
        return self._stream_

    def _validated(self, X, begun):
        """Rows that start a stream or continue it: they have directions, or can be subtracted from each other."""
        rows = validated_rows(X, self)
        if self.metric == "euclidean":
            _require_subtractable(rows)
        else:
            require_directions(dense(abs(rows).max(axis=1)).ravel())
        if begun:
            require_columns_of_fit(self, X)
        else:
            require_names(X)
        return rows

    def _limits(self, false_alarms):
        """The distance from each cluster beyond which a row is an outlier, by the spreads of the sample."""
        model, rows = self._model_, self._sample_.rows
        labels, dist = np.empty(len(rows), dtype=np.int32), np.empty(len(rows))
        for places in blocks(len(rows), len(model.order)):
            sq_distances = model.sq_distances(rows[places], self.engine, self.n_threads)
            labels[places], dist[places] = sq_distances.argmin(axis=1), np.sqrt(sq_distances.min(axis=1))
        if not np.isfinite(dist).all():
            raise ValueError("distances of rows to the clusters overflow float64. Divide X by a constant before fit.")
        # How many rows a cluster stands for: a rare one has few in the sample.
        n_rows = self.n_rows_seen_ if self.half_life is None else min(self.n_rows_seen_, self.half_life / np.log(2))
        sizes = np.rint(n_rows * self.weights_ / self.weights_.sum()).astype(np.int64)
        return SpreadSample(labels, dist, len(model.order), sizes).spreads().limits(false_alarms)

    def _publish_chunk(self, X, stream, log, sample, joined, last, labels=None):
        """Set all fitted attributes; called only after the chunk has been processed.

        ``joined`` holds the cluster that each row joined, ``last`` its successor by now; ``labels`` is given if these
        differ.
        """
        if not hasattr(self, "_stream_") or log is not self._log_:
            note_columns(self, X)
            self._settings_ = {name: getattr(self, name) for name in SETTINGS}
        self._forget_cost()
        self._stream_, self._log_, self._sample_ = stream, log, sample
        self._joined_, self._last_, self._labels_ = joined, last, labels
        remember(self, X)

    def _nothing_came(self, X):
        """An empty chunk changes nothing but the labels of the last chunk, of which there are none."""
        if getattr(X, "ndim", 1) == 2:
            require_columns_of_fit(self, X)
        self._joined_ = self._last_ = np.empty(0, dtype=np.int64)
        self._labels_ = np.empty(0, dtype=np.int32)
        return remember(self, None)

    def _forget_cost(self):
        """Delete the cost of a fit, which is not valid for moved centres."""
        for name in ("inertia_", "cost_"):
            self.__dict__.pop(name, None)

    def _new_stream(self, rows, weight, order=None):
        half_life = None if self.half_life is None else float(self.half_life)
        n_features, unit, most = rows.shape[1], is_direction(self.metric), whole(self.max_clusters)
        if self.search == "published":
            return RowStream(self.engine, n_features, float(self.lam), bool(self.split), most, half_life)
        settings = most, half_life, whole(self.n_micro), unit
        if self.lam != "auto":
            return MicroStream(self.engine, n_features, Penalty(fixed=float(self.lam)), *settings)
        how = unit, self.engine, self.n_threads, self.random_state
        penalty, row_weight = Penalty.of_first_rows(rows, weight, order, *how)
        return MicroStream(self.engine, n_features, penalty, *settings, row_weight)

    def _require_same_settings(self):
        for name, began_with in self._settings_.items():
            value = getattr(self, name)
            require(
                value == began_with,
                name,
                value,
                f"{began_with!r}, the value at the start of this stream, or call fit to start a new one",
            )

    @property
    def _model_(self):
        return _model_of(self._begun_stream())


def _model_of(stream):
    """The clusters of a stream as they are now; they are published oldest first, as the stream numbers them."""
    if not len(stream.sites.uids):
        raise ValueError("no row of positive weight was given yet, so there is no cluster. Call partial_fit first.")
    family, order = OBJECTIVES["cosine" if stream.frame.unit else "euclidean"], np.arange(len(stream.sites.uids))
    return CentreModel(stream.frame, stream.sites.centres, order, family(stream.lam))


def has_no_rows(X):
    """Whether X is an empty chunk, of whatever type."""
    return X.shape[0] == 0 if hasattr(X, "shape") else hasattr(X, "__len__") and len(X) == 0


def _require_subtractable(rows):
    """Raise unless rows can be subtracted from each other."""
    values = rows.data if sp.issparse(rows) else rows
    if values.size and values.dtype == np.float64 and max(values.max(), -values.min()) > _LARGEST:
        raise differences_overflow()
