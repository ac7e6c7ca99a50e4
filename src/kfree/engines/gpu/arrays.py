"""Arrays of torch: see ``core.arrays.Arrays``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from kfree.core.arrays import Arrays
from kfree.core.stats import Floats

_DTYPES: dict[Any, torch.dtype] = {
    np.int32: torch.int32,
    np.int64: torch.int64,
    np.float64: torch.float64,
    np.bool_: torch.bool,
}
# The output function of SplitMix64, as in core/hashing.py, in two's complement: torch has no operations on uint64.
_GOLDEN, _FIRST, _SECOND = (value - (1 << 64) for value in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


# Arrays of up to so many bytes are copied through page-locked memory, which takes a tenth of the time.
_MOST_LOCKED = 1 << 26


class TorchArrays(Arrays):
    """Arrays on one device."""

    rows_at_once = 1 << 24

    def __init__(self, device: torch.device):
        self.device = device

    def of(self, array: NDArray[Any]) -> torch.Tensor:
        here = torch.from_numpy(np.require(array, requirements=["C", "W"]))
        if self.device.type == "cpu" or here.nbytes > _MOST_LOCKED:
            return here.to(self.device)
        locked = torch.empty(here.shape, dtype=here.dtype, pin_memory=True)
        # Torch would start threads for the copy, which take longer than it.
        locked.numpy()[...] = array
        return locked.to(self.device, non_blocking=True)

    def to_numpy(self, array: torch.Tensor) -> NDArray[Any]:
        return self.arriving(array)()

    def arriving(self, array: torch.Tensor) -> Callable[[], NDArray[Any]]:
        """Begin to copy an array to memory. What is returned waits for it, not for what the device does after it."""
        if array.device.type == "cpu" or array.nbytes > _MOST_LOCKED:
            found: NDArray[Any] = array.cpu().numpy()
            return lambda: found
        here = torch.empty(array.shape, dtype=array.dtype, pin_memory=True)
        here.copy_(array, non_blocking=True)
        copied = torch.cuda.current_stream(array.device).record_event()

        def arrived() -> NDArray[Any]:
            copied.synchronize()
            return np.asarray(here.numpy())

        return arrived

    def copy(self, array: torch.Tensor) -> torch.Tensor:
        return array.clone()

    def take(self, table: NDArray[Any], labels: torch.Tensor) -> torch.Tensor:
        return self.of(table)[labels]

    def arange(self, size: int) -> torch.Tensor:
        return torch.arange(size, device=self.device)

    def full(self, size: int, value: float, dtype: Any) -> torch.Tensor:
        return torch.full((size,), value, dtype=_DTYPES[dtype], device=self.device)

    def flatnonzero(self, mask: torch.Tensor) -> torch.Tensor:
        return torch.nonzero(mask)[:, 0]

    def argsort(self, values: torch.Tensor) -> torch.Tensor:
        return torch.argsort(values, stable=True)

    def largest(self, values: torch.Tensor, size: int) -> torch.Tensor:
        if not 0 < size < len(values):
            return self.argsort(-values)[:size]
        # Only values that are among the largest are sorted.
        places = self.flatnonzero(values >= torch.topk(values, size).values[-1])
        return places[self.argsort(-values[places])[:size]]

    def argmax(self, values: torch.Tensor) -> int:
        return int(torch.nonzero(values == values.max())[0, 0])

    def first_of_each(self, values: torch.Tensor) -> torch.Tensor:
        ascending, order = torch.sort(values, stable=True)
        starts = torch.ones_like(ascending, dtype=torch.bool)
        starts[1:] = ascending[1:] != ascending[:-1]
        return torch.sort(order[starts]).values

    def counts(self, labels: torch.Tensor, size: int) -> Floats:
        return self.to_numpy(torch.bincount(labels, minlength=size)).astype(np.float64)

    def counts_of_pairs(self, first: torch.Tensor, second: torch.Tensor, size: int) -> sp.csr_array:
        pairs, counts = torch.unique(first.long() * size + second, return_counts=True)
        pair, count = self.to_numpy(pairs), self.to_numpy(counts)
        return sp.csr_array((count.astype(np.int32), (pair // size, pair % size)), shape=(size, size))

    def smallest_hashes(
        self, rows: torch.Tensor, begin: int, end: int, seed: int, size: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        keys = self._hashed(rows + begin, seed)
        # With the sign bit flipped, signed numbers are in the order of the unsigned ones.
        order = torch.argsort(keys ^ torch.iinfo(torch.int64).min, stable=True)[:size]
        return rows[order], keys[order].view(torch.uint64)

    def fingerprints(self, labels: torch.Tensor, begin: int, size: int) -> NDArray[np.uint64]:
        numbers = torch.arange(begin, begin + len(labels), device=self.device)
        found = torch.zeros(size, dtype=torch.int64, device=self.device)
        found.index_add_(0, labels, self._hashed(numbers, 0))
        return self.to_numpy(found).view(np.uint64)

    def _hashed(self, numbers: torch.Tensor, seed: int) -> torch.Tensor:
        start = 1 + (seed << 32 & 0xFFFFFFFF00000000)
        z = (numbers + (start if start < 1 << 63 else start - (1 << 64))) * _GOLDEN
        z = (z ^ _shifted(z, 30)) * _FIRST
        z = (z ^ _shifted(z, 27)) * _SECOND
        return z ^ _shifted(z, 31)


def _shifted(z: torch.Tensor, bits: int) -> torch.Tensor:
    """A shift to the right that fills in zeros."""
    return (z >> bits) & ((1 << (64 - bits)) - 1)
