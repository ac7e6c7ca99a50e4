"""The command line and the picture that it draws."""

import subprocess
import sys

import numpy as np
import pytest

from kfree import BayesianKMeans, DPMeans, plot
from kfree.cli import main


def test_demo_prints_a_summary_and_writes_a_picture_and_a_page(tmp_path, capsys):
    picture = tmp_path / "demo.png"
    main(["demo", "--output", str(picture), "--report", str(tmp_path / "demo.html")])
    printed = capsys.readouterr().out
    assert "Found 14 clusters" in printed
    assert printed.count("\n") > 20
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert '"k":14' in (tmp_path / "demo.html").read_text()


@pytest.mark.parametrize("arguments", [[], ["dmeo"]])
def test_a_wrong_command_says_what_there_is(arguments, capsys):
    with pytest.raises(SystemExit):
        main(arguments)
    assert "command" in capsys.readouterr().err


def test_version(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out.startswith("kfree ")


def test_the_package_is_the_command():
    done = subprocess.run([sys.executable, "-m", "kfree", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("kfree ")


def test_clusters_are_drawn_on_given_axes(rng):
    from matplotlib.figure import Figure

    X = rng.normal(size=(50, 2))
    ax = Figure().add_subplot()
    assert plot.clusters(X, DPMeans(lam=1.0).fit(X), ax=ax) is ax
    n_lines = len(ax.lines)
    model = BayesianKMeans().fit(X)
    plot.clusters(X, model, ax=ax)
    assert len(ax.lines) == n_lines + model.n_clusters_
    assert np.concatenate([c.get_offsets() for c in ax.collections]).shape[0] > 50


def test_without_matplotlib_the_error_names_the_command(monkeypatch, rng, capsys):
    for module in ("matplotlib", "matplotlib.figure", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=r'pip install "kfree\[plot\]"'):
        plot.clusters(rng.normal(size=(5, 2)), None)
    with pytest.raises(SystemExit):
        main(["demo"])
    assert 'pip install "kfree[plot]"' in capsys.readouterr().err
