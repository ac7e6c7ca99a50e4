"""Files that are replaced as a whole: a reader sees the old content or the new one, never a part."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file for writing that takes the place of ``path`` when the block ends without an error.

    After an error, such as a full disk, the old file is unchanged. Devices and pipes are written directly.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from kfree.core.replacing import replacing
    >>> path = Path(tempfile.mkdtemp()) / "labels.csv"
    >>> with replacing(path) as file:
    ...     _ = file.write(b"0")
    >>> path.read_bytes()
    b'0'
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        with open(target, "wb") as file:
            yield file
        return
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.part")
    try:
        with _created(temporary, path) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            os.chmod(temporary, target.stat().st_mode & 0o777)
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def _created(temporary: Path, path: str | os.PathLike[str]) -> IO[bytes]:
    """A new file; an error names the file that was asked for."""
    try:
        return open(temporary, "xb")
    except OSError as error:
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
