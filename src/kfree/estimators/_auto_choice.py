"""What AutoCluster chooses for the rows that are judged: the candidates of the judge, density dips and ellipses."""

from dataclasses import dataclass, field, replace

import numpy as np
import scipy.sparse as sp

from kfree.core.frame import Frame
from kfree.core.one_hot import one_hot_groups
from kfree.estimators._auto_models import DIPS, ELLIPSES, ONE, Components
from kfree.estimators.bayesian_k_means import BayesianKMeans
from kfree.estimators.dp_means import DPMeans
from kfree.search.judge.choose import (
    BY_CENTRES,
    CLEAN,
    FEWEST_ROWS,
    ROUND,
    ROWS_GRAPH,
    SHAPES,
    SHARED,
    TIE,
    Candidate,
    Judge,
)
from kfree.search.judge.one_column import ColumnJudge
from kfree.search.judge.rows import has_few_points
from kfree.search.judge.stability import refits_on_halves
from kfree.search.path.lattice import circles_in
from kfree.search.span import coordinates

# Random splits into halves that stability is measured on: of tables, of unit rows.
_N_SPLITS, _N_SPLITS_UNIT = 4, 2
_FEW_POINTS = "rows share few distinct points, so density dips between these decide"
_CUT = "neighbours are separated {} less often than in rows without clusters."
_MISSING = "there are {} fewer rows between clusters than one cluster would have."
_NO_VALLEYS = "nowhere are rows so few that one group of values cannot explain it"
_NO_SHAPE = "clusters of one column have no shape"
_NO_DIPS = "there are no density dips, which clusters in few columns have"
# In few columns, density dips say that there are more clusters than the graph shows if they avoid this share of the
# links that it avoids: 0.89 to 0.98 for round clusters that touch, 0.4 to 0.55 for pieces of rings and strips. With
# levels, they say how many if the graph's score at this number is this share of its highest, too.
_AS_CLEAN = 0.75
# Other numbers of clusters with this share of the best score are named.
_CLOSE = 0.9
# If such numbers differ by this ratio, scores of unit rows do not decide between them.
_UNDECIDED = 2.0
# Not offered, with the reason (docs/theory/judge.md); both take a number of clusters.
_OF_COUNTS = ("counts", "not offered: with k clusters, DPMeans(metric='kl', target_k=k) is hardly better than round")
_OF_BITS = ("zeros and ones", "not offered: with k clusters, DPMeans(metric='logistic', target_k=k) is not better")


@dataclass(frozen=True)
class Choice:
    """What was chosen for the judged rows, what was not, and the same on halves of them."""

    name: str
    labels: np.ndarray
    candidates: tuple
    best_score: float = 0.0
    gate: float = 0.0
    curves: dict = field(default_factory=dict)
    refits: tuple = ()
    white: bool = False
    # Models that do not take rows of this kind, with the reason.
    left_out: tuple = ()
    # Why clusters that score more than rows without clusters are none.
    veto: str = ""
    # What rows without clusters do more often.
    rarely: str = _CUT

    def table(self):
        """Candidates as dicts."""
        fields = ("model", "k", "links", "score", "why_not")
        rest = [dict.fromkeys(fields) | {"model": model, "why_not": why} for model, why in self.left_out]
        return [{name: getattr(one, name) for name in fields} for one in self.candidates] + rest

    def reason(self, k, n_judged, n_rows):
        """Why this model and this number, in a sentence or two."""
        on = "" if n_judged == n_rows else f" Judged on {n_judged:,} of {n_rows:,} rows."
        if not self.curves:
            few = f"there are fewer than {FEWEST_ROWS} distinct rows" if n_judged < FEWEST_ROWS else _FEW_POINTS
            return f"{k} cluster{'s' if k > 1 else ''}: {few}.{on}"
        if self.veto:
            return f"One cluster: {self.veto}.{on}"
        if self.name == ONE:
            return (
                f"One cluster: the best partition scores {self.best_score:.3f}, and rows without clusters may have "
                f"{self.gate}.{on}"
            )
        if self.name == DIPS:
            return (
                f"{k} clusters by density dips: the best partition scores {self.best_score:.3f}, below {self.gate}, "
                f"but the density dips between {k} centres.{on}"
            )
        chosen = self.candidates[0]
        return f"{k} clusters ({self.name}): {self.rarely.format(_times(chosen))}{self._close(k)}{on}"

    def _close(self, k):
        found: dict[int, float] = {}
        # Where k-means says how many, scores of graphs do not count.
        curves = [self.curves[BY_CENTRES]] if BY_CENTRES in self.curves else self.curves.values()
        for numbers, scores in curves:
            for number, score in zip(numbers.tolist(), scores.score.tolist(), strict=True):
                found[number] = max(found.get(number, 0.0), score)
        best = max(found.values())
        near = [number for number, score in found.items() if score >= _CLOSE * best and abs(number - k) > 0.15 * k]
        return f" {', '.join(map(str, sorted(near)[:3]))} was close." if near else ""


