"""Checkpoints: the answers of the passes of a fit, one record after the other, in one file without pickle.

A fit is a deterministic function of the answers that its passes return. So a fit that begins again with the recorded
answers of the first passes goes on where the other one ended, with the same bits, whatever its search does in between.

A record is its length (eight bytes), a checksum of the length (eight bytes), and an archive as in ``container``, with a
checksum of its own. Records are only appended. A record that was being written when the power failed is incomplete; it
is dropped, and its pass runs again. A long pass is recorded in parts as well; these count until the pass has ended.
Records are read when they are asked for: all of them, with the rows of every region, may be larger than the memory.
"""

from __future__ import annotations

import hashlib
import os
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from kfree.core.replacing import replacing
from kfree.core.warning import warn
from kfree.saving.container import decoded, encoded, is_intact
from kfree.saving.lock import HeldError, Lock
from kfree.saving.values import Packer, packed, unpacked

FORMAT, FORMAT_VERSION = "kfree checkpoint", 2
_LENGTH = 8


class CheckpointError(ValueError):
    """A checkpoint that is damaged, or of other data, other parameters or another version."""


class _Place(NamedTuple):
    """Where a record begins, and whether it is of a part of a pass."""

    begin: int
    is_part: bool


class Journal:
    """Questions and answers of a fit in the file ``path``.

    ``identity`` says whose they are: a dict with texts as keys, whose values have a meaningful ``repr``. A file with
    another identity is refused.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from kfree.saving.journal import Journal
    >>> path = Path(tempfile.mkdtemp()) / "fit.kfree"
    >>> Journal(path, {"rows": 5}).answer(["mean"], lambda: 2.0, float)
    2.0
    >>> Journal(path, {"rows": 5}).answer(["mean"], lambda: 1 / 0, float)  # recorded, so not worked out again
    2.0
    """

    def __init__(self, path: str | os.PathLike[str], identity: dict[str, Any]):
        self.path, self.n_repeated = os.fspath(path), 0
        self._identity = {key: repr(value) for key, value in identity.items()}
        with _naming(self.path):
            self.close = weakref.finalize(self, self._locked().release)
        try:
            with _naming(self.path):
                if not os.path.exists(self.path) or not os.path.getsize(self.path):
                    self._begin()
                records, sound = self._read()
                self._recorded, self._parts = _without_parts(records)
                os.truncate(self.path, sound)
        except BaseException:
            self.close()
            raise

    def answer(self, question: list[Any], work_out: Callable[[], Any], declared: Any) -> Any:
        """The recorded answer to the next question, or what ``work_out()`` returns, which is recorded.

        ``question`` is a list of numbers, texts, arrays and records. It must be the one that was asked when the answer
        was recorded. ``declared`` is the type of the answer, by which it is rebuilt.
        """
        asked = digest(question)
        if self._recorded:
            document, arrays = self._loaded(self._recorded.pop(0))
            if document["asked"] != asked:
                raise CheckpointError(
                    f"checkpoint={self.path!r} holds passes that this fit does not make: after {self.n_repeated} "
                    "repeated passes its search computes other numbers than the fit that wrote it, as other versions "
                    "of NumPy or other processors may. Delete the file to begin again, or continue where it was "
                    "written."
                )
            self.n_repeated += 1
            return self._rebuilt(declared, document, arrays)
        found = work_out()
        self._keep({"asked": asked}, found, declared)
        return found

    def part(self, question: list[Any], work_out: Callable[[], Any], declared: Any) -> Any:
        """``answer`` for a part of a question; recorded for as long as the question is not answered.

        Parts that were recorded of another question, or cut otherwise, are worked out again.
        """
        asked = digest(question)
        if self._parts:
            document, arrays = self._loaded(self._parts.pop(0))
            if document["part"] == asked:
                return self._rebuilt(declared, document, arrays)
            self._parts = []
        found = work_out()
        self._keep({"part": asked}, found, declared)
        return found

    def _rebuilt(self, declared: Any, document: Any, arrays: Any) -> Any:
        try:
            return unpacked(declared, document["found"], arrays)
        except Exception as error:
            raise self._damaged() from error

    def _keep(self, said: dict[str, Any], found: Any, declared: Any) -> None:
        packer = Packer()
        self._append({**said, "found": packer.pack(found, declared, "the result of a pass")}, packer.arrays)

    def _locked(self):
        try:
            return Lock(self.path)
        except HeldError as holder:
            raise CheckpointError(
                f"checkpoint={self.path!r} is in use by another fit ({holder}), and two fits would ruin it. Wait until "
                "that fit has ended, or give another file name."
            ) from None

    def _begin(self):
        with replacing(self.path) as file:
            _write(file, {"format": FORMAT, "format_version": FORMAT_VERSION, "identity": self._identity}, {})

    def _append(self, document, arrays):
        with _naming(self.path), open(self.path, "ab") as file:
            _write(file, document, arrays)
            file.flush()
            os.fsync(file.fileno())

    def _read(self):
        """The places of all records, and how many bytes of the file are sound; says what is lost after them."""
        places, sound, is_damaged, n_bytes = [], 0, False, os.path.getsize(self.path)
        with open(self.path, "rb") as file:
            while sound < n_bytes:
                try:
                    document, _ = _record(file)
                except EOFError:  # it was being written when its fit ended
                    break
                except Exception:
                    is_damaged = True
                    break
                if not sound:
                    self._require_own(document)
                else:
                    places.append(_Place(sound, "part" in document))
                sound = file.tell()
        if not sound:
            raise self._damaged()
        if is_damaged:
            warn(
                f"checkpoint={self.path!r} is damaged at byte {sound}: the {len(places)} pass(es) before that are "
                f"repeated, and the {n_bytes - sound} bytes from there on are lost. Their passes run again."
            )
        return places, sound

    def _loaded(self, place):
        try:
            with open(self.path, "rb") as file:
                file.seek(place.begin)
                return _record(file)
        except Exception as error:
            raise self._damaged() from error

    def _require_own(self, header):
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            raise self._damaged()
        if header["format_version"] != FORMAT_VERSION:
            raise CheckpointError(
                f"checkpoint={self.path!r} has format {header['format_version']!r}; this version reads format "
                f"{FORMAT_VERSION}. Delete the file to begin again, or continue with the version that wrote it."
            )
        theirs = header["identity"]
        differing = sorted(key for key in {*theirs, *self._identity} if theirs.get(key) != self._identity.get(key))
        if differing:
            listed = "; ".join(f"{key}: {theirs.get(key)} there, {self._identity.get(key)} here" for key in differing)
            raise CheckpointError(
                f"checkpoint={self.path!r} belongs to another fit ({listed}). Give another file name, or delete the "
                "file to begin again."
            )

    def _damaged(self):
        return CheckpointError(
            f"checkpoint={self.path!r} is no checkpoint of kfree, or was changed after it was written. Give another "
            "file name, or delete the file to begin again."
        )


