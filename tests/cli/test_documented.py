"""Every command line of the README and the guides runs as it stands, on real files."""

import io
import re
import shlex
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import kfree
from kfree.datasets import make_customers
from tests.cli.conftest import outcome

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def commands_of(page):
    """Commands of shell blocks, and those written inline that name a file; each once, in the order of the page."""
    text = page.read_text()
    blocks = [part for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for part in re.split(r"\n|&&", block)]
    inline = [found for found in re.findall(r"`(kfree [^`]*)`", text) if re.search(r"\.\w+", found)]
    lines = [re.sub(r"\s+", " ", line).strip() for line in [*blocks, *inline]]
    return list(dict.fromkeys(line for line in lines if line.startswith("kfree ")))


COMMANDS = {page.name: commands for page in PAGES if (commands := commands_of(page))}


@pytest.fixture
def files(blobs_csv, here):
    """The files that the commands name."""
    pandas = pytest.importorskip("pandas")
    blobs = (here / "data.csv").read_text()
    (here / "rows.csv").write_text(blobs)
    (here / "edges.csv").write_text("a,b\nb,c\nc,a\nc,d\nd,e\ne,f\nf,d\n")
    customers = pandas.DataFrame(make_customers(random_state=0)[0]).head(300)
    customers.to_csv("customers.csv", index=False)
    (here / "trips.csv").write_text(blobs.replace("a,b", "latitude,longitude", 1))
    kfree.cluster(customers).save("customers.kfree")
    return dict.fromkeys(("tutorial.md", "table-to-page.md"), customers.head(20).to_csv(index=False)), blobs


def test_the_pages_have_commands():
    assert {"README.md", "tutorial.md", "command-line.md"} <= set(COMMANDS)
    assert len(COMMANDS["command-line.md"]) >= 8


@pytest.mark.parametrize("page", COMMANDS)
def test_commands_of_a_page(page, files, capsys, monkeypatch, here):
    pytest.importorskip("matplotlib")
    new, blobs = files
    (here / "new.csv").write_text(new.get(page, blobs))
    if page == "command-line.md":  # it predicts before it says how to save
        assert outcome(["cluster", "data.csv", "--save", "model.kfree", "--quiet"], capsys)[0] == 0
    for command in COMMANDS[page]:
        line, _, source = command.partition(" < ")
        if source:
            monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO((here / source).read_bytes())))
        status, _, err = outcome(shlex.split(line)[1:], capsys)
        assert status == 0, (command, err)
