"""The one loop that drives every search: a move proposes, the loop disposes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from kfree.engines.base import Engine
from kfree.search.moves import Move
from kfree.search.state import Objective, State


@dataclass
class Descent:
    """Where a search stands. ``cost_history`` never rises; ``converged`` means that the move found no more to gain."""

    state: State
    cost_history: list[float] = field(default_factory=list)
    converged: bool = False

    @property
    def n_iter(self) -> int:
        return len(self.cost_history)


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
    descent = Descent(state, [state.cost])
    while descent.n_iter < max_iter and not descent.converged:
        old, new = descent.state, move(descent.state, engine, objective)
        descent.converged = near_enough(old, new) or new.cost >= old.cost
        if new.cost <= old.cost:
            descent.state = new
            descent.cost_history.append(new.cost)
    return descent