def _times(chosen):
    told = 1 - ((np.bincount(chosen.labels) / len(chosen.labels)) ** 2).sum()
    return f"{100 * min(chosen.links / told, 1.0):.0f} %" if told else "0 %"


def chosen_for(rows, given, unit, whiten, rng, n_threads):
    """The choice for judged rows, dense or sparse; ``given`` are these as they were given, in their own units."""
    if not sp.issparse(rows):
        return choose(rows, given, unit, whiten, rng, n_threads)
    # Distances between sparse rows are kept in coordinates of what they span.
    found = choose(coordinates(rows, Frame.plain(rows.shape[1], unit=True)), None, True, False, rng, n_threads)
    others = tuple((model, "does not take sparse rows") for model in (SHARED, ELLIPSES, SHAPES))
    candidates = tuple(one for one in found.candidates if one.model != SHAPES)
    return replace(found, name=ROUND if found.name == SHAPES else found.name, candidates=candidates, left_out=others)


def choose(rows, given, unit, whiten, rng, n_threads):
    """The same for dense rows."""
    nothing = np.zeros(len(rows), dtype=np.int64)
    if len(rows) < FEWEST_ROWS:
        return Choice(ONE, nothing, ())
    if has_few_points(rows):
        return _by_dips(rows, given, (), n_threads)
    if rows.shape[1] == 1:
        return _in_one_column(rows, rng)
    # Whitened, rare values of a category would count as much as frequent ones.
    whiten = whiten and not one_hot_groups(rows)
    judge = Judge(rows, unit, rng, whiten=whiten)
    verdict = judge.judge()
    facts = (verdict.best_score, verdict.gate, verdict.curves)
    if verdict.chosen is None:
        # Unit rows of skewed factors have dips without clusters, and so have curves. For other tables, and for more
        # clusters than the graph is asked for, dips are the second opinion.
        one = Choice(ONE, nothing, verdict.candidates, *facts)
        found = one if unit else _by_dips(rows, given, verdict.candidates, n_threads, *facts)
        return one if judge.may_be_curved and found.labels.max() < max(judge.numbers) else found
    chosen, candidates = verdict.chosen, verdict.candidates
    if judge.may_be_curved:
        chosen, candidates = _with_dips(judge, chosen, candidates, n_threads)
        if chosen is None:
            return Choice(ONE, nothing, candidates, *facts, veto=_NO_DIPS)
    if unit:
        chosen, candidates = _with_path(judge, chosen, candidates, verdict.curves, n_threads)
    second = None if whiten or unit or judge.may_be_curved else _dips_beside(rows, n_threads)
    if second is not None:
        chosen, candidates = _with_levels(judge, second, chosen, candidates, verdict.curves)
    refits = tuple(refits_on_halves(judge, chosen, _N_SPLITS_UNIT if unit else _N_SPLITS, second))
    if not unit and chosen.model == SHAPES and chosen.avoided < CLEAN:
        chosen, candidates = _with_ellipses(rows, judge, chosen, candidates, n_threads)
    white = chosen.view > 0 and chosen.model != ELLIPSES
    return Choice(chosen.model, chosen.labels, candidates, *facts, refits, white)


def _in_one_column(rows, rng):
    """Clusters of one column are intervals, and rows between two of them are few."""
    judge = ColumnJudge(rows, rng)
    verdict = judge.judge()
    facts = (verdict.candidates, verdict.best_score, verdict.gate, verdict.curves)
    others = tuple((model, _NO_SHAPE) for model in (SHARED, ELLIPSES, SHAPES))
    if verdict.chosen is None:
        return Choice(ONE, np.zeros(len(rows), dtype=np.int64), *facts, left_out=others, veto=_NO_VALLEYS)
    refits = tuple(judge.refits(_N_SPLITS))
    return Choice(ROUND, verdict.chosen.labels, *facts, refits, left_out=others, rarely=_MISSING)


def _by_dips(rows, given, candidates, n_threads, *facts):
    """What DPMeans finds, which tests density dips.

    It recognises one-hot columns, and sine and cosine of an angle, in the given units alone. With such columns it must
    find clusters there too.
    """
    labels = DPMeans(random_state=0, n_threads=n_threads).fit(rows).labels_.astype(np.int64)
    has_categories = bool(one_hot_groups(given)) or bool(circles_in(given))
    if has_categories and DPMeans(random_state=0, n_threads=n_threads).fit(given).n_clusters_ == 1:
        labels = np.zeros_like(labels)
    return Choice(DIPS if labels.max() else ONE, labels, candidates, *facts)


