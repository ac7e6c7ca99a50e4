"""axe finds no fault of accessibility on the report page: few and many columns and clusters, widths and themes."""

from importlib.resources import files

import numpy as np
import pytest

from kfree import DPMeans, NestedDPMeans
from kfree.report import write_report
from tests.report.test_browser import BROWSER, DRIVER, browser

pytest.importorskip("axe_core_python", reason="axe-core-python is not installed")
pytestmark = [
    pytest.mark.skipif(not (BROWSER and DRIVER), reason="chromium and chromedriver are not installed"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
__all__ = ["browser"]

WIDTHS = [360, 768, 1400]
# A page of many clusters takes long, and is looked at in one width.
MANY = {"5 columns, 200 clusters": 768}
RUN_AXE = "axe.run(arguments[0]).then(arguments[1], (error) => arguments[1]({error: String(error)}))"


def written(path, n_columns, n_clusters):
    """The page of a model whose columns and clusters have names in quotes and from right to left."""
    rng = np.random.default_rng(0)
    X = 30.0 * np.repeat(rng.normal(size=(n_clusters, n_columns)), 4, axis=0)
    X += rng.normal(size=X.shape)
    names = ['the "best" of', "it's <b>bold</b>", "עלות לקוח", "دخل", *(f"column {j}" for j in range(n_columns))]
    model = DPMeans(lam=8.0 * n_columns).fit(X)
    assert model.n_clusters_ == n_clusters
    told = {"names": {0: 'a "quoted" name', 1: "לקוחות חדשים"}, "remarks": ["encoded: דולר"], "certainty": "clear"}
    write_report(path, model, X, names[:n_columns], title='people "2024" אנשים', **told)


def levels(path):
    rng = np.random.default_rng(0)
    groups = 60.0 * rng.normal(size=(3, 4))
    X = np.repeat(groups, 90, axis=0) + 8.0 * np.repeat(rng.normal(size=(9, 4)), 30, axis=0) + rng.normal(size=(270, 4))
    NestedDPMeans(levels=(3, 9)).fit(X).report(path, X)


def places(path):
    X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0.0, 0.0], [40.0, 170.0]], 30, axis=0)
    write_report(path, DPMeans(metric="haversine", lam=1e6).fit(X), X)


SIZES = [(5, 2), (50, 2), (500, 2), (5, 200)]
PAGES = {f"{d} columns, {k} clusters": (lambda path, d=d, k=k: written(path, d, k)) for d, k in SIZES} | {
    "levels": levels,
    "places": places,
}


def faults(browser, width, theme, contrast):
    """What axe complains about. Contrast takes minutes for 200 clusters; it is that of few, and of any width."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.execute_script("setTheme(arguments[0])", theme)
    options = {"resultTypes": ["violations"], "rules": {"color-contrast": {"enabled": contrast}}}
    found = browser.execute_async_script(RUN_AXE, options)
    assert "error" not in found, found
    assert len(found["passes"]) > 10
    return [f"{one['id']}: {[node['html'][:160] for node in one['nodes'][:3]]}" for one in found["violations"]]


@pytest.mark.filterwarnings("ignore::kfree.exceptions.DataAdvice")  # of 200 clusters, more than a path considers
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_no_fault(name, browser, tmp_path):
    PAGES[name](tmp_path / "page.html")
    browser.set_script_timeout(120)
    browser.get((tmp_path / "page.html").as_uri())
    browser.execute_script(files("axe_core_python").joinpath("axe.min.js").read_text("utf-8"))
    try:
        for width, theme in zip(WIDTHS, ("light", "dark", "light"), strict=True):
            if MANY.get(name, width) == width:
                contrast = width != 1400 and name not in MANY
                assert faults(browser, width, theme, contrast) == [], (width, theme)
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert browser.get_log("browser") == []


def test_axe_finds_a_planted_fault(browser, tmp_path):
    places(tmp_path / "page.html")
    browser.get((tmp_path / "page.html").as_uri())
    browser.execute_script(files("axe_core_python").joinpath("axe.min.js").read_text("utf-8"))
    browser.execute_script("at('table-panel').hidden = false; at('search').parentElement.replaceWith(at('search'))")
    browser.execute_script("document.documentElement.style.setProperty('--muted', '#cccccc')")
    found = faults(browser, 768, "light", contrast=True)
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert any(fault.startswith("color-contrast") for fault in found)
    assert any(fault.startswith("label") for fault in found)
