"""The public data sets that kfree knows: where each is found, and what is done to it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

# The ellipsoid of the World Geodetic System 1984: equatorial radius in km, and flattening.
EQUATORIAL_RADIUS_KM = 6378.137
FLATTENING = 1 / 298.257223563


def earth_centred(latitude_longitude_depth):
    """Degrees north and east and km below ground as a point in space, in equatorial radii (Odashima et al. 2016)."""
    latitude, longitude = np.radians(latitude_longitude_depth[:, :2]).T
    height = -latitude_longitude_depth[:, 2]
    polar = (1 - FLATTENING) ** 2
    normal = EQUATORIAL_RADIUS_KM / np.sqrt(1 - (1 - polar) * np.sin(latitude) ** 2)
    from_axis = (normal + height) * np.cos(latitude)
    above_equator = (normal * polar + height) * np.sin(latitude)
    points = [from_axis * np.cos(longitude), from_axis * np.sin(longitude), above_equator]
    return np.column_stack(points) / EQUATORIAL_RADIUS_KM


def principal(n_components):
    """Project to the first principal components, each scaled to variance one."""

    def project(X):
        from sklearn.decomposition import PCA

        pca = PCA(n_components, svd_solver="randomized", whiten=True, random_state=0)
        return pca.fit_transform(np.asarray(X, dtype=np.float64))

    return project


def hundredths(X100):
    """Whole hundredths as numbers (KDD Cup 2004, where all values have two decimals)."""
    return X100 / 100


def halved_image(X):
    """Images of 16 × 16 pixels as 8 × 8, the mean of four pixels each (Kurihara & Welling 2009)."""
    return X.reshape(-1, 8, 2, 8, 2).mean(axis=(2, 4)).reshape(-1, 64)


@dataclass(frozen=True)
class Entry:
    """One data set.

    ``file`` is its file in the folder KFREE_DATA without ``.npz``, and ``prefix`` goes before the names of its arrays
    there; ``rows`` is the array to cluster. ``bundled`` names a function of sklearn.datasets, ``openml`` is a data_id.
    """

    about: str
    file: str
    rows: str = "X"
    prefix: str = ""
    bundled: str | None = None
    openml: int | None = None
    prepare: Callable | None = None


def _shapes():
    about = "{}: {} clusters, from the clustering basic benchmark (Fränti & Sieranoja 2018) or of its kind"
    n_clusters = {"s1": 15, "s2": 15, "s3": 15, "s4": 15, "a1": 20, "d31": 31, "r15": 15, "unbalance": 8}
    n_clusters |= {"dim032": 16, "aggregation": 7, "compound": 6, "flame": 2, "jain": 2, "pathbased": 3, "spiral": 3}
    return {name: Entry(about.format(name, k), "shapes", prefix=f"{name}/") for name, k in n_clusters.items()}


ROWS = {
    "balance-scale": Entry("Balance scale (UCI), 625 × 4", "balance_scale", openml=11),
    "breast-cancer-diagnostic": Entry("Breast cancer, 569 × 30", "breast_cancer", bundled="load_breast_cancer"),
    "breast-cancer-ljubljana": Entry("Breast cancer (UCI), 286 × 9", "breast_cancer_ljubljana", openml=13),
    "breast-cancer-wisconsin": Entry("Breast cancer (UCI), 699 × 9", "breast_cancer_wisconsin", openml=15),
    "car": Entry("Car evaluation (UCI), 1,728 × 6", "car", openml=40975),
    "digits": Entry("Handwritten digits of 8 × 8 pixels, 1,797 × 64", "digits", bundled="load_digits"),
    "iris": Entry("Fisher's iris, 150 × 4", "iris", bundled="load_iris"),
    "kdd2004bio": Entry(
        "Protein homology (KDD Cup 2004), 145,751 × 74", "kddcup04_bio", rows="X100", prepare=hundredths
    ),
    "mnist": Entry("Handwritten digits of 28 × 28 pixels, 70,000 × 784", "mnist", openml=554),
    "mnist-pca8": Entry(
        "MNIST in 8 principal components of variance one (Dinari & Freifeld 2022)",
        "mnist",
        openml=554,
        prepare=principal(8),
    ),
    "mnist-pca10": Entry(
        "MNIST in 10 principal components of variance one (Odashima et al. 2016)",
        "mnist",
        openml=554,
        prepare=principal(10),
    ),
    "pendigits": Entry("Digits written with a pen, 10,992 × 16", "pendigits", openml=32),
    "pima": Entry("Diabetes among the Pima, 768 × 8", "pima", openml=37),
    "sift": Entry("SIFT descriptors (BIGANN), 10,000 × 128", "sift_bigann10k"),
    "soybean-large": Entry("Soybean diseases (UCI), 683 × 35", "soybean_large", openml=42),
    "soybean-small": Entry("Soybean diseases (UCI), 47 × 35", "soybean_small"),
    "spambase": Entry("Words in spam and other mail (UCI), 4,601 × 57", "spambase", openml=44),
    "usgs": Entry(
        "Earthquakes 1973-2010 in space, in equatorial radii, 59,209 × 3",
        "earthquakes_usgs",
        prepare=earth_centred,
    ),
    "usps": Entry("Handwritten digits of 8 × 8 pixels (CEDAR), 11,000 × 64", "usps_cedar_br", prepare=halved_image),
    "vehicle": Entry("Silhouettes of vehicles (Statlog), 846 × 18", "vehicle", openml=54),
    "wine": Entry("Wines by chemical analysis, 178 × 13", "wine", bundled="load_wine"),
    **_shapes(),
}

GRAPHS = {
    f"graph-{name.replace('_', '-')}": Entry(about, f"graph_{name}")
    for name, about in {
        "citeseer": "Citations, 3,327 nodes; class −1 is unknown",
        "cora": "Citations, 2,708 nodes",
        "dolphins": "Dolphins seen together, 62 nodes, classes unknown",
        "email_eu_core": "Mail within an institution, 1,005 nodes, directed",
        "football": "Games of American college football, 115 nodes",
        "karate": "Zachary's karate club, 34 nodes, weighted",
        "polblogs": "Links between political blogs, 1,490 nodes, directed",
        "polbooks": "Political books bought together, 105 nodes",
        "pubmed": "Citations, 19,717 nodes",
    }.items()
}
