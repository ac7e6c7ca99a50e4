"""Clusters of clusters: planted hierarchies, flat clusters, real sets and time.

A planted node has children whose centres are drawn from a Gaussian and scaled. The nearest two are ``separation`` times
as far apart as the widest child is wide. Its width is the standard deviation of its rows by column, times d^(1/4), the
scale at which distances tell clusters of d columns apart. Sizes of clusters differ by factors up to e².

Usage: ``python benchmarks/nested.py planted | flat | pull | judge | real | time``. Real sets need KFREE_DATA.
"""

import os
import sys
import time
import warnings

import numpy as np
from scipy.cluster.hierarchy import linkage as scipy_linkage
from sklearn.metrics import adjusted_rand_score

from kfree import AgglomerativeBayes, DPMeans, NestedDPMeans
from kfree.metrics import dendrogram_purity

COLUMNS = (2, 16, 128)
SEPARATIONS = (3, 5, 8)


def centres(n, d, gap, rng):
    """n points from a Gaussian, none nearer to the mean of all than chance has it, the nearest two ``gap`` apart."""
    best = max((rng.standard_normal((n, d)) for _ in range(20)), key=_nearest)
    return best * (gap / _nearest(best))


def _nearest(points):
    gaps = ((points[:, None] - points) ** 2).sum(axis=2) + np.diag(np.full(len(points), np.inf))
    return float(np.sqrt(gaps.min()))


def planted(branching, d, separation, rng, rows=60):
    """Rows, and their labels at each level; ``branching`` has the least and the most children by level."""

    def grown(level):
        if level == len(branching):
            return np.zeros((1, d)), [()], 1.0
        n = rng.randint(branching[level][0], branching[level][1] + 1)
        parts = [grown(level + 1) for _ in range(n)]
        width = max(part[2] for part in parts)
        places = centres(n, d, separation * width * d**0.25, rng)
        points = np.vstack([place + part[0] for place, part in zip(places, parts, strict=True)])
        paths = [(i, *path) for i, part in enumerate(parts) for path in part[1]]
        return points, paths, float(np.sqrt(((points - points.mean(axis=0)) ** 2).mean() + 1.0))

    points, paths, _ = grown(0)
    sizes = (rows * np.exp(rng.uniform(-1, 1, len(points)))).astype(int) + 5
    y = np.repeat(np.arange(len(points)), sizes)
    labels = [
        np.unique([path[: j + 1] for path in paths], axis=0, return_inverse=True)[1] for j in range(len(branching))
    ]
    return points[y] + rng.standard_normal((len(y), d)), [own.ravel()[y] for own in labels]


TWO = [(3, 12), (3, 10)]
THREE = [(3, 5), (3, 5), (3, 5)]


def recovered(branching, d, separation, n_sets, **settings):
    """Shares of sets with the right number of levels; with all numbers right; mean ARI by level of the latter."""
    levels = exact = 0
    ari = []
    for seed in range(n_sets):
        X, truth = planted(branching, d, separation, np.random.RandomState(seed))
        model = NestedDPMeans(random_state=0, n_threads=1, **settings).fit(X)
        levels += len(model.levels_) == len(truth)
        if model.levels_ == tuple(len(np.unique(y)) for y in truth):
            exact += 1
            ari.append([adjusted_rand_score(y, own) for y, own in zip(truth, model.level_labels_, strict=True)])
    shown = ", ".join(f"{value:.3f}" for value in np.mean(ari, axis=0)) if ari else "–"
    return f"{levels}/{n_sets} | {exact}/{n_sets} | {shown}"


def run_planted(n_sets):
    """Both weights of clusters, two and three levels."""
    print("| levels | columns | separation | group_weight | levels right | all numbers right | ARI by level |")
    print("|---|---|---|---|---|---|---|")
    for branching in (TWO, THREE):
        for d in COLUMNS:
            for separation in SEPARATIONS:
                for group_weight in ("clusters", "rows"):
                    found = recovered(branching, d, separation, n_sets, group_weight=group_weight)
                    print(f"| {len(branching)} | {d} | {separation} | {group_weight} | {found} |", flush=True)


