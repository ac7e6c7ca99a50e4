"""Checks that all rows must pass: the same bits as rows in memory, and nothing as long as the rows crosses.

``found_by`` runs all searches on rows in memory, and ``answered_by`` asks all questions of rows that may be anywhere;
``check_same_bits`` compares what was found in two places.
"""

import numpy as np
import scipy.sparse as sp
from engines.metering import Metered

from kfree.core.sites import Sites
from kfree.engines.drawing import Region
from kfree.native import _core
from kfree.objectives.dp_means import OBJECTIVES
from kfree.search.centres.moves import Sweep, lloyd
from kfree.search.centres.seeding import farthest_first, greedy_k_means_plus_plus
from kfree.search.centres.split_merge import Budget, split_merge
from kfree.search.centres.state import assigned, one_cluster
from kfree.search.loop import descend
from kfree.search.path.lam_path import lam_path
from kfree.validation.tensors import in_memory

SEED = 4
N_ROWS = 9 * _core.BLOCK + 84  # ten blocks of summation, the last one not full


def rows_of_all_kinds(rng, n_rows=N_ROWS):
    """Name → rows, weights or None, and whether rows are directions."""
    centres = 6.0 * rng.normal(size=(7, 3))
    X = centres[rng.integers(7, size=n_rows)] + rng.normal(size=(n_rows, 3))
    some_zero = rng.integers(0, 3, n_rows).astype(float)
    sparse = X * (rng.random(X.shape) < 0.5)
    return {
        "float64": (X, None, False),
        "float32": (X.astype(np.float32), None, False),
        "Fortran order": (np.asfortranarray(X), None, False),
        "weights, some zero": (X, some_zero, False),
        "far from the origin": (X + 1e6, None, False),
        "ties": (np.round(X), None, False),
        "one column": (X[:, :1].copy(), None, False),
        "many columns": (np.tile(X, 14) + rng.normal(size=(n_rows, 42)), None, False),
        "heavy tails": (rng.standard_cauchy(size=(n_rows, 2)), None, False),
        "cosine": (X + 8.0, None, True),
        "CSR": (sp.csr_array(sparse), some_zero + 1.0, False),
    }


KINDS = list(rows_of_all_kinds(np.random.default_rng(0)))


def searches(engine, metric, n_rows):
    """Everything that DPMeans and KMeans do, as arrays to compare: labels, centres, costs."""
    plain = OBJECTIVES[metric](0.0)
    lam = farthest_first(engine, plain, 6)
    penalised = OBJECTIVES[metric](lam)
    yield "farthest-first", [np.array(lam)]
    for name, order in (("given", None), ("random", np.random.RandomState(3).permutation(n_rows))):
        sweep = Sweep(order)
        swept = descend(sweep.start(one_cluster(engine, penalised), engine, penalised), [sweep], engine, penalised, 6)
        yield f"sweep, {name} order", outcome(swept.state, engine)
    seeds = greedy_k_means_plus_plus(engine, 5, np.random.RandomState(0))
    yield "k-means++", [seeds]
    start = assigned(Sites.of(seeds), engine, plain)
    yield "k-means", outcome(descend(start, [lloyd], engine, plain, 5).state, engine)
    few = Sites.of(np.vstack([seeds[:2], seeds[:1] + 1e9]))
    yield "an empty cluster", outcome(lloyd(assigned(few, engine, plain), engine, plain), engine)
    worth = OBJECTIVES[metric](40 * lam)
    for name, deadline in (("split-merge", np.inf), ("split-merge that begins on samples", 1e300)):
        budget = Budget(np.random.RandomState(0), deadline=deadline)
        yield name, outcome(split_merge(engine, worth, None, 12, None, budget).state, engine)


def path_of(engine, metric):
    """The lam path up to a few clusters."""
    found = lam_path(engine, OBJECTIVES[metric](0.0), np.random.RandomState(0), max_k=8).staircase
    return [found.cost, found.evidence]


def outcome(state, engine):
    engine.is_publishing = True
    numbers = np.arange(len(state.sites.uids), dtype=np.int32)[::-1].copy()
    labels, nearest = engine.labels(state.assignment), in_memory(engine.nearest_labels(state.sites, numbers))
    engine.is_publishing = False
    return [labels, nearest, state.sites.centres, state.stats.n, state.stats.sum, np.array(state.cost)]


def found_by(engine, unit):
    """What all searches find, by name."""
    metric = "cosine" if unit else "euclidean"
    found = dict(searches(engine, metric, engine.n_rows))
    return {"frame": [engine.frame.anchor, engine.frame.shift], **found, "lam path": path_of(engine, metric)}


def check_same_bits(found, expected):
    """Two places have the same answers, to the last bit."""
    assert found.keys() == expected.keys()
    for name, arrays in found.items():
        for ours, theirs in zip(arrays, expected[name], strict=True):
            np.testing.assert_array_equal(ours, theirs, err_msg=name)


def answered_by(rows, lam):
    """What rows answer that may be anywhere: frame, sample, a pass, sweeps with births and without room, regions."""
    return dict(_answers(rows, lam))


def _answers(rows, lam):
    start = Sites.of(rows.first_point()[None, :])
    one = rows.nearest(start)
    sample = rows.sample(300, np.random.RandomState(SEED), start)
    sites = Sites.of(sample.rows(np.arange(9)))
    yield "frame", [rows.frame.anchor, rows.frame.shift, np.array(rows.total_weight), np.array(rows.n_counting)]
    yield "sample", [sample.rows(np.arange(300))]
    for name, done in (
        ("one site", one),
        ("nine sites", rows.nearest(sites)),
        ("births", rows.sweep(sites, lam, None, 10_000)),
        ("no room", rows.sweep(sites, lam, None, 3)),
    ):
        yield name, [done.centres, done.stats.n, done.stats.sum, done.stats.sse, np.array(done.n_refused)]
        yield f"{name}: labels", [rows.labels(done.assignment), done.assignment.fingerprints]
    numbers = np.arange(9, dtype=np.int32)[::-1].copy()
    yield "numbered", [in_memory(rows.nearest_labels(sites, numbers))]
    yield from drawn_by(rows, sites)


def drawn_by(rows, sites):
    """What passes that draw rows of a region return: all rows of it, a sample, and a sample that was expected small."""
    k = len(sites.uids)
    few = np.arange(k) % 3 == 0
    for name, region in {
        "few clusters": Region(few, 10**6, SEED, 4000.0),
        "a sample": Region(np.ones(k, bool), 500, SEED, float(rows.n_counting)),
        "more than expected": Region(few, 300, SEED, 100.0),
        "none": Region(np.zeros(k, bool), 300, SEED, 0.0),
        "with border": Region(few, 10**6, SEED, 4000.0, border=True),
        "part of the border": Region(np.arange(k) == 0, 1000, SEED, 500.0, border=True),
        "no room for a border": Region(few, 300, SEED, 100.0, border=True),
    }.items():
        done, found, is_all = rows.nearest_drawing(sites, region)
        points = np.empty((0, rows.n_features)) if found is None else found.rows(np.arange(found.n_rows))
        weight = np.empty(0) if found is None else found.row_weights()
        stats, labels = [done.stats.n, done.stats.sum, done.stats.sse], rows.labels(done.assignment)
        yield name, [points, weight, np.array(is_all), *stats, labels, done.assignment.fingerprints]


def check_nothing_as_long_as_the_rows_crosses(engine, unit):
    """All searches through a proxy that fails when an array of n elements goes in or out; returns what crossed."""
    metered = Metered(engine, engine.n_rows)
    found_by(metered, unit)
    return metered.largest
