"""Random tables through every reader, every writer, saving, loading and predict: ``python -m tests.roundtrip``.

A case is a table with numbers, text and awkward names and cells, written in some format. The first table of four is
clustered by the command line, which saves the model, and predicted by it; the other three are further tables with rows
of the same groups, in formats of their own, which the saved model predicts. Every command writes in some format. Rows
are counted, and every row must come out with its own cells and the label of the group that it was drawn from: groups
are so far apart, and the penalty is such, that they are the clusters.
"""

import argparse
import csv
import gzip
import io
import json
import os
import random
import tempfile
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet

from kfree.cli import main as run

READERS = ["csv", "tsv", "csv.gz", "parquet", "arrow", "stream.arrow", "npy", "folder", "xlsx"]
WRITERS = ["csv", "parquet", "jsonl"]
_NAMES = ["x", "größe", "a b", "a,b", 'q"uote', "line\nend", "=sum", "cluster", "名", "x\x1b[1m", "a;b", "'"]
_CELLS = [
    "plain",
    '5" pipe',
    'two ""',
    "semi;colon",
    "comma, here",
    "line\nend",
    "tab\there",
    "=1+1",
    "Köln",
    "'",
    "x\r\ny",
]

# Numbers of rows, and how often each is drawn: most mistakes show in few rows, which take little time.
_SIZES, _SHARES = [1, 2, 7, 40, 300], [4, 4, 8, 3, 1]
# Tables per model: a fit takes more time than all readers and writers.
_TABLES = 4
_GROUPS, _LAM = 3, 200.0
# A folder in memory, where the system has one: files are small and many.
_MEMORY = "/dev/shm"


class Case:
    """A random table: ``X`` are its columns of numbers, ``text`` the others by name, ``groups`` those of its rows.

    With a ``model``, the case of the table that was clustered, it has the same columns of numbers and groups.
    """

    def __init__(self, seed, model=None):
        self.rng, self.seed = random.Random(seed), seed
        draw = np.random.default_rng(seed)
        self.n_rows = self.rng.choices(_SIZES, _SHARES)[0]
        n_columns = self.rng.randint(1, 4) if model is None else model.X.shape[1]
        # In the first column, groups are so far apart that no centre of two of them pays.
        self.centres = draw.normal(scale=50, size=(_GROUPS, n_columns)) if model is None else model.centres
        if model is None:
            self.centres[:, 0] = 100 * draw.permutation(_GROUPS)
        known = np.arange(_GROUPS) if model is None else np.unique(model.groups)
        self.groups = draw.choice(known, self.n_rows)
        self.X = (self.centres[self.groups] + draw.normal(size=(self.n_rows, n_columns))).round(3)
        names = self.rng.sample(_NAMES, n_columns + 2)
        if model is not None:
            taken = {_for_sheet(name) for name in model.names}
            others = [name for name in _NAMES if _for_sheet(name) not in taken]
            names = [*model.names, *self.rng.sample(others, 2)]
        self.names, self.text = names[:n_columns], {}
        for name in names[n_columns:]:
            cells = [self.rng.choice(_CELLS) for _ in range(self.n_rows)]
            cells[0] = "word"
            self.text[name] = cells
        # Columns of .npy files have no names, so that a model knows all tables or none by them.
        readers = READERS if model is None else [one for one in READERS if (one == "npy") == (model.reader == "npy")]
        if any(_for_sheet(name) != name for name in self.names) and model is not None:
            readers = [one for one in readers if one != "xlsx"]  # names of the model that no sheet has
        self.reader, self.writer = self.rng.choice(readers), self.rng.choice(WRITERS)
        if self.reader == "xlsx":  # whose cells hold no control characters, and may be empty
            self.names = [_for_sheet(name) for name in self.names]
            self.text = {_for_sheet(name): [_for_sheet(cell) for cell in cells] for name, cells in self.text.items()}
            cells = list(self.text.values())[-1]
            cells[1:] = [self.rng.choice([cell, ""]) for cell in cells[1:]]
        self.is_text = self.reader in ("csv", "tsv", "csv.gz")
        self.delimiter = "\t" if self.reader == "tsv" else self.rng.choice(",;|") if self.is_text else ","

    def columns(self):
        """All columns by name, in the order of the file."""
        return {name: self.X[:, j].tolist() for j, name in enumerate(self.names)} | self.text

    def write_input(self, folder):
        """The path of the table in the format of the reader."""
        path, columns = folder / f"input.{self.reader}", self.columns()
        table = pa.table(columns)
        if self.reader == "npy":
            np.save(path, self.X)
        elif self.reader == "parquet":
            pa.parquet.write_table(table, path, row_group_size=self.rng.randint(1, 50))
        elif self.reader == "arrow":
            pa.feather.write_feather(table, path, compression=self.rng.choice(["lz4", "uncompressed"]), chunksize=16)
        elif self.reader == "stream.arrow":
            with pa.ipc.new_stream(path, table.schema) as writer:
                writer.write_table(table, max_chunksize=self.rng.randint(1, 50))
        elif self.reader == "xlsx":
            _write_sheet(path, columns)
        elif self.reader == "folder":
            path.mkdir()
            cut = self.rng.randint(0, self.n_rows)
            for number, part in enumerate([table.slice(0, cut), table.slice(cut)]):
                pa.parquet.write_table(part, path / f"{number}.parquet")
        else:
            self._write_text(path, columns)
        return path

    def _write_text(self, path, columns):
        ending = self.rng.choice(["\n", "\r\n"])
        rows = [list(columns), *zip(*columns.values(), strict=True)]
        records = [self.delimiter.join(self._cell(str(cell)) for cell in row) for row in rows]
        blank = ["" if self.rng.random() > 0.05 else ending for _ in records]  # empty lines are no rows
        text = ending.join(map("".join, zip(records, blank, strict=True))) + self.rng.choice(["", ending])
        content = text.encode(self.rng.choice(["utf-8", "utf-8-sig", "utf-16"]))
        path.write_bytes(gzip.compress(content) if self.reader == "csv.gz" else content)

    def _cell(self, cell):
        """A cell as people write it: quoted where it must be, and at times where it need not."""
        must = cell.startswith('"') or any(sign in cell for sign in (self.delimiter, "\n", "\r"))
        return '"' + cell.replace('"', '""') + '"' if must or self.rng.random() < 0.1 else cell


