"""Fig. 2a–c: DP-means and Gibbs sampling on three Gaussians (Kulis & Jordan 2012, §6.2)."""

import numpy as np
from scipy.special import entr
from sklearn.metrics import normalized_mutual_info_score

from kfree import DPMeans, lambda_path, plot
from kfree.baselines import GibbsDPMixture, select_by_validation
from kfree.datasets import make_three_gaussians
from reproduce.result import Result
from reproduce.table import Line

SEED = 0
N_RUNS, QUICK_RUNS = 100, 25
N_ITERATIONS, QUICK_ITERATIONS = 5000, 400
# A sample agrees with the three Gaussians if its NMI is above this, which DP-means reaches in three iterations.
GOOD = 0.8
ALPHAS = [0.001, 0.01, 0.1, 1.0]
FIXED_ALPHAS = [1.0, 0.1, 0.01]
N_ROWS = 300
# The paper states no means. Deviations are 1.
LAYOUTS = {
    "a triangle of side 4.45": 4.45 * np.array([[-0.5, -(3**0.5) / 6], [0.5, -(3**0.5) / 6], [0.0, 3**0.5 / 3]]),
    "two 3 apart, one 16 away": np.array([[-1.5, 0.0], [1.5, 0.0], [0.0, 16.0]]),
    "two 3.6 apart, one 20 away": np.array([[-1.8, 0.0], [1.8, 0.0], [0.0, 20.0]]),
}


def figure2a(quick):
    """DP-means in random orders of the rows: clusters, iterations, NMI."""
    X, y = make_three_gaussians(random_state=SEED)
    rng, found = np.random.default_rng(SEED), []
    for _ in range(QUICK_RUNS if quick else N_RUNS):
        order = rng.permutation(len(X))
        model = DPMeans(lam="farthest-first", target_k=3, search="sweep").fit(X[order])
        # The first state of a search is the one cluster that it begins with.
        found.append((model.n_clusters_, model.n_iter_ - 1, normalized_mutual_info_score(y[order], model.labels_)))
    clusters, iterations, nmi = np.array(found).T
    case = f"{len(found)} orders of the rows"
    deviation = {"decimals": 2, "n": len(found), "spread_is": "deviation"}
    ax = plot.axes()
    ax.scatter(*X.T, c=plot.colours(3)[y], s=12)
    ax.set_title("three Gaussians")
    return Result(
        [
            Line(case, "DP-means", "runs with three clusters", 1.0, np.mean(clusters == 3), goal="highest"),
            Line(case, "DP-means", "iterations, most", 8, iterations.max(), note=f"mean {iterations.mean():.1f}"),
            Line(case, "DP-means", "NMI", 0.89, nmi.mean(), spread=nmi.std(), goal="highest", **deviation),
        ],
        ax.figure,
    )


def figure2b(quick):
    """NMI of every Gibbs sweep from one cluster: α under a Gamma prior, by a validation set, and fixed."""
    n_sweeps = QUICK_ITERATIONS if quick else N_ITERATIONS
    X, y = make_three_gaussians(random_state=SEED)
    chain = {"n_burn_in": 0, "n_samples": n_sweeps, "thin": 1, "keep_samples": True, "random_state": SEED}
    validation = make_three_gaussians(random_state=SEED + 1)
    short = GibbsDPMixture(n_burn_in=n_sweeps // 2, n_samples=50, keep_samples=True, random_state=SEED)
    validated = select_by_validation(short, *validation, {"alpha": ALPHAS})[0]
    models = {
        "α by a Gamma prior": (GibbsDPMixture(), 1500),
        f"α by validation: {validated.alpha:g}": (validated, 3000),
        **{f"α = {alpha:g}": (GibbsDPMixture(alpha), None) for alpha in FIXED_ALPHAS},
    }
    ax, lines = plot.axes(), []
    for name, (model, paper) in models.items():
        model.set_params(**chain).fit(X)
        nmi = np.array([agreement(y, labels) for labels in model.label_samples_])
        ax.plot(nmi, linewidth=0.7, label=name)
        lines += _chain_lines(name, model, nmi, paper)
    ax.set(xlabel="Gibbs sweep", ylabel="NMI")
    ax.legend()
    return Result(lines, ax.figure)


def agreement(y, labels):
    """NMI, as scikit-learn has it but without its checks, which take most of the time for thousands of samples."""
    joint = np.bincount(y * (labels.max() + 1) + labels, minlength=(y.max() + 1) * (labels.max() + 1)) / len(y)
    joint = joint.reshape(y.max() + 1, labels.max() + 1)
    entropies = [entr(shares).sum() for shares in (joint.sum(axis=1), joint.sum(axis=0), joint)]
    mean = (entropies[0] + entropies[1]) / 2
    return (entropies[0] + entropies[1] - entropies[2]) / mean if mean > 0 else 1.0


def _chain_lines(name, model, nmi, paper):
    case, good, last = f"{len(nmi)} sweeps", np.flatnonzero(nmi > GOOD), slice(len(nmi) // 2, None)
    first = int(good[0]) + 1 if len(good) else np.inf
    note = "about, from the text of the paper" if paper else ""
    k = model.trace_["n_clusters"][last]
    spread = {"n": None, "spread_is": "deviation", "goal": None}
    return [
        Line(case, name, f"sweeps until NMI > {GOOD}", paper, first, note=note if len(good) else "never", goal=None),
        Line(case, name, "NMI, second half", None, nmi[last].mean(), spread=nmi[last].std(), **spread),
        Line(case, name, "clusters, second half", None, k.mean(), spread=k.std(), **spread),
    ]


def figure2c(quick):
    """The number of clusters of DP-means over lam, for three layouts of the Gaussians; the picture shows the first."""
    lams = np.geomspace(1.0, 300.0, 40 if quick else 200)
    lines, ax = [], None
    for layout, centres in LAYOUTS.items():
        X, y = drawn_about(centres)
        k = np.array([DPMeans(lam=lam, search="sweep").fit(X).n_clusters_ for lam in lams])
        model = DPMeans(lam="farthest-first", target_k=3, search="sweep").fit(X)
        note = f"NMI of DP-means by farthest-first {normalized_mutual_info_score(y, model.labels_):.3f}"
        lines.append(_interval(layout, "DP-means, rows in order", lams[k == 3], note))
        path = lambda_path(X)
        step = path.at(k=3)
        lines.append(_interval(layout, "lam path", np.array([step.lam_low, step.lam_high])))
        if ax is None:
            ax = _staircases(lams, k, path)
    return Result(lines, ax.figure)


def drawn_about(centres):
    """As :func:`kfree.datasets.make_three_gaussians`, about other centres."""
    rng = np.random.RandomState(SEED)
    y = rng.permutation(np.arange(N_ROWS) % 3)
    return np.asarray(centres)[y] + rng.standard_normal((N_ROWS, 2)), y


def _staircases(lams, k, path):
    ax = plot.axes()
    ax.plot(lams, k, color="black", label="DP-means, rows in order")
    ax.plot(lams, [path.at(lam=lam).k for lam in lams], color="tab:red", drawstyle="steps-mid", label="lam path")
    ax.set(xscale="log", xlabel="lam", ylabel="clusters")
    ax.legend()
    return ax


def _interval(layout, method, lams, note=""):
    """How wide the penalties lie that give three clusters."""
    low, high = (lams.min(), lams.max()) if len(lams) else (1.0, 1.0)
    said = "; ".join(filter(None, [f"lam from {low:.3g} to {high:.3g}", note]))
    return Line(layout, method, "log width of three clusters", None, np.log(high / low), goal=None, note=said)
