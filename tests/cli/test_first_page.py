"""A trial with a file as shops export it: how many attempts a new user needs for a first page, led by the errors."""

import csv
import re
import shlex

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


def hinted(error):
    """The options that an error recommends, the first of each."""
    found = re.findall(r"--na '[^']*'|--drop-text|--thousands '.'", error)
    return [part for option in dict.fromkeys(found) for part in shlex.split(option)]


def test_errors_lead_to_a_first_page(shop, here, capsys):
    line, attempts = ["cluster", "shop.csv", "--report", "page.html"], 1
    while (done := outcome(line, capsys))[0]:
        options = hinted(done[2])
        assert options, done[2]
        line, attempts = [*line, *options], attempts + 1
        assert attempts <= 3
    assert line[4:] == ["--na", "?", "--drop-text"]
    assert "</html>" in (here / "page.html").read_text()
    for said in ("'.' between thousands", "left out 2 column(s) of text", "levels that look alike", "constant: DE"):
        assert said in done[2]


def test_the_options_of_the_guide_give_the_page_at_the_first_attempt(shop, here, capsys):
    line = "cluster shop.csv --id Kunde --drop-text --na ? --fold-levels --k 3 --report page.html --save shop.kfree"
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
