"""A proxy around an engine that fails when anything as long as the rows crosses the contract."""

from collections.abc import Mapping

import numpy as np
import scipy.sparse as sp

from kfree.core.assignment import Assignment

# What is one number per row is asked for when it is published, never during a search.
PUBLISHED = {"labels", "nearest_labels", "sq_dists"}
# Objects that live as long as a search.
LIVE_ON = {"bisection", "deletion_costs", "seeding", "members", "alone"}
# A sample is copied to memory by agreement.
MAY_CROSS = {*PUBLISHED, "sample", "nearest_drawing"}
# The place of the order in the arguments of a sweep, which is drawn for the whole search.
ORDER = 2


class RowsCrossed(AssertionError):
    """Something with as many elements as there are rows crossed the contract."""


class Metered:
    """Forwards everything to ``target`` and looks at what goes in and out."""

    def __init__(self, target, n_rows, record=None):
        self._target, self._n_rows = target, n_rows
        self.largest = record if record is not None else {}
        self.is_publishing = False

    def __getattr__(self, name):
        value = getattr(self._target, name)
        if callable(value):
            return self._watched(name, value)
        self._look(name, value)
        return value

    def _watched(self, name, method):
        def call(*args, **named):
            if name in PUBLISHED and not self.is_publishing:
                raise RowsCrossed(f"{name} was asked for during a search")
            arguments = [self._bare(one) for one in args], {key: self._bare(one) for key, one in named.items()}
            given = [one for place, one in enumerate(arguments[0]) if name != "sweep" or place != ORDER]
            self._look(name, [given, arguments[1]])
            found = method(*arguments[0], **arguments[1])
            if name not in MAY_CROSS:
                self._look(name, found)
            return self._wrapped(name, found)

        return call

    def _bare(self, value):
        return value._target if isinstance(value, Metered) else value

    def _wrapped(self, name, found):
        """Objects of the contract that live as long as a search are watched as well."""
        return Metered(found, self._n_rows, self.largest) if name in LIVE_ON else found

    def _look(self, name, value):
        size = largest_array(value)
        self.largest[name] = max(self.largest.get(name, 0), size)
        if size >= self._n_rows:
            raise RowsCrossed(f"{name} moved an array of {size} elements; there are {self._n_rows} rows")


def largest_array(value):
    """The number of elements of the largest array that can be reached from a value; assignments are opaque."""
    if isinstance(value, np.ndarray):
        return value.size
    if sp.issparse(value):
        return value.nnz
    if isinstance(value, Assignment | Metered | str | bytes | type | np.random.RandomState) or value is None:
        return 0
    if isinstance(value, Mapping):
        return max(map(largest_array, value.values()), default=0)
    if isinstance(value, list | tuple):
        return max(map(largest_array, value), default=0)
    if hasattr(value, "__dataclass_fields__"):
        return max((largest_array(getattr(value, name)) for name in value.__dataclass_fields__), default=0)
    return 0
