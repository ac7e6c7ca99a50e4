"""How many threads compiled code uses where ``n_threads`` is not given."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import threadpoolctl

from kfree.native.processor import available_cpus

VARIABLES = ("KFREE_NUM_THREADS", "OMP_NUM_THREADS")

_limit: int | None = None  # set through threadpoolctl


def thread_count(n_threads: int | None = None) -> int:
    """The number of threads for a search: the first of these that is set.

    ``n_threads``; a limit of threadpoolctl; one thread in a worker thread of joblib, whose other threads are as busy;
    the environment variables KFREE_NUM_THREADS and OMP_NUM_THREADS, which joblib sets in its worker processes; all
    processors that this process may use.
    """
    return n_threads or _limit or _default_count()


def one_blas_thread() -> AbstractContextManager[Any]:
    """Matrix products and factors on one thread, so that no bit depends on the number of threads.

    Threads of BLAS also wait for each other by turning, which takes many times as long where processors are busy.
    """
    limited: AbstractContextManager[Any] = _libraries().limit(limits=1, user_api="blas")
    return limited


@cache
def _libraries() -> threadpoolctl.ThreadpoolController:
    """Looked for once: that takes a millisecond, and an interrupt in the meantime would be lost."""
    return threadpoolctl.ThreadpoolController()


def _default_count() -> int:
    if _in_joblib_thread():
        return 1
    for name in VARIABLES:
        count = _from_environment(name)
        if count is not None:
            return count
    return available_cpus()


def _in_joblib_thread() -> bool:
    # joblib marks its worker processes the same way; these run tasks in their main thread.
    parallel = sys.modules.get("joblib.parallel")
    if parallel is None or threading.current_thread() is threading.main_thread():
        return False
    return bool(parallel.get_active_backend()[0].nesting_level)


def _from_environment(name: str) -> int | None:
    value = os.environ.get(name, "").strip()
    if not value:
        return None
    first = value.split(",")[0].strip()  # OpenMP takes a list: one number for each level of nesting
    if not first.isdecimal() or int(first) < 1:
        raise ValueError(f"{name}={value!r} is not a number of threads; set it to a positive number or unset it.")
    return int(first)


class _Controller(threadpoolctl.LibController):  # type: ignore[misc]
    """The threads of kfree for threadpoolctl: its limits hold for everything that is given no ``n_threads``."""

    user_api = "kfree"
    internal_api = "kfree"
    filename_prefixes = ("_core",)
    check_symbols = ("kfree_compiled_core",)

    def get_num_threads(self) -> int:
        try:
            return thread_count()
        except ValueError:
            # A bad variable is for a fit to report: threadpoolctl asks on behalf of other libraries, too.
            return available_cpus()

    def set_num_threads(self, num_threads: int) -> None:
        global _limit
        _limit = None  # threadpoolctl restores what it was told before, which is no limit if it is the default
        if num_threads != self.get_num_threads():
            _limit = num_threads

    def get_version(self) -> Any:
        return None


threadpoolctl.register(_Controller)
