"""The one loop that drives every search: a move proposes, the loop disposes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from kfree.engines.base import Engine
from kfree.search.moves import Move
from kfree.search.state import Objective, State, require_finite

O = TypeVar("O", bound=Objective)


@dataclass
class Descent:
    """Where a search stands.

    ``cost_history`` never rises; ``converged`` means that no move found more to gain; ``n_refused`` is the most
    clusters that found no room to open in one iteration.
    """

    state: State
    cost_history: list[float]
    n_iter: int = 1
    n_refused: int = 0
    converged: bool = False


def descend(
    state: State,
    moves: Sequence[Move[O]],
    engine: Engine,
    objective: O,
    max_iter: int,
    near_enough: Callable[[State, State], bool] = State.same_partition,
) -> Descent:
    """Try ``moves`` in their order from ``state``, the first of ``max_iter``, until none changes anything worth having.

    After a move that helped, the first one has its turn again, so cheap ones come first. Two states that are
    ``near_enough`` to each other show that a move did not help, though the second is kept if it costs no more. A move
    that would raise the cost is at the limit of rounding.
    """
    require_finite(state)
    descent = Descent(state, [state.cost], n_refused=state.n_refused)
    del state  # its labels are as long as X
    turn = 0
    while descent.n_iter < max_iter and not descent.converged:
        old, new = descent.state, moves[turn](descent.state, engine, objective)
        descent.n_iter += 1
        descent.n_refused = max(descent.n_refused, new.n_refused)
        helped = new.cost < old.cost and not near_enough(old, new)
        turn = 0 if helped else turn + 1
        descent.converged = turn == len(moves)
        if new is not old and new.cost <= old.cost:
            descent.state = new
            descent.cost_history.append(new.cost)
        del old, new
    return descent
