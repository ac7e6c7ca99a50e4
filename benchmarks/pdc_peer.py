"""pdc-dp-means in a process of its own. Arguments: file of rows, penalty, settings as JSON, file for the answer.

Run by an interpreter that has pdc-dp-means. Tells its versions, then fits once for every line that it is sent, and
answers with what that took and the number of iterations. Its ``delta`` is compared with squared distances and paid once
per cluster: it is kfree's ``lam``.
"""

import importlib.metadata
import json
import sys
import time
import warnings

import numpy as np
from pdc_dp_means import DPMeans


def main(rows, lam, settings, answer):
    warnings.simplefilter("ignore")
    X, settings = np.load(rows), json.loads(settings)
    if settings.get("init") == "mean":
        settings["init"] = X.mean(axis=0, keepdims=True)
    say({package: importlib.metadata.version(package) for package in ("pdc-dp-means", "scikit-learn", "numpy")})
    for _ in sys.stdin:
        model = DPMeans(delta=float(lam), n_init=1, random_state=0, **settings)
        started, processor = time.perf_counter(), time.process_time()
        model.fit(X)
        seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - processor
        np.savez(answer, labels=model.labels_, centres=model.cluster_centers_)
        say({"seconds": seconds, "cpu_seconds": cpu_seconds, "n_iter": model.n_iter_})


def say(message):
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
