"""What travels between the client and the workers, counted by pass and worker."""

from __future__ import annotations

import pickle
from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class PassTraffic:
    """The bytes that each worker took in and returned in one pass, by its address."""

    name: str
    taken: Counter[str] = field(default_factory=Counter)
    returned: Counter[str] = field(default_factory=Counter)

    @property
    def n_bytes(self) -> int:
        """The most bytes that one worker took in and returned."""
        return max((self.taken + self.returned).values(), default=0)


def n_bytes(value: Any) -> int:
    """The number of bytes of a value when it travels; arrays are counted without a copy.

    Examples
    --------
    >>> import numpy as np
    >>> 8000 <= n_bytes(np.zeros(1000)) < 8500
    True
    """
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return len(head) + sum(len(buffer.raw()) for buffer in buffers)