def _for_sheet(text):
    return text.replace("\r\n", "\n").replace("\x1b", "")


def _write_sheet(path, columns):
    """A sheet in which no text is a formula, and empty text is no cell."""
    book = openpyxl.Workbook()
    for i, row in enumerate([list(columns), *zip(*columns.values(), strict=True)], start=1):
        for j, value in enumerate(row, start=1):
            if value != "":
                cell = book.active.cell(i, j, value)
                cell.data_type = "s" if isinstance(value, str) else cell.data_type
    book.save(path)


def read_output(path, case):
    """The rows of an output as lists, names first."""
    if case.writer == "parquet":
        table = pa.parquet.read_table(path)
        return [table.column_names, *(list(row.values()) for row in table.to_pylist())]
    if case.writer == "jsonl":
        rows = [json.loads(line) for line in path.read_text().split("\n") if line]
        return [list(rows[0]), *(list(row.values()) for row in rows)]
    content = path.read_bytes()
    encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    lines = io.StringIO(content.decode(encoding), newline="")
    return [row for row in csv.reader(lines, delimiter=case.delimiter) if row]


def command(*arguments):
    """Run the command line; an error is an AssertionError with its message."""
    said = io.StringIO()
    with redirect_stderr(said), redirect_stdout(said):
        try:
            status = run(list(map(str, arguments)))
        except SystemExit as error:
            status = error.code
    assert not status, said.getvalue()


def check(seed, folder):
    """A table and its model, then further tables; an AssertionError says what differs."""
    case, model = Case(seed), folder / "m.kfree"
    path, text = _input_of(case, folder)
    output, again = folder / f"out.{case.writer}", folder / f"again.{case.writer}"
    command("cluster", path, *text, "--no-encode", "--lam", _LAM, "-o", output, "--save", model, "--quiet")
    command("predict", model, path, *text, "-o", again, "--quiet")
    labels = check_output(output, case, {})
    assert check_output(again, case, labels) == labels
    sizes = Counter(case.groups.tolist())
    in_order = sorted(labels, key=lambda group: labels[group])
    assert [sizes[group] for group in in_order] == sorted(sizes.values(), reverse=True), (labels, sizes)
    for number in range(1, _TABLES):
        further, place = Case(seed * _TABLES + number, case), folder / str(number)
        place.mkdir()
        path, text = _input_of(further, place)
        output = place / f"out.{further.writer}"
        command("predict", model, path, *text, "-o", output, "--quiet")
        assert check_output(output, further, labels) == labels


def _input_of(case, folder):
    """The path of a table, and the options that say how its text is written."""
    text = ["--header", "yes", "--delimiter", case.delimiter] if case.is_text else []
    return case.write_input(folder), text


def check_output(written, case, labels):
    """Compare an output with the table of a case; labels by group, those of ``labels`` and the rest as they come."""
    heading, *rows = read_output(written, case)
    assert len(rows) == case.n_rows, (len(rows), case.n_rows)
    found = labels | {}
    for group, row in zip(case.groups.tolist(), rows, strict=True):
        assert found.setdefault(group, int(row[-1])) == int(row[-1]), (group, row)
    assert sorted(found.values()) == list(range(len(found))), found
    expected = {"row": list(range(1, case.n_rows + 1))} if case.reader == "npy" else case.columns()
    assert heading == [*expected, "kfree_cluster" if "cluster" in expected else "cluster"]
    for j, (name, cells) in enumerate(expected.items()):
        # An empty cell of a sheet is a missing value elsewhere.
        values = [(row[j] or "") if isinstance(cells[0], str) else type(cells[0])(row[j]) for row in rows]
        assert values == cells, (name, values[:5], cells[:5])
    return found


def checked(seed):
    """Run the tables of one model in a folder of their own; None, or what went wrong."""
    with tempfile.TemporaryDirectory(dir=_MEMORY if os.path.isdir(_MEMORY) else None) as folder:
        try:
            check(seed, Path(folder))
        except Exception as error:
            case = Case(seed)
            return f"seed {seed}, {case.reader} to {case.writer}: {type(error).__name__}: {str(error)[:300]}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", type=int, nargs="?", default=1000, help=f"tables; {_TABLES} share a model")
    parser.add_argument("--seed", type=int, default=0, help="of the first model")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    options, n_failed = parser.parse_args(), 0
    from multiprocessing import get_context

    n_models = -(-options.cases // _TABLES)
    with get_context("spawn").Pool(options.processes) as pool:
        seeds = range(options.seed, options.seed + n_models)
        for number, fault in enumerate(pool.imap_unordered(checked, seeds, chunksize=20), start=1):
            if fault:
                n_failed += 1
                print(fault, flush=True)
            if number % 250 == 0:
                print(f"{_TABLES * number} cases, {n_failed} failed", flush=True)
    print(f"{_TABLES * n_models} cases, {n_failed} failed")
    raise SystemExit(n_failed > 0)


if __name__ == "__main__":
    main()