def run_flat(n_sets):
    """Clusters without groups: 9 to 60 of them, nearest two at the separation, or anywhere."""
    print("| columns | separation | one level | number of clusters right |")
    print("|---|---|---|---|")
    for d in COLUMNS:
        for separation in SEPARATIONS:
            one = right = 0
            for seed in range(n_sets):
                X, (y,) = planted([(9, 60)], d, separation, np.random.RandomState(1000 + seed))
                found = NestedDPMeans(random_state=0, n_threads=1).fit(X).levels_
                one += len(found) == 1
                right += found[-1] == len(np.unique(y))
            print(f"| {d} | {separation} | {one}/{n_sets} | {right}/{n_sets} |", flush=True)


def run_pull(n_sets):
    """The share behind tau="auto": rows keep their clusters while it is small."""
    import kfree.search.nested.levels as levels

    print("| share | columns | group_weight | levels right | all numbers right | ARI by level |")
    print("|---|---|---|---|---|---|")
    for share in (0.001, 0.01, 0.1, 1.0):
        levels.PULL = share
        for d in COLUMNS[:2]:
            for group_weight in ("clusters", "rows"):
                found = recovered(TWO, d, 5, n_sets, group_weight=group_weight)
                print(f"| {share} | {d} | {group_weight} | {found} |", flush=True)


def run_judge(n_sets):
    """Evidence for groups of 6 to 60 points without groups, and of 9 to 25 with groups: shares above thresholds."""
    from kfree.engines.registry import open_local
    from kfree.objectives.dp_means import DPMeansObjective
    from kfree.search.nested.judge import judged

    def evidence(points):
        opened = open_local("native", points, weight=np.ones(len(points)))
        return judged(opened, DPMeansObjective(0.0), np.random.RandomState(0)).evidence

    def drawn(kind, d, rng):
        if kind == "one Gaussian":
            return rng.standard_normal((rng.randint(6, 61), d))
        if kind == "one Gaussian, apart":
            return centres(rng.randint(6, 61), d, 5.0, rng)
        X, (_, y) = planted([(3, 5), (3, 5)], d, 5, rng, rows=20)
        return np.array([X[y == c].mean(axis=0) for c in np.unique(y)])

    print("| points | columns | above 2 | above 2.5 | above 3 |\n|---|---|---|---|---|")
    for kind in ("one Gaussian", "one Gaussian, apart", "groups"):
        for d in COLUMNS:
            found = np.array([evidence(drawn(kind, d, np.random.RandomState(seed))) for seed in range(n_sets)])
            shares = " | ".join(f"{np.mean(found > limit):.0%}" for limit in (2, 2.5, 3))
            print(f"| {kind} | {d} | {shares} |", flush=True)


def real_sets():
    """Name: rows, metric, labels by level (None where there are none), numbers of nodes by level."""
    folder = os.path.join(os.environ["KFREE_DATA"], "real")

    def load(name):
        data = np.load(os.path.join(folder, f"{name}.npz"))
        return data["X"].astype(np.float64), data["y"]

    X, area = load("olive_area9")
    region = load("olive_region3")[1]
    yield "olive oils", (X - X.mean(axis=0)) / X.std(axis=0), "euclidean", (region, area), (3, 9)
    X, intent = load("banking77_wordllama")
    yield "banking77", X, "cosine", (None, intent), (10, 77)
    X, group = load("mini20newsgroups_wordllama")
    # alt, comp, misc, rec, sci, soc, talk: the first word of the names, which are in alphabetical order.
    first = np.repeat(np.arange(7), [1, 5, 1, 4, 4, 1, 4])
    yield "20 newsgroups", X, "cosine", (first[group], group), (7, 20)


