"""Passes and fits on a GPU, beside flash-kmeans, torch, and the CPU engine and scikit-learn on the same host.

    python benchmarks/gpu.py passes      # the nearest of k sites for every row, with sums: near convergence, from rows
    python benchmarks/gpu.py fits        # whole calls of KMeans.fit on tensors: 12 iterations from random rows
    python benchmarks/gpu.py searches    # KMeans to convergence, DPMeans(), sweeps of the size of Photo Tourism
    python benchmarks/many_cores.py      # the CPU of the same host, in the same run

Needs a GPU with about 20 GB of memory. flash-kmeans takes part where it is installed: pip install flash-kmeans. It
cannot be given the sites of one pass, so that iterations are compared: the mean of the third to the twelfth of k-means,
begun at the centres of the blobs (near convergence) or at random rows. kfree's iterations use what the ones before
found; "first pass" is one that knows nothing. Times include what goes to the device and comes back. Rows are float32
blobs with standard deviation 1, centres with standard deviation 2 in every column. Notes hold the share of labels that
are not those of float64, among 20,000 rows.

"fits" times what a user calls: ``KMeans(k, init=centres, max_iter=12, tol=0, engine="gpu").fit(tensor)`` beside
flash-kmeans with the same centres and as many iterations, best of three. Inertia is that of the last labels and the
means of their rows, in float64. Three cases are real: colours of photographs that scikit-learn ships, patches of these,
and its digits, repeated with noise of a tenth of their step.
"""

import argparse
import importlib.util
import time
import warnings

import numpy as np
import torch
from ratio import Row, report
from sklearn.exceptions import ConvergenceWarning

from kfree import DPMeans, KMeans
from kfree.core.frame import Frame
from kfree.core.sites import Sites
from kfree.engines.gpu.engine import GpuRows
from kfree.engines.registry import open_engine

SHAPES = [(312_320, 128, 1000), (10_000_000, 128, 4096), (100_000_000, 16, 256)]
# Goals in seconds, near convergence and from random rows.
GOALS = {SHAPES[0]: (0.35e-3, 0.59e-3), SHAPES[1]: (25e-3, 49e-3), SHAPES[2]: (16e-3, 21e-3)}
# Rows that peers which hold all distances compare at a time.
AT_ONCE = 1 << 18


def blobs(n, d, k, deviation=2.0):
    torch.manual_seed(0)
    centres, X = deviation * torch.randn(k, d, device="cuda"), torch.empty(n, d, device="cuda")
    for first in range(0, n, 5_000_000):
        rows = X[first : first + 5_000_000]
        rows.normal_()
        rows += centres[torch.randint(k, (len(rows),), device="cuda")]
    return X, centres


def seconds_of(run, repeats=7):
    """The best time of a function that ends with the device idle; the first call compiles."""
    run()
    best = np.inf
    for _ in range(repeats):
        torch.cuda.synchronize()
        started = time.perf_counter()
        run()
        torch.cuda.synchronize()
        best = min(best, time.perf_counter() - started)
    return best


def by_kfree(rows, centres, n_iter=12):
    """Seconds of each iteration of k-means, with what goes to the device and comes back, and the first labels."""
    sites, seconds, first = Sites.of(centres.double().cpu().numpy()), [], None
    for _ in range(n_iter):
        torch.cuda.synchronize()
        started = time.perf_counter()
        done = rows.nearest(sites)
        labels, stats = done.assignment.labels, done.stats
        seconds.append(time.perf_counter() - started)
        first = labels if first is None else first
        occupied = stats.n > 0
        sites = sites.moved(np.where(occupied[:, None], stats.sum / np.maximum(stats.n, 1.0)[:, None], sites.centres))
    return seconds, first


def by_torch(X, centres):
    """Labels and sums with matrix products, a piece of the rows at a time."""
    labels = torch.empty(len(X), dtype=torch.int64, device="cuda")
    half_norm = (centres * centres).sum(dim=1) / 2
    for first in range(0, len(X), AT_ONCE):
        rows = X[first : first + AT_ONCE]
        labels[first : first + AT_ONCE] = (rows @ centres.T - half_norm).argmax(dim=1)
    return labels, torch.zeros_like(centres).index_add_(0, labels, X)


def seconds_by_flash(X, k, init):
    from flash_kmeans import batch_kmeans_Euclid

    def run(n_iter):
        return batch_kmeans_Euclid(X[None], k, max_iters=n_iter, tol=-1.0, init_centroids=init[None].clone())

    return (seconds_of(lambda: run(12), 3) - seconds_of(lambda: run(2), 3)) / 10


def labels_by_flash(X, k, init):
    from flash_kmeans import batch_kmeans_Euclid

    return batch_kmeans_Euclid(X[None], k, max_iters=1, tol=-1.0, init_centroids=init[None].clone())[0][0]


