"""The hash of the code behind a number: it changes with what the number depends on, and with nothing else."""

import inspect
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

import kfree
from kfree.baselines import GMeans, KMeansBIC
from kfree.native import _core
from reproduce import code
from reproduce.code import code_of
from reproduce.kulis_jordan import three_gaussians
from reproduce.kurihara_welling import table1

ROOT = Path(__file__).parents[2]


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


def hashed(folder):
    program = "from reproduce.code import code_of; from kfree import BayesianKMeans; print(code_of(BayesianKMeans))"
    paths = f"{folder / 'src'}{os.pathsep}{folder}"
    environment = {"PYTHONPATH": paths, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    return subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True, check=True
    ).stdout


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """A copy of the packages, and its hash."""
    folder = tmp_path_factory.mktemp("copy")
    package = folder / "src" / "kfree"
    shutil.copytree(ROOT / "src" / "kfree", package, ignore=shutil.ignore_patterns("__pycache__", "_core*"))
    compiled = Path(_core.__file__)  # where kfree is installed
    shutil.copy(compiled, package / compiled.relative_to(Path(kfree.__file__).parent))
    shutil.copytree(ROOT / "reproduce", folder / "reproduce", ignore=shutil.ignore_patterns("results", "__pycache__"))
    return {"folder": folder, "hash": hashed(folder)}


def planted(folder, changes):
    """The hash after some texts of files were replaced, which are then put back."""
    before = {file: (folder / "src" / "kfree" / file).read_text() for file, _, _ in changes}
    try:
        for file, old, new in changes:
            path = folder / "src" / "kfree" / file
            assert old in path.read_text()
            path.write_text(path.read_text().replace(old, new, 1))
        return hashed(folder)
    finally:
        for file, text in before.items():
            (folder / "src" / "kfree" / file).write_text(text)


def test_comments_docstrings_and_other_modules_change_no_hash(copied):
    """In a copy of the package, by another process, for Bayesian k-means."""
    harmless = [
        ("objectives/gaussian.py", "\nimport", "\n# A comment.\nimport"),
        ("objectives/gaussian.py", '"""', '"""Another first line. '),
        ("estimators/graph_dp_means.py", "import", "import os\nimport"),
        ("plot/paths.py", "\nimport", "\nimport os\nimport"),
        ("native/samplers/random.hpp", "//", "// More. "),
    ]
    assert planted(copied["folder"], harmless) == copied["hash"]


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("search/evidence/hard_labels.py", "LEAST_GAIN = 1e-12", "LEAST_GAIN = 1e-11"),
        ("native/samplers/random.hpp", "uint64_t", "uint32_t"),
    ],
)
def test_a_planted_change_is_seen(file, old, new, copied):
    assert planted(copied["folder"], [(file, old, new)]) != copied["hash"]


def test_normalised_sources_have_no_docstrings():
    assert "deviations apart" not in code._normalised(inspect.getsource(table1))
