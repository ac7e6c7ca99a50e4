"""What AutoCluster chooses for the rows that are judged: the candidates of the judge, density dips and ellipses."""

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import scipy.sparse as sp

from kfree.core.frame import Frame
from kfree.core.one_hot import one_hot_groups
from kfree.estimators._auto_models import DIPS, ELLIPSES, ONE
from kfree.estimators._auto_opinions import (
    CLOSE,
    NO_DIPS,
    by_dips,
    ellipses_of,
    with_dips,
    with_ellipses,
    with_levels,
    with_path,
)
from kfree.explain.units import percent
from kfree.search.judge.choose import BY_CENTRES, CLEAN, FEWEST_ROWS, ROUND, SHAPES, SHARED, Judge
from kfree.search.judge.columns import columns_of_clusters
from kfree.search.judge.links import impurity
from kfree.search.judge.one_column import ColumnJudge
from kfree.search.judge.rows import Whitening, has_few_points
from kfree.search.judge.stability import Refit, refits_on_halves
from kfree.search.judge.within import whitening_within
from kfree.search.path.lattice import circles_in
from kfree.search.span import coordinates

# Random splits into halves that stability is measured on; fewer where a half takes long.
_N_SPLITS, _FEW_SPLITS = 4, 2
# Halves are asked for twice as many clusters as all rows show, and at least for so many; a first look for so many.
_FEWEST_IN_HALF = 13
# Some columns are judged apart if they are at most this share of all: beside few others, noise hides nothing.
_FEW_OF_ALL = 0.5
# Rows whitened within clusters are another view than whitened rows if one direction is so many times longer.
_STRETCHED = 1.5
# With fewer rows per column, a stretch is that of noise: 1,000 Gaussian rows have 1.3 in 40 columns and 2.6 in 64.
_ROWS_PER_COLUMN = 20
# Sums of squares of larger numbers, and squares of their inverses, are at the ends of the range of float32.
_LARGE = 1e12
_FEW_POINTS = "rows share few distinct points, so density dips between these decide"
_FEW_POINTS_OF_ONE = "rows share few distinct points, and density dips between these show no clusters"
_CUT = "neighbours are separated {} less often than in rows without clusters."
_MISSING = "there are {} fewer rows between clusters than one cluster would have."
_NO_VALLEYS = "nowhere are rows so few that one group of values cannot explain it"
_NO_SHAPE = "clusters of one column have no shape"
# Not offered, with the reason (docs/theory/judge.md); both take a number of clusters.
_OF_COUNTS = ("counts", "not offered: with k clusters, DPMeans(metric='kl', target_k=k) is hardly better than round")
_OF_BITS = ("zeros and ones", "not offered: with k clusters, DPMeans(metric='logistic', target_k=k) is not better")


@dataclass(frozen=True)
class Choice:
    """What was chosen for the judged rows, what was not, and what halves of them show (``refits``)."""

    name: str
    labels: np.ndarray
    candidates: tuple
    best_score: float = 0.0
    gate: float = 0.0
    curves: dict = field(default_factory=dict)
    refits: tuple = ()
    # How rows are whitened for the model, if they are.
    whitening: Whitening | None = None
    # Models that do not take rows of this kind, with the reason.
    models_not_tried: tuple = ()
    # Why clusters that score more than rows without clusters are none.
    why_one_cluster: str = ""
    # How the clusters differ from rows without clusters, with a place for how much.
    evidence_in_words: str = _CUT
    # The columns in which clusters were found, and the choice in all columns; None if that was taken.
    columns: np.ndarray | None = None
    choice_in_all_columns: "Choice | None" = None

    def table(self, named):
        """Candidates as dicts; ``named`` are the columns that were used if not all were."""
        fields = ("model", "k", "links", "score", "why_not")
        candidates = self.candidates
        if self.choice_in_all_columns is not None:
            why = f"takes all columns; clusters are clearer in {named}"
            candidates += tuple(replace(one, why_not=why) for one in self.choice_in_all_columns.candidates)
        rest = [dict.fromkeys(fields) | {"model": model, "why_not": why} for model, why in self.models_not_tried]
        table = [{name: getattr(one, name) for name in fields} for one in candidates] + rest
        return [{name: None if value != value else value for name, value in one.items()} for one in table]

    def reason(self, k, n_judged, n_rows, named):
        """Why this model and this number, in a sentence or two; ``named`` as above."""
        on = "" if n_judged == n_rows else f" Judged on {n_judged:,} of {n_rows:,} rows."
        if self.choice_in_all_columns is not None:
            on = f" Found only in {named}: other columns hide the clusters.{on}"
        if not self.curves:
            few = _FEW_POINTS if k > 1 else _FEW_POINTS_OF_ONE
            few = f"there are fewer than {FEWEST_ROWS} distinct rows" if n_judged < FEWEST_ROWS else few
            return f"{k} cluster{'s' if k > 1 else ''}: {few}.{on}"
        if self.why_one_cluster:
            return f"One cluster: {self.why_one_cluster}.{on}"
        if self.name == ONE:
            return (
                f"One cluster: the best partition scores {self.best_score:.3f}, and rows without clusters may have "
                f"{self.gate:.3g}.{on}"
            )
        if self.name == DIPS:
            return (
                f"{k} clusters by density dips: the best partition scores {self.best_score:.3f}, below "
                f"{self.gate:.3g}, but the density dips between {k} centres.{on}"
            )
        chosen = self.candidates[0]
        return f"{k} clusters ({self.name}): {self.evidence_in_words.format(_times(chosen))}{self._close(k)}{on}"

    def _close(self, k):
        found: dict[int, float] = {}
        # Where k-means says how many, scores of graphs do not count.
        curves = [self.curves[BY_CENTRES]] if BY_CENTRES in self.curves else self.curves.values()
        for numbers, scores in curves:
            for number, score in zip(numbers.tolist(), scores.score.tolist(), strict=True):
                found[number] = max(found.get(number, 0.0), score)
        best = max(found.values())
        near = [number for number, score in found.items() if score >= CLOSE * best and abs(number - k) > 0.15 * k]
        agree = k if self.refits and all(refit.k == k for refit in self.refits) else None
        return close_by(sorted(near, key=lambda number: -found[number])[:3], agree)


