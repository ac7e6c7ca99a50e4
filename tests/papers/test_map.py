"""The map of the texts: every name exists, every experiment is on it, and the page is up to date."""

import re
from pathlib import Path

import pytest

from reproduce import map as texts_map
from reproduce.__main__ import HERE
from reproduce.experiments import EXPERIMENTS
from reproduce.result import kept

RESULTS = HERE / "results"
ERRATA = texts_map.PAGE.with_name("errata.md")
TEXTS, ENTRIES = texts_map.read()


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry['text']} {entry['place']}")
def test_every_name_of_an_entry_exists(entry):
    assert entry.keys() <= {"text", "place", "what", "code", "tests", "experiments"}
    assert entry["text"] in TEXTS
    assert entry["code"]
    assert entry["tests"]
    for name in entry["code"]:
        assert (texts_map.ROOT / texts_map.file_of_code(name)).is_file()
    for name in entry["tests"]:
        assert (texts_map.ROOT / texts_map.file_of_test(name)).is_file()
    assert set(entry.get("experiments", [])) <= set(EXPERIMENTS)


def test_all_texts_and_all_experiments_are_on_the_map():
    assert {entry["text"] for entry in ENTRIES} == set(TEXTS) == {"KJ", "MR", "KW", "OD", "LW"}
    assert {name for entry in ENTRIES for name in entry.get("experiments", [])} == set(EXPERIMENTS)


@pytest.mark.parametrize(("text", "n_equations"), [("KJ", 3), ("KW", 51), ("OD", 10)])
def test_all_numbered_equations_are_on_the_map(text, n_equations):
    found = set()
    for entry in ENTRIES:
        if entry["text"] == text:
            for first, last in re.findall(r"Eq\. (\d+)(?:–(\d+))?", entry["place"]):
                found |= set(range(int(first), int(last or first) + 1))
    assert found == set(range(1, n_equations + 1))


def test_the_page_is_up_to_date():
    assert texts_map.PAGE.read_text() == texts_map.page(), "run: python -m reproduce map"


def test_errata_lead_to_tests_that_exist():
    page = ERRATA.read_text()
    linked = re.findall(r"\[`(test_\w+)`\]\(\.\./\.\./(tests/[^)]+)\)", page)
    assert len(linked) == len(re.findall(r"`test_\w+`", page)) >= 25
    for name, path in linked:
        found = texts_map.file_of_test(f"{Path(path).name}::{name}")
        assert found.as_posix() == path


@pytest.mark.parametrize("text", TEXTS)
def test_the_texts_are_cited(text):
    cited = (texts_map.ROOT / "CITATION.cff").read_text()
    authors = re.split(r" \(|, k-means", TEXTS[text])[0]
    for author in re.split(r", | & ", authors):
        assert f"family-names: {author}," in cited


@pytest.mark.parametrize("name", ["kfree.DPMeanz", "kfree.baselines.nothing", "NoSuchClass", "DPMeansObjective.lie"])
def test_a_name_that_is_nowhere_is_an_error(name):
    with pytest.raises(LookupError, match=re.escape(name)):
        texts_map.file_of_code(name)


def test_a_test_that_several_files_have_must_be_told_apart():
    with pytest.raises(LookupError, match="is in 2 files|is in 3 files"):
        texts_map.file_of_test("test_against_all_partitions")
    assert texts_map.file_of_test("test_hdp.py::test_against_all_partitions").name == "test_hdp.py"
    with pytest.raises(LookupError, match="is nowhere"):
        texts_map.file_of_test("test_of_the_moon")


@pytest.mark.parametrize(
    ("experiment", "digits"), [("kurihara-welling/bic", 2), ("kurihara-welling/kd-tree-counts", 1)]
)
def test_numbers_of_the_free_energy_page_are_kept_numbers(experiment, digits):
    page = texts_map.PAGE.with_name("free-energy.md").read_text()
    rows = kept(RESULTS, experiment).rows
    assert rows
    for row in rows:
        size = re.match(r"N=(\d+)", row["case"])[1]
        assert re.search(rf"\| {size} \|.*\b{float(row['ours']):.{digits}f} \|", page), row
