"""How sure, in words, and a sentence per cluster: printed, as JSON and on the page; names of rows and of clusters."""

import json

import numpy as np
import pandas as pd
import pytest

import kfree
from tests.cli.conftest import outcome, rows_of, told


@pytest.fixture
def named_csv(here, rng):
    """people.csv: three far clusters, with a name for each row."""
    X = rng.normal(size=(90, 2)) + 20.0 * np.eye(3, 2)[np.arange(90) % 3]
    frame = pd.DataFrame({"who": [f"p{i}" for i in range(90)], "height": X[:, 0], "width": X[:, 1]})
    frame.to_csv("people.csv", index=False)
    return frame


def data_of(page):
    return json.loads(page.read_text().split('id="data">')[1].split("</script>")[0])


def test_certainty_and_sentences_are_printed_and_are_on_the_page(named_csv, here, capsys):
    line = ["cluster", "people.csv", "--id", "who", "--report", "r.html"]
    out = outcome(line, capsys)[1]
    assert out.splitlines()[1] == "3 clusters, clear"
    facts = told(line, capsys)
    assert facts["certainty"] == "3 clusters, clear"
    assert all(sentence in out for sentence in facts["sentences"])
    assert facts["sentences"][0].startswith("Cluster 0: 30 rows (33 %); ")
    members = [row["who"] for row in rows_of("people.clusters.csv") if row["cluster"] == "0"]
    assert set(facts["clusters"][0]["exemplars"]) <= set(members)
    page = data_of(here / "r.html")
    assert page["certainty"] == "3 clusters, clear"
    own = next(step for step in page["steps"] if step["own"])
    assert own["clusters"][0]["exemplars"] == facts["clusters"][0]["exemplars"]
    assert facts["sentences"][0].endswith(f"; {own['sentences'][0]}.")


def test_a_number_that_is_asked_for_is_compared_with_the_data(named_csv, capsys):
    facts = told(["cluster", "people.csv", "--k", "2", "--drop", "who"], capsys)
    assert facts["certainty"] == "2 clusters, as asked for; without --k: 3 clusters, clear"


def test_the_model_can_be_chosen(named_csv, capsys):
    line = ["cluster", "people.csv", "--id", "who", "--save", "m.kfree"]
    assert "model: round" in outcome(line, capsys)[1]
    assert type(kfree.load("m.kfree").model) is kfree.AutoCluster
    assert "penalty of a cluster: lam = " in outcome([*line, "--model", "round"], capsys)[1]
    assert type(kfree.load("m.kfree").model) is kfree.DPMeans


def test_a_clustering_of_python_labels_further_files_with_its_names(named_csv, capsys):
    made = kfree.cluster(named_csv, id="who", model="round").rename({1: "Tall"})
    made.save("c.kfree")
    outcome(["predict", "c.kfree", "people.csv"], capsys)
    rows = rows_of("people.clusters.csv")
    assert [int(row["cluster"]) for row in rows] == made.labels.tolist()
    assert {row["cluster_name"] for row in rows if row["cluster"] == "1"} == {"Tall"}
    assert {row["cluster_name"] for row in rows if row["cluster"] == "0"} == {""}


def test_the_path_prints_evidence(named_csv, capsys):
    out = outcome(["path", "people.csv", "--no-encode"], capsys)[1]
    path = kfree.lambda_path(named_csv[["height", "width"]].to_numpy())
    suggested = next(line for line in out.splitlines() if line.endswith("suggested"))
    assert f"{path.evidence[2]:.1f}" in suggested.split()
    assert f"{path.weakest[2]:.1f}" in suggested.split()
    assert "100%" in suggested.split()
    assert "3 clusters, clear" in out
    facts = told(["path", "people.csv", "--no-encode"], capsys)
    assert facts["steps"]["evidence"][2] == path.evidence[2]
    assert facts["certainty"] == "3 clusters, clear"


def test_few_rows_are_not_judged_in_the_words_of_the_command(here, rng, capsys):
    (here / "t.csv").write_text("a,b\n" + "".join(f"{a:.3f},{b:.3f}\n" for a, b in rng.normal(size=(12, 2))))
    facts = told(["cluster", "t.csv"], capsys)
    assert facts["certainty"].startswith("not judged: there are fewer than 24 distinct rows.")
    assert any("kfree judges at least 24 distinct rows, and the table has 12" in remark for remark in facts["remarks"])
