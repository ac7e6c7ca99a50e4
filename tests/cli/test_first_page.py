"""A trial with a file as shops export it: a new user gets a page at the first attempt, and is told what was done."""

import csv

import numpy as np
import pytest

import kfree
from tests.cli.conftest import outcome, same_partition

pytestmark = pytest.mark.filterwarnings("ignore::kfree.exceptions.DataAdvice")


@pytest.fixture
def shop(here):
    """shop.csv: three kinds of customers, as a spreadsheet with a decimal comma writes them in Windows-1252."""
    rng = np.random.default_rng(7)
    kind = np.arange(240) % 3
    with open("shop.csv", "w", encoding="cp1252", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(["Kunde", "Name", "Alter", "Umsatz", "Kanal", "Seit", "Aktiv", "Bestellungen", "Land"])
        for i, k in enumerate(kind):
            age = "" if i % 80 == 3 else f"{[27, 44, 66][k] + 3 * rng.normal():.1f}".replace(".", ",")
            revenue = f"{np.exp([5, 7, 9][k] + 0.3 * rng.normal()):,.2f}".translate(str.maketrans(",.", ".,"))
            channel = [["App", "app", "App "][i // 3 % 3], "Web", "Filiale"][k]
            since = f"{1 + i % 28:02d}.{1 + i % 12:02d}.{[2022, 2015, 2004][k]}"
            orders = "?" if i % 100 == 7 else rng.poisson([40, 20, 5][k])
            writer.writerow(
                [f"K{i:03d}", f"Müller {i}", age, revenue, channel, since, ["ja", "nein"][i % 2], orders, "DE"]
            )
    return kind


def test_the_first_attempt_gives_a_page_that_says_what_was_done(shop, here, capsys):
    status, _, err = outcome(["cluster", "shop.csv", "--report", "page.html", "--save", "shop.kfree"], capsys)
    assert status == 0, err
    page = (here / "page.html").read_text()
    for said in (
        "'.' between thousands",
        "marks among numbers or dates are read as missing values, in column(s) 'Bestellungen' ('?' 3 times)",
        "left out 2 column(s): 'Kunde' (text, or a name for each row: 240 distinct values in 240 rows, such as 'K000')",
        "levels that look alike",
        "constant: DE",
    ):
        assert said in err
        assert said.replace("'", "\\u0027") in page or said in page
    kept = kfree.load("shop.kfree").remarks
    assert any("read as missing values" in remark for remark in kept)


def test_the_options_of_the_guide_give_the_page_at_the_first_attempt(shop, here, capsys):
    line = "cluster shop.csv --id Kunde --fold-levels --k 3 --report page.html --save shop.kfree"
    status, out, err = outcome(line.split(), capsys)
    assert status == 0, err
    with open("shop.clusters.csv", encoding="cp1252", newline="") as file:
        labels = [row["cluster"] for row in csv.DictReader(file, delimiter=";")]
    assert same_partition(labels, shop.tolist())
    (own,) = {label for label, kind in zip(labels, shop, strict=True) if kind == 2}
    told = next(sentence for sentence in out.splitlines() if sentence.startswith(f"Cluster {own}: "))
    assert "Kanal is Filiale in 100 % (others 0 %)" in told
    assert "Seit earlier: 2004" in told
    # Tomorrow's file has another form of the same numbers, an unseen channel and fewer columns.
    (here / "new.csv").write_text(
        "Umsatz;Alter;Kanal;Seit;Aktiv;Bestellungen\n9.103,10;66,5;Filiale;01.05.2004;ja;5\n148,41;27;Fax;01.05.2022;ja;?\n"
    )
    assert outcome(["predict", "shop.kfree", "new.csv", "--unseen", "missing", "--quiet"], capsys)[0] == 0
    first = [line.rpartition(";")[2] for line in (here / "new.clusters.csv").read_text().splitlines()[1:]]
    assert first == [own, labels[0]]
    assert kfree.load("shop.kfree").predict("new.csv", unseen="missing").tolist() == [int(own), int(labels[0])]
