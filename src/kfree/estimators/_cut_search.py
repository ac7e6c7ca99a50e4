"""The choice of a penalty and the search for clusters of a graph."""

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kfree.core.warning import warn
from kfree.estimators._order import LABEL_ORDERS
from kfree.estimators._watching import Watched
from kfree.native.implementations import IMPLEMENTATIONS
from kfree.objectives.cut import CUTS
from kfree.search.graph.cut_path import cut_path
from kfree.search.graph.multilevel import grown, search
from kfree.search.graph.target import nearest_to
from kfree.validation.parameters import is_number, random_generator, require, require_choice, require_count, shown

# The penalty of a graph without links.
_ANY_PENALTY = -0.5


class CutSearch(Watched):
    """For :class:`kfree.GraphDPMeans`: its parameters, the penalty, and the search."""

    def _check_parameters(self):
        require_choice("cut", self.cut, list(CUTS))
        require_choice("label_order", self.label_order, LABEL_ORDERS)
        require_choice("engine", self.engine, list(IMPLEMENTATIONS))
        require_count("patience", self.patience, or_none=True, least=0)
        require_count("max_iter", self.max_iter)
        self._check_watching()
        is_auto = isinstance(self.lam, str) and self.lam == "auto"
        require_count("target_k", self.target_k, or_none=True)
        require(self.target_k is None or is_auto, "target_k", self.target_k, "None with a lam that is a number")
        if is_auto:
            return
        if not is_number(self.lam):
            raise ValueError(f"lam={shown(self.lam)} is not allowed; give a number below 0 or 'auto'.")
        if self.lam >= 0:
            raise ValueError(
                f"lam={shown(self.lam)} is not allowed: the whole graph cuts no links, so with a penalty ≥ 0 one "
                "cluster is always best. Give a number below 0 (with lam=-0.4 a cluster must keep 60 % of its links "
                "inside) or 'auto'."
            )

    def _search(self, graph, n_alone):
        """The penalty, the staircase that it was chosen from (or None), and the result of the search."""
        if graph is None or not graph.out.any():
            return (_ANY_PENALTY if self.lam == "auto" else float(self.lam)), None, None
        cut, rng = CUTS[self.cut], random_generator(self.random_state)
        patience = _usual_patience(graph) if self.patience is None else self.patience
        path = cut_path(graph, cut, rng) if self.lam == "auto" else None
        with self._watching() as watch:

            def search_at(lam, start=None):
                start, watched = grown(graph, cut(lam)) if start is None else start, (watch.may_go_on, watch.report)
                return search(start, graph, cut(lam), rng, patience, self.max_iter, *watched)

            if path is None:
                lam, staircase = float(self.lam), None
                self._require_penalty_above(cut(lam).lowest_lam(graph))
                descent = search_at(lam)
            elif self.target_k is None:
                staircase = path.staircase
                lam = staircase.suggest().lam
                descent = search_at(lam, path.start)
            else:
                staircase, wished = None, self.target_k - n_alone
                lam = self._penalty_for(path.staircase, wished, n_alone)
                lam, descent = nearest_to(wished, lam, cut(lam).lowest_lam(graph), search_at, watch.may_go_on)
                self._warn_unless_found(descent.state.clusters.n_nodes + n_alone, lam)
        descent.stop_reason = self._stop_reason(descent, watch)
        return lam, staircase, descent

    def _penalty_for(self, staircase, wished, n_alone):
        """The penalty at which the staircase has the number to aim at, or the end of the staircase if that number is
        larger."""
        least, most = int(staircase.k[0]), int(staircase.k[-1])
        allowed = f"at least {least + n_alone}, the number of unconnected parts"
        require(wished >= least, "target_k", self.target_k, allowed)
        return staircase.at(k=min(wished, most)).lam

    def _warn_unless_found(self, n_found, lam):
        if n_found != self.target_k:
            warn(
                f"GraphDPMeans found no penalty at which target_k={self.target_k} clusters are best; lam_={lam:g} "
                f"gives {n_found}.",
                UserWarning,
            )

    def _require_penalty_above(self, lowest):
        if self.lam <= lowest:
            raise ValueError(
                f"lam={shown(self.lam)} is not allowed: no merge lowers the cut by more than {-lowest:g}, so that with "
                f"a penalty of {lowest:g} or less single nodes are always best. Give a number between {lowest:g} and 0"
                + (", better above -1." if self.cut == "normalized" else ".")
            )

    def _warn_of_limit(self, descent):
        if descent.stop_reason == "max_iter":
            warn(
                f"GraphDPMeans did not converge within max_iter={self.max_iter} moves; the clustering is valid but "
                "more of them may improve it. Raise max_iter.",
                ConvergenceWarning,
            )


def _usual_patience(graph):
    n_links = max(len(graph.weight) // 2, 1)
    return int(np.clip(50_000 // n_links, 8, 40))
