"""Levels that the rows of the fit did not have: an error, missing values, or rows that are new."""

import numpy as np
import pandas as pd
import pytest

import kfree
from tests.cli.conftest import outcome, rows_of, told

pytestmark = pytest.mark.filterwarnings("ignore::kfree.exceptions.DataAdvice")


@pytest.fixture
def plans():
    """A table of two clusters, and rows of which the second has a new level and the third has no value of x."""
    kind = np.arange(60) % 2
    table = pd.DataFrame({"x": 30.0 * kind + np.arange(60) / 60, "plan": np.array(["a", "b"])[kind]})
    return table, pd.DataFrame({"x": [30.0, 30.0, np.nan], "plan": ["b", "z", "b"]})


@pytest.mark.parametrize("missing", ["nearest", "mean", "drop", "error"])
def test_rows_with_new_levels_are_new_whatever_is_done_about_missing_values(missing, plans, here, capsys):
    table, further = plans
    made = kfree.cluster(table, missing=missing, k=2)
    made.save("m.kfree")
    own = made.labels[1]
    expected = {"drop": [own, -1, -1], "error": [own, -1]}.get(missing, [own, -1, own])
    further = further[: len(expected)]
    assert made.predict(further, unseen="new").tolist() == expected
    further.to_csv("new.csv", index=False)
    facts = told(["predict", "m.kfree", "new.csv", "--unseen", "new", "--scores"], capsys)
    rows = rows_of("new.clusters.csv")
    without_values = missing == "drop"
    assert [row["cluster"] for row in rows] == [str(own), "-1", "" if without_values else str(own)][: len(rows)]
    assert facts["rows"]["-1"] == 1
    assert "1 row(s) have levels that the rows of the fit did not have (new)" in facts["remarks"]
    left_out = f"1 of {len(rows)} rows have missing values and no cluster"
    assert (left_out in facts["remarks"]) == without_values
    # No values stand for those of a new row where missing ones are not filled in.
    assert [row["confidence"] == "" for row in rows][1:] == [missing in ("drop", "error"), without_values][
        : len(rows) - 1
    ]


def test_rows_of_which_every_level_is_new_are_new(here, capsys):
    table = pd.DataFrame({"a": ["x", "y"] * 30, "b": [*"pqrs"] * 15})
    made = kfree.cluster(table, k=2)
    made.save("m.kfree")
    further = pd.DataFrame({"a": ["x", "z"], "b": ["p", "z"]})
    assert made.predict(further, unseen="new").tolist() == [made.labels[0], -1]
    further.to_csv("new.csv", index=False)
    told(["predict", "m.kfree", "new.csv", "--unseen", "new", "--scores"], capsys)
    assert rows_of("new.clusters.csv")[1] == {
        "a": "z",
        "b": "z",
        "cluster": "-1",
        "confidence": "",
        "outlier_score": "",
    }


def test_new_levels_are_no_missing_values_where_these_are_an_error(plans, here, capsys):
    table, further = plans
    made = kfree.cluster(table, missing="error", k=2)
    made.save("m.kfree")
    said = r"the table has levels that the rows of the fit did not have in 1 column\(s\): 'plan' \(1\); the first is "
    for ask in (lambda: made.predict(further[:2], unseen="missing"), lambda: made.explain(further[1:2], "missing")):
        with pytest.raises(ValueError, match=said):
            ask()
    assert made.predict(further[:1], unseen="missing").tolist() == made.predict(further[:1]).tolist()
    for unseen in ("error", "missing", "new"):  # what is missing stays an error
        with pytest.raises(ValueError, match=r"missing values in 1 column\(s\): 'x' \(1\); the first is in row 3"):
            made.predict(further, unseen=unseen)
    further[:2].to_csv("new.csv", index=False)
    _, _, err = outcome(["predict", "m.kfree", "new.csv", "--unseen", "missing"], capsys)
    assert "Fit with --missing nearest, or predict with --unseen new, which labels such rows −1" in err


@pytest.mark.parametrize(
    ("levels", "further"),
    [
        (["8", "10", "XL"], ["8", "10"]),
        (["007", "12", "A1"], ["007", "12"]),
        (["true", "false", "maybe"], ["true", "false"]),
        (["2024-01-31", "2024-02-01", "never"], ["2024-02-01"]),
        (["$5", "$6", "free"], ["$6"]),
    ],
)
def test_levels_stay_text_where_a_further_file_holds_those_alone_that_look_otherwise(levels, further, here, capsys):
    lines = [f"{30 * (i % 3) + i / 60},{levels[i % 3]}" for i in range(60)]
    (here / "t.csv").write_text("\n".join(["x,size", *lines]) + "\n")
    assert outcome(["cluster", "t.csv", "--k", "3", "--save", "m.kfree", "--quiet"], capsys)[0] == 0
    expected = {row["size"]: row["cluster"] for row in rows_of("t.clusters.csv")}
    lines = [f"{30 * levels.index(size)},{size}" for size in further]
    (here / "new.csv").write_text("\n".join(["x,size", *lines]) + "\n")
    status, _, err = outcome(["predict", "m.kfree", "new.csv", "--quiet"], capsys)
    assert status == 0, err
    assert [row["cluster"] for row in rows_of("new.clusters.csv")] == [expected[size] for size in further]


@pytest.mark.parametrize("codes", [["12", "7", "3"], ["012", "007", "003"], ["12", "7", "3.5"]])
def test_a_new_level_that_is_no_number_makes_no_other_level_new(codes, here, capsys):
    lines = [f"{30 * (i % 3) + i / 60},{codes[i % 3]}" for i in range(60)]
    (here / "t.csv").write_text("\n".join(["x,code", *lines]) + "\n")
    fit = ["cluster", "t.csv", "--k", "3", "--categories", "code", "--save", "m.kfree", "--quiet"]
    assert outcome(fit, capsys)[0] == 0
    expected = {row["code"]: row["cluster"] for row in rows_of("t.clusters.csv")}
    (here / "new.csv").write_text(f"x,code\n0,{codes[0]}\n30,A1\n60,{codes[2]}\n")
    facts = told(["predict", "m.kfree", "new.csv", "--unseen", "new"], capsys)
    assert [row["cluster"] for row in rows_of("new.clusters.csv")] == [expected[codes[0]], "-1", expected[codes[2]]]
    assert facts["rows"]["-1"] == 1
