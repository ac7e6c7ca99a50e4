"""Draws docs/images/report.png: the report page of the map of islands, in headless Chromium.

Needs selenium, chromium and chromedriver.
"""

import shutil
import tempfile
from pathlib import Path

from selenium import webdriver

from kfree import DPMeans, datasets
from kfree.report import write_report

WIDTH, HEIGHT = 1120, 1280


def main():
    X = datasets.load_archipelago()
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", f"--window-size={WIDTH},{HEIGHT}", "--hide-scrollbars"):
        options.add_argument(argument)
    options.binary_location = shutil.which("chromium")
    with tempfile.TemporaryDirectory() as directory:
        page = Path(directory) / "report.html"
        write_report(page, DPMeans().fit(X), X, ["east (km)", "north (km)"], title="Settlements of an archipelago")
        driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
        driver.get(page.as_uri())
        driver.save_screenshot(str(Path(__file__).with_suffix(".png")))
        driver.quit()


if __name__ == "__main__":
    main()
