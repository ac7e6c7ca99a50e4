"""KernelDPMeans and SpectralDPMeans: shapes without k, digits, 50,000 rows; against scikit-learn with the true k."""

import sys
import time
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
from ratio import Row, arguments, chosen, race, report
from sklearn.cluster import SpectralClustering
from sklearn.datasets import load_digits, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from kfree import KernelDPMeans, SpectralDPMeans

sys.path.append(str(Path(__file__).parents[1] / "docs" / "images"))
from shapes import spirals  # the picture's own

SEEDS, SIZES = range(5), (400, 1000)


def shapes(seed, n):
    """Rows, clusters that they came from and a name; the arms of spirals are those of the same draw without noise."""
    for noise in (0.05, 0.08, 0.1):
        yield f"moons, noise {noise}", *make_moons(n, noise=noise, random_state=seed)
    for noise in (0.03, 0.05):
        yield f"circles, noise {noise}", *make_circles(n, noise=noise, factor=0.5, random_state=seed)
    for noise in (0.05, 0.1):
        yield f"spirals, noise {noise}", spirals(n, noise, seed), np.random.default_rng(seed).integers(2, size=n)
    yield "no clusters: normal", np.random.default_rng(seed).normal(size=(n, 2)), np.zeros(n)
    yield "no clusters: uniform", np.random.default_rng(seed).uniform(size=(n, 2)), np.zeros(n)


def without_k():
    """In how many of the draws the number is right and the adjusted Rand index at least 0.95."""
    right, seconds = {}, {}
    for n in SIZES:
        for seed in SEEDS:
            for name, X, y in shapes(seed, n):
                for affinity in ("rbf", "nearest_neighbors"):
                    started = time.process_time()
                    model = SpectralDPMeans(affinity=affinity).fit(X)
                    key = name, n, affinity
                    seconds[key] = min(seconds.get(key, np.inf), time.process_time() - started)
                    k = len(np.unique(y))
                    good = model.n_clusters_ == k and adjusted_rand_score(y, model.labels_) >= 0.95
                    right[key] = right.get(key, 0) + good
    for (name, n, affinity), count in right.items():
        row = Row(f"{name}, {n} rows, {affinity}", {"kfree": seconds[name, n, affinity]})
        row.notes["kfree"] = f"right in {count} of {len(SEEDS)} draws"
        print(row.case, row.notes["kfree"], flush=True)
        yield row


def digits(rounds):
    X, y = load_digits(return_X_y=True)

    def notes(name, model):
        nmi = normalized_mutual_info_score(y, model.labels_)
        return f"k = {len(np.unique(model.labels_))}, NMI {nmi:.3f}"

    theirs = {
        "scikit-learn, true k, neighbours": SpectralClustering(10, affinity="nearest_neighbors", random_state=0),
        "scikit-learn, true k, rbf": SpectralClustering(10, gamma=0.001, random_state=0),
    }
    ours = {
        "SpectralDPMeans, neighbours": SpectralDPMeans(affinity="nearest_neighbors"),
        "KernelDPMeans": KernelDPMeans(),
        "KernelDPMeans, target_k=10": KernelDPMeans(target_k=10),
    }
    for name, model in ours.items():
        contestants = {"kfree": model} | theirs
        runs = {who: (lambda it=it: it.fit(X)) for who, it in contestants.items()}
        yield race(f"digits, {name}", runs, rounds, notes=notes, clock=time.process_time)


def many_rows(rounds):
    X, y = make_moons(50_000, noise=0.05, random_state=0)

    def notes(name, model):
        proof = f", {model.certificate_.method}" if name == "kfree" else ", k given"
        return f"k = {len(np.unique(model.labels_))}, ARI {adjusted_rand_score(y, model.labels_):.3f}{proof}"

    runs = {
        "kfree": lambda: SpectralDPMeans(affinity="nearest_neighbors").fit(X),
        "scikit-learn": lambda: SpectralClustering(2, affinity="nearest_neighbors", random_state=0).fit(X),
    }
    return race("moons, 50,000 rows, nearest neighbours", runs, rounds, notes=notes, clock=time.process_time)


def by_default(rounds):
    """The default affinity, that of neighbours above 1,000 rows, beside all affinities."""
    for n_rows, others in ((1500, ["rbf"]), (8000, [])):
        X, y = make_moons(n_rows, noise=0.06, random_state=0)
        models = {"kfree": SpectralDPMeans()} | {
            f"affinity {name!r}": SpectralDPMeans(affinity=name) for name in others
        }

        def notes(name, model, y=y):
            return f"{model.affinity_}, k = {model.n_clusters_}, ARI {adjusted_rand_score(y, model.labels_):.3f}"

        runs = {name: (lambda model=model, X=X: model.fit(X)) for name, model in models.items()}
        yield race(f"moons, {n_rows:,} rows, by default", runs, rounds, notes=notes, clock=time.process_time)


def memory():
    """Bytes that a fit takes at most beyond X, where kernel values are not kept."""
    X = np.random.default_rng(0).normal(size=(6000, 8)) + 6 * np.random.default_rng(1).integers(5, size=(6000, 1))
    row = Row("KernelDPMeans, 6,000 × 8, sweep", {})
    tracemalloc.start()
    started = time.process_time()
    model = KernelDPMeans(lam=0.5, search="sweep").fit(X)
    row.seconds["kfree"] = time.process_time() - started
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    row.notes["kfree"] = f"k = {model.n_clusters_}, peak {peak / 2**20:.0f} MiB; all kernel values: 275 MiB"
    return row


def main():
    options = arguments(__doc__)
    warnings.simplefilter("ignore")  # scikit-learn's, about graphs that are not connected
    cases = [without_k, lambda: digits(options.rounds), lambda: [many_rows(options.rounds)], lambda: [memory()]]
    cases.append(lambda: by_default(options.rounds))
    rows = [row for case in chosen(cases, options) for row in case()]
    report("kernel_spectral", rows, "scikit-learn", "numpy", "scipy", only=options.only)


if __name__ == "__main__":
    main()
