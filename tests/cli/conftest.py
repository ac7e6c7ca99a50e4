"""Files for the command line."""

import csv
import json

import numpy as np
import pytest

from kfree.cli import main


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty directory, and the working directory of the test."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def blobs_csv(here, rng):
    """data.csv: 90 rows of three far clusters in columns a, b, c, and a shop for each row."""
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 3)) + 20.0 * np.eye(3)[y]
    with open("data.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["a", "b", "c", "shop"])
        writer.writerows([*map(repr, row.tolist()), f"s{i // 45}"] for i, row in enumerate(X))
    return X, y


def outcome(arguments, capsys):
    """Exit status, standard output and standard error of a command."""
    try:
        status = main(arguments) or 0
    except SystemExit as error:
        status = error.code or 0
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def told(arguments, capsys):
    """The facts that a command prints as JSON."""
    status, out, err = outcome([*arguments, "--json"], capsys)
    assert status == 0, err
    return json.loads(out)


def rows_of(path):
    """Rows of a CSV file as dicts."""
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def same_partition(a, b):
    return len(set(zip(a, b, strict=True))) == len(set(a)) == len(set(b))
