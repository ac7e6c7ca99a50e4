"""A lock on a file, held until its process ends or gives it back; whoever comes second is told who holds it."""

from __future__ import annotations

import gc
import os
import socket
from contextlib import suppress
from typing import IO

from kfree.core.warning import warn

try:
    import fcntl
except ImportError:  # not on this system
    fcntl = None  # type: ignore[assignment]


class HeldError(Exception):
    """The lock is held; the text says by whom."""


class Lock:
    """The lock of ``path``: a file beside it, which is removed with the lock. A process that ended holds none."""

    def __init__(self, path: str):
        self._path, self._process = f"{path}.lock", os.getpid()
        self._file: IO[str] | None = None
        if fcntl is None:
            return
        try:
            self._take()
        except HeldError:
            gc.collect()  # a lock of this process may belong to a fit that has ended
            self._take()

    def release(self) -> None:
        if self._file is not None:
            if os.getpid() == self._process:  # a fork has a copy of the lock, and its parent goes on
                with suppress(OSError):
                    os.unlink(self._path)
            self._file.close()
            self._file = None

    def _take(self) -> None:
        while self._file is None:
            file = open(self._path, "a+")  # noqa: SIM115
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                with file:
                    raise HeldError(file.read() or "another process") from None
            except OSError as error:
                warn(f"{self._path} cannot be locked ({error}); start no other fit with this file.")
                self._file = file
                return
            if self._is_there(file):
                file.truncate(0)
                file.write(f"process {os.getpid()} on {socket.gethostname()}")
                file.flush()
                self._file = file
            else:
                file.close()

    def _is_there(self, file: IO[str]) -> bool:
        """Whether the file still has its name: its last holder may have removed it before it was locked here."""
        try:
            return os.path.samestat(os.fstat(file.fileno()), os.stat(self._path))
        except FileNotFoundError:
            return False
