"""Labels for new rows: 10⁷ × 16, the 500 centres of a fit, against scikit-learn's KMeans.predict."""

import numpy as np
from k_means import blobs
from ratio import arguments, race, report
from sklearn.cluster import KMeans as SklearnKMeans

from kfree import KMeans


def main():
    options = arguments(__doc__)
    X = blobs(10_000_000, 16, 500)
    ours = KMeans(500, random_state=0).fit(X[:100_000])
    centres = ours.cluster_centers_.astype(np.float32)
    theirs = SklearnKMeans(500, init=centres, n_init=1, max_iter=1).fit(X[:100_000])
    theirs.cluster_centers_ = centres
    expected = ours.predict(X)
    contestants = {"kfree": lambda: ours.predict(X), "scikit-learn": lambda: theirs.predict(X)}
    row = race(
        "predict 10⁷ × 16, k=500",
        contestants,
        options.rounds,
        target=5.0,
        notes=lambda name, labels: f"{np.mean(labels != expected):.2e} of labels differ",
    )
    for name, seconds in row.seconds.items():
        row.notes[name] += f", {len(X) / seconds / 1e6:.2f} million rows a second"
    report("predict", [row], "scikit-learn", "numpy")


if __name__ == "__main__":
    main()
