"""AutoCluster beside DPMeans on sets with a known answer: families of stress.py, automatic_k.py and no_clusters.py,
unit rows without clusters, and tables of counts and yes/no columns, with groups and without, that TableEncoder has
prepared.

Nobody gets a parameter but the metric. Outliers count as a class of their own in the index, and as no cluster in the
number. Cells that are there already are kept: ``--draws`` and ``--only`` say what to run, so that the table can be made
in pieces.
"""

import argparse
import json
import time
import warnings
import zlib

import automatic_k
import no_clusters
import numpy as np
from ratio import RESULTS, keep_cells
from sklearn.metrics import adjusted_rand_score
from stress_families import FAMILIES

from kfree import AutoCluster, DPMeans, TableEncoder

FILE = RESULTS / "judge_tables.json"
CONTESTANTS = {"AutoCluster": AutoCluster, "DPMeans": DPMeans}


def factors(draw, n=1000, rank=20, d=128):
    """Independent factors, mixed by random loadings, in a little noise: no clusters."""

    def rows(rng):
        return draw(rng, (n, rank)) @ rng.normal(size=(rank, d)) + 0.1 * rng.normal(size=(n, d))

    return lambda rng: (rows(rng), np.zeros(n))


UNIT = {
    "isotropic": lambda rng: (rng.normal(size=(1000, 128)), np.zeros(1000)),
    "spectrum 1/√j about a mean": lambda rng: (
        rng.normal(size=(1000, 128)) / np.sqrt(np.arange(1, 129)) + 0.3 * rng.normal(size=128),
        np.zeros(1000),
    ),
    "one topic": lambda rng: (rng.normal(size=128) + 0.7 * rng.normal(size=(1000, 128)), np.zeros(1000)),
    "factors, Student's t": factors(lambda rng, shape: rng.standard_t(3, size=shape)),
    "factors, uniform": factors(lambda rng, shape: rng.uniform(-1, 1, size=shape)),
    "factors, exponential": factors(lambda rng, shape: rng.exponential(size=shape)),
    "factors, log-normal": factors(lambda rng, shape: rng.lognormal(size=shape)),
}


def counts(mean, n_binary, n=1000):
    """A skewed count, of which TableEncoder takes the logarithm, beside independent yes/no columns: no clusters."""

    def rows(rng):
        columns = [rng.negative_binomial(2, 2 / (2 + mean), n), *rng.integers(2, size=(n_binary, n))]
        return np.asarray(TableEncoder().fit_transform(np.column_stack(columns).astype(float))), np.zeros(n)

    return rows


def groups_beside(n_binary, n_counts, n=1000):
    """Three round groups in three columns, beside yes/no columns and small counts that are independent of them."""

    def rows(rng):
        y = np.arange(n) % 3
        numbers = rng.normal(size=(n, 3)) + 6 * np.eye(3)[y]
        coarse = [*rng.integers(2, size=(n_binary, n)), *rng.poisson(0.8, size=(n_counts, n))]
        return np.asarray(TableEncoder().fit_transform(np.column_stack([numbers, *coarse]).astype(float))), y

    return rows


def without(family, n, d):
    return lambda rng: (no_clusters.draw(family, n, d, rng), np.zeros(n))


SETS = {("stress", name): (make, "euclidean") for name, make in FAMILIES.items()}
SETS |= {("automatic k", name): (lambda rng, make=make: make(), "euclidean") for name, make in automatic_k.MADE.items()}
SETS |= {
    ("no clusters", f"{family}, {n} × {d}"): (without(family, n, d), "euclidean")
    for family in no_clusters.FAMILIES
    for n in (100, 1000)
    for d in no_clusters.COLUMNS
}
SETS |= {("unit rows without clusters", name): (make, "cosine") for name, make in UNIT.items()}
SETS |= {
    ("counts beside yes/no", f"mean {mean}, {n_binary} yes/no"): (counts(mean, n_binary), "euclidean")
    for mean in (2, 5, 20)
    for n_binary in (1, 2, 3)
}
SETS |= {
    ("groups beside yes/no", f"{n_binary} yes/no, {n_counts} counts"): (groups_beside(n_binary, n_counts), "euclidean")
    for n_binary, n_counts in ((1, 0), (2, 0), (4, 0), (0, 1), (0, 2), (1, 1), (2, 1))
}


def cell(make, metric, seed, estimator):
    """The number of clusters that is true and that is found, the index, and processor seconds."""
    X, y = make(np.random.default_rng(seed))
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = estimator(metric=metric, random_state=0).fit(X).labels_
    seconds = round(time.process_time() - started, 2)
    true = len(set(y[y >= 0].tolist()))
    return {"true": true, "k": int(labels.max()) + 1, "ari": adjusted_rand_score(y, labels), "seconds": seconds}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=3, help="draws of each set (default: 3)")
    parser.add_argument("--only", nargs="*", help="groups: stress, 'automatic k', 'no clusters', …")
    options = parser.parse_args()
    cells = json.loads(FILE.read_text())["cells"] if FILE.exists() else {}
    for draw in range(options.draws):
        for (group, name), (make, metric) in SETS.items():
            if (options.only and group not in options.only) or (group == "automatic k" and draw):
                continue
            for contestant, estimator in CONTESTANTS.items():
                key = " | ".join([group, name, str(draw), contestant])
                if key not in cells:
                    cells[key] = cell(make, metric, [draw, zlib.crc32(name.encode())], estimator)
                    print(key, cells[key], flush=True)
                    write(cells)


def write(cells):
    """JSON, and a table of the share of exact numbers, the mean index and the mean seconds."""
    lines = ["\nShare of draws with the exact number of clusters, mean adjusted Rand index, mean processor seconds.\n"]
    lines += ["| group | set | draws | " + " | ".join(CONTESTANTS) + " | other numbers of AutoCluster |"]
    lines += ["|---" * (4 + len(CONTESTANTS)) + "|"]
    for group, name in SETS:
        found = {who: [cells[key] for key in cells if _is(key, group, name, who)] for who in CONTESTANTS}
        if any(found.values()):
            others = sorted(one["k"] for one in found["AutoCluster"] if one["k"] != one["true"])
            shown = " | ".join(_shown(found[who]) for who in CONTESTANTS)
            draws = len(found["AutoCluster"])
            lines.append(f"| {group} | {name} | {draws} | {shown} | {', '.join(map(str, others))} |")
    for group in dict.fromkeys(group for group, _ in SETS):
        found = [_shown([cells[key] for key in cells if _is(key, group, None, who)]) for who in CONTESTANTS]
        lines.append(f"| **{group}** | all | | " + " | ".join(found) + " | |")
    keep_cells(FILE, cells, lines, "scikit-learn", "numpy")


def _is(key, group, name, contestant):
    parts = key.split(" | ")
    return parts[0] == group and parts[-1] == contestant and name in (None, parts[1])


def _shown(found):
    if not found:
        return "–"
    exact = np.mean([one["k"] == one["true"] for one in found])
    ari, seconds = np.mean([one["ari"] for one in found]), np.mean([one["seconds"] for one in found])
    return f"{exact:.2f}, {ari:.2f}, {seconds:.1f} s"


if __name__ == "__main__":
    main()