def _with_dips(judge, chosen, candidates, n_threads):
    """Density dips beside the candidates of a table of few columns, where they are seen wherever there are clusters.

    None is chosen if neither rows nor whitened rows have dips, unless hardly any link is cut. More round clusters
    than the graph has parts are chosen if they avoid about as many links.
    """
    fits = (DPMeans(random_state=0, n_threads=n_threads).fit(rows).labels_ for rows in judge.views.rows)
    view, found = next(((view, labels) for view, labels in enumerate(fits) if labels.max()), (0, None))
    if found is None and chosen.avoided >= CLEAN:
        return chosen, candidates
    if found is None:
        return None, (replace(chosen, why_not=_NO_DIPS), *candidates[1:])
    dips = _by_centres_of(found, judge, view)
    if dips.k > chosen.k and dips.avoided >= _AS_CLEAN * judge.links(chosen.labels)[1]:
        why = f"density dips show {dips.k} clusters, about as well separated"
        return dips, (dips, replace(chosen, why_not=why), *candidates[1:])
    return chosen, candidates


def _with_path(judge, chosen, candidates, curves, n_threads):
    """The number of DPMeans beside those of unit rows whose scores do not decide: topics have sub-topics."""
    numbers, scores = curves[BY_CENTRES]
    close = numbers[scores.score >= _CLOSE * scores.score.max()]
    if close.max() <= _UNDECIDED * close.min():
        return chosen, candidates
    k = DPMeans(metric="cosine", random_state=0, n_threads=n_threads).fit(judge.rows).n_clusters_
    if not close.min() <= k <= close.max():
        return chosen, candidates
    labels = judge.k_means_of(np.arange(judge.n_rows), 0, k)
    links, avoided = judge.links(labels)
    score = float(np.interp(k, numbers, scores.score))
    told = Candidate(ROUND, k, avoided, links, 0.0, score, labels)
    why = f"scores do not decide between {close.min()} and {close.max()} clusters, and density dips show {k}"
    return told, (told, replace(chosen, why_not=why), *candidates[1:])


def _with_levels(judge, second, chosen, candidates, curves):
    """Clusters of DPMeans, which recognises levels, beside those of a table with levels whose scores are close."""
    found = second(np.arange(judge.n_rows), *curves[ROWS_GRAPH])
    dips = chosen if found is None else _by_centres_of(found, judge, 0)
    if dips.k == chosen.k or dips.avoided < _AS_CLEAN * chosen.avoided:
        return chosen, candidates
    why = f"its score is not far from that of {dips.k} clusters, and density dips show these"
    return dips, (dips, replace(chosen, why_not=why), *candidates[1:])


def _dips_beside(rows, n_threads):
    """A second opinion on some of the rows: labels of DPMeans if the score of its number is not far from the best."""

    def labels(some, numbers, scores):
        possible = numbers[scores.score >= _AS_CLEAN * scores.score.max()]
        if len(possible) < 2:
            return None
        found = DPMeans(random_state=0, n_threads=n_threads).fit(rows[some]).labels_.astype(np.int64)
        return found if found.max() + 1 in possible else None

    return labels


def _by_centres_of(found, judge, view):
    """Clusters of DPMeans in one view as a candidate."""
    labels = np.asarray(found, dtype=np.int64)
    links, avoided = judge.links(labels)
    return Candidate((ROUND, SHARED)[view], int(labels.max()) + 1, avoided, links, 0.0, 0.0, labels, view)


def _with_ellipses(rows, judge, chosen, candidates, n_threads):
    """Ellipses of any direction beside the candidates; they are simpler than clusters of any shape."""
    found = BayesianKMeans(random_state=0, n_threads=n_threads).fit(Components.of(rows)(rows)).labels_
    labels = np.unique(found, return_inverse=True)[1]
    links, avoided = judge.links(labels)
    ellipses = Candidate(ELLIPSES, int(labels.max()) + 1, avoided, links, 0.0, 0.0, labels)
    if links >= chosen.links - TIE and avoided >= chosen.avoided - TIE:
        lost = replace(chosen, why_not="ellipses are simpler, and cut about as few links between neighbours")
        return ellipses, (ellipses, lost, *candidates[1:])
    why = f"cuts more links between neighbours: {links:.2f}, where the chosen model has {chosen.links:.2f}"
    return chosen, (*candidates, replace(ellipses, why_not=why))


def not_offered(rows):
    """Models of counts, or of zeros and ones, with the reason why they are no candidates, for rows of that kind."""
    values = rows.data if sp.issparse(rows) else rows
    if values.size == 0 or values.min() < 0 or not np.array_equal(values, np.round(values)):
        return ()
    return (_OF_BITS,) if values.max() <= 1 else (_OF_COUNTS,)
