"""Where files are: local paths, globs, and the addresses that pyarrow.fs reads (s3://, gs://, hdfs://, file://)."""

from __future__ import annotations

import fnmatch
import glob
import os
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from typing import IO, Any, cast

from kfree.core.optional import optional

_WILD = set("*?[")


@dataclass(frozen=True)
class Stamp:
    """What shows that a file has changed: its size in bytes and when it was last written, in nanoseconds."""

    size: int
    mtime_ns: int


def arrow(module: str) -> Any:
    """A module of pyarrow."""
    otherwise = 'reading these files needs pyarrow: pip install "kfree[files]"'
    return optional(f"pyarrow.{module}" if module else "pyarrow", otherwise)


def found(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[str]:
    """Paths as given, with patterns replaced by what they match, sorted; folders are replaced by the files in them."""
    if not isinstance(paths, str | os.PathLike | Iterable):
        raise TypeError(f"paths={paths!r} is not allowed; give the path of a file, a list of paths or a pattern.")
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    files: list[str] = []
    for path in [os.fspath(one) for one in given]:
        if not is_address(path):
            _require_open_folder(path)
        matches = _matches(path)
        if not matches:
            empty = f"the folder {path!r} has no files, but for hidden ones and those of folders inside it"
            fault = empty if os.path.isdir(path) else f"no file matches {path!r}"
            raise FileNotFoundError(f"{fault}. Give the path of a file, a list of paths or a pattern.")
        files += matches
    if not files:
        raise FileNotFoundError("paths is empty. Give the path of a file, a list of paths or a pattern.")
    return files


def stamp(path: str) -> Stamp:
    """The present stamp of a file; FileNotFoundError if there is none."""
    if not is_address(path):
        status = os.stat(path)
        return Stamp(status.st_size, status.st_mtime_ns)
    system, inner = _system(path)
    info = system.get_file_info(inner)
    if not info.is_file:
        raise FileNotFoundError(f"{path} is not a file.")
    return Stamp(info.size, info.mtime_ns or 0)


def is_pipe(path: str) -> bool:
    """Whether a path is a pipe, whose bytes can be read only once, such as /dev/stdin or <(…) of a shell."""
    return not is_address(path) and os.path.exists(path) and stat.S_ISFIFO(os.stat(path).st_mode)


def opened(path: str) -> IO[bytes]:
    """A file to read at any position."""
    if not is_address(path):
        return open(path, "rb")
    system, inner = _system(path)
    return cast(IO[bytes], system.open_input_file(inner))


def opened_by_arrow(path: str) -> Any:
    """A file for pyarrow's readers, which read such a one without Python's lock and without a copy."""
    return opened(path) if is_address(path) else arrow("").OSFile(path, "rb")


def base_name(path: str) -> str:
    """The name of a file without its folder."""
    return _parted(path)[0].rstrip("/").rsplit("/", 1)[-1]


def is_address(path: str) -> bool:
    """Whether pyarrow.fs is to find it."""
    return "://" in path


def _require_open_folder(path: str) -> None:
    """Raise if a folder, or the one of a file, may not be listed: nothing in it would be found."""
    folder = os.path.abspath(path)
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    if not os.access(folder, os.R_OK | os.X_OK) and not os.path.isfile(path):
        raise PermissionError(f"the folder {folder} cannot be read: permission denied. Give one that you may read.")


def _matches(path: str) -> list[str]:
    if is_address(path):
        return _remote_matches(path)
    if _WILD & set(path) and not os.path.exists(path):
        return sorted(match for match in glob.glob(path, recursive=True) if os.path.isfile(match))
    if os.path.isdir(path):
        inside = (os.path.join(path, name) for name in os.listdir(path) if not name.startswith((".", "_")))
        return sorted(name for name in inside if os.path.isfile(name))
    return [path] if os.path.exists(path) else []


def _remote_matches(address: str) -> list[str]:
    path, options = _parted(address)
    scheme = path.split("://", 1)[0]
    if _WILD & set(path):
        fixed = path[: min(path.index(sign) for sign in _WILD if sign in path)].rsplit("/", 1)[0]
        system, inner = _system(fixed + options)
        pattern = inner + path[len(fixed) :]
        # A star does not match a slash, as in a local pattern.
        names = (name for name in _files_in(system, inner) if name.count("/") == pattern.count("/"))
        return sorted(f"{scheme}://{name}{options}" for name in names if fnmatch.fnmatchcase(name, pattern))
    system, inner = _system(address)
    if system.get_file_info(inner).is_file:
        return [address]
    folder = inner.rstrip("/") + "/"
    inside = (name for name in _files_in(system, inner) if name.startswith(folder) and "/" not in name[len(folder) :])
    return sorted(f"{scheme}://{name}{options}" for name in inside if not name[len(folder) :].startswith((".", "_")))


def _files_in(system: Any, folder: str) -> list[str]:
    """All files below a folder."""
    found = system.get_file_info(arrow("fs").FileSelector(folder, recursive=True, allow_not_found=True))
    return [info.path for info in found if info.is_file]


def _parted(address: str) -> tuple[str, str]:
    """An address, and the options of its file system that may follow it: "?region=eu-west-1&scheme=http"."""
    options = re.search(r"\?\w+=[^*?\[]*$", address) if is_address(address) else None
    return (address[: options.start()], options[0]) if options else (address, "")


def _system(address: str) -> tuple[Any, str]:
    """The file system of an address and the path within it."""
    system, inner = arrow("fs").FileSystem.from_uri(address)
    return system, inner
