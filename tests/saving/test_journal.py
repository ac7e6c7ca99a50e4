"""Checkpoints: answers come back to the bit, a record that was cut short is dropped, what is not ours is refused."""

import errno
import os
import re
import subprocess
import sys
import tracemalloc
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from kfree.core.sites import Sites
from kfree.core.stats import Stats
from kfree.saving.journal import CheckpointError, Journal, digest

WHOSE = {"estimator": "DPMeans", "rows": 7}
QUESTIONS = [["nearest", Sites.of(np.full((2, 3), 0.1 * j))] for j in range(3)]


@dataclass(frozen=True)
class Answer:
    stats: Stats
    counts: NDArray[np.uint64]
    cost: float
    nodes: tuple[tuple[int, int], ...] = ((0, 3), (1, 2))


ANSWERS = [Answer(Stats.empty(2, 3), np.array([2**63 + j], dtype=np.uint64), 0.1 * j) for j in range(3)]


def recorded(path, n=3):
    journal = Journal(path, WHOSE)
    for question, answer in zip(QUESTIONS[:n], ANSWERS[:n], strict=True):
        assert journal.answer(question, lambda answer=answer: answer, Answer) is answer
    return path


def not_asked():
    raise AssertionError("a recorded pass ran again")


def test_recorded_answers_are_not_worked_out_again(tmp_path):
    journal = Journal(recorded(tmp_path / "fit.kfree"), WHOSE)
    for question, answer in zip(QUESTIONS, ANSWERS, strict=True):
        found = journal.answer(question, not_asked, Answer)
        assert type(found) is Answer
        assert (found.cost, found.nodes) == (answer.cost, answer.nodes)
        np.testing.assert_array_equal(found.counts, answer.counts)
        np.testing.assert_array_equal(found.stats.sum, answer.stats.sum)
    assert journal.n_repeated == 3
    assert journal.answer(["more"], lambda: 5, int) == 5


def test_every_length_that_a_file_is_cut_to_is_an_earlier_state(tmp_path):
    content = recorded(tmp_path / "fit.kfree").read_bytes()
    least = len(recorded(tmp_path / "few.kfree", 0).read_bytes())
    seen = set()
    for length in np.linspace(least, len(content), 10).astype(int).tolist():
        path = tmp_path / "cut.kfree"
        path.write_bytes(content[:length])
        journal = Journal(path, WHOSE)
        for question, answer in zip(QUESTIONS, ANSWERS, strict=True):
            journal.answer(question, lambda answer=answer: answer, Answer)
        journal.close()
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


def ends_of_records(path, n=3):
    """How long the file is after each record, its header included."""
    return [len(recorded(path.with_name(f"{number}.kfree"), number).read_bytes()) for number in range(n + 1)]


@pytest.mark.parametrize("field", ["length", "content"])
@pytest.mark.parametrize("n_sound", [0, 1, 2])
def test_damage_is_told_with_what_is_lost(n_sound, field, tmp_path):
    path = recorded(tmp_path / "fit.kfree")
    content, ends = bytearray(path.read_bytes()), ends_of_records(path)
    content[ends[n_sound] + {"length": 2, "content": 300}[field]] ^= 64
    path.write_bytes(content)
    lost = len(content) - ends[n_sound]
    with pytest.warns(
        UserWarning, match=rf"damaged at byte {ends[n_sound]}: the {n_sound} pass\(es\).* the {lost} bytes"
    ):
        journal = Journal(path, WHOSE)
    for question, answer in zip(QUESTIONS, ANSWERS, strict=True):
        journal.answer(question, lambda answer=answer: answer, Answer)
    assert journal.n_repeated == n_sound
    journal.close()
    assert path.read_bytes() == recorded(tmp_path / "again.kfree").read_bytes()


def test_a_damaged_header_is_refused(tmp_path):
    path = recorded(tmp_path / "fit.kfree")
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"fit\.kfree' is no checkpoint of kfree, or was changed"):
        Journal(path, WHOSE)
    assert path.read_bytes() == content


HOLD = """
import sys
from kfree.saving.journal import Journal
journal = Journal(sys.argv[1], {"estimator": "DPMeans", "rows": 7})
print("held", flush=True)
sys.stdin.read()
"""


def test_a_checkpoint_that_another_process_uses_is_refused(tmp_path):
    path = recorded(tmp_path / "fit.kfree")
    content = path.read_bytes()
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", HOLD, path], **pipes) as other:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(CheckpointError, match=rf"in use by another fit \(process {other.pid} on .+\)"):
            Journal(path, WHOSE)
        other.kill()  # which leaves the file of the lock behind, but no lock
        other.wait()
    journal = Journal(path, WHOSE)
    assert path.read_bytes() == content
    journal.close()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["fit.kfree"]


