"""The hash of the code behind a number: it changes with what the number depends on, and with nothing else."""

import inspect
import shutil
from functools import partial

import pytest

from kfree import BayesianKMeans
from kfree.baselines import GMeans, KMeansBIC
from reproduce import code
from reproduce.code import code_of
from reproduce.kulis_jordan import three_gaussians
from reproduce.kurihara_welling import table1


def test_settings_and_functions_count_and_parameters_do_not():
    fit = partial(table1.fit, partial(GMeans, n_threads=1))
    assert code_of(fit) == code_of(partial(table1.fit, partial(GMeans, n_threads=1), 2.0, 100, 2, 7))
    others = [partial(table1.fit, partial(GMeans, n_threads=2)), partial(table1.fit, KMeansBIC), table1.fitted]
    others += [partial(table1.fit, partial(GMeans, n_threads=1), placement="well-separated")]
    assert len({code_of(make) for make in (fit, *others)}) == 5


def test_constants_that_a_function_refers_to_count(monkeypatch):
    before = code_of(three_gaussians.figure2a)
    monkeypatch.setattr(three_gaussians, "N_RUNS", 101)
    changed = code_of(three_gaussians.figure2a)
    monkeypatch.setattr(three_gaussians, "N_RUNS", 100)
    monkeypatch.setattr(three_gaussians, "GOOD", 0.7)  # of figure2b alone
    assert changed != before == code_of(three_gaussians.figure2a)


def test_what_a_module_imports_is_followed_to_where_names_are_defined():
    found = code.closure("kfree.estimators.bayesian_k_means")
    assert {"kfree.search.evidence.published", "kfree.objectives.gaussian", "kfree.search.loop"} <= found
    assert "kfree" not in found
    assert "kfree.estimators.graph_dp_means" not in found
    assert "kfree.baselines.g_means" in code.closure("kfree.baselines.g_means")


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """A copy of kfree's sources, which hashes are made of from now on."""
    package = tmp_path / "kfree"
    shutil.copytree(code.PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__", "_core*"))
    expected = code_of(BayesianKMeans)
    monkeypatch.setattr(code, "PACKAGE", package)
    assert hashed() == expected
    yield package
    forget()


def forget():
    for kept in (code.closure, code._imports, code._source, code.compiled_sources):
        kept.cache_clear()


def hashed():
    """The hash of Bayesian k-means, from sources that are read now."""
    forget()
    return code_of(BayesianKMeans)


def replace(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_planted_changes_are_seen_and_comments_docstrings_and_other_modules_change_no_hash(copied):
    before = hashed()
    harmless = [
        ("objectives/gaussian.py", "\nimport", "\n# A comment.\nimport"),
        ("objectives/gaussian.py", '"""', '"""Another first line. '),
        ("estimators/graph_dp_means.py", "import", "import os\nimport"),
        ("plot/paths.py", "\nimport", "\nimport os\nimport"),
        ("native/samplers/random.hpp", "//", "// More. "),
    ]
    for file, old, new in harmless:
        replace(copied / file, old, new)
    assert hashed() == before
    replace(copied / "search/evidence/hard_labels.py", "LEAST_GAIN = 1e-12", "LEAST_GAIN = 1e-11")
    python_changed = hashed()
    replace(copied / "native/samplers/random.hpp", "uint64_t", "uint32_t")
    assert len({before, python_changed, hashed()}) == 3


def test_normalised_sources_have_no_docstrings():
    assert "deviations apart" not in code._normalised(inspect.getsource(table1))
