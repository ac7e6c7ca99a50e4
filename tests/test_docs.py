"""Every example in a docstring and every Python block of the README and the guides runs."""

import ast
import doctest
import importlib
import pkgutil
import re
import runpy
from pathlib import Path

import pytest

import kfree
from kfree.saving.records import fields_of

ROOT = Path(__file__).parents[1]
GUIDES = [
    page
    for page in sorted((ROOT / "docs").rglob("*.md"))
    if "```python" in page.read_text() and page.name != "developing.md"
]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), ROOT / "reproduce" / "README.md"]
SPECS = [found.module_finder.find_spec(found.name) for found in pkgutil.walk_packages(kfree.__path__, "kfree.")]
MODULES = [spec.name for spec in SPECS if spec.origin.endswith(".py") and ">>> " in Path(spec.origin).read_text()]


@pytest.mark.parametrize("name", ["kfree", *MODULES])
def test_docstring_examples(name):
    if name.startswith("kfree.engines.gpu."):
        pytest.importorskip("torch")
        pytest.importorskip("triton")
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize("name", [name for name in kfree.__all__ if callable(getattr(kfree, name))])
def test_public_names_have_an_example(name):
    assert ">>> " in getattr(kfree, name).__doc__


# Fields of the base class that not every fit sets.
OF_ALL = {"preparation_", "feature_names_in_"}


@pytest.mark.parametrize("name", [name for name in kfree.__all__ if hasattr(getattr(kfree, name), "get_params")])
def test_fitted_attributes_are_described(name):
    estimator = getattr(kfree, name)
    listed = estimator.__doc__.partition("Attributes\n")[2]
    described = ", ".join(re.findall(r"^    (\w+_(?:, \w+_)*)(?: :|$)", listed, flags=re.MULTILINE)).split(", ")
    saved = {field for field in fields_of(estimator) if not field.startswith("_")}
    assert saved - OF_ALL - set(described) == set()


def test_files_that_pages_name_exist():
    files = [
        path.as_posix()
        for part in ("src", "tests", "docs", "benchmarks", "reproduce")
        for path in (ROOT / part).rglob("*.?*")
    ]
    named = {name for page in PAGES for name in re.findall(r"`([\w/.-]+\.(?:py|cpp|hpp|txt|jsonl))`", page.read_text())}
    assert len(named) > 80
    assert {name for name in named if not any(path.endswith(f"/{name}") for path in files)} == set()


def test_links_lead_to_files():
    """Also where Sphinx does not look: from the README, and from guides to sources and results."""
    links = [(page, link) for page in PAGES for link in re.findall(r"\]\(([^)#\s]+)[^)\s]*\)", page.read_text())]
    inside = [(page, link) for page, link in links if not link.startswith("http")]
    assert len(inside) > 300
    assert [f"{page.name}: {link}" for page, link in inside if not (page.parent / link).exists()] == []


def test_no_block_escapes_the_tests():
    fences = {fence for page in PAGES for fence in re.findall(r"^ *```(\S+)", page.read_text(), flags=re.MULTILINE)}
    assert fences <= {"python", "sh", "{toctree}", "{eval-rst}", "{autodoc2-object}"}, fences


# Pages about other libraries, which need these.
LIBRARIES = {"bertopic.md": "bertopic", "umap.md": "umap", "single-cells.md": "anndata"}


def _has_a_gpu():
    torch = pytest.importorskip("torch")
    return torch.cuda.is_available()


def _claimed_values(block):
    """Expressions beside which a comment is nothing but a value, as in ``model.n_clusters_  # 4``."""
    lines = block.splitlines()
    for statement in ast.parse(block).body:
        line = lines[statement.end_lineno - 1].encode()
        comment = line[statement.end_col_offset :].decode().strip().removeprefix("# ")
        try:
            claimed = ast.literal_eval(comment)
        except (SyntaxError, ValueError):
            continue
        yield statement.end_lineno, ast.get_source_segment(block, statement), claimed


def _run(block, names):
    """Run a block, and return what its comments claim wrongly."""
    begin, lines, wrong = 0, block.splitlines(), []
    for end, expression, claimed in _claimed_values(block):
        exec("\n".join(lines[begin : end - 1]), names)
        value = eval(expression, names)
        if value != claimed:
            wrong.append(f"{expression} is {value!r}, not {claimed!r}")
        begin = end
    exec("\n".join(lines[begin:]), names)
    return wrong


def test_wrong_values_in_comments_are_found():
    assert _run("a = 2\na  # 3\na, 'b'  # 2, 'b'\na  # 3, say", {}) == ["a is 2, not 3"]


# On a machine that is busy with other things, what takes half a second may take more than one.
@pytest.mark.filterwarnings("ignore:DPMeans did not converge within time_budget")
@pytest.mark.parametrize("page", [ROOT / "README.md", *GUIDES], ids=lambda page: page.name)
def test_examples_of_a_page(page):
    if page.name == "gpu.md" and not _has_a_gpu():
        pytest.skip("its code needs a CUDA device")
    if page.name in LIBRARIES:
        pytest.importorskip(LIBRARIES[page.name])
    text = page.read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    names = {}
    assert [claim for block in blocks for claim in _run(block, names)] == []
    if page.parent.name == "gallery":  # docs/gallery/draw.py saves this figure
        assert names["figure"].axes
        assert page.with_suffix(".png").exists()


def test_the_picture_of_levels_has_groups():
    districts = runpy.run_path(str(ROOT / "docs" / "images" / "levels.py"))["districts"]
    assert kfree.NestedDPMeans().fit(districts()).levels_ == (4, 18)
