"""The fuzzer: cases drawn by Hypothesis, and a corpus of those that once failed.

Seconds in CI. ``KFREE_FUZZ_CASES=1000000`` draws as many cases at random instead; what fails is shrunk and printed as
a line for ``corpus.jsonl``.
"""

import json
import os
from pathlib import Path

import fuzz_properties
import numpy as np
import pytest
from fuzz_cases import Case, cases
from fuzz_properties import ESTIMATORS, check
from hypothesis import HealthCheck, given, settings

from kfree import DPMeans

CORPUS = [json.loads(line) for line in (Path(__file__).parent / "corpus.jsonl").read_text().splitlines()]
N_CASES = int(os.environ.get("KFREE_FUZZ_CASES", "0"))


@pytest.mark.parametrize("changed", CORPUS, ids=lambda changed: changed["estimator"])
def test_corpus(changed):
    check(Case(**changed))


def zeros(self, X):
    return np.zeros(len(X), dtype=np.int32)


def unnamed(self, X, sample_weight):
    raise ValueError("boom")


def raises(error):
    def fit(self, X, y=None, sample_weight=None):
        self.labels_ = None
        raise error

    return fit


MISTAKES = {
    "wrong labels": ("predict", zeros, "predict does not give labels_"),
    "an error of another kind": ("fit", raises(IndexError("boolean index")), "boolean index"),
    "an error that names nothing": ("_opened", unnamed, "names nothing"),
    "something written before an error": ("fit", raises(ValueError("X is bad")), r"left \['labels_'\] behind"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_seen(mistake, monkeypatch):
    name, wrong, message = MISTAKES[mistake]
    monkeypatch.setattr(DPMeans, name, wrong)
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


@settings(
    max_examples=N_CASES or 250,
    derandomize=not N_CASES,
    database=None,
    deadline=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)
@given(case=cases(ESTIMATORS))
def test_drawn_cases(case):
    try:
        check(case)
    except BaseException as error:
        error.add_note(f"corpus line: {json.dumps(case.changed())}")
        raise