FORK = """
import os, sys
from kfree.saving.journal import CheckpointError, Journal
journal = Journal(sys.argv[1], {"estimator": "DPMeans", "rows": 7})
if os.fork() == 0:
    sys.exit(0)
os.wait()
try:
    Journal(sys.argv[1], {"estimator": "DPMeans", "rows": 7})
except CheckpointError as error:
    print(error)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
def test_a_forked_child_leaves_the_lock_to_its_parent(tmp_path):
    """At the end of the child its copy of the journal is finalised, too."""
    found = subprocess.run([sys.executable, "-c", FORK, tmp_path / "fit.kfree"], stdout=subprocess.PIPE, text=True)
    assert "in use by another fit" in found.stdout
    assert not list(tmp_path.glob("*.lock"))


def test_two_fits_of_one_process_are_told_apart_until_the_first_ends(tmp_path):
    first = Journal(tmp_path / "fit.kfree", WHOSE)
    with pytest.raises(CheckpointError, match="in use by another fit"):
        Journal(tmp_path / "fit.kfree", WHOSE)
    first.close()
    Journal(tmp_path / "fit.kfree", WHOSE)


def test_a_journal_that_is_refused_holds_no_lock(tmp_path):
    path = recorded(tmp_path / "fit.kfree")
    with pytest.raises(CheckpointError, match="another fit"):
        Journal(path, {**WHOSE, "rows": 8})
    Journal(path, WHOSE)


@pytest.mark.parametrize("name", ["missing/fit.kfree", "."])
def test_a_file_that_cannot_be_written_is_named(name, tmp_path):
    said = f"checkpoint={str(tmp_path / name)!r} cannot be written"
    with pytest.raises(OSError, match=re.escape(said)):
        Journal(tmp_path / name, WHOSE)


def test_a_full_disk_loses_no_pass(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "fit.kfree"
    with closing(Journal(path, WHOSE)) as journal, monkeypatch.context() as patch:
        journal.answer(["mean"], lambda: 2.0, float)
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match=r"fit\.kfree' cannot be written \(No space") as told:
            journal.answer(["variance"], lambda: 3.0, float)
    assert told.value.errno == errno.ENOSPC
    with closing(Journal(path, WHOSE)) as journal:
        assert journal.answer(["mean"], lambda: 1 / 0, float) == 2.0


def test_a_long_checkpoint_takes_the_memory_of_one_record(tmp_path):
    path, rows = tmp_path / "fit.kfree", np.zeros(50_000)
    with closing(Journal(path, WHOSE)) as journal:
        for number in range(20):
            journal.answer([number], lambda: rows, NDArray[np.float64])
    tracemalloc.start()
    with closing(Journal(path, WHOSE)) as journal:
        for number in range(20):
            np.testing.assert_array_equal(journal.answer([number], not_asked, NDArray[np.float64]), rows)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 6 * rows.nbytes < path.stat().st_size


def test_what_differs_is_named(tmp_path):
    path = recorded(tmp_path / "fit.kfree")
    with pytest.raises(CheckpointError, match=r"another fit \(rows: 7 there, 8 here\)"):
        Journal(path, {**WHOSE, "rows": 8})


def test_another_search_is_noticed(tmp_path):
    path = recorded(tmp_path / "fit.kfree")
    journal = Journal(path, WHOSE)
    journal.answer(QUESTIONS[0], not_asked, Answer)
    with pytest.raises(CheckpointError, match="after 1 repeated passes"):
        journal.answer(QUESTIONS[2], not_asked, Answer)


def test_an_interrupted_pass_is_not_recorded(tmp_path):
    path = tmp_path / "fit.kfree"

    def interrupted():
        raise KeyboardInterrupt

    journal = Journal(path, WHOSE)
    journal.answer(QUESTIONS[0], lambda: ANSWERS[0], Answer)
    with pytest.raises(KeyboardInterrupt):
        journal.answer(QUESTIONS[1], interrupted, Answer)
    journal.close()
    journal = Journal(path, WHOSE)
    journal.answer(QUESTIONS[0], not_asked, Answer)
    assert journal.answer(QUESTIONS[1], lambda: 3, int) == 3


def test_questions_are_told_apart_by_bits_types_and_shapes():
    arrays = [np.zeros(4), -np.zeros(4), np.zeros((2, 2)), np.zeros(4, dtype=np.float32), np.zeros(8, dtype=np.float32)]
    assert len({digest([array]) for array in arrays}) == len(arrays)