def close_by(numbers, agree=None):
    """Numbers of clusters with scores close to the best one, in words; ``agree`` is that of all halves of the rows."""
    if not numbers:
        return ""
    *others, last = map(str, sorted(numbers))
    close = f"{', '.join(others)} and {last} were close" if others else f"{last} was close"
    return f" {close}." if agree is None else f" {close}, but halves of the rows agree on {agree}."


def _times(chosen):
    most = impurity(chosen.labels)
    return percent(min(chosen.links / most, 1.0) if most else 0.0)


def chosen_for(rows, given, unit, whiten, rng, n_threads):
    """The choice for judged rows, dense or sparse; ``given`` are these as they were given, in their own units."""
    if not sp.issparse(rows):
        return choose(_of_usual_size(rows), given, unit, whiten, rng, n_threads)
    # Distances between sparse rows are kept in coordinates of what they span, also where some are almost copies.
    placed = coordinates(rows, Frame.plain(rows.shape[1], unit=True), with_all_digits=True)
    found = choose(placed, placed, True, False, rng, n_threads)
    others = tuple((model, "does not take sparse rows") for model in (SHARED, ELLIPSES, SHAPES))
    candidates = tuple(one for one in found.candidates if one.model != SHAPES)
    name = ROUND if found.name == SHAPES else found.name
    return replace(found, name=name, candidates=candidates, models_not_tried=others)


def _of_usual_size(rows):
    """Rows times a power of two if they are so large or small that float32, in which they are judged, cannot square."""
    largest = np.abs(rows).max(initial=0.0)
    is_usual = largest == 0 or 1 / _LARGE < largest < _LARGE
    return rows if is_usual else np.ldexp(rows, -np.frexp(largest)[1])


def choose(rows, given, unit, whiten, rng, n_threads):
    """The choice for dense rows: in all columns or, if fewer show clusters more clearly, in these.

    Where rows, or some halves of them, are one cluster, long clusters are looked for in rows that are whitened within
    clusters.
    """
    choice, judge, refitted = _judged(rows, given, unit, whiten, rng, n_threads)
    if judge is None or unit:
        return refitted(choice)
    # Other generators, so that halves of all columns do not depend on this.
    *for_columns, for_view = rng.spawn(3)
    other = _in_some_columns(choice, judge, rows, given, whiten, for_columns, n_threads)
    if other is not None:
        return other
    choice = refitted(choice)
    if choice.labels.max() and all(refit.k > 1 for refit in choice.refits):
        return choice
    long = _in_long_clusters(judge, rows, given, for_view, n_threads)
    return choice if long is None or CLOSE * long.best_score <= choice.best_score else long


