"""The report page in headless Chromium: slider, counts, keyboard, hover, download, light and dark, strange names."""

import shutil
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import kfree
from kfree import DPMeans
from kfree.report import page, write_report
from tests.report.conftest import NAMES

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = [
    pytest.mark.skipif(not (BROWSER and DRIVER), reason="chromium and chromedriver are not installed"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def browser():
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1100,1400"):
        options.add_argument(argument)
    options.binary_location = BROWSER
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture
def shown(browser, reported, tmp_path):
    """The page, freshly loaded; at the end, nothing has been complained about."""
    (tmp_path / "report.html").write_text(page(reported))
    browser.get((tmp_path / "report.html").as_uri())
    yield browser
    assert browser.get_log("browser") == []


def sizes(browser):
    cards = browser.find_elements(By.CSS_SELECTOR, ".card .size")
    return [int(card.text.split(" ")[0].replace(",", "")) for card in cards]


def own_place(reported):
    return next(place for place, step in enumerate(reported["steps"]) if step["own"])


def test_it_opens_with_the_model(shown, reported):
    assert "5 clusters" in shown.find_element(By.ID, "readout").text
    assert "this model" in shown.find_element(By.ID, "readout").text
    assert not shown.find_element(By.ID, "own").is_enabled()
    assert shown.find_element(By.ID, "subtitle").text == "200 rows · 4 columns · 5 clusters"


def test_the_slider_moves_by_keyboard_and_counts_agree(shown, reported):
    slider = shown.find_element(By.ID, "slider")
    slider.send_keys(Keys.HOME)
    seen = []
    for step in reported["steps"]:
        expected = [cluster["size"] for cluster in step["clusters"]]
        assert sizes(shown) == expected
        assert len(shown.find_elements(By.CSS_SELECTOR, "#table tbody tr")) == step["k"]
        assert slider.get_attribute("aria-valuetext").startswith(f"{step['k']} cluster")
        seen.append(shown.find_element(By.CSS_SELECTOR, "#stairs text.k").text)
        assert shown.execute_script("return document.querySelector('#stairs text.k').getBBox().y") >= 0  # not cut off
        slider.send_keys(Keys.ARROW_RIGHT)
    assert seen == [f"k = {step['k']}" for step in reported["steps"]]
    shown.find_element(By.ID, "own").click()
    assert sizes(shown) == [cluster["size"] for cluster in reported["steps"][own_place(reported)]["clusters"]]


def test_numbers_on_the_map_do_not_cover_each_other(shown):
    boxes = [
        {"label": j, "px": x, "py": y, "width": 14, "height": 13}
        for j, (x, y) in enumerate([(9, 9), (18, 15), (18, 23), (40, 9)])
    ]
    kept = shown.execute_script("return apart(arguments[0])", boxes)
    assert [box["label"] for box in kept] == [0, 2, 3]


def test_a_step_of_the_staircase_can_be_clicked(shown, reported):
    stops = shown.find_elements(By.CSS_SELECTOR, "#stairs circle")
    assert len(stops) == len(reported["steps"])
    stops[-1].click()
    assert sizes(shown) == [200]


def test_cards_highlight_their_cluster_by_keyboard(shown):
    before = shown.execute_script("return document.getElementById('map').toDataURL()")
    shown.find_elements(By.CSS_SELECTOR, ".card")[1].send_keys(Keys.ENTER)
    card = shown.find_elements(By.CSS_SELECTOR, ".card")[1]
    assert card.get_attribute("aria-pressed") == "true"
    assert shown.switch_to.active_element == card
    assert shown.execute_script("return document.getElementById('map').toDataURL()") != before
    card.send_keys(Keys.SPACE)
    assert shown.execute_script("return document.getElementById('map').toDataURL()") == before


def test_rows_of_the_map_are_told_by_keyboard_and_by_pointer(shown, reported):
    canvas, hover = shown.find_element(By.ID, "map"), shown.find_element(By.ID, "hover")
    canvas.send_keys(Keys.ARROW_RIGHT)
    assert hover.text.startswith("row 1001, cluster ")
    canvas.send_keys(Keys.ARROW_RIGHT)
    assert hover.text.startswith("row 1002, cluster ")
    assert "height: " in hover.text
    canvas.send_keys(Keys.ESCAPE)
    assert not hover.is_displayed()
    place = shown.execute_script("return places[7]")
    point = "const box = arguments[0].getBoundingClientRect(); arguments[0].dispatchEvent(new PointerEvent("
    point += "'pointermove', {clientX: box.left + arguments[1][0], clientY: box.top + arguments[1][1]}))"
    shown.execute_script(point, canvas, place)
    assert hover.is_displayed()
    assert "cluster" in hover.text
    leave = "arguments[0].dispatchEvent(new PointerEvent('pointerleave', {pointerType: arguments[1]}))"
    shown.execute_script(leave, canvas, "mouse")
    assert not hover.is_displayed()
    shown.execute_script(point.replace("pointermove", "pointerdown"), canvas, place)
    shown.execute_script(leave, canvas, "touch")
    assert hover.is_displayed()


def test_labels_for_download_are_those_of_the_step(shown, reported, fitted):
    model, _ = fitted
    lines = shown.execute_script("return labelsAsText()").splitlines()
    assert lines[0] == "row,cluster"
    assert lines[1:] == [f"{row},{label}" for row, label in enumerate(model.labels_.tolist(), start=1001)]
    shown.find_element(By.ID, "slider").send_keys(Keys.END)
    lines = shown.execute_script("return labelsAsText()").splitlines()
    assert lines[1:] == [f"{row},0" for row in range(1001, 1201)]


def test_light_and_dark(shown):
    def background():
        return shown.execute_script("return getComputedStyle(document.body).backgroundColor")

    def luminance():
        return sum(int(part) for part in background().removeprefix("rgb(").removesuffix(")").split(","))

    first = luminance()
    shown.find_element(By.ID, "theme").send_keys(Keys.ENTER)
    second = luminance()
    assert abs(first - second) > 400
    for scheme, dark in [("dark", True), ("light", False)]:
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        shown.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        shown.refresh()
        assert (luminance() < 300) == dark
    shown.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_names_are_shown_and_not_run(shown):
    heads = [cell.get_attribute("title") for cell in shown.find_elements(By.CSS_SELECTOR, "#table thead th")][2:]
    assert sorted(heads) == sorted(NAMES)
    assert shown.find_element(By.ID, "title").text == "people <i>&amp;</i>.csv"
    assert shown.find_elements(By.CSS_SELECTOR, "main b, h1 i") == []
    assert len(shown.find_elements(By.TAG_NAME, "script")) == 2
    # An alert would be in the way of every further question.
    assert shown.execute_script("return 1") == 1


@pytest.fixture
def places(browser, tmp_path):
    """The page of places on both sides of the date line, and the model."""
    rng = np.random.default_rng(0)
    islands = np.array([[-17.7, 178.8], [-16.8, -179.9], [-21.1, -175.2], [-13.8, -171.8]])
    X = islands[rng.integers(4, size=300)] + 0.2 * rng.normal(size=(300, 2))
    X[:, 1] = (X[:, 1] + 180) % 360 - 180
    model = DPMeans(metric="haversine").fit(X)
    write_report(tmp_path / "places.html", model, X, ["lat", "lon"])
    browser.get((tmp_path / "places.html").as_uri())
    yield browser, model, X
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("width", [360, 768, 1400])
def test_the_map_of_places_is_true_and_whole_at_the_date_line(places, width):
    browser, model, X = places
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.execute_script("drawMap()")
    at = np.array(browser.execute_script("return places"))
    box = browser.execute_script("const b = at('map').getBoundingClientRect(); return [b.width, b.height]")
    assert (at > 0).all()
    assert (at < box).all()
    # One degree is as long everywhere: across at the middle latitude times its cosine, and up.
    centres = model.cluster_centers_
    east = np.append(X[:, 1], centres[:, 1]) % 360
    latitude = np.append(X[:, 0], centres[:, 0])
    middle = np.cos(np.radians((latitude.min() + latitude.max()) / 2))
    up, across = np.polyfit(X[:, 0], at[:, 1], 1)[0], np.polyfit(X[:, 1] % 360, at[:, 0], 1)[0]
    assert across == pytest.approx(-up * middle, rel=1e-3)
    np.testing.assert_allclose(at[:, 0] - at[0, 0], across * (X[:, 1] % 360 - X[0, 1] % 360), atol=0.1)
    np.testing.assert_allclose(at[:, 1] - at[0, 1], up * (X[:, 0] - X[0, 0]), atol=0.1)
    assert east.max() - east.min() < 20
    # Crosses lie in the midst of their rows.
    for label in range(4):
        cross = browser.execute_script(f"return placed(...current().centres[{label}])")
        np.testing.assert_allclose(cross, at[model.labels_ == label].mean(axis=0), atol=0.1 * across)


def test_places_are_told_as_degrees_and_km(places):
    browser, model, X = places
    assert browser.find_element(By.ID, "map-heading").text == "Map of the places"
    assert not browser.find_element(By.ID, "table-panel").is_displayed()
    assert not browser.find_element(By.ID, "across").is_displayed()
    latitude = model.cluster_centers_[0, 0]
    card = browser.find_element(By.CSS_SELECTOR, ".card").text
    assert f"centre {abs(latitude):.3f}".rstrip("0") in card
    assert "° S" in card
    assert " km away" in card
    browser.find_element(By.ID, "map").send_keys(Keys.ARROW_RIGHT)
    assert browser.find_element(By.ID, "hover").text.endswith(" W" if X[0, 1] < 0 else " E")
    texts = "return [0, -12.5, 190, 360, -180, 179.9996].map((one) => longitudeText(one))"
    assert browser.execute_script(texts) == ["0°", "12.5° W", "170° W", "0°", "180°", "180°"]
    assert browser.execute_script("return [latitudeText(-90), latitudeText(0.25, 1)]") == ["90° S", "0.3° N"]


@pytest.fixture
def wide(browser, tmp_path):
    """The page of 64 columns, the last of which decides."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 64))
    X[:, 63] += 40.0 * (np.arange(150) % 2)
    write_report(tmp_path / "wide.html", DPMeans(target_k=2).fit(X), X, [f"column {j}" for j in range(64)])
    browser.get((tmp_path / "wide.html").as_uri())
    yield browser
    assert browser.get_log("browser") == []


def test_columns_that_are_not_shown_can_be_found(wide):
    def heads():
        return [cell.text for cell in wide.find_elements(By.CSS_SELECTOR, "#table thead th")][2:]

    assert len(heads()) == 30
    assert heads()[0] == "column 63"
    note = wide.find_element(By.ID, "columns-note")
    assert note.text == "30 of 64 columns are shown; search for others."
    assert "menus have the 60 columns that set clusters apart most" in wide.find_element(By.ID, "drawn").text
    hidden = next(f"column {j}" for j in range(10, 64) if f"column {j}" not in heads())
    wide.find_element(By.ID, "search").send_keys(hidden)
    assert heads() == [hidden]
    assert note.text == "1 of 64 columns is shown."
    card = wide.find_element(By.CSS_SELECTOR, ".card .feature .label")
    assert card.text == "column 63"


@pytest.fixture
def told(browser, tmp_path):
    """The page of a clustering with names in quotes and from right to left, of a table with many levels."""
    rng = np.random.default_rng(0)
    kind = rng.integers(3, size=240)
    table = pd.DataFrame(rng.normal(size=(240, 6)) + 9.0 * np.eye(3, 6)[kind], columns=[*"abcde", 'f "quoted" <b>'])
    table["plan of the customer at the time of the first order"] = np.array(["basic", "family", "gold"])[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kfree.exceptions.DataAdvice)  # about the plans
        clustering = kfree.cluster(table, model="round")
    clustering.rename({0: 'the "best" <i>ones</i>', 1: "לקוחות חדשים"})
    clustering.report(tmp_path / "told.html")
    browser.get((tmp_path / "told.html").as_uri())
    yield browser, clustering
    browser.set_window_size(1100, 1400)
    assert browser.get_log("browser") == []


def test_a_row_has_a_level_or_not(told):
    browser, _ = told
    browser.find_element(By.ID, "map").send_keys(Keys.ARROW_RIGHT)
    lines = browser.find_element(By.ID, "hover").text.splitlines()
    plans = {line.split("=")[1] for line in lines if line.startswith("plan of the customer")}
    assert len(plans) == 3
    assert {line.split(": ")[1] for line in plans} == {"yes", "no"}  # and no shares


def test_certainty_names_sentences_and_preparation_are_shown(told):
    browser, clustering = told
    assert browser.find_element(By.ID, "certainty").text == clustering.certainty
    names = [card.text.split("\n")[0] for card in browser.find_elements(By.CSS_SELECTOR, ".card .name")]
    assert names == ['the "best" <i>ones</i>', "לקוחות חדשים", "Cluster 2"]
    sentences = [one.text for one in browser.find_elements(By.CSS_SELECTOR, ".card .sentence")]
    assert all(long.endswith(f"; {short}.") for long, short in zip(clustering.sentences(), sentences, strict=True))
    remarks = [one.text for one in browser.find_elements(By.CSS_SELECTOR, "#remarks-list li")]
    assert remarks == [*clustering.remarks, *clustering.encoder.describe().splitlines()]
    assert browser.find_elements(By.CSS_SELECTOR, "main b, main i") == []


def test_one_cluster_is_compared_with_nothing(browser, tmp_path):
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(120, 2)), columns=["a", "b"])
    kfree.cluster(table).report(tmp_path / "one.html")
    browser.get((tmp_path / "one.html").as_uri())
    assert browser.find_element(By.ID, "readout").text.startswith("1 cluster, because the best partition scores")
    assert browser.find_elements(By.CSS_SELECTOR, ".card .feature") == []
    assert not browser.find_element(By.ID, "bars-help").is_displayed()


def test_numbers_have_the_sign_that_sentences_have(shown):
    assert shown.execute_script("return [valueText(-2.5, null), valueText(-2.5, {kind: 'number', decimals: 1})]") == [
        "−2.5",
        "−2.5",
    ]
    assert shown.find_element(By.ID, "bars-help").is_displayed()


def test_rows_in_no_cluster_and_long_names_are_told(browser, tmp_path, rng):
    X = np.r_[rng.normal(size=(60, 2)), 10 + rng.normal(size=(40, 2)), rng.uniform(-30, 40, (8, 2))]
    model = DPMeans(noise=0.05, target_k=2).fit(X)
    n_noise = int((model.labels_ < 0).sum())
    write_report(tmp_path / "noise.html", model, X, names={0: "a" * 200})
    browser.get((tmp_path / "noise.html").as_uri())
    assert browser.find_element(By.ID, "cards-heading").text == f"2 clusters, and {n_noise} rows in no cluster"
    assert "Grey rows are in no cluster." in browser.find_element(By.ID, "map-help").text
    for part, inside in ((".card .size", ".card"), ("#table td", ".scroll")):  # a name pushes no number out
        script = "return [arguments[0], arguments[1]].map((one) => one.getBoundingClientRect().right)"
        ends = browser.execute_script(script, *(browser.find_element(By.CSS_SELECTOR, one) for one in (part, inside)))
        assert ends[0] <= ends[1]
    assert sum(sizes(browser)) + n_noise == len(X)


@pytest.mark.parametrize("width", [360, 768, 1400])
def test_the_page_fits_its_window(told, width):
    """No part but the table, which scrolls by itself, is wider than the window."""
    browser, _ = told
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    wide = browser.execute_script("return document.documentElement.scrollWidth")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert wide <= width


def test_every_field_has_a_label_and_headings_are_in_order(told):
    browser, _ = told
    fields = browser.find_elements(By.CSS_SELECTOR, "input, select")
    assert len(fields) == 4
    for field in fields:
        assert browser.execute_script("return arguments[0].labels.length", field) == 1
    script = "return [...document.querySelectorAll('h1,h2,h3')].map((one) => Number(one.tagName[1]))"
    levels = browser.execute_script(script)
    assert levels[0] == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))
    assert browser.execute_script("return document.documentElement.lang") == "en"
