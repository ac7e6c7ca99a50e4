"""A cluster that counts what travels between the client and its workers."""

import pickle
from collections import Counter
from dataclasses import dataclass

import distributed

from kfree.engines.dask.cluster import Cluster


@dataclass(frozen=True)
class PassTraffic:
    """The bytes that each worker took in, and those that each returned, by its address, in one pass."""

    name: str
    taken: int
    returned: Counter

    @property
    def n_bytes(self):
        """The most bytes that one worker took in and returned."""
        return self.taken + max(self.returned.values())


class CountingCluster(Cluster):
    """``traffic`` has one entry per pass. Where the rows are, which is sent once, does not count."""

    def __init__(self, client):
        super().__init__(client)
        self.traffic, self._taken = [], 0

    def sent(self, name, value):
        self._taken += n_bytes(value) if name != "rows" else 0
        return super().sent(name, value)

    def results(self, name, futures, listener=None):
        distributed.wait(futures)
        holders = self.client.who_has(futures)
        found = super().results(name, futures, listener)
        returned = Counter()
        for future, value in zip(futures, found, strict=True):
            returned[holders[future.key][0]] += n_bytes(value)
        self.traffic.append(PassTraffic(name, self._taken, returned))
        self._taken = 0
        return found


def n_bytes(value):
    """The number of bytes of a value when it travels."""
    buffers = []
    head = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return len(head) + sum(len(buffer.raw()) for buffer in buffers)
