"""A sample of the checkers: peak memory by format, and random tables through every reader and writer."""

import sys

import pytest

from tests import roundtrip
from tests.limits import measured

# Rows of two columns that take more than the memory, and text that takes twice as much.
MEMORY, N_ROWS, N_ROWS_OF_TEXT = 13_000_000, 820_000, 600_000
SAMPLE = ["npy", "csv", "parquet 1e3", "parquet 1e5", "parquet all", "arrow all", "arrow lz4 all"]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.slow  # in a process that tests/measure.py does not see
@pytest.mark.parametrize("case", SAMPLE)
def test_a_fit_takes_no_more_than_its_memory(case, tmp_path):
    found = measured(case, tmp_path, N_ROWS_OF_TEXT if case.startswith("csv") else N_ROWS, 2, MEMORY)
    if case == "arrow lz4 all":
        assert "to read its row groups or record batches takes" in found["refused"]
    else:
        assert found["peak"] <= MEMORY
        assert found["passes"] > 1  # the rows did not fit


@pytest.mark.parametrize("seed", range(8))
def test_random_tables_come_out_as_they_went_in(seed):
    assert roundtrip.checked(seed) is None


@pytest.mark.parametrize(
    "mistake",
    ["records[::-1]", "records[:-1]", "[record.replace(b'1', b'2') for record in records]"],
)
def test_the_checker_sees_a_planted_mistake(mistake, monkeypatch):
    from kfree.cli import writers
    from kfree.files.records import split_records

    spoiled = lambda block, glue: eval(mistake, {"records": split_records(block, glue)})  # noqa: E731
    monkeypatch.setattr(writers, "split_records", spoiled)
    of_text = [seed for seed in range(60) if (case := roundtrip.Case(seed)).is_text and case.writer == "csv"]
    assert any(roundtrip.checked(seed) for seed in of_text)
