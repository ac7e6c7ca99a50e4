"""The one loop that drives every search: a move proposes, the loop disposes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from kfree.engines.base import Engine
from kfree.search.moves import Move
from kfree.search.state import Objective, State


@dataclass
class Descent:
    """Where a search stands.

    ``cost_history`` never rises; ``converged`` means that the move found no more to gain; ``n_refused`` is the most
    rows that found no room to open a cluster in one iteration.
    """

    state: State
    cost_history: list[float]
    n_iter: int = 1
    n_refused: int = 0
    converged: bool = False


def descend(
    state: State,
    move: Move,
    engine: Engine,
    objective: Objective,
    max_iter: int,
    near_enough: Callable[[State, State], bool] = State.same_partition,
) -> Descent:
    """Repeat ``move`` from ``state``, the first of ``max_iter`` states, until it changes nothing worth having.

    Two states that are ``near_enough`` to each other end the search at the second. A move that would raise the cost
    is at the limit of rounding, and ends it at the first.
    """
    if not math.isfinite(state.cost):
        raise ValueError(
            "the cost overflows float64: squared distances (times sample_weight) are too large. Divide X by a constant."
        )
    descent = Descent(state, [state.cost], n_refused=state.n_refused)
    del state  # its labels are as long as X
    while descent.n_iter < max_iter and not descent.converged:
        old, new = descent.state, move(descent.state, engine, objective)
        descent.n_iter += 1
        descent.n_refused = max(descent.n_refused, new.n_refused)
        descent.converged = near_enough(old, new) or not new.cost < old.cost
        if new.cost <= old.cost:
            descent.state = new
            descent.cost_history.append(new.cost)
        del old, new
    return descent
