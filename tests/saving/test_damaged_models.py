"""Damaged models with right checksums: a sample of ``python -m tests.saving.fuzz``."""

import pytest

import kfree
from kfree.saving.container import decoded, is_intact
from tests.saving import fuzz
from tests.saving.damage import damaged
from tests.saving.golden.expected import path_of
from tests.saving.models import CASES

N_CASES = 4 * len(CASES)
# Cases that once led to another error than may be.
FOUND = [433, 516, 1260, 2313, 3649, 4256, 4546, 5130, 6266, 6570]


def test_no_damaged_model_does_harm():
    outcomes, wrong = fuzz.tried(0, N_CASES)
    assert wrong == {}
    assert sum(outcomes.values()) == N_CASES
    assert set(outcomes) <= {"refused", "answered", "asked in vain"}
    assert outcomes["refused"] > N_CASES / 2


@pytest.mark.parametrize("number", FOUND)
def test_what_was_once_wrong(number, tmp_path):
    name = list(CASES)[number % len(CASES)]
    (tmp_path / "m.kfree").write_bytes(damaged(path_of(name).read_bytes(), number))
    assert not fuzz.told_of(name, tmp_path / "m.kfree").startswith("WRONG")


def test_damage_has_a_right_checksum_and_is_drawn_by_number():
    golden = path_of("dp-means").read_bytes()
    found = [damaged(golden, number) for number in range(20)]
    assert len({golden, *found}) > 18
    assert all(is_intact(content) and isinstance(decoded(content)[0], dict) for content in found)
    assert damaged(golden, 3) == found[3]


@pytest.mark.parametrize("error", [IndexError, MemoryError, OverflowError, AttributeError])
@pytest.mark.parametrize("when", ["load", "predict"])
def test_what_may_not_be_raised_is_told(when, error, monkeypatch, tmp_path):
    def failing(*_, **__):
        raise error("planted")

    (tmp_path / "m.kfree").write_bytes(path_of("dp-means").read_bytes())
    assert fuzz.told_of("dp-means", tmp_path / "m.kfree") == "answered"
    if when == "predict":
        monkeypatch.setattr(kfree.DPMeans, "predict", failing)
    else:
        load = kfree.load
        monkeypatch.setattr(kfree, "load", lambda path: load(path) if "golden" in str(path) else failing())
    assert fuzz.told_of("dp-means", tmp_path / "m.kfree").startswith(f"WRONG {error.__name__} planted")
