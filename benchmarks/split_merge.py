"""What the best clustering and the best penalty cost in time, measured in k-means fits of scikit-learn.

MNIST in 10 whitened components: a split-merge search at lam=1000 and the lam path, against one KMeans(65) fit. Growth:
10⁶ × 16 rows in 100 blobs without any parameter, against one KMeans(100) fit. Fewer is better here: the goal is the
most fits that kfree may take. MNIST comes from KFREE_DATA or the network.
"""

from ratio import Row, arguments, chosen, race, report
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.datasets import make_blobs

from kfree import DPMeans, datasets, lambda_path


def against_k_means(case, X, k, run, rounds, most):
    """The note says how many fits of scikit-learn's k-means one run takes."""
    k_means = SklearnKMeans(k, n_init=1, random_state=0)
    contestants = {"kfree": lambda: run(X), f"scikit-learn KMeans({k}, n_init=1)": lambda: k_means.fit(X)}
    row: Row = race(case, contestants, rounds)
    peer, seconds = list(row.seconds.items())[1]
    row.notes["kfree"] = f"{row.seconds['kfree'] / seconds:.2f} of these fits, goal at most {most:g}"
    row.notes[peer] = f"{k_means.n_iter_} iterations"
    return row


def main():
    options = arguments(__doc__)
    rounds = options.rounds
    mnist = datasets.load("mnist-pca10").X
    cases = [
        lambda: against_k_means(
            "DPMeans(lam=1000), MNIST 70,000 × 10", mnist, 65, lambda X: DPMeans(lam=1000.0).fit(X), rounds, 3
        ),
        lambda: against_k_means("lambda_path, MNIST 70,000 × 10", mnist, 65, lambda_path, rounds, 5),
        lambda: against_k_means(
            "DPMeans(), 100 blobs 10⁶ × 16",
            make_blobs(1_000_000, 16, centers=100, random_state=0)[0],
            100,
            lambda X: DPMeans().fit(X),
            rounds,
            10,
        ),
    ]
    rows = [case() for case in chosen(cases, options)]
    report("split_merge", rows, "scikit-learn", "numpy", only=options.only)


if __name__ == "__main__":
    main()
