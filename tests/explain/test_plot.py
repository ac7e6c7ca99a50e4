"""Pictures: every estimator has one, and what is drawn is what was found."""

import io
from xml.etree import ElementTree

import numpy as np
import pytest

from kfree import (
    AgglomerativeBayes,
    BayesianKMeans,
    DPMeans,
    GraphDPMeans,
    HardHDP,
    KernelDPMeans,
    KMeans,
    OnlineDPMeans,
    SpectralDPMeans,
    plot,
)

figure = pytest.importorskip("matplotlib.figure")

CENTRES = np.array([[0.0, 0.0, 0.0], [15.0, 0.0, 0.0], [0.0, 15.0, 5.0]])
ESTIMATORS = {
    "DPMeans": DPMeans(lam=150.0),
    "KMeans": KMeans(3, random_state=0),
    "OnlineDPMeans": OnlineDPMeans(lam=150.0),
    "KernelDPMeans": KernelDPMeans(lam=5.0),
    "HardHDP": HardHDP(lam_local=30.0, lam_global=30.0),
    "SpectralDPMeans": SpectralDPMeans(),
    "BayesianKMeans": BayesianKMeans(),
    "AgglomerativeBayes": AgglomerativeBayes(),
}


@pytest.fixture
def ax():
    return figure.Figure().add_subplot()


@pytest.fixture
def X(rng):
    return np.vstack([rng.normal(size=(n, 3)) + c for n, c in zip([30, 20, 25], CENTRES, strict=True)])


def numbers(ax):
    return [text.get_text() for text in ax.texts]


@pytest.mark.parametrize("n_columns", [1, 2, 3])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_scatter_of_every_estimator(name, n_columns, X, ax):
    model = ESTIMATORS[name].fit(X[:, :n_columns])
    assert model.plot(X[:, :n_columns], ax=ax) is ax
    assert numbers(ax) == [str(c) for c in range(model.n_clusters_)]
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == [f"{c} ({n})" for c, n in enumerate(np.bincount(model.labels_))][:12]
    drawn = sum(len(points.get_offsets()) for points in ax.collections)
    assert drawn == len(X) + model.n_clusters_  # an exemplar each is drawn again
    ax.figure.canvas.draw()


