"""The numbers of Tables 1, 2, 3 and 5. Penalties are the paper's λ², which is kfree's lam."""

from dataclasses import dataclass

# Batch DP-means, online DP-means, split DP-means, split-merge DP-means.
ALGORITHMS = ("BD", "OD", "SD", "SMD")


@dataclass(frozen=True)
class Published:
    """Mean cost over five orders of the rows, half-width of its 95 % confidence interval, seconds."""

    cost: float
    spread: float
    seconds: float


def _row(unit, costs, seconds):
    """Costs in the paper's three digits, without the dust of the product."""
    return {
        algorithm: Published(float(f"{unit * cost:.3g}"), unit * spread, spent)
        for algorithm, (cost, spread), spent in zip(ALGORITHMS, costs, seconds, strict=True)
    }


COSTS = {
    # Table 1
    "usgs": {
        0.1: _row(1e2, [(4.68, 0.26), (7.06, 1.13), (1.54, 0.03), (1.20, 0.01)], [2217.9, 45.9, 525.6, 604.4]),
        0.32: _row(1e2, [(18.0, 4.31), (24.8, 3.35), (3.39, 0.15), (2.50, 0.06)], [507.1, 17.2, 404.1, 446.6]),
        1.0: _row(1e2, [(64.1, 3.15), (80.7, 23.6), (7.02, 0.40), (5.07, 0.20)], [119.8, 6.3, 308.8, 328.5]),
        3.2: _row(1e2, [(460, 0), (422, 105), (14.5, 0.22), (10.2, 0.22)], [1.7, 2.1, 234.3, 242.5]),
    },
    # Table 2
    "mnist-pca10": {
        8.0: _row(1e5, [(1.31, 0.01), (1.73, 0.04), (1.14, 0.01), (1.12, 0)], [58255.7, 134.5, 1739.0, 2379.1]),
        40.0: _row(1e5, [(7.00, 0), (6.91, 0.26), (1.86, 0.07), (1.71, 0.04)], [2.1, 2.6, 1006.0, 1180.3]),
        200.0: _row(1e5, [(7.00, 0), (7.00, 0), (2.78, 0.13), (2.50, 0.07)], [2.1, 2.4, 440.2, 458.4]),
        1000.0: _row(1e5, [(7.01, 0), (7.01, 0), (3.96, 0.15), (3.60, 0.12)], [2.1, 2.4, 154.4, 155.7]),
    },
    # Table 3
    "kdd2004bio": {
        3.2e7: _row(1e11, [(1.91, 0.01), (3.37, 0.13), (1.57, 0.05), (1.45, 0.03)], [30349.0, 49.6, 2340.9, 2522.5]),
        1e8: _row(1e11, [(2.75, 0), (4.68, 0.03), (2.12, 0.12), (1.86, 0.06)], [10810.1, 27.1, 1543.8, 1593.9]),
        3.2e8: _row(1e11, [(3.19, 0.04), (5.69, 0.34), (2.89, 0.19), (2.45, 0.09)], [7723.6, 20.2, 948.9, 960.8]),
        1e9: _row(1e11, [(7.33, 0.01), (9.27, 3.62), (4.49, 0.75), (3.59, 0.43)], [255.5, 10.2, 661.3, 665.5]),
    },
}

# Table 5: clusters in the given order of the rows, and by a grid search over k (Bachem et al. 2015).
N_CLUSTERS = {
    ("usgs", 1.0): {"BD": 8, "OD": 6, "SD": 529, "SMD": 312, "grid": 156},
    ("mnist-pca10", 1000.0): {"BD": 1, "OD": 1, "SD": 140, "SMD": 87, "grid": 65},
    ("kdd2004bio", 1e9): {"BD": 4, "OD": 3, "SD": 202, "SMD": 122, "grid": 55},
}
