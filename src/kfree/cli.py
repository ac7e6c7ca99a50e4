"""The command ``kfree``."""

import argparse
import time

import numpy as np

import kfree


def main(arguments=None):
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="kfree", description="Clustering when nobody knows k.")
    parser.add_argument("--version", action="version", version=f"kfree {kfree.__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")
    demo_parser = commands.add_parser("demo", help="cluster a small map and draw the result")
    demo_parser.add_argument("--output", default="kfree-demo.png", help="the picture (default: %(default)s)")
    demo_parser.set_defaults(run=lambda options: demo(options.output))
    options = parser.parse_args(arguments)
    try:
        options.run(options)
    except ImportError as error:
        parser.exit(1, f"kfree: {error}\n")


def demo(output):
    """Cluster the bundled map, print a summary and write a picture."""
    from kfree import DPMeans, datasets, plot

    ax = plot.axes()
    X = datasets.load_archipelago()
    started = time.perf_counter()
    model = DPMeans().fit(X)
    seconds = time.perf_counter() - started
    size = np.bincount(model.labels_)
    radius = np.sqrt(np.bincount(model.labels_, model.transform(X).min(axis=1) ** 2) / size)

    print(f"{len(X)} settlements on a map. How many islands? Nobody said.")
    print(
        f"Found {model.n_clusters_} clusters in {1000 * seconds:.0f} ms, with a penalty of {model.lam_:.0f} km² each."
    )
    print(f"Cost {model.cost_:.0f} = {model.inertia_:.0f} (squared distances) + {model.n_clusters_} × lam.\n")
    print("cluster  settlements   east  north   radius (km)")
    for j, (east, north) in enumerate(model.cluster_centers_):
        print(f"{j:7d} {size[j]:12d} {east:6.1f} {north:6.1f} {radius[j]:13.1f}")
    plot.clusters(model, X, ax=ax)
    ax.set(xlabel="east (km)", ylabel="north (km)", title=f"{model.n_clusters_} clusters, and nobody gave k")
    ax.figure.savefig(output, dpi=120)
    print(f"\nThe picture is in {output}")
