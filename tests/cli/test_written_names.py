"""Names of rows, nodes and groups are those that are written: 007 is not 7."""

import numpy as np
import pandas as pd
import pytest

import kfree
from tests.cli.conftest import outcome, rows_of, told

# Codes of one length are spread evenly, like identifiers, and two groups of rows are few.
pytestmark = pytest.mark.filterwarnings("ignore::kfree.exceptions.DataAdvice")


@pytest.fixture
def coded(here, rng):
    """coded.csv: two clusters of rows with a name and a shop, of which some begin with zeros."""
    x = rng.normal(size=60) + 30 * (np.arange(60) % 2)
    names = [f"{i:05}" if i % 3 else str(10_000 + i) for i in range(60)]
    lines = [f"{name},{['01', '1', '12'][i % 3]},{v:.3f}" for i, (name, v) in enumerate(zip(names, x, strict=True))]
    (here / "coded.csv").write_text("\n".join(["zip,shop,x", *lines]) + "\n")
    return names


def test_rows_are_called_as_they_are_written(coded, here, capsys):
    made = kfree.cluster("coded.csv", id="zip", drop=["shop"], k=2)
    assert made.summary().row_names.tolist() == coded
    facts = told(["cluster", "coded.csv", "--id", "zip", "--drop", "shop", "--k", "2", "--report", "r.html"], capsys)
    exemplars = [row for cluster in facts["clusters"] for row in cluster["exemplars"]]
    assert exemplars
    assert set(exemplars) < set(coded)
    assert all(f'"{row}"' in (here / "r.html").read_text() for row in exemplars)


def test_rows_of_several_files_are_called_as_they_are_written(coded, here):
    lines = (here / "coded.csv").read_text().splitlines()
    (here / "parts").mkdir()
    for part in range(2):  # the names in the first one are all without zeros
        rows = [line for line in lines[1:] if line.startswith("0") == (part == 1)]
        (here / "parts" / f"{part}.csv").write_text("\n".join([lines[0], *rows]) + "\n")
    made = kfree.cluster("parts", id="zip", drop=["shop"], k=2)
    assert made.summary().row_names.tolist() == sorted(coded, reverse=True, key=lambda name: name[0])


def test_rows_of_files_of_two_kinds_are_called_as_they_are_written(coded, here, capsys):
    (here / "parts").mkdir()
    (here / "coded.csv").rename("parts/a.csv")
    further = pd.DataFrame({"zip": [1, 20_000], "shop": [1, 3], "x": [0.0, 30.0]})
    further.to_parquet("parts/b.parquet")
    assert kfree.cluster("parts", id="zip", drop=["shop"], k=2).summary().row_names.tolist() == [*coded, "1", "20000"]
    facts = told(["hdp", "parts", "--group", "shop", "--drop", "zip", "-o", "out.parquet"], capsys)
    assert set(facts["clusters_of_groups"]) == {"01", "1", "12", "3"}
    assert pd.read_parquet("out.parquet")["zip"].tolist() == [*coded, "1", "20000"]
    facts = told(["graph", "parts", "--columns", "zip,shop", "--lam", "-0.5", "-o", "out.csv"], capsys)
    assert (facts["n_nodes"], facts["n_links"]) == (65, 62)


def test_numbers_stay_numbers(here, rng):
    frame = pd.DataFrame({"no": 7 + 3 * np.arange(60), "x": rng.normal(size=60) + 30 * (np.arange(60) % 2)})
    frame.to_csv("t.csv", index=False)
    for table in (frame, "t.csv"):
        assert kfree.cluster(table, id="no", k=2).summary().row_names.tolist() == frame["no"].tolist()


def test_nodes_are_called_as_they_are_written(here, capsys):
    (here / "edges.csv").write_text("from,to,weight\n007,008,01\n008,009,02\n7,009,1\n009,10,1\n")
    facts = told(["graph", "edges.csv", "--lam", "-0.5"], capsys)
    assert (facts["n_nodes"], facts["n_links"]) == (5, 4)
    assert {row["node"] for row in rows_of("edges.clusters.csv")} == {"007", "008", "009", "7", "10"}
    (here / "edges.csv").write_text("from,to\n2,10\n10,3\n3,2\n")
    told(["graph", "edges.csv", "--lam", "-0.5"], capsys)
    assert [row["node"] for row in rows_of("edges.clusters.csv")] == ["2", "3", "10"]  # in the order of numbers


@pytest.mark.parametrize(("links", "n_nodes"), [("2,10\n10,3\n", 3), ("2,10,1\n10,3,1\n3,4,1\n", 4)])
def test_a_few_links_are_no_matrix(links, n_nodes, here, capsys):
    names = "from,to,weight" if links.count(",") > 4 else "from,to"
    (here / "edges.csv").write_text(f"{names}\n{links}")
    facts = told(["graph", "edges.csv", "--lam", "-0.5"], capsys)
    assert (facts["n_nodes"], facts["n_links"]) == (n_nodes, n_nodes - 1)
    assert {row["node"] for row in rows_of("edges.clusters.csv")} <= {"2", "3", "4", "10"}


def test_groups_are_called_as_they_are_written(coded, here, capsys):
    command = ["hdp", "coded.csv", "--group", "shop", "--drop", "zip", "--lam-local", "9", "--lam-global", "9"]
    facts = told([*command, "--save", "m.kfree"], capsys)
    assert set(facts["clusters_of_groups"]) == {"01", "1", "12"}
    fitted = [row["cluster"] for row in rows_of("coded.clusters.csv")]
    told(["predict", "m.kfree", "coded.csv", "-o", "again.csv"], capsys)
    assert [row["cluster"] for row in rows_of("again.csv")] == fitted
    lines = (here / "coded.csv").read_text().splitlines()
    (here / "some.csv").write_text("\n".join(line for line in lines if ",01," not in line) + "\n")
    told(["predict", "m.kfree", "some.csv", "-o", "again.csv"], capsys)  # where the shops are numbers
    assert [row["cluster"] for row in rows_of("again.csv")] == [c for i, c in enumerate(fitted) if i % 3]


def test_a_row_without_a_group_is_told_by_its_number(here, rng, capsys):
    lines = [f"{'' if i == 2 else i % 7},{'' if i == 5 else 'ab'[i % 2]}" for i in range(40)]
    (here / "t.csv").write_text("\n".join(["x,shop", *lines]) + "\n")
    said = "t.csv, row 6, has no group (1 such row(s)); name the group of all rows"
    for missing in ("drop", "nearest"):
        status, _, err = outcome(["hdp", "t.csv", "--group", "shop", "--missing", missing], capsys)
        assert (status, said in err) == (1, True), err
