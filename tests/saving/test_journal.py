"""Checkpoints: answers come back to the bit, a record that was cut short is dropped, what is not ours is refused."""

import numpy as np
import pytest

from kfree.core.sites import Sites
from kfree.core.stats import Stats
from kfree.saving.journal import CheckpointError, Journal, digest

WHOSE = {"estimator": "DPMeans", "rows": 7}
QUESTIONS = [["nearest", Sites.of(np.full((2, 3), 0.1 * j))] for j in range(3)]
ANSWERS = [
    {"stats": Stats.empty(2, 3), "counts": np.array([2**63 + j], dtype=np.uint64), "cost": 0.1 * j} for j in range(3)
]


def recorded(path, n=3):
    journal = Journal(path, WHOSE)
    for question, answer in zip(QUESTIONS[:n], ANSWERS[:n], strict=True):
        assert journal.answer(question, lambda answer=answer: answer) is answer
    return path


def not_asked():
    raise AssertionError("a recorded pass ran again")


def test_recorded_answers_are_not_worked_out_again(tmp_path):
    journal = Journal(recorded(tmp_path / "fit.kfree"), WHOSE)
    for question, answer in zip(QUESTIONS, ANSWERS, strict=True):
        found = journal.answer(question, not_asked)
        assert found["cost"] == answer["cost"]
        np.testing.assert_array_equal(found["counts"], answer["counts"])
        np.testing.assert_array_equal(found["stats"].sum, answer["stats"].sum)
    assert journal.n_repeated == 3
    assert journal.answer(["more"], lambda: 5) == 5


def test_every_length_that_a_file_is_cut_to_is_an_earlier_state(tmp_path):
    content = recorded(tmp_path / "fit.kfree").read_bytes()
    least = len(recorded(tmp_path / "few.kfree", 0).read_bytes())
    seen = set()
    for length in np.linspace(least, len(content), 10).astype(int).tolist():
        path = tmp_path / "cut.kfree"
        path.write_bytes(content[:length])
        journal = Journal(path, WHOSE)
        for question, answer in zip(QUESTIONS, ANSWERS, strict=True):
            journal.answer(question, lambda answer=answer: answer)
        seen.add(journal.n_repeated)
        assert path.read_bytes() == content
    assert seen == {0, 1, 2, 3}


@pytest.mark.parametrize("content", [b"a,b\n1,2\n", b"0123456789" * 9, b"PK\x03\x04"])
def test_another_file_is_refused_and_left_as_it_is(tmp_path, content):
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match="no checkpoint of kfree"):
        Journal(path, WHOSE)
    assert path.read_bytes() == content


def test_a_changed_byte_is_noticed(tmp_path):
    path = recorded(tmp_path / "fit.kfree")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"fit\.kfree' is no checkpoint of kfree, or was changed"):
        Journal(path, WHOSE)


def test_what_differs_is_named(tmp_path):
    path = recorded(tmp_path / "fit.kfree")
    with pytest.raises(CheckpointError, match=r"another fit \(rows: 7 there, 8 here\)"):
        Journal(path, {**WHOSE, "rows": 8})


def test_another_search_is_noticed(tmp_path):
    path = recorded(tmp_path / "fit.kfree")
    journal = Journal(path, WHOSE)
    journal.answer(QUESTIONS[0], not_asked)
    with pytest.raises(CheckpointError, match="after 1 repeated passes"):
        journal.answer(QUESTIONS[2], not_asked)


def test_an_interrupted_pass_is_not_recorded(tmp_path):
    path = tmp_path / "fit.kfree"

    def interrupted():
        raise KeyboardInterrupt

    journal = Journal(path, WHOSE)
    journal.answer(QUESTIONS[0], lambda: ANSWERS[0])
    with pytest.raises(KeyboardInterrupt):
        journal.answer(QUESTIONS[1], interrupted)
    journal = Journal(path, WHOSE)
    journal.answer(QUESTIONS[0], not_asked)
    assert journal.answer(QUESTIONS[1], lambda: 3) == 3


def test_questions_are_told_apart_by_bits_types_and_shapes():
    arrays = [np.zeros(4), -np.zeros(4), np.zeros((2, 2)), np.zeros(4, dtype=np.float32), np.zeros(8, dtype=np.float32)]
    assert len({digest([array]) for array in arrays}) == len(arrays)
