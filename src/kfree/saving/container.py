"""The file of a saved model: a zip archive of one JSON document and npy arrays, closed by a checksum.

The comment of the archive, its last 64 bytes, is the SHA-256 of all bytes before it. Members are not compressed.
"""

import hashlib
import io
import json
import math
import sys
import zipfile
from importlib import import_module

import numpy as np
from numpy.lib import format as npy

from kfree.core.replacing import replacing

FORMAT = "kfree model"
FORMAT_VERSION = 2
# Formats of releases, which every later version reads; format 1 was of no release.
READ_VERSIONS = (2,)
_DOCUMENT = "model.json"
_DIGEST_LENGTH = 64
# All members have this time, so that equal models give equal files.
_NO_TIME = (1980, 1, 1, 0, 0, 0)
_END_OF_ARCHIVE = b"PK\x05\x06"


class ModelFileError(ValueError):
    """A file that is no saved model, is damaged, or has a format that this version does not read."""


def write_members(path, manifest, arrays):
    """Write the JSON document ``manifest`` and arrays by name."""
    head = {"format": FORMAT, "format_version": FORMAT_VERSION, "kfree_version": _own_version()}
    with replacing(path) as file:
        file.write(encoded({**head, **manifest}, arrays))


def encoded(document, arrays):
    """The bytes of an archive of a JSON document and arrays by name, with its checksum."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.comment = b"0" * _DIGEST_LENGTH
        archive.writestr(zipfile.ZipInfo(_DOCUMENT, _NO_TIME), json.dumps(document, allow_nan=False, indent=1))
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(_member(name), _NO_TIME), "w", force_zip64=True) as member:
                npy.write_array(member, array, allow_pickle=False)
    written = content.getbuffer()
    written[-_DIGEST_LENGTH:] = _digest(written)
    return written


def is_intact(content):
    """Whether an archive has the checksum that it was written with."""
    return bytes(content[-_DIGEST_LENGTH:]) == _digest(content)


def decoded(content):
    """The JSON document of an intact archive, and a function from the name of an array to the array."""
    archive = zipfile.ZipFile(io.BytesIO(content))
    if any(entry.compress_type != zipfile.ZIP_STORED for entry in archive.infolist()):
        raise ValueError("members are compressed")
    return json.loads(archive.read(_DOCUMENT)), lambda name: _array(archive.read(_member(name)), name)


def read_members(path):
    """The JSON document and a function from the name of an array to the array."""
    with open(path, "rb") as file:
        content = file.read()
    _require_whole(path, content)
    try:
        manifest, arrays = decoded(content)
    except KeyError:
        raise ModelFileError(f"{path} is an archive but no kfree model; give a file that save wrote.") from None
    except Exception as error:
        raise ModelFileError(f"{path} is a damaged kfree model ({error}); write it again with save.") from error
    _require_format(path, manifest)
    return manifest, arrays


def _require_whole(path, content):
    """Raise unless the file is complete and unchanged."""
    if not content:
        raise ModelFileError(f"{path} is empty; give a file that save wrote.")
    if not content.startswith(b"PK\x03\x04"):
        raise ModelFileError(f"{path} is no kfree model; give a file that save wrote.")
    end = content.rfind(_END_OF_ARCHIVE)
    if end < 0 or len(content) < end + 22 + int.from_bytes(content[end + 20 : end + 22], "little"):
        raise ModelFileError(f"{path} was cut short: its end is missing. Copy or write it again.")
    if not is_intact(content):
        raise ModelFileError(
            f"{path} was changed after it was written, or is no kfree model: its checksum does not agree. Copy or "
            "write it again."
        )


def _require_format(path, manifest):
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ModelFileError(f"{path} is an archive but no kfree model; give a file that save wrote.")
    version, written_by = manifest.get("format_version"), manifest.get("kfree_version")
    if version not in READ_VERSIONS:
        is_newer = isinstance(version, int) and version > FORMAT_VERSION
        raise ModelFileError(
            f"{path} has format {version!r}, written by kfree {written_by}; kfree {_own_version()} reads format "
            f"{', '.join(map(str, READ_VERSIONS))}. "
            + ("Install a newer kfree." if is_newer else "Fit the model again and save it.")
        )


def _own_version():
    return import_module("kfree").__version__


def _digest(content):
    """The checksum of an archive, without the place where that is kept."""
    return hashlib.sha256(memoryview(content)[:-_DIGEST_LENGTH]).hexdigest().encode()


def _array(content, name):
    """An array in the format npy, of numbers, texts or times; as large as the file says, and no larger."""
    stream = io.BytesIO(content)
    version = npy.read_magic(stream)
    read_header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
    shape, is_fortran, dtype = read_header(stream)
    if dtype.kind not in "biufUSMm" or not dtype.itemsize:
        raise ValueError(f"array {name} has the type {dtype}")
    if math.prod(shape) * dtype.itemsize != len(content) - stream.tell() or any(size < 0 for size in shape):
        raise ValueError(f"array {name} has the shape {shape} and {len(content) - stream.tell()} bytes")
    values = np.frombuffer(content, dtype, offset=stream.tell()).copy()
    if dtype.kind == "U" and not (dtype.isnative and (values.view(np.uint32) <= sys.maxunicode).all()):
        raise ValueError(f"array {name} holds characters that there are none of")
    return values.reshape(shape, order="F" if is_fortran else "C")


def _member(name):
    return f"arrays/{name}.npy"
