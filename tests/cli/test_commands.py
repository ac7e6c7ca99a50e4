"""Every command line of the documentation runs on real files and gives what the estimators give."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import kfree
from tests.cli.conftest import outcome, rows_of, same_partition, told


def test_cluster_finds_k_and_writes_the_input_with_a_column_more(blobs_csv, capsys):
    X, y = blobs_csv
    status, out, _ = outcome(["cluster", "data.csv"], capsys)
    assert status == 0
    assert "3 clusters of 90 rows" in out
    rows = rows_of("data.clusters.csv")
    assert list(rows[0]) == ["a", "b", "c", "shop", "cluster"]
    assert [row["a"] for row in rows] == [repr(value) for value in X[:, 0].tolist()]
    assert same_partition([row["cluster"] for row in rows], y.tolist())


def test_cluster_with_every_option_on_parquet(blobs_csv, capsys, here):
    import pandas

    X, y = blobs_csv
    pandas.read_csv("data.csv").to_parquet("data.parquet")
    line = "cluster data.parquet --lam 12.5 --columns a,b,c --standardize --report report.html --save model.kfree"
    facts = told([*line.split(), "--plot", "map.png"], capsys)
    assert facts["lam"] == 12.5
    assert facts["n_clusters"] == 3
    assert sum(cluster["size"] for cluster in facts["clusters"]) == 90
    table = pandas.read_parquet("data.clusters.parquet")
    assert table.columns.tolist() == ["a", "b", "c", "shop", "cluster"]
    assert same_partition(table["cluster"].tolist(), y.tolist())
    assert "</html>" in (here / "report.html").read_text()
    assert (here / "map.png").read_bytes().startswith(b"\x89PNG")
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    expected = kfree.DPMeans(lam=12.5).fit(scaled)
    assert np.array_equal(kfree.load("model.kfree").labels, expected.labels_)
    # Means are told in the units of the file.
    means = {f["name"]: f["mean"] for f in facts["clusters"][0]["features"]}
    assert means["a"] == pytest.approx(X[expected.labels_ == 0, 0].mean())


def test_predict_gives_the_labels_of_the_fit_and_tells_columns_by_name(blobs_csv, capsys):
    outcome(["cluster", "data.csv", "--standardize", "--save", "model.kfree", "--quiet"], capsys)
    labels = [row["cluster"] for row in rows_of("data.clusters.csv")]
    # The same columns in another order, among others.
    with open("new.csv", "w") as file:
        file.write("name,c,a,b\n")
        file.writelines(f"n,{row['c']},{row['a']},{row['b']}\n" for row in rows_of("data.csv"))
    facts = told(["predict", "model.kfree", "new.csv"], capsys)
    assert [row["cluster"] for row in rows_of("new.clusters.csv")] == labels
    assert sum(facts["rows"].values()) == 90
    status, _, err = outcome(["predict", "model.kfree", "new.csv", "--allow-new"], capsys)
    assert status == 0, err


def test_predict_takes_models_that_know_no_table(blobs_csv, capsys):
    X, _ = blobs_csv
    model = kfree.DPMeans().fit(X).save("m.kfree")
    assert outcome(["predict", "m.kfree", "data.csv", "--quiet"], capsys)[:2] == (0, "")
    assert [int(row["cluster"]) for row in rows_of("data.clusters.csv")] == model.labels_.tolist()
    kfree.DPMeans().fit(X[:, :2]).save("m.kfree")
    status, _, err = outcome(["predict", "m.kfree", "data.csv"], capsys)
    assert status == 1
    assert "fitted with 2 columns and data.csv has 3" in err
    tree = kfree.AgglomerativeBayes().fit(X).save("m.kfree")
    assert outcome(["predict", "m.kfree", "data.csv", "--quiet"], capsys)[:2] == (0, "")
    assert [int(row["cluster"]) for row in rows_of("data.clusters.csv")] == tree.predict(X).tolist()
    kfree.GraphDPMeans().fit([(0, 1), (1, 2)]).save("m.kfree")
    status, _, err = outcome(["predict", "m.kfree", "data.csv"], capsys)
    assert status == 1
    assert "GraphDPMeans, which cannot label further rows" in err


def test_path_tells_the_steps(blobs_csv, capsys, here):
    X, _ = blobs_csv
    facts = told(["path", "data.csv", "--no-encode", "--plot", "path.png", "-o", "steps.csv"], capsys)
    path = kfree.lambda_path(X)
    assert facts["suggested"]["k"] == path.suggest().k == 3
    assert facts["steps"]["lam"] == path.lam.tolist()
    assert [int(row["k"]) for row in rows_of("steps.csv")] == path.k.tolist()
    assert (here / "path.png").read_bytes().startswith(b"\x89PNG")
    assert "suggested: 3 cluster(s)" in outcome(["path", "data.csv", "--no-encode"], capsys)[1]


def test_stream_takes_rows_from_standard_input(blobs_csv, capsys, monkeypatch):
    X, _ = blobs_csv
    with open("data.csv", "rb") as file:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(file.read())))
    status, out, err = outcome(["stream", "-", "--lam", "60", "--chunk", "40", "--save", "m.kfree"], capsys)
    assert status == 0, err
    model = kfree.OnlineDPMeans(lam=60.0)
    ids = [name for begin in (0, 40, 80) for name in model.partial_fit(X[begin : begin + 40]).joined_ids_.tolist()]
    expected = [f"{i},{name}" for i, name in enumerate(ids, start=1)]
    assert out.split() == ["row,cluster", *expected]
    assert f"90 row(s), {model.n_clusters_} cluster(s)" in err
    assert np.array_equal(kfree.load("m.kfree").cluster_centers_, model.cluster_centers_)


def test_stream_of_a_file_as_json_lines(blobs_csv, capsys, here):
    facts = told(["stream", "data.csv", "--lam", "60", "--format", "jsonl", "--columns", "a,b"], capsys)
    lines = [json.loads(line) for line in (here / "data.clusters.jsonl").read_text().splitlines()]
    assert [line["row"] for line in lines] == list(range(1, 91))
    assert facts["n_rows"] == 90


def test_hdp_shares_clusters_between_groups(blobs_csv, capsys):
    X, _ = blobs_csv
    facts = told(["hdp", "data.csv", "--group", "shop", "--save", "m.kfree"], capsys)
    model = kfree.HardHDP().fit(X, groups=np.repeat(["s0", "s1"], 45))
    assert facts["n_clusters"] == model.n_global_clusters_
    assert facts["clusters_of_groups"] == {"s0": 3, "s1": 3}
    rows = rows_of("data.clusters.csv")
    assert [int(row["cluster"]) for row in rows] == model.labels_.tolist()
    assert [int(row["local_cluster"]) for row in rows] == model.local_labels_.tolist()
    told(["predict", "m.kfree", "data.csv", "-o", "again.csv"], capsys)
    assert [row["cluster"] for row in rows_of("again.csv")] == [row["cluster"] for row in rows]


def _two_cliques(header):
    links = [(a, b) for part in ("abcdefgh", "stuvwxyz") for a in part for b in part if a < b]
    lines = [f"{a},{b}" for a, b in [*links, ("h", "s")]]
    return "\n".join([*header, *lines]) + "\n"


@pytest.mark.parametrize("header", [[], ["from,to"]], ids=["without names", "with names"])
def test_graph_clusters_nodes_by_name(header, here, capsys):
    (here / "edges.csv").write_text(_two_cliques(header))
    facts = told(["graph", "edges.csv", "--plot", "graph.svg", "--save", "g.kfree"], capsys)
    assert facts["certainty"] == kfree.load("g.kfree").certainty()
    assert (facts["n_nodes"], facts["n_links"], facts["n_clusters"]) == (16, 57, 2)
    clusters = {row["node"]: row["cluster"] for row in rows_of("edges.clusters.csv")}
    assert len({clusters[node] for node in "abcdefgh"}) == len({clusters[node] for node in "stuvwxyz"}) == 1
    assert b"<svg" in (here / "graph.svg").read_bytes()
    assert kfree.load("g.kfree").n_clusters_ == 2


def test_graph_takes_weights_and_numbers(here, capsys):
    (here / "edges.tsv").write_text("u\tv\tw\tnote\n0\t1\t5\tx\n1\t2\t5\tx\n2\t0\t5\tx\n2\t3\t1\tx\n3\t4\t5\tx\n")
    facts = told(["graph", "edges.tsv", "--columns", "u,v,w", "--lam", "-0.4"], capsys)
    assert facts["lam"] == -0.4
    assert pd.read_csv("edges.clusters.tsv", sep="\t")["node"].tolist() == [0, 1, 2, 3, 4]
    status, _, err = outcome(["graph", "edges.tsv"], capsys)
    assert status == 1
    assert "--columns FROM,TO" in err


def test_levels_are_written_drawn_and_told(blobs_csv, capsys, here):
    X, _ = blobs_csv
    model = kfree.NestedDPMeans((2, 3)).fit(X)
    line = ["levels", "data.csv", "--no-encode", "--levels", "2,3", "--report", "page.html", "--tree", "tree.nwk"]
    facts = told(line, capsys)
    assert facts["levels"] == [2, 3]
    rows = rows_of("data.clusters.csv")
    assert [int(row["cluster"]) for row in rows] == model.labels_.tolist()
    assert [int(row["group_0"]) for row in rows] == model.level_labels_[0].tolist()
    assert (here / "tree.nwk").read_text().strip() == facts["tree"] == model.tree_.to_newick()
    assert "Open a group" in (here / "page.html").read_text()
    assert "one level, no groups of clusters: 3 cluster(s)" in outcome(["levels", "data.csv", "--no-encode"], capsys)[1]
    status, _, err = outcome(["levels", "data.csv", "--levels", "3,2"], capsys)
    assert status == 1
    assert "coarsest level first" in err


def test_tree_is_drawn_and_cut(blobs_csv, capsys, here):
    X, y = blobs_csv
    facts = told(["tree", "data.csv", "--plot", "tree.png", "--names", "shop"], capsys)
    assert facts["suggested"] == facts["n_clusters"] == 3
    assert same_partition([row["cluster"] for row in rows_of("data.clusters.csv")], y.tolist())
    assert (here / "tree.png").read_bytes().startswith(b"\x89PNG")
    facts = told(["tree", "data.csv", "--no-encode", "--k", "5"], capsys)
    assert [int(row["cluster"]) for row in rows_of("data.clusters.csv")] == kfree.AgglomerativeBayes().fit(X).cut(
        5
    ).tolist()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("gaps", [False, True], ids=["all named", "some without a name"])
def test_rows_are_named_by_dates(gaps, ending, blobs_csv, capsys, here):
    table = pd.read_csv("data.csv").drop(columns="shop")
    table["day"] = pd.date_range("2024-01-01", periods=90)
    table.loc[: 59 if gaps else -1, "day"] = None
    table.to_csv("days.csv", index=False)
    table.to_parquet("days.parquet")
    facts = told(["cluster", f"days.{ending}", "--id", "day", "--k", "3", "--report", "page.html"], capsys)
    names = {name for cluster in facts["clusters"] for name in cluster["exemplars"]}
    assert names <= {"(no name)", *pd.date_range("2024-01-01", periods=90).strftime("%Y-%m-%d")}
    assert ("(no name)" in names) == gaps
    made = kfree.cluster(table, id="day", k=3)
    assert {name for names in made.summary().to_frame()["exemplars"] for name in names} == names
    assert made.report("frame.html").certainty in (here / "frame.html").read_text()
    assert steps_of(here / "page.html")["row_numbers"][-1] == "2024-03-30"


def test_quiet_prints_nothing(blobs_csv, capsys):
    assert outcome(["cluster", "data.csv", "--quiet"], capsys) == (0, "", "")


def test_json_goes_with_data_on_standard_output(blobs_csv):
    with open("data.csv", "rb") as file:
        command = [sys.executable, "-m", "kfree", "cluster", "-", "--json", "--k", "3"]
        done = subprocess.run(command, stdin=file, capture_output=True, check=True)
    lines = done.stdout.decode().splitlines()
    assert lines[0] == "a,b,c,shop,cluster"
    assert len(lines) == 91
    assert json.loads(done.stderr[done.stderr.index(b"{") :])["n_clusters"] == 3


def test_a_pipe_is_read_as_standard_input_is(blobs_csv, capsys):
    """As <(…) of a shell and /dev/stdin are; a library cannot read it twice."""
    text = Path("data.csv").read_bytes()
    told(["cluster", "data.csv", "--k", "3", "--save", "model.kfree"], capsys)
    expected = rows_of("data.clusters.csv")
    os.mkfifo("pipe")

    def piped(command):
        writer = Thread(target=lambda: Path("pipe").write_bytes(text))
        writer.start()
        result = outcome(command.split(), capsys)
        writer.join()
        return result

    for command in ("cluster pipe --k 3 -o piped.csv", "predict model.kfree pipe -o piped.csv"):
        assert piped(command)[0] == 0
        assert rows_of("piped.csv") == expected
    assert "--output is needed where the input is a pattern or a pipe" in piped("cluster pipe")[2]
    with pytest.raises(ValueError, match="pipe is a pipe, which can be read only once. Write its rows to a file first"):
        kfree.open_rows("pipe")


@pytest.mark.parametrize(
    "arguments",
    [
        "cluster",
        "cluster data.csv --lam -3",
        "cluster data.csv --lam nan",
        "cluster data.csv --lam 3 --k 2",
        "cluster data.csv --k 0",
        "cluster data.csv --delimiter ab",
        "cluster data.csv -o - --format parquet",
        "cluster data.csv --plot map.txt",
        "stream data.csv --lam 3 --format parquet",
        "hdp data.csv",
        "cluster data.csv --misssing drop",
        "nothing",
    ],
)
def test_faults_of_the_command_line_have_status_2(arguments, blobs_csv, capsys):
    status, _, err = outcome(arguments.split(), capsys)
    assert status == 2
    assert "usage: kfree" in err


def test_help_imports_nothing_heavy():
    code = "import sys, kfree.cli\ntry: kfree.cli.main(['--help'])\nexcept SystemExit: pass\n"
    code += "assert not {'numpy', 'sklearn', 'pyarrow', 'matplotlib'} & set(sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "cluster" in done.stdout


def test_an_interrupted_command_says_so(blobs_csv, capsys, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(kfree.DPMeans, "fit", interrupt)
    status, _, err = outcome(["cluster", "data.csv", "--quiet"], capsys)
    assert status == 130
    assert "interrupted" in err


def test_predict_refuses_a_model_that_was_cut_or_is_none(blobs_csv, capsys, here):
    outcome(["cluster", "data.csv", "--lam", "60", "--save", "m.kfree", "--quiet"], capsys)
    whole = (here / "m.kfree").read_bytes()
    for content, message in [(whole[:-300], "was cut short"), (b"a,b\n1,2\n", "is no kfree model"), (b"", "is empty")]:
        (here / "m.kfree").write_bytes(content)
        status, _, err = outcome(["predict", "m.kfree", "data.csv"], capsys)
        assert status == 1
        assert f"m.kfree {message}" in err
    status, _, err = outcome(["predict", "missing.kfree", "data.csv"], capsys)
    assert (status, "missing.kfree does not exist" in err) == (1, True)


def test_thousands_of_columns_are_clustered(here, capsys, rng):
    X = rng.normal(size=(30, 2_000)) + 40.0 * (np.arange(30) % 2)[:, None]
    with open("wide.csv", "w") as file:
        file.write(",".join(f"c{j}" for j in range(2_000)) + "\n")
        file.writelines(",".join(f"{value:.3f}" for value in row) + "\n" for row in X)
    facts = told(["cluster", "wide.csv", "--k", "2"], capsys)
    assert [cluster["size"] for cluster in facts["clusters"]] == [15, 15]


def steps_of(page):
    text = page.read_text().split('id="data">')[1].split("</script>")[0]
    return json.loads(text)


def test_every_command_with_clusters_writes_a_report(blobs_csv, here, capsys):
    for line in ["path data.csv", "hdp data.csv --group shop", "tree data.csv"]:
        facts = told([*line.split(), "--report", "r.html"], capsys)
        page = steps_of(here / "r.html")
        own = next(step for step in page["steps"] if step["own"])
        assert own["k"] == (facts["suggested"]["k"] if line.startswith("path") else facts["n_clusters"])
        assert sum(cluster["size"] for cluster in own["clusters"]) == 90
    assert [step["k"] for step in page["steps"]] == [50, 30, 20, 15, 12, *range(10, 0, -1)]
    assert page["steps"][-1]["note"].startswith("free energy")
    (here / "links.csv").write_text("a,b\n" + "".join(f"n{i},n{i + 1}\nn{i},n{i + 2}\n" for i in range(12)))
    facts = told(["graph", "links.csv", "--report", "r.html"], capsys)
    page = steps_of(here / "r.html")
    assert (page["word"], page["n_rows"], len(page["steps"])) == ("node", 14, 1)
    assert page["steps"][0]["k"] == facts["n_clusters"]
    assert {"n0", "n13"} <= set(page["points"]["rows"])


def test_a_tree_tells_the_free_energy_of_its_cut(blobs_csv, capsys):
    X, _ = blobs_csv
    tree = kfree.AgglomerativeBayes().fit(X)
    line = ["tree", "data.csv", "--no-encode"]
    assert f"free energy {tree.free_energy_:.6g} nats" in outcome(line, capsys)[1]
    assert f"free energy {tree.free_energy_path_[-5]:.6g} nats" in outcome([*line, "--k", "5"], capsys)[1]


def test_scores_of_a_tree_are_those_of_its_labels(blobs_csv, here, capsys):
    """Scores are of the clusters that the evidence suggests, and --k cuts the tree elsewhere."""
    X, _ = blobs_csv
    status, _, err = outcome(["tree", "data.csv", "--k", "2", "--scores"], capsys)
    assert (status, (here / "data.clusters.csv").exists()) == (2, False)
    assert "--scores are those of the clusters that the evidence suggests, and --k cuts the tree elsewhere" in err
    assert "leave --k out, or use kfree cluster --k 2 --scores" in err
    assert outcome(["tree", "data.csv", "--no-encode", "--scores", "--quiet"], capsys)[0] == 0
    rows, tree = rows_of("data.clusters.csv"), kfree.AgglomerativeBayes().fit(X)
    assert [int(row["cluster"]) for row in rows] == tree.labels_.tolist()
    np.testing.assert_allclose([float(row["confidence"]) for row in rows], tree.confidence(X))


def test_warnings_name_columns_and_options(here, rng, capsys):
    rows = rng.normal(size=(60, 2)) * [1.0, 5000.0]
    (here / "t.csv").write_text("height,income\n" + "".join(f"{a},{b}\n" for a, b in rows))
    err = outcome(["cluster", "t.csv", "--no-encode", "--model", "round"], capsys)[2]
    assert "column 'income' decide(s) the clusters" in err
    assert "for example with --encode" in err
    (here / "t.csv").write_text("a,b\n1.5,2\n3,4.5\n")
    assert (
        "give --lam or --k, or more rows" in outcome(["cluster", "t.csv", "--no-encode", "--model", "round"], capsys)[2]
    )


def test_places_are_clustered_on_the_globe(here, capsys):
    rng = np.random.default_rng(0)
    centres = np.array([[52.5, 13.4], [-36.8, 179.9], [-17.7, -179.95]])
    X = centres[np.arange(90) % 3] + 0.2 * rng.normal(size=(90, 2))
    X[:, 1] = (X[:, 1] + 180) % 360 - 180
    lines = ["lat,lon,other", *(f"{a!r},{b!r},{i}" for i, (a, b) in enumerate(X.tolist()))]
    (here / "places.csv").write_text("\n".join(lines))
    facts = told(["cluster", "places.csv", "--geo", "lat,lon", "--save", "model.kfree"], capsys)
    assert facts["n_clusters"] == 3
    found = [row["cluster"] for row in rows_of("places.clusters.csv")]
    assert same_partition(found, (np.arange(90) % 3).tolist())
    status, _, _ = outcome(["predict", "model.kfree", "places.csv", "-o", "again.csv"], capsys)
    assert status == 0
    assert [row["cluster"] for row in rows_of("again.csv")] == found
    for wrong, said in (
        (["--geo", "lat"], "--geo lat is not allowed; give two columns, latitude and longitude"),
        (
            ["--geo", "lat,lon", "--standardize"],
            "--standardize is not allowed; give none with --geo",
        ),
        (["--geo", "lat,lon", "--columns", "other"], "--columns other is not allowed; give none with --geo"),
        (["--geo", "lat,lon", "--weights", "lat=2"], "--weights: {'lat': 2.0} is not allowed; give none with --geo"),
        (["--geo", "lat,lon", "--metric", "cosine"], "--metric cosine is not allowed; give none with --geo"),
        (["--k", "2", "--lam", "3"], "--k and --lam both set the number of clusters; give one of them"),
        (
            ["--geo", "lat,lon", "--missing", "nearest"],
            "--missing nearest is not allowed; give another with --geo, which uses",
        ),
        (["--no-encode", "--missing", "nearest"], "--missing nearest needs --encode; give that, or another --missing"),
        (["--no-encode", "--fold-levels"], "--categories and --fold-levels need --encode; give that, or leave them"),
        (["--thousands", "x"], "--thousands 'x' is not allowed; give one of"),
        (["--geo", "lon,lat"], "Give 'lat' first"),
    ):
        status, _, err = outcome(["cluster", "places.csv", *wrong], capsys)
        assert status == 2
        assert said in err


def test_an_option_that_exists_is_not_taken_for_another(blobs_csv, capsys):
    for given, meant in [("--threads", ""), ("--thraeds", "--threads"), ("--weights", "--weight")]:
        status, _, err = outcome(["cluster", "data.csv", given, "x"], capsys)
        assert status == 2
        assert (f"did you mean {meant}?" in err) if meant else ("did you mean" not in err)