def _in_some_columns(choice, judge, rows, given, whiten, generators, n_threads):
    """The choice in those columns that clusters are in, if others hide them."""
    columns = columns_of_clusters(judge, rows)
    if not 0 < len(columns) <= rows.shape[1] * _FEW_OF_ALL:
        return None
    first, second = generators
    if not _may_show_clusters(rows[:, columns], whiten, first):
        return None
    some, _, refitted = _judged(rows[:, columns], given[:, columns], False, whiten, second, n_threads)
    if not _shows_more(some, choice, len(columns)):
        return None
    return refitted(replace(some, columns=columns, choice_in_all_columns=choice))


def _in_long_clusters(judge, rows, given, rng, n_threads):
    """The choice where rows, and surrogates, are whitened within clusters; None if that shows no clusters either.

    Density dips must show some there first, which takes little time.
    """
    is_wide = rows.shape[1] * _ROWS_PER_COLUMN > len(rows)
    if is_wide or not judge.whiten or judge.in_parts or circles_in(given):
        return None
    whitening, stretch = whitening_within(judge.rows, judge.m, rng)
    if stretch < _STRETCHED or not by_dips(whitening(judge.rows), given, n_threads).max():
        return None
    within = judge.within(whitening, rng)
    verdict = within.judge()
    choice = None if verdict.chosen is None else _of_verdict(within, verdict, rows, n_threads)
    if choice is None or not choice.labels.max():
        return None
    return _table_refitted(choice, within, rows, given, n_threads)


def _may_show_clusters(rows, whiten, rng):
    """A look at few numbers of clusters beside one surrogate, which takes little time; so does one column.

    Rows that share few points have no score that could be higher than that of all columns.
    """
    if has_few_points(rows):
        return False
    if rows.shape[1] == 1:
        return True
    judge = Judge(rows, False, rng, n_surrogates=1, whiten=_may_whiten(rows, whiten), most=_FEWEST_IN_HALF)
    return judge.best_graph()[0].score >= judge.gate


def _may_whiten(rows, whiten):
    """Whitened, rare values of a category would count as much as frequent ones."""
    return whiten and not one_hot_groups(rows)


def _shows_more(some, choice, n_columns):
    """Whether some columns show clusters more clearly than all, and their scores are not close.

    The score of one column is about valleys and not about links, so that one is taken where all show no clusters.
    """
    if not some.labels.max() or some.best_score < some.gate:
        return False
    return CLOSE * some.best_score > choice.best_score and (n_columns > 1 or not choice.labels.max())


def _judged(rows, given, unit, whiten, rng, n_threads):
    """The choice for rows as they are, the judge of several columns, and what refits a choice on halves of the rows."""
    if len(rows) < FEWEST_ROWS:
        return Choice(ONE, np.zeros(len(rows), dtype=np.int64), ()), None, lambda choice: choice
    if has_few_points(rows):
        labels = by_dips(rows, given, n_threads)
        found = Choice(DIPS if labels.max() else ONE, labels, ())
        refitted = partial(_refitted, rng=rng, cluster=lambda some: by_dips(rows[some], given[some], n_threads))
        return found, None, refitted
    if rows.shape[1] == 1:
        column = ColumnJudge(rows, rng)
        return _in_one_column(column), None, partial(_refitted, rng=rng, cluster=column.labels_of)
    judge = Judge(rows, unit, rng, whiten=_may_whiten(rows, whiten))
    if unit:
        return _of_directions(judge, n_threads), judge, partial(_directions_refitted, judge=judge)
    refitted = partial(_table_refitted, judge=judge, rows=rows, given=given, n_threads=n_threads)
    return _of_table(judge, rows, given, n_threads), judge, refitted


def _refitted(choice, rng, cluster, n_splits=_N_SPLITS):
    """A choice with ``refits``: what ``cluster`` finds in halves of the rows."""
    rows = np.arange(len(choice.labels))
    return replace(choice, refits=tuple(refits_on_halves(rows, n_splits, rng, lambda half: Refit(half, cluster(half)))))


def _of_directions(judge, n_threads):
    """The lam path beside the candidates of the judge."""
    verdict = judge.judge()
    facts = (verdict.best_score, verdict.gate, verdict.curves)
    if verdict.chosen is None:  # rows of skewed factors have dips without clusters, so dips are not asked
        return Choice(ONE, np.zeros(judge.n_rows, dtype=np.int64), verdict.candidates, *facts)
    chosen, candidates = with_path(judge, verdict.chosen, verdict.candidates, verdict.curves, n_threads)
    return Choice(chosen.model, chosen.labels, candidates, *facts)