def share_wrong(labels, X, centres):
    some = torch.arange(0, len(X), max(1, len(X) // 20_000), device="cuda")
    exact = torch.cdist(X[some].double(), centres.double(), compute_mode="donot_use_mm_for_euclid_dist").argmin(dim=1)
    return f"{(labels[some].long() != exact).double().mean().item():.1e} of labels wrong"


def pass_row(shape, start, goal, X, centres):
    n, d, k = shape
    row = Row(f"{n:,} × {d} × {k}, {start}")
    rows = GpuRows(X, None, Frame.plain(d))
    # The first run compiles; later ones begin with other sites than the last ended with.
    runs = [by_kfree(rows, centres) for _ in range(4)][1:]
    row.seconds["kfree"] = min(float(np.mean(seconds[2:])) for seconds, _ in runs)
    row.notes["kfree"] = f"goal {goal * 1e3:g} ms; {share_wrong(runs[0][1], X, centres)}"
    row.seconds["kfree, first pass"] = first_pass_seconds(rows, centres)
    row.seconds["torch, matmul and argmin"] = seconds_of(lambda: by_torch(X, centres), 3)
    row.notes["torch, matmul and argmin"] = share_wrong(by_torch(X, centres)[0], X, centres)
    if importlib.util.find_spec("flash_kmeans"):
        for name, dtype in (("float16", torch.float16), ("float32", torch.float32)):
            given = X.to(dtype)
            row.seconds[f"flash-kmeans {name}"] = seconds_by_flash(given, k, centres.to(dtype))
            row.notes[f"flash-kmeans {name}"] = share_wrong(labels_by_flash(given, k, centres.to(dtype)), X, centres)
            del given
    return row


def first_pass_seconds(rows, centres):
    """A pass whose sites have ids that the rows have not seen."""
    centres = centres.double().cpu().numpy()
    k = len(centres)
    new = (Sites(centres, np.arange(first, first + k), first + k) for first in range(k, 100 * k, k))
    return seconds_of(lambda: rows.nearest(next(new)))


def cpu_seconds(X, centres):
    """One pass of the CPU engine with all cores, from nothing, and one iteration of scikit-learn."""
    from sklearn.cluster import KMeans as Peer

    engine, sites = open_engine("native", X, frame=Frame.plain(X.shape[1])), Sites.of(centres.astype(np.float64))
    started = time.perf_counter()
    engine.nearest(sites)
    found = {"kfree on the CPU": time.perf_counter() - started}
    if X.size < 1e8:
        started = time.perf_counter()
        Peer(len(centres), init=centres, n_init=1, max_iter=1).fit(X)
        found["scikit-learn"] = time.perf_counter() - started
    return found


def passes():
    for shape in SHAPES:
        X, centres = blobs(*shape)
        chosen = torch.randperm(len(X), device="cuda")[: shape[2]]
        starts = zip(("near convergence", "from random rows"), GOALS[shape], (centres, X[chosen]), strict=True)
        rows = [pass_row(shape, start, goal, X, sites) for start, goal, sites in starts]
        host = X.cpu().numpy()
        rows[1].seconds |= cpu_seconds(host, X[chosen].cpu().numpy())
        del X
        torch.cuda.empty_cache()
        yield from rows


def photographs():
    from sklearn.datasets import load_sample_images

    return [torch.from_numpy(image).float() for image in load_sample_images().images]


def patches(images, size=8):
    """All windows of so many pixels, every other row and column."""
    windows = [image.unfold(0, size, 2).unfold(1, size, 2).reshape(-1, 3 * size * size) for image in images]
    return torch.cat(windows).cuda()


def digits(repeats=500):
    from sklearn.datasets import load_digits

    X = torch.from_numpy(load_digits().data).float().cuda().repeat(repeats, 1)
    return X + 0.1 * torch.randn_like(X)


def fit_cases():
    """Name, rows on the device and number of clusters."""
    torch.manual_seed(0)
    for n, d, k, deviation in (
        (1_000_000, 64, 512, 2.0),
        (5_000_000, 32, 2000, 1.0),
        (20_000_000, 8, 100, 2.0),
        (2_000_000, 256, 8192, 2.0),
    ):
        yield f"{n:,} × {d} × {k}, blobs {deviation:g} deviations apart", blobs(n, d, k, deviation)[0], k
    X = blobs(500_000, 768, 1000, 1.0)[0]
    yield "500,000 × 768 × 1000, unit vectors", X / X.norm(dim=1, keepdim=True), 1000
    yield "4,000,000 × 3 × 1000, uniform", torch.rand(4_000_000, 3, device="cuda"), 1000
    images = photographs()
    colours = torch.cat([image.reshape(-1, 3) for image in images]).cuda()
    yield f"colours of two photographs, {len(colours):,} × 3 × 256", colours, 256
    windows = patches(images)
    yield f"patches of two photographs, {len(windows):,} × 192 × 1000", windows, 1000
    X = digits()
    yield f"digits with noise, {len(X):,} × 64 × 100", X, 100


def inertia_of(X, labels, k):
    """About the means of the clusters that the labels name, in float64."""
    labels = labels.long()
    sums, counts = torch.zeros((k, X.shape[1]), dtype=torch.float64, device="cuda"), torch.bincount(labels, minlength=k)
    total = 0.0
    for first in range(0, len(X), AT_ONCE):
        rows = X[first : first + AT_ONCE].double()
        sums.index_add_(0, labels[first : first + AT_ONCE], rows)
        total += float((rows * rows).sum())
    return total - float(((sums * sums).sum(dim=1) / counts.clamp(min=1)).sum())


def call_row(case, X, k, n_iter=12):
    """Whole calls: kfree, and flash-kmeans where it is installed."""
    init = X[torch.randperm(len(X), device="cuda")[:k]].clone()
    given, row = init.double().cpu().numpy(), Row(case)

    def fitted():
        return KMeans(k, init=given, max_iter=n_iter, tol=0, engine="gpu").fit(X)

    row.seconds["kfree"] = seconds_of(fitted, 3)
    model = fitted()
    centres = torch.from_numpy(model.cluster_centers_).cuda()
    row.notes["kfree"] = f"inertia {inertia_of(X, model.labels_, k):.6g}; {share_wrong(model.labels_, X, centres)}"
    row.seconds["kfree, predict"] = seconds_of(lambda: model.predict(X), 3)
    if importlib.util.find_spec("flash_kmeans"):
        from flash_kmeans import batch_kmeans_Euclid

        for name, dtype in (("float16", torch.float16), ("float32", torch.float32)):
            Y, start = X.to(dtype)[None], init.to(dtype)[None]

            def run(Y=Y, start=start):
                return batch_kmeans_Euclid(Y, k, max_iters=n_iter, tol=-1.0, init_centroids=start.clone())

            row.seconds[f"flash-kmeans {name}"] = seconds_of(run, 3)
            labels = run()[0][0]
            row.notes[f"flash-kmeans {name}"] = f"inertia {inertia_of(X, labels, k):.6g}"
            del Y
    print(row, flush=True)
    return row


def fits():
    warnings.simplefilter("ignore", ConvergenceWarning)
    for case, X, k in fit_cases():
        yield call_row(case, X, k)
        del X
        torch.cuda.empty_cache()


def fit_row(case, model, X, note):
    """The same fit on the GPU and on the CPU with all cores."""
    row, found = Row(case), {}
    for name, engine in (("kfree", "gpu"), ("kfree on the CPU", "native")):
        fitted = model(engine)
        if engine == "gpu":
            model(engine).fit(X)  # compiles; Triton keeps the kernels on disk
        started = time.perf_counter()
        found[name] = fitted.fit(X)
        row.seconds[name] = time.perf_counter() - started
        row.notes[name] = note(fitted, row.seconds[name])
    one, other = found.values()
    same = (one.labels_ == other.labels_).all() and (one.cluster_centers_ == other.cluster_centers_).all()
    row.notes["kfree"] += ", same bits" if same else ", OTHER BITS"
    print(row, flush=True)
    return row


def searches():
    X = blobs(*SHAPES[0])[0].cpu().numpy()
    yield fit_row(
        "KMeans to convergence, 312,320 × 128 × 1000",
        lambda engine: KMeans(1000, init=X[:1000], tol=0, engine=engine),
        X,
        lambda model, seconds: f"{model.n_iter_} iterations, {1e3 * seconds / model.n_iter_:.3g} ms each",
    )
    yield fit_row(
        "DPMeans(lam=400, search='sweep'), 312,320 × 128 (Photo Tourism's size, 37.9 s an iteration in the paper)",
        lambda engine: DPMeans(lam=400.0, search="sweep", engine=engine),
        X,
        lambda model, seconds: (
            f"k={model.n_clusters_}, {model.n_iter_} iterations, {seconds / model.n_iter_:.3g} s each"
        ),
    )
    X = blobs(10_000_000, 16, 100)[0].cpu().numpy()
    for case, memory in (("DPMeans()", None), ("DPMeans(memory='8GB'): all rows are searched at once", "8GB")):
        yield fit_row(
            f"{case}, 10,000,000 × 16, 100 blobs",
            lambda engine, memory=memory: DPMeans(engine=engine, memory=memory, random_state=0),
            X,
            lambda model, seconds: f"k={model.n_clusters_}, cost {model.cost_:.8g}",
        )


PARTS = {"passes": passes, "fits": fits, "searches": searches}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=list(PARTS))
    part = parser.parse_args().part
    print(torch.cuda.get_device_name())
    report(f"gpu_{part}", list(PARTS[part]()), "torch", "triton", "flash-kmeans", "scikit-learn")


if __name__ == "__main__":
    main()
