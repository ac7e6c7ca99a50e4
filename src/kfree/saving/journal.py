"""Checkpoints: the answers of the passes of a fit, one record after the other, in one file without pickle.

A fit is a deterministic function of the answers that its passes return. So a fit that begins again with the recorded
answers of the first passes goes on where the other one ended, with the same bits, whatever its search does in between.

A record is its length (eight bytes) and an archive as in ``container``, with a checksum. Records are only appended. A
record that was being written when the power failed is incomplete; it is dropped, and its pass runs again.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

from kfree.core.replacing import replacing
from kfree.saving.container import decoded, encoded, is_intact
from kfree.saving.values import Packer, Unpacker

FORMAT, FORMAT_VERSION = "kfree checkpoint", 2
_LENGTH = 8
_DAMAGED = (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError, zipfile.BadZipFile)


class CheckpointError(ValueError):
    """A checkpoint that is damaged, or of other data, other parameters or another version."""


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
    >>> Journal(path, {"rows": 5}).answer(["mean"], lambda: 2.0)
    2.0
    >>> Journal(path, {"rows": 5}).answer(["mean"], lambda: 1 / 0)  # recorded, so not worked out again
    2.0
    """

    def __init__(self, path: str | os.PathLike[str], identity: dict[str, Any]):
        self.path, self.n_repeated = os.fspath(path), 0
        self._identity = {key: repr(value) for key, value in identity.items()}
        if not os.path.exists(self.path) or not os.path.getsize(self.path):
            self._begin()
        self._recorded, complete = self._read()
        os.truncate(self.path, complete)

    def answer(self, question: list[Any], work_out: Callable[[], Any]) -> Any:
        """The recorded answer to the next question, or what ``work_out()`` returns, which is recorded.

        ``question`` is a list of numbers, texts, arrays and kfree's classes. It must be the one that was asked when the
        answer was recorded.
        """
        asked = digest(question)
        if self._recorded:
            document, arrays = self._recorded.pop(0)
            if document["asked"] != asked:
                raise CheckpointError(
                    f"checkpoint={self.path!r} holds passes that this fit does not make: after {self.n_repeated} "
                    "repeated passes its search computes other numbers than the fit that wrote it, as other versions "
                    "of NumPy or other processors may. Delete the file to begin again, or continue where it was "
                    "written."
                )
            self.n_repeated += 1
            return self._unpacked(document, arrays)
        found = work_out()
        packer = Packer()
        packed = packer.pack(found, "the result of a pass")
        self._append({"asked": asked, "found": packed}, packer.arrays)
        return found

    def _unpacked(self, document, arrays):
        try:
            return Unpacker(arrays).unpack(document["found"])
        except _DAMAGED as error:
            raise self._damaged() from error

    def _begin(self):
        with replacing(self.path) as file:
            _write(file, {"format": FORMAT, "format_version": FORMAT_VERSION, "identity": self._identity}, {})

    def _append(self, document, arrays):
        with open(self.path, "ab") as file:
            _write(file, document, arrays)
            file.flush()
            os.fsync(file.fileno())

    def _read(self):
        """The records of the file, and the number of bytes that are complete records."""
        with open(self.path, "rb") as file:
            content = memoryview(file.read())
        records, begin = [], 0
        while (end := _end_of_record(content, begin)) is not None:
            if not is_intact(content[begin + _LENGTH : end]):
                raise self._damaged()
            try:
                records.append(decoded(content[begin + _LENGTH : end]))
            except _DAMAGED as error:
                raise self._damaged() from error
            begin = end
        if not records:
            raise self._damaged()
        self._require_own(records[0][0])
        return records[1:], begin

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
    """A text that identifies numbers, texts, arrays and objects of kfree's classes, to the bit."""
    packer = Packer()
    packed = repr(packer.pack(value, "a question"))
    state = hashlib.sha256(packed.encode())
    for array in packer.arrays.values():
        state.update(f"{array.dtype.str}{array.shape}".encode())
        state.update(np.ascontiguousarray(array).data)
    return state.hexdigest()


def _write(file, document, arrays):
    """Write one record."""
    content = encoded(document, arrays)
    file.write(len(content).to_bytes(_LENGTH, "little"))
    file.write(content)


def _end_of_record(content, begin):
    """Where the record that begins here ends, or None if it is not complete."""
    if len(content) < begin + _LENGTH:
        return None
    end = begin + _LENGTH + int.from_bytes(content[begin : begin + _LENGTH], "little")
    return end if end <= len(content) else None