def _directions_refitted(choice, judge):
    """A choice with k-means of halves; one cluster is not asked for again."""
    return choice if choice.name == ONE else _refitted(choice, judge.rng, judge.centres_of_part, _FEW_SPLITS)


def _of_table(judge, rows, given, n_threads):
    """Density dips and ellipses beside the candidates of the judge."""
    verdict = judge.judge()
    if verdict.chosen is not None:
        return _of_verdict(judge, verdict, rows, n_threads)
    facts = (verdict.candidates, verdict.best_score, verdict.gate, verdict.curves)
    # Dips are the second opinion. Curves have some, so there they count if the graph is not asked for as many.
    labels = by_dips(rows, given, n_threads)
    seen = labels.max() >= (max(judge.numbers) if judge.may_be_curved else 1)
    return Choice(DIPS, labels, *facts) if seen else Choice(ONE, np.zeros_like(labels), *facts)


def _of_verdict(judge, verdict, rows, n_threads):
    """Second opinions and ellipses beside clusters that the judge sees."""
    facts = (verdict.best_score, verdict.gate, verdict.curves)
    chosen, candidates = verdict.chosen, verdict.candidates
    chosen, candidates = _with_second_opinions(judge, rows, chosen, candidates, verdict.curves, n_threads)
    if chosen is None:
        return Choice(ONE, np.zeros(len(rows), dtype=np.int64), candidates, *facts, why_one_cluster=NO_DIPS)
    if chosen.model == SHAPES and chosen.avoided < CLEAN:
        chosen, candidates = with_ellipses(rows, judge, chosen, candidates, n_threads)
    whitening = None
    if chosen.view > 0 and chosen.model != ELLIPSES:
        whitening = judge.views.whitening if judge.is_within else Whitening.of(rows)
    return Choice(chosen.model, chosen.labels, candidates, *facts, whitening=whitening)


def _with_second_opinions(judge, rows, chosen, candidates, curves, n_threads):
    """Density dips beside the candidates of tables of few columns, and of tables with levels."""
    if judge.may_be_curved:
        return with_dips(judge, chosen, candidates, curves, n_threads)
    if not judge.whiten:
        return with_levels(judge, rows, chosen, candidates, curves, n_threads)
    return chosen, candidates


def _table_refitted(choice, judge, rows, given, n_threads):
    """A choice with what the same rules find in halves, which are compared with as many rows of surrogates.

    The model is that of all rows. Halves do not show twice as many clusters, and dips that all rows do not show.
    """
    most = max(2 * (int(choice.labels.max()) + 1), _FEWEST_IN_HALF)
    halves = judge.of_fewer(len(rows) // 2, most)

    def cluster(some):
        half = halves.on(judge.rows[some])
        best, _, curves = half.best_graph()
        if best.score < half.gate and choice.name == DIPS:
            return by_dips(rows[some], given[some], n_threads)
        found = None
        if best.score >= half.gate:
            found, _ = _with_second_opinions(half, rows[some], best, (best,), curves, n_threads)
        if found is None:
            return np.zeros(len(some), dtype=np.int64)
        if choice.name == ELLIPSES:
            return ellipses_of(rows[some], n_threads)
        return half.k_means_at(found.k, found.view) if choice.name in (ROUND, SHARED) else found.labels

    # Tests of density dips and ellipses take longer than the judge.
    is_slow = judge.may_be_curved or choice.name == ELLIPSES
    return _refitted(choice, judge.rng, cluster, _FEW_SPLITS if is_slow else _N_SPLITS)


def _in_one_column(judge):
    """Clusters of one column are intervals, and rows between two of them are few."""
    verdict = judge.judge()
    facts = (verdict.candidates, verdict.best_score, verdict.gate, verdict.curves)
    others = tuple((model, _NO_SHAPE) for model in (SHARED, ELLIPSES, SHAPES))
    if verdict.chosen is None:
        nothing = np.zeros(len(judge.rows), dtype=np.int64)
        return Choice(ONE, nothing, *facts, models_not_tried=others, why_one_cluster=_NO_VALLEYS)
    return Choice(ROUND, verdict.chosen.labels, *facts, models_not_tried=others, evidence_in_words=_MISSING)


def not_offered(rows):
    """Models of counts, or of zeros and ones, with the reason why they are no candidates, for rows of that kind."""
    values = rows.data if sp.issparse(rows) else rows
    if values.size == 0 or values.min() < 0 or not np.array_equal(values, np.round(values)):
        return ()
    return (_OF_BITS,) if values.max() <= 1 else (_OF_COUNTS,)
