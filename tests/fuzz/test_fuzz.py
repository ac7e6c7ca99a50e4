"""The fuzzer: cases drawn by Hypothesis, and a corpus of those that once failed.

Seconds in CI. ``python -m tests.fuzz --cases 1000000`` draws as many without Hypothesis, which is faster. A case that
fails is shrunk by Hypothesis if it is drawn here; it is printed as a line for ``corpus.jsonl``.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kfree
from kfree import DPMeans, baselines
from kfree.estimators import dp_means
from tests.fuzz import fuzz_properties
from tests.fuzz.fuzz_cases import DRAWN, MOST_COLUMNS, MOST_PENALTY, MOST_SEEDS, ODD, Case
from tests.fuzz.fuzz_properties import check
from tests.fuzz.fuzz_subjects import SUBJECTS

CORPUS = [json.loads(line) for line in (Path(__file__).parent / "corpus.jsonl").read_text().splitlines()]
# Public names that are no estimators or functions of data.
NOT_FUZZED = {"Clustering", "baselines", "cluster", "exceptions", "load", "metrics", "open_rows", "report"}
CASES = st.builds(
    Case,
    subject=st.sampled_from(SUBJECTS),
    seed=st.integers(0, MOST_SEEDS),
    n_rows=st.integers(1, 24),
    n_columns=st.integers(1, MOST_COLUMNS),
    log_penalty=st.integers(-MOST_PENALTY, MOST_PENALTY),
    odd_parameter=st.one_of(st.just(-1), st.just(-1), st.integers(-1, 20)),
    odd_value=st.sampled_from(list(ODD)),
    **{name: st.one_of(st.just(usual), st.sampled_from(all_)) for name, (usual, all_) in DRAWN.items()},
)


@pytest.mark.parametrize("changed", CORPUS, ids=lambda changed: changed["subject"])
def test_corpus(changed):
    check(Case(**changed))


def test_every_public_name_is_fuzzed():
    fuzzed = {subject.split(",")[0] for subject in SUBJECTS}
    assert {*kfree.__all__, *baselines.__all__} - NOT_FUZZED <= fuzzed


def zeros(self, X):
    return np.zeros(len(X), dtype=np.int32)


def unnamed(*args, **settings):
    raise ValueError("boom")


def raises(error):
    def fit(self, X, y=None, sample_weight=None):
        self.labels_ = None
        raise error

    return fit


MISTAKES = {
    "wrong labels": (DPMeans, "predict", zeros, "predict does not give labels_"),
    "an error of another kind": (DPMeans, "fit", raises(IndexError("boolean index")), "boolean index"),
    "an error that names nothing": (dp_means, "data_of", unnamed, "names nothing"),
    "something written before an error": (DPMeans, "fit", raises(ValueError("X is bad")), r"left \['labels_'\] behind"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_seen(mistake, monkeypatch):
    where, name, wrong, message = MISTAKES[mistake]
    monkeypatch.setattr(where, name, wrong)
    with pytest.raises((AssertionError, IndexError), match=message):
        check(Case("DPMeans", values="blobs"))


def test_a_search_without_end_is_seen(monkeypatch):
    def fit(self, X, y=None, sample_weight=None):
        while True:
            pass

    monkeypatch.setattr(DPMeans, "fit", fit)
    monkeypatch.setattr(fuzz_properties, "LIMIT", 0.2)
    with pytest.raises(TimeoutError):
        check(Case("DPMeans"))


@settings(max_examples=250, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=CASES)
def test_drawn_cases(case):
    try:
        check(case)
    except BaseException as error:
        error.add_note(f"corpus line: {json.dumps(case.changed())}")
        raise