def digest(value):
    """A text that identifies a list of numbers, texts, arrays and records, to the bit."""
    found, arrays = packed(value)
    state = hashlib.sha256(repr(found).encode())
    for array in arrays.values():
        state.update(f"{array.dtype.str}{array.shape}".encode())
        state.update(np.ascontiguousarray(array).data)
    return state.hexdigest()


def _without_parts(places: list[_Place]) -> tuple[list[_Place], list[_Place]]:
    """Records of whole passes, and those of the parts of a pass that was not ended."""
    whole = [number for number, place in enumerate(places) if not place.is_part]
    ended = whole[-1] + 1 if whole else 0
    return [places[number] for number in whole], places[ended:]


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Errors of the system name the checkpoint, not the lock beside it."""
    try:
        yield
    except OSError as error:
        raise type(error)(
            error.errno,
            f"checkpoint={path!r} cannot be written ({error.strerror}). Give a file in a folder that exists, where "
            "this user may write and the disk has room; passes that are recorded are kept",
        ) from error


def _write(file, document, arrays):
    """Write one record."""
    content = encoded(document, arrays)
    length = len(content).to_bytes(_LENGTH, "little")
    file.write(length + _checksum(length))
    file.write(content)


def _checksum(length):
    return hashlib.sha256(length).digest()[:_LENGTH]


def _record(file):
    """The record that begins where a file is read; EOFError if it is cut short."""
    head = file.read(2 * _LENGTH)
    if len(head) < 2 * _LENGTH:
        raise EOFError
    length, checksum = head[:_LENGTH], head[_LENGTH:]
    if checksum != _checksum(length):
        raise ValueError("the length of a record was changed")
    n_bytes = int.from_bytes(length, "little")
    content = file.read(n_bytes)
    if len(content) < n_bytes:
        raise EOFError
    if not is_intact(content):
        raise ValueError("a record was changed")
    return decoded(content)
