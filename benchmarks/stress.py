"""How many clusters, on tables that are not well behaved? Share of exact numbers, and adjusted Rand index.

The families are in ``stress_families.py``; nobody gets a parameter. Outliers count as a class of their own in the
index, and as no cluster in the number. k-means with the silhouette cannot answer "one cluster". Draws that were kept
are not run again, so that the table can be made in pieces: ``--minutes`` says when to stop. Each draw keeps the commit
that it was made on. A fit that fails with a ValueError has found no cluster.
"""

import argparse
import json
import time
import warnings
import zlib
from collections import Counter

import numpy as np
from joblib import Parallel, delayed
from ratio import RESULTS, commit, keep_cells
from scipy.stats import anderson
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.mixture import BayesianGaussianMixture
from stress_families import ANSWERS, FAMILIES, NULLS, WRONG_MODEL

from kfree import BayesianKMeans, DPMeans, SpectralDPMeans

FILE = RESULTS / "stress.json"


def silhouette(X):
    """k-means with the k from 2 to 12 that has the highest silhouette, on 1,000 rows."""
    fits = [KMeans(k, n_init=3, random_state=0).fit(X) for k in range(2, 13)]
    some = np.random.default_rng(0).permutation(len(X))[:1000]
    scores = [silhouette_score(X[some], fit.labels_[some]) if len(set(fit.labels_[some])) > 1 else -1.0 for fit in fits]
    return fits[int(np.argmax(scores))].labels_


def g_means(X, most=60):
    """G-means (Hamerly & Elkan 2003): halve clusters until the projection of each looks Gaussian (0.01 % level)."""
    done, open_, labels = [], [np.arange(len(X))], np.empty(len(X), dtype=int)
    while open_:
        rows = open_.pop()
        halves = KMeans(2, n_init=1, random_state=0).fit(X[rows]) if len(rows) >= 20 else None
        if halves is None or len(done) + len(open_) >= most or _looks_gaussian(X[rows], halves.cluster_centers_):
            done.append(rows)
        else:
            open_ += [rows[halves.labels_ == side] for side in (0, 1)]
    for label, rows in enumerate(done):
        labels[rows] = label
    return labels


def _looks_gaussian(X, centres):
    along = X @ (centres[1] - centres[0])
    if np.ptp(along) == 0:
        return True
    # The critical value of Hamerly and Elkan for a chance of 0.0001, and their correction for the number of rows.
    n = len(along)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return anderson((along - along.mean()) / along.std()).statistic * (1 + 4 / n - 25 / n**2) <= 1.8692


def mixture(X):
    return BayesianGaussianMixture(n_components=min(30, len(X)), random_state=0, max_iter=200).fit_predict(X)


CONTESTANTS = {
    "kfree": lambda X: DPMeans().fit(X).labels_,
    "BayesianKMeans": lambda X: BayesianKMeans(random_state=0).fit(X).labels_,
    "SpectralDPMeans": lambda X: SpectralDPMeans(random_state=0).fit(X).labels_,
    "HDBSCAN": lambda X: HDBSCAN(copy=True).fit_predict(X),
    "silhouette": silhouette,
    "G-means": g_means,
    "BayesianGaussianMixture": mixture,
}


def draw(family, seed):
    """Rows and labels of a draw; each family has seeds of its own."""
    X, y = FAMILIES[family](np.random.default_rng([zlib.crc32(family.encode()), seed]))
    order = np.random.default_rng(seed).permutation(len(X))
    return X[order], y[order]


def trial(contestant, family, seed, deadline):
    """The number found, the true one, the adjusted Rand index, whether there was a warning, and processor seconds.

    None if the deadline is over.
    """
    if time.monotonic() > deadline:
        return contestant, family, seed, None
    X, y = draw(family, seed)
    started = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            labels = CONTESTANTS[contestant](X)
        except ValueError:
            labels = np.full(len(X), -1)
    seconds = round(time.process_time() - started, 2)
    said = any(issubclass(one.category, UserWarning) for one in caught)
    found, true = (len(set(some.tolist()) - {-1}) for some in (labels, y))
    ari = round(float(adjusted_rand_score(y, labels)), 4)
    return contestant, family, seed, {"k": found, "of": true, "ari": ari, "warned": said, "seconds": seconds}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=6, help="draws per family (default: %(default)s)")
    parser.add_argument("--families", nargs="*", default=list(FAMILIES), help="names of families (default: all)")
    parser.add_argument("--contestants", nargs="*", default=list(CONTESTANTS), help="default: all")
    parser.add_argument("--minutes", type=float, default=np.inf, help="stop after so many (default: when done)")
    parser.add_argument("--again", action="store_true", help="run draws again that were kept")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: one, with all threads)")
    options = parser.parse_args()
    cells = json.loads(FILE.read_text())["cells"] if FILE.exists() else {}
    deadline, made_on = time.monotonic() + 60 * options.minutes, commit()
    todo = [
        (contestant, family, seed, deadline)
        for seed in range(options.seeds)
        for family in options.families
        for contestant in options.contestants
        if options.again or str(seed) not in cells.get(family, {}).get(contestant, {})
    ]
    done = Parallel(options.jobs, return_as="generator_unordered")(delayed(trial)(*one) for one in todo)
    for contestant, family, seed, found in done:
        if found is not None:
            cells.setdefault(family, {}).setdefault(contestant, {})[str(seed)] = found | {"commit": made_on}
            write(cells)
            print(seed, family, contestant, found, flush=True)


def write(cells):
    """JSON and a table: one line per family, one column per contestant."""
    lines = [
        "\nShare of draws with the exact number of clusters / mean adjusted Rand index (where there are several).",
        "kfree is `DPMeans()`; the last column is the share of draws in which it warned. In brackets: fewer draws.",
        "Draws by commit: " + "; ".join(f"{name} {commits_of(name, cells)}" for name in CONTESTANTS) + ".",
    ]
    for title, families in {
        "Clusters": ANSWERS,
        "One cluster": NULLS,
        "Not round: no answer is right for k-means": WRONG_MODEL,
    }.items():
        lines += [f"\n| {title} | draws | " + " | ".join(CONTESTANTS) + " | kfree warned |"]
        lines += ["|---" * (3 + len(CONTESTANTS)) + "|"]
        lines += [line(family, cells[family]) for family in families if family in cells]
    keep_cells(FILE, cells, lines, "scikit-learn", "numpy", indent=0)


def commits_of(contestant, cells):
    """The commits of a contestant's draws, with their numbers."""
    draws = [one for by_contestant in cells.values() for one in by_contestant.get(contestant, {}).values()]
    counts = Counter(one.get("commit", "unknown") for one in draws)
    return ", ".join(f"{name} ({count})" for name, count in counts.items())


def line(family, by_contestant):
    ours = by_contestant.get("kfree", {}).values()
    warned = f"{np.mean([one['warned'] for one in ours]):.0%}" if ours else ""
    return (
        f"| {family} | {len(ours)} | "
        + " | ".join(cell(by_contestant.get(c), len(ours)) for c in CONTESTANTS)
        + f" | {warned} |"
    )


def cell(draws, n_draws):
    """Exact share and index; the number of draws behind it where that is another than kfree's."""
    if not draws:
        return ""
    few = "" if len(draws) == n_draws else f" ({len(draws)})"
    exact = np.mean([one["k"] == one["of"] for one in draws.values()])
    several = next(iter(draws.values()))["of"] > 1
    index = f" / {np.mean([one['ari'] for one in draws.values()]):.2f}" if several else ""
    return f"{exact:.2f}{index}{few}"


if __name__ == "__main__":
    main()
