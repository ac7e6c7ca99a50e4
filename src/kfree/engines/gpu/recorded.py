"""Kernels that are started together: recorded once as a CUDA graph, then replayed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import torch

# Kernels over so few rows take less time than it takes to start them from Python.
FEW_ROWS = 1 << 20
# The call that is recorded: the first one compiles, and a record takes as long as two calls.
RECORDED_CALL = 2

T = TypeVar("T")


class Recorded(Generic[T]):
    """Calls of one function that starts kernels over tensors which stay where they are, and returns tensors.

    The first call compiles what it starts. The one whose number is ``recorded_call`` records it, later ones replay the
    record. What a call returns is overwritten by the next one.
    """

    def __init__(self, rows: torch.Tensor, recorded_call: int = RECORDED_CALL):
        self.is_replayed = rows.device.type == "cuda" and len(rows) <= FEW_ROWS
        self._device, self._n_calls, self._recorded_call = rows.device, 0, recorded_call

    def __call__(self, start: Callable[[], T]) -> T:
        # The function is not kept: it belongs to the owner of the tensors, which would then not be freed at once.
        self._n_calls += 1
        if not self.is_replayed or self._n_calls < self._recorded_call:
            return start()
        if self._n_calls == self._recorded_call:
            self._record(start)
        self._graph.replay()
        return self._found

    def _record(self, start: Callable[[], T]) -> None:
        graph, here = torch.cuda.CUDAGraph(), torch.cuda.current_stream(self._device)
        aside = torch.cuda.Stream(self._device)
        aside.wait_stream(here)
        with torch.cuda.stream(aside):
            graph.capture_begin(capture_error_mode="thread_local")
            try:
                self._found = start()
            finally:
                graph.capture_end()
        here.wait_stream(aside)
        self._graph = graph