def row_linkage(model, X):
    """A tree of rows: Ward's inside the clusters of the finest level, and the model's tree above them."""
    n, merges = len(X), []
    tops, sizes = [], []
    for label in range(model.n_clusters_):
        rows = np.flatnonzero(model.labels_ == label)
        own = scipy_linkage(X[rows], "ward") if len(rows) > 1 else np.empty((0, 4))
        name = {**{j: int(row) for j, row in enumerate(rows)}}
        for j, (a, b, _, size) in enumerate(own):
            merges.append([name[int(a)], name[int(b)], len(merges), size])
            name[len(rows) + j] = n + len(merges) - 1
        tops.append(name[max(name)])
        sizes.append(len(rows))
    name, count = dict(enumerate(tops)), dict(enumerate(sizes))
    for j, (a, b, _, _) in enumerate(model.tree_.linkage_):
        size = count[int(a)] + count[int(b)]
        merges.append([name[int(a)], name[int(b)], len(merges), size])
        name[model.n_clusters_ + j], count[model.n_clusters_ + j] = n + len(merges) - 1, size
    return np.array(merges, dtype=float)


def run_real():
    """ARI beside a flat fit with as many clusters; purity of trees beside other trees."""
    for name, X, metric, truth, levels in real_sets():
        unit = X / np.linalg.norm(X, axis=1, keepdims=True) if metric == "cosine" else X
        print(f"\n**{name}**, {X.shape[0]} × {X.shape[1]}\n\n| level | nested | flat |\n|---|---|---|")
        for weight in ("clusters", "rows"):
            model = NestedDPMeans(levels, metric=metric, group_weight=weight, n_threads=1).fit(X)
            for y, own, k in zip(truth, model.level_labels_, levels, strict=True):
                if y is not None:
                    flat = DPMeans(target_k=k, metric=metric, n_threads=1).fit(X).labels_
                    ari = adjusted_rand_score(y, own), adjusted_rand_score(y, flat)
                    print(f"| {k}, {weight} | {ari[0]:.3f} | {ari[1]:.3f} |", flush=True)
            print(f"purity, {weight}: {dendrogram_purity(row_linkage(model, unit), truth[-1]):.3f}")
        found = NestedDPMeans(metric=metric, n_threads=1).fit(X)
        print(f"found by themselves: {found.levels_}, evidence {np.round(found.evidence_, 1)}")
        for method in ("ward", "average"):
            print(f"purity, {method}: {dendrogram_purity(scipy_linkage(unit, method), truth[-1]):.3f}", flush=True)
        if X.shape[1] < 50:
            tree = AgglomerativeBayes(n_threads=1).fit(X)
            print(f"purity, AgglomerativeBayes: {dendrogram_purity(tree.linkage_, truth[-1]):.3f}")
        else:
            layers_of_evoc(X, truth)


def layers_of_evoc(X, truth):
    """ARI of EVoC's layers, rows of no cluster as clusters of their own."""
    try:
        from evoc import EVoC
    except ImportError:
        print("EVoC is not installed")
        return
    model = EVoC(random_state=0)
    model.fit(X.astype(np.float32))
    for layer in model.cluster_layers_:
        alone = np.where(layer < 0, layer.max() + 1 + np.arange(len(layer)), layer)
        ari = [f"{adjusted_rand_score(y, alone):.3f}" for y in truth if y is not None]
        print(f"EVoC layer of {layer.max() + 1} clusters, {np.mean(layer < 0):.0%} noise: ARI {', '.join(ari)}")


def run_time(n_rows=10**6):
    """Time of two levels beside that of the finest alone."""
    rng = np.random.RandomState(0)
    points = np.vstack([place + centres(20, 16, 10.0, rng) for place in centres(10, 16, 400.0, rng)])
    X = points[rng.randint(200, size=n_rows)] + rng.standard_normal((n_rows, 16))
    X = X.astype(np.float32)
    for _ in range(2):
        begun = time.process_time()
        flat = DPMeans(target_k=200, random_state=0).fit(X)
        between = time.process_time()
        model = NestedDPMeans((10, 200), random_state=0).fit(X)
        ended = time.process_time()
        ratio = (ended - between) / (between - begun)
        print(
            f"{n_rows} × 16: DPMeans {between - begun:.1f} s, NestedDPMeans {ended - between:.1f} s, ratio {ratio:.2f}"
        )
        print(f"clusters {flat.n_clusters_}, levels {model.levels_}", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    part, n_sets = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20
    if part == "real":
        run_real()
    elif part == "time":
        run_time(n_sets if len(sys.argv) > 2 else 10**6)
    else:
        {"planted": run_planted, "flat": run_flat, "pull": run_pull, "judge": run_judge}[part](n_sets)
