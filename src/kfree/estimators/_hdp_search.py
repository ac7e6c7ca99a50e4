"""Parameters, penalties and searches of clusters that groups share."""

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kfree.core.frame import Frame
from kfree.core.warning import warn
from kfree.engines.local.grouped import GroupedRows
from kfree.estimators._found import Found
from kfree.estimators._span import coordinates, is_wide
from kfree.estimators._validation import is_positive_number, random_generator, require, require_choice, require_count
from kfree.estimators._watching import Watched
from kfree.objectives.hdp import HDPObjective
from kfree.search.centres.split_merge import Budget
from kfree.search.centres.target import nearest_to
from kfree.search.groups.hdp import at_rest, shared_split_merge, sweeps
from kfree.search.groups.penalties import fitting_penalties

SEARCHES = ["split-merge", "sweep"]


class SharedSearch(Watched):
    """For :class:`kfree.HardHDP`: its parameters, the choice of both penalties, and both searches."""

    def _check_parameters(self):
        self._check_shared_parameters()
        for name in ("lam_local", "lam_global"):
            value = getattr(self, name)
            require(
                is_positive_number(value) or (isinstance(value, str) and value == "auto"),
                name,
                value,
                "a finite number > 0 (the penalty of a cluster in squared-distance units) or 'auto'",
            )
        require_count("target_k", self.target_k, or_none=True)
        given = is_positive_number(self.lam_local) and is_positive_number(self.lam_global)
        require(self.target_k is None or not given, "target_k", self.target_k, "None with both penalties as numbers")
        require_choice("search", self.search, SEARCHES)
        require_count("patience", self.patience, least=0)
        require(
            not (self.search == "sweep" and self.patience),
            "patience",
            self.patience,
            "0 with search='sweep', which makes no random splits",
        )
        require_count("max_iter", self.max_iter)
        self._check_watching()

    def _in_span(self, rows, group, weight, engine):
        """The engine for the search; few rows of many columns are searched in coordinates of their span."""
        places = coordinates(rows, engine.frame) if self.search != "sweep" and is_wide(rows) else None
        if places is None:
            return engine
        frame = Frame.plain(places.shape[1])
        return GroupedRows.open(self.engine, places, group, weight=weight, frame=frame, n_threads=self.n_threads)

    def _objective(self, engine):
        """The objective with the penalties that were given or found."""
        local, global_ = (None if value == "auto" else float(value) for value in (self.lam_local, self.lam_global))
        if local is None or global_ is None:
            rng = random_generator(0 if self.random_state is None else self.random_state)
            local, global_ = fitting_penalties(engine, local, global_, rng)
        return HDPObjective(global_, local)

    def _scaled(self, objective, scale):
        """The objective with the penalties that are "auto" multiplied by ``scale``."""
        local, global_ = (scale if value == "auto" else 1.0 for value in (self.lam_local, self.lam_global))
        return HDPObjective(global_ * objective.lam, local * objective.lam_local)

    def _with_target_k(self, engine, objective):
        """The penalties that come nearest to the number of global clusters to aim at, and the result of their
        search."""
        with self._watching() as watch:

            def search(scale, sites):
                scaled = self._scaled(objective, scale)
                return self._descended(engine, scaled, sites, watch)

            scale, descent = nearest_to(self.target_k, 1.0, search, watch.may_go_on)
        objective = self._scaled(objective, scale)
        n_found = len(descent.state.stats.n)
        if n_found != self.target_k:
            warn(
                f"HardHDP found no penalties at which target_k={self.target_k} global clusters are best; "
                f"lam_local_={objective.lam_local:g} and lam_global_={objective.lam:g} give {n_found}.",
                UserWarning,
            )
        return self._finished(engine, objective, descent, watch)

    def _found(self, engine):
        """Choose the penalties and search from one cluster."""
        objective = self._objective(engine)
        if self.target_k is None:
            return self._search(engine, objective, None)
        return self._with_target_k(engine, objective)

    def _search(self, engine, objective, sites):
        """From ``sites``, or from one cluster, to a state in which every row is where ``predict`` would put it."""
        with self._watching() as watch:
            descent = self._descended(engine, objective, sites, watch)
        return self._finished(engine, objective, descent, watch)

    def _descended(self, engine, objective, sites, watch):
        find = sweeps if self.search == "sweep" else shared_split_merge
        rng, watched = random_generator(self.random_state), (watch.may_go_on, watch.report)
        return find(engine, objective, sites, self.max_iter, Budget(rng, self.patience, np.inf, *watched))

    def _finished(self, engine, objective, descent, watch):
        descent.stop_reason = self._stop_reason(descent, watch)
        if descent.stop_reason == "max_iter":
            warn(
                f"HardHDP did not converge within max_iter={self.max_iter} iterations; the clustering is valid but "
                "more of them may improve it. Raise max_iter.",
                ConvergenceWarning,
            )
        state = at_rest(descent.state, engine, objective)
        if state.cost < descent.cost_history[-1]:
            descent.cost_history.append(state.cost)
        return Found(engine, objective, state, descent)
