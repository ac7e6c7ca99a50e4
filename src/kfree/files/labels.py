"""Labels of rows in files: one Parquet file for each, in row order, written under another name and then renamed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from kfree.core.replacing import replacing
from kfree.files.formats import FORMATS
from kfree.files.places import arrow, base_name, is_address
from kfree.files.rows import FileRows


def label_paths(rows: FileRows, folder: str | os.PathLike[str]) -> list[Path]:
    """Where the labels of each file go; an error if two files have the same name."""
    if is_address(os.fspath(folder)):
        raise ValueError(f"out={os.fspath(folder)!r} is an address; labels are written to local folders. Give one.")
    taken: dict[str, str] = {}
    for file in rows.files:
        name = base_name(file.path)
        ending = max((one for one in FORMATS if name.lower().endswith(one)), key=len, default="")
        target = f"{name.removesuffix(name[len(name) - len(ending) :])}.parquet"
        if target in taken:
            raise ValueError(
                f"the labels of {taken[target]} and {file.path} would both go to {target} in {os.fspath(folder)}. "
                "Give these files to predict one after the other, with another out each."
            )
        taken[target] = file.path
    paths = [Path(folder) / target for target in taken]
    originals = {os.path.realpath(file.path): file.path for file in rows.files}
    for path in paths:
        if os.path.realpath(path) in originals:
            raise ValueError(f"out={os.fspath(folder)!r} would replace {path}, which holds rows; give another folder.")
    return paths


def write_labels(path: Path, labels: Iterator[NDArray[Any]]) -> None:
    """Write chunks of labels to a Parquet file; after an error, nothing is left under its name."""
    pa, parquet = arrow(""), arrow("parquet")
    schema = pa.schema([("label", pa.int32())])
    with replacing(path) as file, parquet.ParquetWriter(file, schema) as writer:
        for chunk in labels:
            writer.write_table(pa.table({"label": chunk}, schema=schema))
