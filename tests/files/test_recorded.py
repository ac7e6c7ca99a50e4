"""Passes in a checkpoint: the same bits with and without it, and no recorded pass runs again."""

import os
import signal
from contextlib import closing

import numpy as np
import pytest
from engines.checks import SEED, check_same_bits, rows_of_all_kinds
from files.test_any_size import MEMORY, N_ROWS, NAMES, rows_with_weights
from files.test_stream import first_draw

from kfree import DPMeans, open_rows
from kfree.core.sites import Sites
from kfree.engines.drawing import Region
from kfree.engines.files.engine import Place, open_stream, streamed
from kfree.engines.files.source import ArrayRows, Reading
from kfree.engines.journaled import Journaled
from kfree.files.rows import FileRows
from kfree.native import _core
from kfree.saving.journal import Journal

READING = Reading("native", 1, 2 * _core.BLOCK)


class FailingRows(ArrayRows):
    """Rows that may be read so many times."""

    n_reads = 0

    def chunks(self, begin, end, size):
        for chunk in super().chunks(begin, end, size):
            yield chunk
            if chunk.begin + len(chunk.X) == self.n_rows:
                FailingRows.n_reads -= 1
                if FailingRows.n_reads < 0:
                    raise KeyboardInterrupt


def journaled(place, journal):
    """A place whose answers are recorded."""
    return Place(place.n_features, lambda *seen: Journaled(place.rows(*seen), journal))


def searched(place):
    """What a search of a few passes finds."""
    engine = open_stream(place, sample=(300, first_draw(SEED)))
    sample = engine.sample(300, np.random.RandomState(SEED), Sites.of(engine.first_point()[None, :]))
    sites = Sites.of(sample.rows(np.arange(9)))
    found = {"frame": [engine.frame.anchor, engine.frame.shift], "sample": [sample.rows(np.arange(300))]}
    for name in ("nearest", "births", "nearest again", "no room"):
        done = (
            engine.nearest(sites) if "nearest" in name else engine.sweep(sites, 9.0, None, 3 if "no" in name else 999)
        )
        found[name] = [done.centres, done.stats.n, done.stats.sum, done.stats.sse, np.array(done.n_refused)]
        found[f"{name}: who"] = [done.assignment.fingerprints]
        sites = Sites.of(done.centres)
    region = Region(np.arange(len(sites.uids)) % 2 == 0, 200, SEED, 3000.0, border=True)
    done, rows, is_all = engine.nearest_drawing(sites, region)
    found["a region"] = [done.stats.sum, rows.rows(np.arange(200)), rows.weight, np.array(is_all)]
    return {**found, "distances": [np.array(engine.n_distances)]}


def searched_again(place, path):
    """What a search finds that goes on from what was recorded. Waiting for the garbage collector would take longer."""
    with closing(Journal(path, {"rows": 1})) as journal:
        return searched(journaled(place, journal))


@pytest.mark.parametrize("n_passes", [1, 3])
def test_a_search_interrupted_again_and_again_ends_with_the_same_bits(n_passes, tmp_path, rng):
    X, weight, _ = rows_of_all_kinds(rng)["weights, some zero"]
    expected = searched(streamed(ArrayRows(X, weight), READING))
    found, n_attempts = None, 0
    while found is None:
        FailingRows.n_reads, n_attempts = n_passes, n_attempts + 1
        try:
            place = streamed(FailingRows(X, weight), READING)
            found = searched_again(place, tmp_path / "fit")
        except KeyboardInterrupt:
            assert n_attempts < 12
    check_same_bits(found, expected)
    assert n_attempts == -(-10 // n_passes)


class CountedRows(ArrayRows):
    """Rows of which so many chunks may be read."""

    n_chunks = 0

    def chunks(self, begin, end, size):
        for chunk in super().chunks(begin, end, size):
            CountedRows.n_chunks -= 1
            if CountedRows.n_chunks < 0:
                raise KeyboardInterrupt
            yield chunk


def test_an_interrupt_within_a_pass_loses_one_part_of_it(tmp_path, rng, monkeypatch):
    """As long as a part is read in one attempt, the search ends, with the bits of one that was not interrupted."""
    X, weight, _ = rows_of_all_kinds(rng)["weights, some zero"]
    part_rows = 2 * READING.chunk_rows
    assert len(X) > 2 * part_rows  # three parts or more
    monkeypatch.setattr("kfree.engines.journaled.PART_BYTES", 8 * X.shape[1] * part_rows)
    expected = searched(streamed(ArrayRows(X, weight), READING))
    found, n_attempts = None, 0
    while found is None:
        # A chunk more than the two of a part: readers are one ahead.
        CountedRows.n_chunks, n_attempts = 3, n_attempts + 1
        assert n_attempts < 100
        try:
            place = streamed(CountedRows(X, weight), READING)
            found = searched_again(place, tmp_path / "fit")
        except KeyboardInterrupt:
            pass
    check_same_bits(found, expected)
    assert n_attempts > 10  # a pass takes several attempts


def test_a_pass_that_was_recorded_in_parts_goes_on_in_one(tmp_path, rng, monkeypatch):
    """As on workers, which are asked about all rows at once: parts of another cut are not used."""
    X, weight, _ = rows_of_all_kinds(rng)["weights, some zero"]
    expected = searched(streamed(ArrayRows(X, weight), READING))
    recorded = Journal(tmp_path / "fit", {"rows": 1})
    while not recorded._parts:  # until one is interrupted in the midst of a pass
        CountedRows.n_chunks = 3
        with monkeypatch.context() as small:
            small.setattr("kfree.engines.journaled.PART_BYTES", 1)
            with pytest.raises(KeyboardInterrupt):
                searched(journaled(streamed(CountedRows(X, weight), READING), recorded))
        recorded.close()
        recorded = Journal(tmp_path / "fit", {"rows": 1})
    check_same_bits(searched(journaled(streamed(ArrayRows(X, weight), READING), recorded)), expected)
    whole = Journal(tmp_path / "another fit", {"rows": 1})
    searched(journaled(streamed(ArrayRows(X, weight), READING), whole))
    numbers = []
    for journal in (recorded, whole):
        journal.close()
        again = Journal(journal.path, {"rows": 1})
        numbers.append((len(again._recorded), len(again._parts)))
    assert numbers[0] == numbers[1] == (numbers[0][0], 0)


@pytest.mark.parametrize("n_reads", [2, 5])
def test_ctrl_c_leaves_a_checkpoint_that_goes_on(n_reads, written, tmp_path, monkeypatch):
    X, _ = rows_with_weights(N_ROWS)
    rows, chunks = open_rows(written(X, NAMES[:3], ".npy")), FileRows.chunks
    expected = DPMeans(lam=900.0, memory=MEMORY).fit(rows)
    model = DPMeans(lam=900.0, memory=MEMORY, checkpoint=tmp_path / "fit.kfree")
    reads = []

    def interrupted(self, *asked):
        reads.append(asked)
        if len(reads) == n_reads + 1:
            os.kill(os.getpid(), signal.SIGINT)
        return chunks(self, *asked)

    monkeypatch.setattr(FileRows, "chunks", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(rows)
    assert not hasattr(model, "cluster_centers_")
    before = len(reads) - 1
    model.fit(rows)
    assert len(reads) - before < expected.n_passes_ + 2  # the first row takes one read, and one was interrupted
    for name in ("cluster_centers_", "cost_", "cost_history_", "n_passes_", "n_distances_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(expected, name), err_msg=name)
