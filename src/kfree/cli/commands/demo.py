"""Cluster a small map that comes with kfree, draw the result and write a page to explore it."""

HELP = "cluster a small map and draw the result"


def add_options(parser):
    parser.add_argument("--output", default="kfree-demo.png", help="the picture (default: %(default)s)")
    parser.add_argument("--report", default="kfree-demo.html", help="the page to explore (default: %(default)s)")


def run(options, console):
    import time

    import numpy as np

    from kfree import DPMeans, datasets, plot
    from kfree.cli.output import reported
    from kfree.cli.pictures import require_picture, save
    from kfree.report import write_report

    require_picture(options.output, "--output")
    X = datasets.load_archipelago()
    started = time.perf_counter()
    model = DPMeans().fit(X)
    seconds = time.perf_counter() - started
    size = np.bincount(model.labels_)
    radius = np.sqrt(np.bincount(model.labels_, model.transform(X).min(axis=1) ** 2) / size)

    print(f"{len(X)} settlements on a map; the number of islands is not given.")
    print(
        f"Found {model.n_clusters_} clusters in {1000 * seconds:.0f} ms, with a penalty of {model.lam_:.1f} km² each."
    )
    print(f"Cost {model.cost_:.0f} = {model.inertia_:.0f} (squared distances) + {model.n_clusters_} × lam.\n")
    print("cluster  settlements   east  north   radius (km)")
    for j, (east, north) in enumerate(model.cluster_centers_):
        print(f"{j:7d} {size[j]:12d} {east:6.1f} {north:6.1f} {radius[j]:13.1f}")
    ax = plot.clusters(model, X, plot.axes())
    ax.set(xlabel="east (km)", ylabel="north (km)", title=f"{model.n_clusters_} clusters, found without k")
    save(options.output, ax)
    with reported(options.report):
        write_report(options.report, model, X, ["east (km)", "north (km)"], title="Settlements of an archipelago")
    print(f"\nThe picture is in {options.output}, and a page to explore in {options.report}")
