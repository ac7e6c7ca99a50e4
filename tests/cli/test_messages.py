"""Errors and remarks name what the user gave: options of the command, parameters of kfree.cluster, columns."""

import numpy as np
import pandas as pd
import pytest

import kfree
from kfree.cli.advice import in_options, in_terms_of_the_table
from kfree.core.printing import ISOLATES
from tests.cli.conftest import outcome, told


@pytest.fixture
def table(here, rng):
    """t.csv: 40 rows of two far clusters with names, and a frame of them."""
    X = rng.normal(size=(40, 2)) + 30 * (np.arange(40) % 2)[:, None]
    frame = pd.DataFrame({"who": [f"p{i}" for i in range(40)], "x": X[:, 0], "y": X[:, 1], "n": -1.0})
    frame.to_csv("t.csv", index=False)
    return frame


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("cluster t.csv --drop who --k 50", "--k 50 is more than the 40 distinct rows of X; give"),
        ("tree t.csv --drop who --k 50", "--k 50 is not allowed; give at most 40"),
        ("levels t.csv --drop who --levels 2,50", "--levels 2,50 is not allowed; give at most"),
        ("cluster t.csv --weight who", "t.csv: column 'who' of --weight holds text, not numbers"),
        ("cluster t.csv --id who --weight n", "t.csv, row 1: column 'n' of --weight holds -1 (40 such value(s))"),
        ("cluster t.csv --geo lat,lon", "t.csv has no column 'lat', 'lon' (--geo); it has 'who'"),
        ("cluster t.csv --drop who,x,y,n", "t.csv: all columns are left out, 'who', 'x', 'y', 'n' by --drop. Keep"),
        ("cluster t.csv --drop x,y,n --id who", "all columns are left out, 'x', 'y', 'n' by --drop and 'who' by --id."),
        ("cluster t.csv --id name", "t.csv has no column 'name' (--id); it has 'who'"),
        ("hdp t.csv --group shop", "t.csv has no column 'shop' (--group); it has 'who'"),
    ],
)  # fmt: skip
def test_errors_name_the_option_that_was_given(line, said, table, capsys):
    status, _, err = outcome(line.split(), capsys)
    assert status == 1
    assert said in err


def test_missing_values_are_errors_with_remedies_of_the_command(here, capsys):
    (here / "t.csv").write_text("lat,lon\n1,2\n,3\n30,4\n")
    assert outcome(["cluster", "t.csv", "--geo", "lat,lon"], capsys)[2].endswith(
        "the first is in row 2. Use --missing drop to leave such rows out.\n"
    )
    (here / "fit.csv").write_text("lat,lon\n1,2\n5,3\n30,4\n")
    outcome(["cluster", "fit.csv", "--no-encode", "--k", "2", "--save", "m.kfree"], capsys)
    assert outcome(["predict", "m.kfree", "t.csv"], capsys)[2].endswith(
        "They were an error at fit, too. Leave such rows out, or fit with --missing drop, --missing mean or --missing "
        "nearest (with --encode).\n"
    )


@pytest.mark.parametrize(
    ("change", "parameters", "said"),
    [
        ({}, {"k": 50}, "^k=50 is more than the 40 distinct rows"),
        ({}, {"weight": "who"}, "the table: column 'who' of weight holds other values, not numbers"),
        ({"n": np.nan}, {"weight": "n"}, r"the table, row 1: column 'n' of weight holds nan \(40 such"),
        (slice(0), {}, "the table has no rows; give a table with at least one"),
        (
            {},
            {"drop": ["x", "y", "n"]},
            "^the table: all columns are left out, 'x', 'y', 'n' by drop and 'who' by id",
        ),
        ([], {}, "the table has no columns; give a table with at least one"),
    ],
)
def test_errors_name_the_parameter_that_was_given(change, parameters, said, table):
    given = table.assign(**change) if isinstance(change, dict) else table[change]
    with pytest.raises(ValueError, match=said):
        kfree.cluster(
            given, **({"id": "who"} if "who" in given and parameters.get("weight") != "who" else {}) | parameters
        )


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({}, "row={} is not allowed; give a value for each of 'x', 'y'; there is none for 'x', 'y'"),
        ({"x": 1.0}, "there is none for 'y'"),
        *((row, "give the number of a row, values by column, or a table of one row") for row in (True, 3.5, None, [1])),
    ],
)
def test_what_is_no_row_is_not_explained(row, said, table):
    made = kfree.cluster(table, drop=["who", "n"], k=2)
    with pytest.raises(ValueError, match=said):
        made.explain(row)


