"""The loop that drives every search: moves propose states, and the loop accepts or rejects them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, Self, TypeVar


class Costed(Protocol):
    """A clustering as far as the loop is concerned."""

    @property
    def cost(self) -> float: ...

    @property
    def n_clusters(self) -> int: ...

    def same_partition(self, later: Self) -> bool: ...


# What a move must gain, as a share of the cost, to be more than rounding.
LEAST_GAIN = 1e-12

S = TypeVar("S", bound=Costed)
R = TypeVar("R")
O = TypeVar("O")


@dataclass
class Descent(Generic[S]):
    """Where a search stands: ``cost_history`` never rises; ``converged`` means that no move found more to gain.

    ``reached_last`` says that the last of the moves was tried at least once, and ``stop_reason``, set by the caller,
    why the search ended.
    """

    state: S
    cost_history: list[float]
    n_iter: int = 1
    converged: bool = False
    reached_last: bool = False
    stop_reason: str = ""

    @classmethod
    def at(cls, state: S, n_iter: int = 1, converged: bool = False) -> Descent[S]:
        """A search that stands at its first state, or at one that ``n_iter`` moves led to. Its cost must be finite."""
        require_finite(state.cost)
        return cls(state, [state.cost], n_iter, converged)


class Watch:
    """Says whether a search may go on, and hears of its moves. As it is, every search may, and nobody hears."""

    def may_go_on(self) -> bool:
        """Whether another move may begin."""
        return True

    def report(self, descent: Descent[Any]) -> None:
        """A move was tried, or a pass was made."""


UNWATCHED = Watch()


@dataclass(frozen=True)
class Silent(Watch):
    """Ends a search when another watch would, which does not hear of the moves."""

    watch: Watch

    def may_go_on(self) -> bool:
        return self.watch.may_go_on()


def descend(
    start: S | Descent[S],
    moves: Sequence[Callable[[S, R, O], S]],
    rows: R,
    objective: O,
    max_iter: int,
    near_enough: Callable[[S, S], bool] | None = None,
    watch: Watch = UNWATCHED,
) -> Descent[S]:
    """Try ``moves`` in their order until none lowers the cost, from a state or from where another search has ended.

    ``max_iter`` counts the first state, and the moves of the search before.

    After a move that lowered the cost, the loop starts again with the first move, so cheap ones come first. A move
    whose states are ``near_enough`` to each other (None: the same partition) counts as failed, though the second state
    is kept if it costs no more. A move that would raise the cost is at the limit of rounding.
    """
    descent = start if isinstance(start, Descent) else Descent.at(start)
    del start  # its labels are as long as X
    turn = 0
    while descent.n_iter < max_iter and not descent.converged and watch.may_go_on():
        descent.reached_last |= turn == len(moves) - 1
        old, new = descent.state, moves[turn](descent.state, rows, objective)
        descent.n_iter += 1
        unchanged = near_enough(old, new) if near_enough else old.same_partition(new)
        turn = 0 if new.cost < old.cost and not unchanged else turn + 1
        descent.converged = turn == len(moves)
        if new is not old and new.cost <= old.cost:
            descent.state = new
            descent.cost_history.append(new.cost)
        del old, new
        watch.report(descent)
    return descent


def no_gain(old: Costed, new: Costed) -> bool:
    """Whether the second state costs less than the first by no more than rounding."""
    return not old.cost - new.cost > LEAST_GAIN * old.cost


def require_finite(cost: float) -> None:
    """Raise if no search can go on from a clustering of this cost."""
    if not math.isfinite(cost):
        raise ValueError(
            "the cost overflows float64: squared distances (times sample_weight) are too large. Divide X by a constant."
        )
