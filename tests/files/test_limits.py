"""A sample of the checkers: peak memory by format, and random tables through every reader and writer."""

import sys

import pytest

from tests import roundtrip
from tests.limits import measured

# Memory, and rows of two columns: files of twice that. Text is a third of it as numbers, and its reader needs more.
SIZES, SIZES_OF_TEXT = (13_000_000, 1_650_000), (26_000_000, 1_000_000)
SAMPLE = ["npy", "csv", "parquet 1e3", "parquet 1e5", "parquet all", "arrow all", "arrow lz4 all"]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("case", SAMPLE)
def test_a_fit_takes_no_more_than_its_memory(case, tmp_path):
    memory, n_rows = SIZES_OF_TEXT if case.startswith("csv") else SIZES
    found = measured(case, tmp_path, n_rows, 2, memory)
    if case == "arrow lz4 all":
        assert "to read its row groups or record batches takes" in found["refused"]
    else:
        assert found["peak"] <= memory
        assert found["passes"] > 1  # the rows did not fit


@pytest.mark.parametrize("seed", range(8))
def test_random_tables_come_out_as_they_went_in(seed):
    assert roundtrip.checked(seed) is None


@pytest.mark.parametrize(
    "mistake",
    ["records[::-1]", "records[:-1]", "[record.replace(b'1', b'2') for record in records]"],
)
def test_the_checker_sees_a_planted_mistake(mistake, monkeypatch):
    from kfree.cli import output
    from kfree.files.records import split_records

    spoiled = lambda block, glue: eval(mistake, {"records": split_records(block, glue)})  # noqa: E731
    monkeypatch.setattr(output, "split_records", spoiled)
    of_text = [seed for seed in range(60) if (case := roundtrip.Case(seed)).is_text and case.writer == "csv"]
    assert any(roundtrip.checked(seed) for seed in of_text)