def test_a_level_that_is_new_is_explained_as_missing(table):
    made = kfree.cluster(table.assign(plan=np.array(["a", "b"])[np.arange(40) % 2]), drop=["who", "n"], k=2)
    row = {"x": 30.0, "y": 30.0, "plan": "c"}
    with pytest.raises(ValueError, match="holds 'c'"):
        made.explain(row)
    assert made.explain(row, unseen="missing").label == made.labels[1]


def test_names_stay_on_the_line_of_their_sentence_and_do_not_turn_it(table, here, capsys):
    name, level = "first\nsecond\u202e", "\u05d2\u05d9\u05dc"
    given = table.rename(columns={"x": name}).drop(columns=["n", "who"])
    given["plan"] = np.array([level, "b\tc"])[np.arange(40) % 2]
    made = kfree.cluster(given, k=2).rename({0: "one\ntwo"})
    isolated = f"plan is {ISOLATES[0]}{level}{ISOLATES[1]} in "
    for text in (*made.sentences(), *str(made.explain(0)).splitlines()):
        assert not set("\n\t\u202e") & set(text)
    assert any(isolated in sentence for sentence in made.sentences())
    assert made.sentences()[0].startswith("one\\ntwo: 20 rows")
    assert made.name(0) == "one\ntwo"
    given.to_csv("g.csv", index=False)
    assert isolated in outcome(["cluster", "g.csv", "--k", "2"], capsys)[1]
    assert any(isolated in sentence for sentence in told(["cluster", "g.csv", "--k", "2"], capsys)["sentences"])


def test_columns_called_as_degrees_are_named(table, capsys):
    table.rename(columns={"x": "Lat", "y": "lng"}).to_csv("t.csv", index=False)
    said = "columns 'Lat' and 'lng' look like latitude and longitude; differences of degrees are not distances. "
    assert f"{said}Give --geo Lat,lng to" in outcome(["cluster", "t.csv", "--drop", "who,n", "--k", "2"], capsys)[2]
    assert "degrees" not in outcome(["cluster", "t.csv", "--geo", "Lat,lng", "--k", "2"], capsys)[2]


def test_a_cluster_that_no_column_sets_apart_is_explained_by_means(rng):
    x = np.repeat([-20.0, 0.0, 20.0], 30) + rng.normal(size=90)
    made = kfree.cluster(pd.DataFrame({"x": x, "who": [f"p{i}" for i in range(90)]}), id="who", k=3, columns="x")
    middle = made.labels[45]
    assert made.sentences()[middle].endswith("not set apart by any single column.")
    assert [name for name, *_ in made.explain(45).features] == ["x"]
    frame = made.summary().to_frame()
    assert all(name.startswith("p") for name in frame["exemplars"][middle])


def test_two_rows_get_advice_that_fits(table, capsys):
    table.head(2).to_csv("t.csv", index=False)
    err = outcome(["cluster", "t.csv", "--drop", "who,n"], capsys)[2]
    assert "Give more rows, or --k if you know the number of clusters" in err
    err = outcome(["cluster", "t.csv", "--drop", "who,n", "--model", "round"], capsys)[2]
    assert "X has 2 rows, too few for a reliable number of clusters; give --lam or --k, or more rows" in err
    assert "take(s) few values" not in err


def test_warnings_recommend_commands():
    message = "The runner-up is k=3. path_ shows all. Fit X[:, [1]] alone. Try kfree.lambda_path(X, max_k=40)."
    recommended = "The runner-up is k=3. kfree path shows all. Use --columns b alone. Try kfree path --max-k 40."
    assert in_options(in_terms_of_the_table(message, ["a", "b"])) == recommended