@pytest.mark.parametrize("kind", ["sizes", "profiles"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_numbers_of_every_estimator(name, kind, X, ax):
    model = ESTIMATORS[name].fit(X)
    model.plot(X, kind=kind, ax=ax).figure.canvas.draw()
    if kind == "sizes":
        assert [int(text.split()[0]) for text in numbers(ax)] == np.bincount(model.labels_).tolist()
    else:
        features = {feature.name: feature.effect for feature in model.summary(X).clusters[0].features}
        assert numbers(ax)[:3] == [f"{features[name]:+.1f}" for name in ("x0", "x1", "x2")]


def test_names_of_columns_and_both_orders_of_arguments(X, ax):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X[:, :2], columns=["age", "income"])
    model = DPMeans(lam=150.0).fit(frame)
    assert (model.plot(frame, ax=ax).get_xlabel(), ax.get_ylabel()) == ("age", "income")
    plot.clusters(frame, model, ax)
    assert plot.voronoi(model, frame, figure.Figure().add_subplot()).get_xlabel() == "age"


def test_more_columns_are_drawn_by_components(X, ax):
    DPMeans(lam=150.0).fit(X).plot(X, ax=ax)
    assert ax.get_xlabel().startswith("component 1 (")
    spread = np.vstack([points.get_offsets() for points in ax.collections]).std(axis=0)
    assert spread[0] > spread[1]


def test_regions_are_predictions(X, ax):
    model = KMeans(3, random_state=0).fit(X[:, :2])
    model.plot(X[:, :2], kind="voronoi", ax=ax)
    image = ax.images[0]
    west, east, south, north = image.get_extent()
    colour = image.get_array()
    for row, label in zip(X[:, :2], model.labels_, strict=True):
        i = round((row[1] - south) / (north - south) * (colour.shape[0] - 1))
        j = round((row[0] - west) / (east - west) * (colour.shape[1] - 1))
        np.testing.assert_allclose(colour[i, j], plot.colours(3)[label])


@pytest.mark.parametrize("n_rows", [1_000, 20_000])
def test_the_rows_of_every_cluster_can_be_seen(n_rows, rng):
    backend = pytest.importorskip("matplotlib.backends.backend_agg")
    y = np.arange(n_rows) % 10  # as many clusters as there are markers
    X = rng.normal(size=(n_rows, 2)) + 30.0 * np.column_stack([y % 5, y // 5])
    model = KMeans(10, init=30.0 * np.column_stack([np.arange(10) % 5, np.arange(10) // 5])).fit(X)
    ax = figure.Figure(figsize=(5, 4)).add_subplot()
    canvas = backend.FigureCanvasAgg(ax.figure)
    model.plot(X, ax=ax)
    for drawn in (*ax.texts, ax.get_legend()):  # numbers and legend have the colours of the rows
        drawn.remove()
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())[..., :3].reshape(-1, 3) / 255
    for colour in plot.colours(10):
        seen = np.abs(pixels - (0.8 * colour + 0.2)).max(axis=1) < 0.1
        assert seen.sum() > 40


def test_borders_are_drawn_once(X, ax):
    model = DPMeans(lam=1.0).fit(X[:, :2])
    assert model.n_clusters_ > 5
    model.plot(X[:, :2], kind="voronoi", ax=ax)
    lines = [drawn for drawn in ax.collections if hasattr(drawn, "levels")]
    assert len(lines) == len(np.unique(model.labels_)) - 1
    assert {len(line.levels) for line in lines} == {1}


def test_rows_left_out_are_drawn_apart(X, ax):
    model = KMeans(3, noise=0.1, random_state=0).fit(X)
    model.plot(X, ax=ax)
    assert ax.get_legend().get_texts()[0].get_text() == "none (7)"


def test_what_bars_and_profiles_leave_out_is_told(rng, X, ax):
    model = DPMeans(target_k=3, noise=0.04).fit(X)
    n_noise = int((model.labels_ < 0).sum())
    assert model.plot(X, kind="sizes", ax=ax).get_xlabel() == f"rows ({n_noise} rows in no cluster)"
    assert KMeans(3, random_state=0).fit(X).plot(X, kind="sizes", ax=ax).get_xlabel() == "rows"
    assert "columns" not in KMeans(3, random_state=0).fit(X).plot(X, kind="profiles", ax=ax).get_title()
    wide = np.hstack([X, rng.normal(size=(len(X), 20))])
    title = KMeans(3, random_state=0).fit(wide).plot(wide, kind="profiles", ax=ax).get_title()
    assert title.endswith("12 of 23 columns, with the largest differences")


def test_staircase_tree_and_graph(rng, X, ax):
    model = DPMeans().fit(X)
    assert model.plot(kind="staircase", ax=ax).get_xlabel().startswith("lam")
    assert "free energy" in AgglomerativeBayes().fit(X).plot(ax=figure.Figure().add_subplot()).get_ylabel()
    edges = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "e"), ("e", "f"), ("f", "d")]
    graph = GraphDPMeans(lam=-0.4).fit(edges)
    assert numbers(graph.plot(ax=figure.Figure().add_subplot())) == list("abcdef")
    assert numbers(graph.plot(ax=figure.Figure().add_subplot(), names=False)) == []


@pytest.mark.parametrize("n_rows", [40, 300])
def test_the_inside_of_a_tree_can_be_seen(n_rows, rng, ax):
    y = np.arange(n_rows) % 3
    tree = AgglomerativeBayes().fit(rng.normal(size=(n_rows, 3)) + 12 * np.eye(3)[y])
    tree.plot(ax=ax)
    assert tree.n_clusters_ == 3
    ax.figure.canvas.draw()
    drawn = tree.linkage_[-60:, 2]
    inside = np.column_stack([np.zeros(2), [drawn[drawn > 0][0], drawn[-3]]])
    low, high = ax.get_ylim()
    axis = ax.transData.transform([[0, low], [0, high]])[:, 1]
    seen = ax.transData.transform(inside)[:, 1]
    assert 0.4 < (seen[1] - seen[0]) / (axis[1] - axis[0]) < 0.6
    assert ax.transData.inverted().transform([[0, seen[1]]])[0, 1] == pytest.approx(drawn[-3])


def test_a_tree_has_the_colours_of_its_labels(rng, ax):
    from matplotlib.colors import to_rgb

    X = np.vstack([rng.normal(size=(10, 2)), rng.normal(size=(25, 2)) + 40.0])
    tree = AgglomerativeBayes().fit(X)
    tree.plot(ax=ax)
    n_links = {}
    for lines in ax.collections:
        colour = tuple(np.round(to_rgb(lines.get_color()[0]), 2))
        n_links[colour] = n_links.get(colour, 0) + len(lines.get_paths())
    assert [n_links[tuple(np.round(c, 2))] for c in plot.colours(2)] == [24, 9]


def test_neighbouring_colours_differ_in_grey_or_marker_and_stand_out_from_both_grounds():
    grey = plot.colours(30) @ [0.299, 0.587, 0.114]
    assert grey.min() > 0.2
    assert grey.max() < 0.8


def test_the_style_in_use_gives_the_ink(X):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    for style, ink in {"default": "black", "dark_background": "white"}.items():
        with pyplot.style.context(style):
            ax = DPMeans(lam=150.0).fit(X).plot(X, ax=figure.Figure().add_subplot())
        assert ax.texts[0].get_color() == ink


def test_what_cannot_be_drawn(X, ax):
    model = DPMeans(lam=150.0).fit(X)
    for kind, said in {
        "staircase": "has no path",
        "dendrogram": "has no tree",
        "graph": "has no graph",
        "voronoi": "two columns; X has 3",
        "scater": "did you mean 'scatter'",
    }.items():
        with pytest.raises(ValueError, match=said):
            model.plot(X, kind=kind, ax=ax)
    with pytest.raises(ValueError, match="has no predict"):
        GraphDPMeans(lam=-0.4).fit([(0, 1), (1, 2), (2, 0)]).plot(kind="voronoi", ax=ax)
    assert AgglomerativeBayes().fit(X[:, :2]).plot(X[:, :2], kind="voronoi", ax=ax) is ax
    with pytest.raises(ValueError, match="precomputed values have none"):
        KernelDPMeans(lam=9.0, kernel="precomputed").fit(X @ X.T).plot(X @ X.T, kind="profiles", ax=ax)


HOSTILE = ["<script>-->]]>\x1b[31m\x00\ufffe\ud800\n", "$$", r"$\frac{1}$ or US$"]


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_names_are_drawn_as_they_are_in_a_sound_svg_file(name, X):
    """A dollar begins no formula, and what XML does not allow is escaped."""
    model, names = DPMeans(lam=150.0).fit(X[:, :2]), [name, "b"]
    tree = AgglomerativeBayes().fit(X)
    graph = GraphDPMeans(lam=-0.6).fit([(f"{name}{a}", f"{name}{b}") for a, b in [(0, 1), (1, 2), (0, 2), (2, 3)]])
    for draw in (
        lambda ax: plot.clusters(model, X[:, :2], ax, feature_names=names),
        lambda ax: plot.profiles(model, X[:, :2], ax, feature_names=names),
        lambda ax: plot.dendrogram(tree.linkage_, 3, names=[name] * len(X), labels=tree.labels_, ax=ax),
        lambda ax: plot.graph(graph, ax),
    ):
        drawn, file = figure.Figure().add_subplot(), io.BytesIO()
        draw(drawn).figure.savefig(file, format="svg")
        tags = {element.tag for element in ElementTree.fromstring(file.getvalue()).iter()}
        assert not any("script" in str(tag) for tag in tags)
