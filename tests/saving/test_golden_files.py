"""Files of every released format are read, with the bits that they were written with."""

import json

import pytest

import kfree
from kfree.saving.container import decoded
from tests.golden.record import differences
from tests.saving.golden.expected import EXPECTED, FOLDERS, PRESENT, outcome, path_of
from tests.saving.models import CASES

BITS = {folder: json.loads((folder / EXPECTED).read_text()) for folder in FOLDERS}
MOST_BYTES = 30_000


def test_there_is_a_small_file_of_every_case():
    assert sorted(BITS[PRESENT]) == sorted(CASES)
    assert [name for name in CASES if path_of(name).stat().st_size > MOST_BYTES] == []


@pytest.mark.parametrize(("folder", "name"), [(folder, name) for folder in FOLDERS for name in BITS[folder]])
def test_a_golden_file_is_read_with_every_bit(folder, name):
    assert differences(name, BITS[folder][name], outcome(kfree.load(path_of(name, folder)), name), exact=True) == []


@pytest.mark.parametrize("name", CASES)
def test_a_golden_file_is_written_again_with_the_same_bytes(name, tmp_path, monkeypatch):
    """A field that is renamed makes files that the version before does not read, and has a new format."""
    golden = path_of(name).read_bytes()
    monkeypatch.setattr("kfree.__version__", decoded(golden)[0]["kfree_version"])
    kfree.load(path_of(name)).save(tmp_path / "m.kfree")
    assert (tmp_path / "m.kfree").read_bytes() == golden
