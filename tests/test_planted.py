"""Tests that cannot fail prove nothing: each mistake planted here must make the named tests fail."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import kfree
from kfree.engines.local import available_cpus

TESTS = Path(__file__).parent

# file, what is right, the mistake, the tests that must notice
MISTAKES = {
    "ties go to the youngest": (
        "native/reference.py",
        "label[block] = gaps.argmin(axis=1)",
        "label[block] = gaps.shape[1] - 1 - gaps[:, ::-1].argmin(axis=1)",
        ["test_passes.py", "test_nearest and C-float64-plain-unweighted"],
    ),
    "sums are not joined block by block": (
        "native/reference.py",
        "BLOCK = 1024",
        "BLOCK = 2048",
        ["test_passes.py", "test_accumulate and C-float64-plain-unweighted"],
    ),
    "a row at exactly lam opens a cluster": (
        "native/reference.py",
        "if not rows.weight[row] * sq_dist[row] > lam:",
        "if not rows.weight[row] * sq_dist[row] >= lam * (1 - 1e-9):",
        ["test_dp_means.py", "serial_loop and grid and reference"],
    ),
    "newborn clusters are not seen by later far rows": (
        "native/reference.py",
        "_join_nearer(z, newborn, np.array([row])",
        "_join_nearer(z, newborn[:0], np.array([row])",
        ["test_dp_means.py", "serial_loop and blobs and reference"],
    ),
    "newborn clusters take rows that came before them": (
        "native/reference.py",
        "later = visited[place + 1 :]",
        "later = visited",
        ["test_dp_means.py", "serial_loop and births and reference"],
    ),
    "the order of visits is ignored": (
        "engines/local.py",
        "np.flatnonzero(is_far) if order is None else order[is_far[order]]",
        "np.flatnonzero(is_far)",
        ["test_dp_means.py", "serial_loop and births and random and reference"],
    ),
    "what a group begins to use is not free for its later rows": (
        "native/reference_hdp.py",
        "own[site] |= w > 0",
        "own[site] |= False",
        ["test_hdp.py", "algorithm_2 and reference"],
    ),
    "groups that use both clusters save nothing by a merge": (
        "objectives/hdp.py",
        "- self.lam_local * (used[clusters] @ used.T)",
        "- 0.0 * (used[clusters] @ used.T)",
        ["test_hdp.py", "merges_and_splits"],
    ),
    "means stay where they were": (
        "search/moves.py",
        "return self.start(recentred(state, objective), engine, objective)",
        "return self.start(state.sites, engine, objective)",
        ["test_dp_means.py", "serial_loop and blobs"],
    ),
    "empty clusters are kept": (
        "search/state.py",
        "return moved.kept(state.stats.n > 0)",
        "return moved",
        ["test_dp_means.py", "serial_loop and every"],
    ),
    "the search never notices that it has ended": (
        "search/state.py",
        "return np.array_equal(self.labels, later.labels)",
        "return False",
        ["test_dp_means.py", "serial_loop and grid"],
    ),
    "a fit cut short keeps the labels of its last sweep": (
        "estimators/_priced.py",
        "if not state.settled or",
        "if False and",
        ["test_dp_means.py", "cut_short"],
    ),
    "the last cluster is free": (
        "objectives/dp_means.py",
        "self.lam * len(stats.n)",
        "self.lam * (len(stats.n) - 1)",
        ["test_dp_means.py", "all_partitions"],
    ),
    "directions are not scaled to unit length": (
        "objectives/dp_means.py",
        "np.where(directed, length, 1.0)",
        "np.where(directed, stats.n, 1.0)",
        ["test_cosine.py", "closed_form"],
    ),
    "coordinates are not anchored": (
        "engines/local.py",
        "Frame(X[first].astype(np.float64), np.zeros(self.n_features))",
        "Frame(np.zeros(self.n_features), np.zeros(self.n_features))",
        ["test_input.py", "offset"],
    ),
    "weightless rows take part in the frame": (
        "engines/base.py",
        "int(np.argmax(weight > 0))",
        "0",
        ["test_weights.py", "removed_row"],
    ),
    "weights do not count in farthest-first": (
        "search/seeding.py",
        "saving = weight * sq_dist\n        farthest",
        "saving = sq_dist\n        farthest",
        ["test_dp_means.py", "farthest_first"],
    ),
    "weights do not count when clusters open": (
        "native/reference.py",
        "if not rows.weight[row] * sq_dist[row] > lam:",
        "if not sq_dist[row] > lam:",
        ["test_dp_means.py", "weighted_sweep and whole and reference"],
    ),
    "means are off, so that the cost rises": (
        "objectives/dp_means.py",
        "np.where(weighted, stats.n, 1.0)[:, None], previous)",
        "np.where(weighted, 3 * stats.n, 1.0)[:, None], previous)",
        ["test_dp_means.py", "no_move_raises"],
    ),
    "rows that cancel out have a direction": (
        "objectives/dp_means.py",
        "np.where(directed, length, 1.0)[:, None], previous)",
        "np.where(directed, length, 1.0)[:, None], stats.sum)",
        ["test_cosine.py", "cancel"],
    ),
    "an empty cluster takes the nearest row": (
        "search/moves.py",
        "np.argsort(-gain",
        "np.argsort(gain",
        ["test_k_means.py", "relocated"],
    ),
    "a merged cluster is not offered to the others": (
        "search/agglomerate.py",
        "better & self._alive[earlier]",
        "better & ~self._alive[earlier]",
        ["test_agglomerate.py", "every_pair and inf"],
    ),
    "ties in merging go to any pair": (
        "search/agglomerate.py",
        "nearest = int(np.argmin(later))",
        "nearest = len(later) - 1 - int(np.argmin(later[::-1]))",
        ["test_agglomerate.py", "every_pair and inf and ties"],
    ),
    "merging costs what the masses weigh together": (
        "objectives/dp_means.py",
        "shared = n * n[clusters, None]",
        "shared = both * n[clusters, None]",
        ["test_agglomerate.py", "recomputed_cost and euclidean"],
    ),
    "a row draws the window to itself": (
        "search/valleys.py",
        "others = mass - np.where(inside, weight, 0.0)",
        "others, inside = mass, np.zeros_like(inside)",
        ["test_lambda_path.py", "valleys_are_those"],
    ),
    "a clustering off the hull has a step": (
        "search/staircase.py",
        "while len(hull) > 1 and",
        "while len(hull) > 9 and",
        ["test_staircase.py", "every_price"],
    ),
    "steps need no evidence": (
        "search/staircase.py",
        "(self.evidence >= self.ENOUGH) &",
        "(self.evidence >= -9) &",
        ["test_staircase.py", "evidence"],
    ),
    "a direction weighs what its rows weigh": (
        "objectives/dp_means.py",
        "previous=stats.sum), self.sizes(stats)",
        "previous=stats.sum), stats.n",
        ["test_agglomerate.py", "stand_for and cosine"],
    ),
    "joining a cluster does not move its mean": (
        "prices.py",
        "return w * size / (size + w) * sq_dist",
        "return w * sq_dist",
        ["test_split_merge.py", "joining_and_leaving and euclidean"],
    ),
    "one half is counted twice": (
        "search/halves.py",
        "cost - halves_cost[0::2] - halves_cost[1::2]",
        "cost - halves_cost[0::2] - halves_cost[0::2]",
        ["test_split_merge.py", "halves_and_what and euclidean"],
    ),
    "deaths forget the weights": (
        "search/thinning.py",
        "weights=self._weight * (then - now)",
        "weights=then - now",
        ["test_split_merge.py", "deaths_cost and euclidean"],
    ),
    "new rows are seen in coordinates of their own": (
        "estimators/_centres.py",
        "frame=frame, n_threads",
        "frame=None, n_threads",
        ["test_dp_means.py", "allow_new"],
    ),
    "halves of a cluster keep its centroid, unlike the paper's": (
        "native/reference_online.py",
        "weight * ((high - middle) / (high - low)), self._low",
        "weight * ((middle - low) / (high - low)), self._low",
        ["test_online.py", "bit_for_bit and 0-split-2.0-reference"],
    ),
    "clusters take rows that would make them split": (
        "native/reference_online.py",
        "gaps[outside & too_large] = np.nan",
        "gaps[outside & too_large & False] = np.nan",
        ["test_online.py", "bit_for_bit and 0-split-2.0-reference"],
    ),
    "clusters refuse rows that they hold already": (
        "native/reference_online.py",
        "gaps[outside & too_large]",
        "gaps[too_large]",
        ["test_online.py", "bit_for_bit and 0-split-2.0-reference"],
    ),
    "weights do not count when a stream opens clusters": (
        "native/reference_online.py",
        "None if weight * gaps[nearest] > self.lam",
        "None if gaps[nearest] > self.lam",
        ["test_online.py", "bit_for_bit and 2-online-2.0-reference"],
    ),
    "the first pair is merged, not the cheapest": (
        "native/reference_online.py",
        "np.unravel_index(cost.argmin(), cost.shape)",
        "np.argwhere(cost < self._price)[0] if (cost < self._price).any() else (0, 1)",
        ["test_online.py", "equation_10 and reference"],
    ),
    "a stream's coordinates begin anew with every chunk": (
        "engines/stream.py",
        "if self._anchor is not None or",
        "if",
        ["test_online.py", "bit_for_bit and 0-split-2.0-native"],
    ),
    "half a logarithm for each cluster, as printed in App. A": (
        "objectives/gaussian.py",
        "eta * math.log(math.pi) + np.log(xi)",
        "eta * math.log(math.pi) + np.log(xi) / n_features",
        ["test_free_energy.py", "corrected_formula"],
    ),
    "a box is owned although its far end is not": (
        "native/reference_quadratic.py",
        "- 2 * parting - reach_sq[best] > doubt",
        "> doubt",
        ["test_quadratic.py", "twins_agree"],
    ),
    "a step that costs more is kept": (
        "search/hard_labels.py",
        "return new if new.cost <= state.cost else state",
        "return new",
        ["test_bayesian_search.py", "undone"],
    ),
    "rows that left a cluster stay in its kernel sums": (
        "engines/kernel_sums.py",
        "-self._weight[rows][left]",
        "0 * self._weight[rows][left]",
        ["test_kernel.py", "patched_right"],
    ),
    "the length of a centre is forgotten in feature space": (
        "engines/kernel.py",
        "+ DUAL.sq_norms(centres)[:, None])",
        "+ 1.0)",
        ["test_kernel.py", "linear_kernel_is_dp_means and sweep-0"],
    ),
    "eigenvalues just below lam count": (
        "spectral/spectrum.py",
        "kept = values > lam",
        "kept = values > 0.5 * lam",
        ["test_spectral.py", "theorem"],
    ),
    "labels do not follow merges": (
        "estimators/_events.py",
        "heir[goes] = heir.get(stays, stays)",
        "pass",
        ["test_online.py", "labels_follow"],
    ),
    "a node takes its links along, but not both ends of them": (
        "native/reference_cut.py",
        "self.total_out[to] += self.out[i] - 2 * linked.get(to, 0.0)",
        "self.total_out[to] += self.out[i] - linked.get(to, 0.0)",
        ["test_cut.py", "moves_are_those and normalized and whole"],
    ),
    "clusters without links to each other never merge": (
        "search/multilevel.py",
        "if not deltas[other] < -_least_gain(clusters, objective):",
        "if not (deltas[other] < -_least_gain(clusters, objective) and clusters.links_of(weak)[other]):",
        ["test_cut.py", "weak_clusters"],
    ),
    "links may fall from a node to itself": (
        "objectives/planted.py",
        "totals(labels, out) ** 2 - totals(labels, out**2)",
        "totals(labels, out) ** 2",
        ["test_planted_evidence.py", "by_hand"],
    ),
    "the number of clusters costs nothing": (
        "search/tree.py",
        "Tree(merges, clusters + shared, n_pairs)",
        "Tree(merges, clusters + shared[-1], n_pairs)",
        ["test_agglomerative_bayes.py", "greedy and 1-bernoulli-finite"],
    ),
    "a merge forgets what lies between two means": (
        "native/reference_agglomerate.py",
        "scatter + scatter_one + between",
        "scatter + scatter_one",
        ["test_agglomerative_bayes.py", "same_tree and 70-2-gaussian"],
    ),
    "leaves alone in their class are drawn too": (
        "metrics.py",
        "if size > 1)",
        "if size > 0)",
        ["test_metrics.py", "alone_in_their_class"],
    ),
}


def outcome(mistake, folder):
    """What pytest says about a copy of the package with the mistake in it."""
    file, right, wrong, (tests, selection) = MISTAKES[mistake]
    package = folder / "kfree"
    shutil.copytree(Path(kfree.__file__).parent, package)
    source = (package / file).read_text()
    assert source.count(right) == 1, "the line to spoil has changed: spoil its successor"
    (package / file).write_text(source.replace(right, wrong))
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", TESTS / tests, "-k", selection],
        env=os.environ | {"PYTHONPATH": str(folder)},
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def outcomes(request, tmp_path_factory):
    """All mistakes that were asked for, as many at a time as there are processors."""
    wanted = [item.callspec.params["mistake"] for item in request.session.items if item.path == Path(__file__)]
    with ThreadPoolExecutor(available_cpus()) as pool:
        yield {mistake: pool.submit(outcome, mistake, tmp_path_factory.mktemp("spoiled")) for mistake in wanted}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_planted_mistake_is_noticed(mistake, outcomes):
    done = outcomes[mistake].result()
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout[-2000:]
