"""What the experiments need: every set is described, checksums recognise it, and nothing is fetched in silence."""

import numpy as np
import pytest
import sklearn.datasets
from common import real_data

from kfree import datasets
from reproduce import __main__ as runner
from reproduce import data
from reproduce.experiments import EXPERIMENTS


def test_every_set_of_an_experiment_is_described():
    used = {name for experiment in EXPERIMENTS.values() for name in experiment.data}
    assert used == set(data.NEEDS) == set(data.known())
    assert used - {data.NEWSGROUPS} <= set(datasets.names())


def test_a_checksum_is_of_the_values_and_not_of_their_type_or_order_in_memory(rng):
    X = rng.integers(0, 255, size=(7, 3))
    first = data.checksum(X)
    assert first == data.checksum(X.astype(np.uint8)) == data.checksum(np.asfortranarray(X, dtype=float))
    assert first != data.checksum(X[::-1])
    assert data.checksum(["a", "b"]) != data.checksum(["ab"])


def test_nothing_is_fetched_unless_it_is_asked_for(monkeypatch, tmp_path, capsys):
    def fetched(**_):
        raise AssertionError("a download")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetched)
    monkeypatch.setenv("KFREE_DATA", str(tmp_path))
    assert runner.main(["odashima/table2", "--out", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert "mnist-pca10, offered by OpenML 554" in said
    assert "Add --fetch" in said
    with pytest.raises(AssertionError, match="a download"):
        runner.main(["odashima/table2", "--fetch", "--out", str(tmp_path)])


def test_the_listing_says_what_is_at_hand_and_what_differs(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("KFREE_DATA", str(tmp_path))
    np.savez(tmp_path / "pima.npz", X=np.zeros((768, 8)), y=np.zeros(768))
    assert runner.main(["data"]) == 0
    listed = capsys.readouterr().out
    assert "DIFFERS from what the numbers were made with" in listed
    assert "at hand: sklearn.datasets.load_iris" in listed
    assert listed.count("not at hand") == len(data.NEEDS) - 3
    assert all(name in listed for name in data.NEEDS)


@real_data
@pytest.mark.parametrize("name", [name for name in data.NEEDS if name not in ("mnist", "mnist-pca10", "kdd2004bio")])
def test_sets_at_hand_are_those_of_the_kept_numbers(name):
    assert data.state_of(name).startswith("at hand")
