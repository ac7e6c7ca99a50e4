"""The judge: the number of clusters, and the simplest model that shows them."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from kfree.core.progress import tell
from kfree.core.stats import Floats, Index
from kfree.search.judge.k_means import KMeansByMerging
from kfree.search.judge.links import cut_share, impurity, n_links, neighbours
from kfree.search.judge.numbers import left_out_around, null_numbers, numbers_of
from kfree.search.judge.rows import Whitening, dithered, has_steps
from kfree.search.judge.scores import Measured, Null, Scores, share_avoided
from kfree.search.judge.silhouette import HeldOut, silhouette
from kfree.search.judge.spectrum import directions, leading_vectors, spectral_clusterings
from kfree.search.judge.surrogates import DirectionalFactors, DirectionalGaussian, GaussianCopula, Surrogate
from kfree.search.judge.within import whitening_within

# Below this score rows may have no clusters. Tables: surrogates are Gaussian copulas, and other rows without clusters
# (simplices, log-normal columns) reach 0.05. Tables of few columns: pieces of a ring of 400 rows reach 0.10. Unit rows:
# surrogates have independent factors, and other rows without clusters (shares of topics) reach 0.10. With more factors
# rows are more equally far from each other, and skewed factors look less like clusters: 0.06 with 40 or more.
# Rows whitened within clusters: the arms of a curve like an S are parallel there and reach 0.20; most strips have 0.42.
TABLE_GATE, CURVED_GATE, UNIT_GATE, WITHIN_GATE = 0.055, 0.11, 0.1, 0.3
_MANY_FACTORS = 30
# A simpler model is taken if it is no worse than this, which is less than the noise of a share of ten thousand links.
TIE = 0.005
# Between numbers of clusters with this share of the highest score, there may be a higher one.
_HIGH = 0.9
# Numbers of unit rows that the grid leaves out are tried if they are so few: up to about 30 clusters.
_FEW_LEFT_OUT = 10
# A partition that avoids this share of the links that surrogates cut has no better one.
CLEAN = 0.95
# With at most so many columns, one curved cluster is as plausible as several: rows along a curve are a second null.
_FEW_COLUMNS = 3
_ROWS_AT_RANDOM = 20
# Halves of a curve have a silhouette of about 0.8; that of some pieces is higher if gaps break the neighbour graph.
_IN_PARTS = 0.99
# Rows that a cluster has at least, and the rows without which nothing is judged.
_FEWEST_PER_CLUSTER, FEWEST_ROWS = 3, 24
# The most clusters that graphs of tables, graphs of unit rows and k-means of unit rows are asked for.
_MOST_OF_TABLE, _MOST_IN_GRAPH, _MOST = 57, 50, 400
# Surrogates, and splits of unit rows into halves of which one is clustered and the other measured.
_N_SURROGATES, _N_SPLITS = 3, 2

# Scores by view and number of clusters.
Curves: TypeAlias = dict[str, tuple[Index, Scores]]

ROWS_GRAPH, WHITENED_GRAPH, BY_CENTRES = "graph of rows", "graph of whitened rows", "k-means"
WITHIN_GRAPH = "graph of rows whitened within clusters"
ROUND, SHARED, SHAPES = "round", "shared ellipse", "any shape"


@dataclass(frozen=True)
class Candidate:
    """A partition of the judged rows and what speaks for it; ``why_not`` says why another was taken.

    ``clarity`` and ``score`` are NaN where the score of another partition has decided how many clusters there are.
    """

    model: str
    k: int
    avoided: float
    links: float
    clarity: float
    score: float
    labels: Index = field(repr=False)
    view: int = 0
    why_not: str = ""


@dataclass(frozen=True)
class Judgement:
    """The chosen candidate (None: no clusters are seen), all candidates, and the curves by view and k."""

    chosen: Candidate | None
    candidates: tuple[Candidate, ...]
    best_score: float
    gate: float
    curves: Curves = field(repr=False)


@dataclass(frozen=True)
class Views:
    """Rows and, where they may be whitened, whitened rows, each with the neighbours of every row."""

    rows: tuple[Floats, ...]
    near: tuple[Index, ...]
    whitening: Whitening | None = None

    @classmethod
    def of(cls, rows: Floats, whitening: Whitening | None, m: int, rng: np.random.Generator) -> Views:
        seen = (rows,) if whitening is None else (rows, whitening(rows))
        return cls(seen, tuple(neighbours(view, m, rng) for view in seen), whitening)

    def in_graph(self, view: int, numbers: Sequence[int], rng: np.random.Generator) -> Measured:
        """Clusters of the graph of one view."""
        return self._by_vectors(leading_vectors(self.near[view], max(numbers), rng), numbers)

    def best_in_graph(
        self, view: int, numbers: Sequence[int], null: Null, rng: np.random.Generator
    ) -> tuple[Measured, Scores]:
        """``in_graph`` with scores; around high ones, all numbers that ``numbers`` leaves out are tried too."""
        vectors = leading_vectors(self.near[view], max(numbers), rng)
        measured = self._by_vectors(vectors, numbers)
        scores = Scores.of(measured, null, _FEWEST_PER_CLUSTER)
        high = np.flatnonzero(scores.score >= _HIGH * scores.score.max())
        between = left_out_around(numbers, high.tolist()) if scores.score.any() else []
        if between:
            measured = measured.beside(self._by_vectors(vectors, between))
            scores = Scores.of(measured, null, _FEWEST_PER_CLUSTER)
        return measured, scores

    def _by_vectors(self, vectors: Floats, numbers: Sequence[int]) -> Measured:
        found = list(spectral_clusterings(vectors, numbers))
        clear = [silhouette(directions(vectors, k), one.centres) for k, one in zip(numbers, found, strict=True)]
        return Measured.of(numbers, [one.labels for one in found], clear, self.near)

    def by_k_means(self, view: int, numbers: Sequence[int], unit: bool) -> list[Index]:
        return [found.labels for found in KMeansByMerging(self.rows[view], unit).at(numbers)]


class Judge:
    """Rows, and what is found in their surrogates, which is shared by all questions.

    Graphs of tables are asked for at most ``most`` clusters.
    """

    def __init__(
        self,
        rows: Floats,
        unit: bool,
        rng: np.random.Generator,
        n_surrogates: int = _N_SURROGATES,
        n_splits: int = _N_SPLITS,
        whiten: bool = True,
        most: int = _MOST_OF_TABLE,
    ):
        self.unit, self.rng, self.n_splits = unit, rng, n_splits
        self.whiten, self.is_within = whiten and not unit, False
        self.n_rows, self.m = len(rows), n_links(len(rows))
        self.rows = rows if unit else dithered(rows, rng)
        self.in_parts = not unit and has_steps(self.rows)
        self.views = self.views_of(self.rows)
        source, self.gate = self._without_clusters()
        self.surrogates = [self.views_of(source.draw(rng)) for _ in range(n_surrogates)]
        # The graph of unit rows shows whether there are clusters, and how clear they are at about this k.
        self.numbers = numbers_of(self.n_rows, _MOST_IN_GRAPH)[::2] if unit else numbers_of(self.n_rows, most)
        self.nulls = self._graph_nulls()
        self.centres_null: Null | None = None
        self.graph_clarity: tuple[Index, Floats] = np.array([1]), np.ones(1)

    def _without_clusters(self) -> tuple[Surrogate, float]:
        """The source of rows without clusters, and the score that such rows may have."""
        if self.unit:
            gaussian = DirectionalGaussian.of(self.rows)
            return gaussian, UNIT_GATE * min(1.0, _MANY_FACTORS / max(gaussian.n_factors, 1))
        return GaussianCopula.of(self.rows), CURVED_GATE if self.may_be_curved else TABLE_GATE

    def of_fewer(self, n_rows: int, most: int) -> Judge:
        """A judge for fewer rows of the same source: of surrogates, too, it sees as many rows.

        It looks for at most ``most`` clusters. ``on`` gives it rows.
        """
        judge = copy(self)
        judge.n_rows, judge.m, judge.numbers = n_rows, n_links(n_rows), numbers_of(n_rows, most)
        some = (one.rows[0][:n_rows] for one in self.surrogates)
        judge.surrogates = [judge.views_of(rows) for rows in some]
        judge.nulls = judge._graph_nulls()
        return judge

    def on(self, rows: Floats) -> Judge:
        """This judge for other rows of the same source, about as many."""
        judge = copy(self)
        judge.n_rows, judge.rows, judge.views = len(rows), rows, self.views_of(rows)
        return judge

    def within(self, whitening: Whitening, rng: np.random.Generator) -> Judge:
        """A judge of the same rows, which ``whitening`` whitens within clusters, as the same passes do surrogates."""
        judge = copy(self)
        judge.rng, judge.is_within, judge.gate = rng, True, WITHIN_GATE
        judge.views = Views.of(self.rows, whitening, self.m, rng)
        judge.surrogates = [judge.views_of(one.rows[0]) for one in self.surrogates]
        judge.nulls = judge._graph_nulls()
        return judge

    def views_of(self, rows: Floats) -> Views:
        """Rows of the same source, and what the judge sees of them."""
        whitening = Whitening.of(rows) if self.whiten else None
        if self.is_within:
            whitening, _ = whitening_within(rows, self.m, self.rng)
        return Views.of(rows, whitening, self.m, self.rng)

    @property
    def may_be_curved(self) -> bool:
        """Whether one curved cluster is as plausible as several: a table with few columns."""
        return not self.unit and self.rows.shape[1] <= _FEW_COLUMNS

    def _graph_nulls(self) -> list[Null]:
        """The null of the graph of each view."""
        curves = self._curves() if self.may_be_curved else []
        return [self._graph_null(view, curves) for view in range(len(self.surrogates[0].rows))]

    def _graph_null(self, view: int, curves: Sequence[Measured]) -> Null:
        """What surrogates show and, where it is more, how clear the pieces of curves are."""
        some, found = null_numbers(self.numbers), []
        for done, one in enumerate(self.surrogates):
            tell("surrogates", (view + done / len(self.surrogates)) / len(one.rows))
            found.append(one.in_graph(view, some, self.rng))
        null = Null.of(found, self.in_parts)
        for pieces in curves:
            null = null.with_silhouette_of(pieces)
        return null

    def _curves(self) -> list[Measured]:
        """Pieces of rows along lines and along rings.

        Rows are random within every twenty, so that a gap seldom breaks the neighbour graph. Where one does, the curve
        is left out: it is not one cluster.
        """
        some, found = null_numbers(self.numbers), []
        for _ in self.surrogates:
            twenties = np.arange(self.n_rows) // _ROWS_AT_RANDOM * _ROWS_AT_RANDOM
            along = twenties + _ROWS_AT_RANDOM * self.rng.uniform(size=self.n_rows)
            angle = 2 * np.pi * along / self.n_rows
            for curve in (angle[:, None], np.column_stack([np.cos(angle), np.sin(angle)])):
                found.append(Views.of(curve, None, self.m, self.rng).in_graph(0, some, self.rng))
        return [pieces for pieces in found if pieces.silhouette.max() < _IN_PARTS]

    def judge(self) -> Judgement:
        """Is there more than in surrogates? Then how many clusters, and which model is the simplest that shows them?"""
        best, measured, curves = self.best_graph()
        if self.unit:
            best = self.against_factors(measured)
        if best.score < self.gate:
            why = f"its score of {best.score:.3f} is below {self.gate:.3g}, which rows without clusters may have"
            return Judgement(None, (replace(best, why_not=why),), best.score, self.gate, curves)
        return self._directions(best, curves) if self.unit else self._simplest(best, curves)

    def best_graph(self) -> tuple[Candidate, Measured, Curves]:
        """The partition of a neighbour graph with the highest score, all partitions of this graph, and all scores."""
        found, curves = [], {}
        for view, null in enumerate(self.nulls):
            tell("graph", view / len(self.nulls))
            if self.unit:  # k-means says how many
                measured = self.views.in_graph(view, self.numbers, self.rng)
                scores = Scores.of(measured, null, _FEWEST_PER_CLUSTER)
            else:
                measured, scores = self.views.best_in_graph(view, self.numbers, null, self.rng)
            curves[self._name_of(view)] = measured.numbers, scores
            found.append((_candidate(SHAPES, measured, scores, int(scores.score.argmax()), view), measured))
        best, measured = max(found, key=lambda one: one[0].score)
        return best, measured, curves

    def _name_of(self, view: int) -> str:
        return (ROWS_GRAPH, WITHIN_GRAPH if self.is_within else WHITENED_GRAPH)[view]

    def against_factors(self, measured: Measured) -> Candidate:
        """The graph partition of unit rows with the highest score against rows of independent factors.

        Skewed factors look like clusters where surrogates are Gaussian.
        """
        some, source = null_numbers(self.numbers), DirectionalFactors.of(self.rows, self.rng)
        drawn = (Views.of(source.draw(self.rng), None, self.m, self.rng) for _ in self.surrogates)
        null = Null.of([one.in_graph(0, some, self.rng) for one in drawn])
        scores = Scores.of(measured, null, _FEWEST_PER_CLUSTER)
        return _candidate(SHAPES, measured, scores, int(scores.score.argmax()), 0)

    def _directions(self, graph: Candidate, curves: Curves) -> Judgement:
        """Clusters of unit rows are round: spherical k-means says how many."""
        measured, scores = self.by_centres(curves)
        curves[BY_CENTRES] = measured.numbers, scores
        chosen = _candidate(ROUND, measured, scores, int(scores.score.argmax()), 0)
        if not chosen.score:
            why = "held-out rows are no nearer to its centres than surrogates"
            chosen, rest = graph, (replace(chosen, why_not=why),)
        else:
            rest = (replace(graph, why_not="clusters of unit rows are round"),)
        return Judgement(chosen, (chosen, *rest), graph.score, self.gate, curves)

    def by_centres(self, curves: Curves) -> tuple[Measured, Scores]:
        """K-means to n / 8 clusters: its links, and the clarity of held-out rows times that of the graph at this k.

        The graph has 50 clusters at most; beyond, its clarity counts as that of the last.
        """
        some = null_numbers(numbers_of(self.n_rows, _MOST)[::2])
        self.centres_null = self._k_means_null(0, some, held_out=True)
        k, scores = curves[ROWS_GRAPH]
        self.graph_clarity = k, scores.clarity
        return self._best_by_centres(self.views, self.centres_null, self.n_splits)

    def _best_by_centres(self, views: Views, null: Null, n_splits: int) -> tuple[Measured, Scores]:
        """Every second number, then those beside high scores, then few that the grid leaves out around the highest."""
        rows, numbers = views.rows[0], numbers_of(len(views.rows[0]), _MOST)
        clusters, held_out = KMeansByMerging(rows, self.unit), HeldOut(rows, self.unit, self.rng, n_splits)

        def measured_at(some: Sequence[int]) -> Measured:
            labels = [found.labels for found in clusters.at(some)]
            return Measured.of(some, labels, held_out.silhouettes(some).tolist(), views.near)

        measured = measured_at(numbers[::2])
        scores = self._of_centres(measured, null)
        high = 2 * np.flatnonzero(scores.score >= _HIGH * scores.score.max())
        beside = sorted({j for at in high for j in (at - 1, at + 1) if 0 <= j < len(numbers)})
        if beside:
            measured = measured.beside(measured_at([numbers[j] for j in beside]))
            scores = self._of_centres(measured, null)
        between = left_out_around(measured.numbers.tolist(), [int(scores.score.argmax())])
        if 0 < len(between) <= _FEW_LEFT_OUT:
            measured = measured.beside(measured_at(between))
            scores = self._of_centres(measured, null)
        return measured, scores

    def _of_centres(self, measured: Measured, null: Null) -> Scores:
        scores = Scores.of(measured, null, _FEWEST_PER_CLUSTER)
        k, clarity = self.graph_clarity
        return replace(scores, clarity=scores.clarity * np.interp(np.log(measured.numbers), np.log(k), clarity))

    def _k_means_null(self, view: int, numbers: Sequence[int], held_out: bool = False) -> Null:
        found = []
        for one in self.surrogates:
            held = np.zeros(len(numbers))
            if held_out:
                held = HeldOut(one.rows[view], self.unit, self.rng).silhouettes(numbers)
            found.append(Measured.of(numbers, one.by_k_means(view, numbers, self.unit), held.tolist(), one.near))
        return Null.of(found, self.in_parts)

    def _simplest(self, graph: Candidate, curves: Curves) -> Judgement:
        """The simplest model that shows as many clusters as the graph about as well."""
        simpler = []
        for view, model in enumerate((ROUND, SHARED)[: len(self.nulls)]):
            measured = Measured.of([graph.k], self.views.by_k_means(view, [graph.k], False), [0.0], self.views.near)
            null = self._k_means_null(view, [graph.k])
            found = _candidate(model, measured, Scores.of(measured, null, _FEWEST_PER_CLUSTER), 0, view)
            simpler.append(replace(found, clarity=np.nan, score=np.nan))
        return Judgement(*_taken(graph, simpler), graph.score, self.gate, curves)

    def centres_of_part(self, rows: Index) -> Index:
        """K-means of some of the unit rows, with the number of clusters that scores best against all surrogates.

        Rows have fewer neighbours in proportion, so that these are as far away as among all rows.
        """
        assert self.centres_null is not None
        near = neighbours(self.rows[rows], max(2, round(len(rows) / self.n_rows * self.m)), self.rng)
        measured, scores = self._best_by_centres(Views((self.rows[rows],), (near,)), self.centres_null, 1)
        return measured.labels[int(scores.score.argmax())]

    def k_means_at(self, k: int, view: int = 0) -> Index:
        """K-means of the rows in one view."""
        return self.views.by_k_means(view, [k], self.unit)[0]

    def links(self, labels: Index) -> tuple[float, float]:
        """The links of any partition of the judged rows, and the share avoided, against graphs of surrogates."""
        if not labels.max() or np.bincount(labels).min() < _FEWEST_PER_CLUSTER:
            return 0.0, 0.0
        k = int(labels.max()) + 1
        expected = np.min([null.cut_at(k) for null in self.nulls], axis=0)
        cut = np.array([cut_share(near, labels) for near in self.views.near])
        avoided = float(share_avoided(cut, expected, self.nulls[0].least))
        return avoided * impurity(labels), avoided


def _candidate(model: str, measured: Measured, scores: Scores, at: int, view: int) -> Candidate:
    k = int(measured.labels[at].max()) + 1
    values = (scores.avoided, scores.links, scores.clarity, scores.score)
    avoided, links, clarity, score = (float(some[at]) for some in values)
    return Candidate(model, k, avoided, links, clarity, score, measured.labels[at], view)


def _taken(graph: Candidate, simpler: Sequence[Candidate]) -> tuple[Candidate, tuple[Candidate, ...]]:
    """The best of the simpler models, the first on ties, if it is as good as the graph, else the graph; and all."""
    most = max(one.links for one in simpler)
    best = next(one for one in simpler if one.links >= most - TIE)
    as_good = best.links >= graph.links - TIE and best.avoided >= graph.avoided - TIE
    chosen = best if as_good else graph
    rest = (replace(one, why_not=_why_not(one, chosen)) for one in (graph, *simpler) if one is not chosen)
    return chosen, (chosen, *rest)


def _why_not(candidate: Candidate, chosen: Candidate) -> str:
    if chosen.model != SHAPES and candidate.links >= chosen.links - TIE:
        return "a simpler model shows as many clusters as well"
    return why_worse(candidate, chosen)


def why_worse(candidate: Candidate, chosen: Candidate) -> str:
    """Why a candidate is worse than one that is not simpler."""
    if candidate.k == 1:
        return "finds one cluster"
    if np.bincount(candidate.labels).min() < _FEWEST_PER_CLUSTER:
        return f"has a cluster of fewer than {_FEWEST_PER_CLUSTER} rows"
    other = f"{chosen.k} clusters ({chosen.model})"
    if candidate.links < chosen.links - TIE:
        return f"keeps fewer links between neighbours: {candidate.links:.3f}, where {other} have {chosen.links:.3f}"
    return (
        f"separates neighbours only {100 * candidate.avoided:.1f} % less often than rows without clusters, "
        f"where {other} have {100 * chosen.avoided:.1f} %"
    )
