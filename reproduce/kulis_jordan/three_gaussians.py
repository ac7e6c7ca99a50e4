"""Fig. 2a–c: DP-means and Gibbs sampling on three Gaussians (Kulis & Jordan 2012, §6.2)."""

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

from kfree import DPMeans, lambda_path, plot
from kfree.baselines import GibbsDPMixture, select_by_validation
from kfree.datasets import make_three_gaussians
from reproduce.result import Result
from reproduce.table import Line

SEED = 0
N_RUNS, QUICK_RUNS = 100, 25
N_ITERATIONS, QUICK_ITERATIONS = 5000, 1500
# A sample agrees with the three Gaussians if its NMI is above this, which DP-means reaches in three iterations.
GOOD = 0.8
ALPHAS = [0.001, 0.01, 0.1, 1.0]


def figure2a(quick):
    """DP-means in random orders of the rows: clusters, iterations, NMI."""
    X, y = make_three_gaussians(random_state=SEED)
    rng, found = np.random.default_rng(SEED), []
    for _ in range(QUICK_RUNS if quick else N_RUNS):
        order = rng.permutation(len(X))
        model = DPMeans("farthest-first", target_k=3, search="sweep").fit(X[order])
        # The first state of a search is the one cluster that it begins with.
        found.append((model.n_clusters_, model.n_iter_ - 1, normalized_mutual_info_score(y[order], model.labels_)))
    clusters, iterations, nmi = np.array(found).T
    case = f"{len(found)} orders of the rows"
    ax = plot.axes()
    ax.scatter(*X.T, c=plot.colours(3)[y], s=12)
    ax.set_title("three Gaussians")
    return Result(
        [
            Line(case, "DP-means", "runs with three clusters", 1.0, np.mean(clusters == 3), goal="highest"),
            Line(case, "DP-means", "iterations, most", 8, iterations.max(), note=f"mean {iterations.mean():.1f}"),
            Line(case, "DP-means", "NMI", 0.89, nmi.mean(), spread=nmi.std(), goal="highest", decimals=2),
        ],
        ax.figure,
    )


def figure2b(quick):
    """NMI of every Gibbs sweep from one cluster, α under a Gamma prior and α by a validation set."""
    n_sweeps = QUICK_ITERATIONS if quick else N_ITERATIONS
    X, y = make_three_gaussians(random_state=SEED)
    chain = {"n_burn_in": 0, "n_samples": n_sweeps, "thin": 1, "keep_samples": True, "random_state": SEED}
    learned = GibbsDPMixture(**chain)
    validation = make_three_gaussians(random_state=SEED + 1)
    short = GibbsDPMixture(n_burn_in=n_sweeps // 2, n_samples=50, keep_samples=True, random_state=SEED)
    validated = select_by_validation(short, *validation, {"alpha": ALPHAS})[0].set_params(**chain)
    ax, lines = plot.axes(), []
    for name, model, paper in [("α by a Gamma prior", learned, 1500), ("α by validation", validated, 3000)]:
        model.fit(X)
        nmi = np.array([normalized_mutual_info_score(y, labels) for labels in model.label_samples_])
        ax.plot(nmi, linewidth=0.7, label=name)
        lines += _chain_lines(name, model, nmi, paper)
    ax.set(xlabel="Gibbs sweep", ylabel="NMI")
    ax.legend()
    return Result(lines, ax.figure)


def _chain_lines(name, model, nmi, paper):
    good = np.flatnonzero(nmi > GOOD)
    first = good[0] + 1 if len(good) else np.inf
    last = slice(len(nmi) // 2, None)
    k = model.trace_["n_clusters"][last]
    note = f"α={model.alpha}, " if name == "α by validation" else ""
    return [
        Line(
            f"{len(nmi)} sweeps",
            name,
            f"sweeps until NMI > {GOOD}",
            paper,
            first,
            note="about, from the text of the paper",
        ),
        Line(f"{len(nmi)} sweeps", name, "NMI, second half", None, nmi[last].mean(), spread=nmi[last].std()),
        Line(
            f"{len(nmi)} sweeps", name, "clusters, second half", None, k.mean(), spread=k.std(), note=note.strip(", ")
        ),
    ]


def figure2c(quick):
    """The number of clusters of DP-means over lam."""
    X, _ = make_three_gaussians(random_state=SEED)
    lams = np.geomspace(1.0, 300.0, 40 if quick else 200)
    k = np.array([DPMeans(lam, search="sweep").fit(X).n_clusters_ for lam in lams])
    path = lambda_path(X)
    ax = plot.axes()
    ax.plot(lams, k, color="black", label="DP-means, rows in order")
    ax.plot(lams, [path.at(lam=lam).k for lam in lams], color="tab:red", drawstyle="steps-mid", label="lam path")
    ax.set(xscale="log", xlabel="lam", ylabel="clusters")
    ax.legend()
    step = path.at(k=3)
    lines = [
        _interval("DP-means, rows in order", lams[k == 3]),
        _interval("lam path", np.array([step.lam_low, step.lam_high])),
    ]
    return Result(lines, ax.figure)


def _interval(method, lams):
    """How wide the penalties lie that give three clusters."""
    low, high = (lams.min(), lams.max()) if len(lams) else (1.0, 1.0)
    note = f"lam from {low:.3g} to {high:.3g}"
    return Line(
        "three Gaussians", method, "log width of three clusters", None, np.log(high / low), goal=None, note=note
    )
