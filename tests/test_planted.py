"""Tests that cannot fail prove nothing: each mistake planted here must make the named tests fail."""

from pathlib import Path

import pytest

import kfree
from kfree.native.processor import available_cpus
from tests import spoiled

# file, what is right, the mistake, the tests that must notice
MISTAKES = {
    "a path does not look beyond its end": (
        "search/path/lam_path.py",
        "path.k_beyond = widest if widest > len(path) else None",
        "path.k_beyond = None",
        ["estimators/test_advice.py", "greedy_merging_suggests"],
    ),
    "clusters of which the cheapest pair is one are not compared": (
        "search/path/best_by_k.py",
        "near = np.flatnonzero(least <= (1 + 1e-9) * at_most)",
        "near = np.arange(1)",
        ["search/test_lambda_path.py", "near_clusters and anywhere"],
    ),
    "partners that moved away are kept": (
        "search/path/partners.py",
        "        alone = partner < 0\n",
        "        alone = ~same\n",
        ["search/test_path_parts.py", "bounds_are_kept"],
    ),
    "clusters that have come near are not noticed": (
        "search/path/partners.py",
        "better = np.flatnonzero(~alone & (offered < least))",
        "better = np.flatnonzero(np.zeros(len(least)))",
        ["search/test_path_parts.py", "bounds_are_kept"],
    ),
    "rows of no weight are farthest": (
        "engines/in_memory/potential.py",
        "        saving[self._part.weight == 0] = 0.0  # … but a row of no weight saves nothing, wherever it is\n",
        "",
        ["estimators/test_weights.py", "infinitely_far"],
    ),
    "absent blocks make further nodes of the last share": (
        "engines/dask/tasks.py",
        "if end < self.n_rows or first % (1 << level):",
        "if end:",
        ["workers/test_traffic.py", "three"],
    ),
    "far rows do not meet clusters that other parts bore": (
        "engines/dask/births.py",
        "    part.join_listed(listed, newborn, 0, labels, sq_dist)\n",
        "",
        ["workers/test_dask_engine.py", "workers_have and float32"],
    ),
    "a checkpoint answers another question": (
        "saving/journal.py",
        'if document["asked"] != asked:',
        "if False:",
        ["saving/test_journal.py", "another_search"],
    ),
    "masked values are taken for values": (
        "estimators/_arrays.py",
        "np.ma.is_masked(values)",
        "False",
        ["estimators/test_hostile_arrays.py", "masked_values_are_refused and KMeans"],
    ),
    "what is read is not what was checked": (
        "core/sparse.py",
        'return X if X.format in ("lil", "dok") else copy.copy(X)',
        "return X",
        ["estimators/test_concurrent.py", "during_a_fit and csr_array and KMeans"],
    ),
    "nodes that still move count as done": (
        "native/reference/cut.py",
        "return moved, not waiting",
        "return moved, True",
        ["native/test_cut.py", "cut_short and reference and False"],
    ),
    "a part does not meet what it bore in its last turn": (
        "engines/in_memory/sweep.py",
        "self._n_seen = len(newborn)\n",
        "self._n_seen = len(newborn) + len(founders)\n",
        ["engines/test_engines.py", "same_bits and float64 and seven and 2"],
    ),
    "siblings are not joined in a stream": (
        "engines/files/sums.py",
        "left[1] % 2 == 0 and ",
        "",
        ["files/test_stream.py", "bits_of_memory and float64 and 2048"],
    ),
    "a chunk does not meet clusters of earlier chunks": (
        "engines/files/part.py",
        "                centres = np.vstack([centres, chunk.points(chunk.arrays.of(founders))])",
        "                centres = np.vstack([chunk.points(founders), centres])",
        ["files/test_stream.py", "bits_of_memory and float64 and 2048"],
    ),
    "rows of a file after the first chunk are those of the first": (
        "files/chunks.py",
        "np.asarray(column[taken : taken + n], dtype)",
        "np.asarray(column[:n], dtype)",
        ["files/test_formats.py", "written and csv and one"],
    ),
    "a file that changed is read": (
        "files/rows.py",
        "        if now != self.stamp:",
        "        if now.size != self.stamp.size:",
        ["files/test_bad_files.py", "changes"],
    ),
    "rows of weight zero are drawn": (
        "engines/in_memory/part.py",
        "chosen if self.weight is None else chosen & (self.weight[begin : begin + len(chosen)] > 0)",
        "chosen",
        ["files/test_stream.py", "drawn_by_their_keys and weights"],
    ),
    "a sample of a region has the weight of its own rows": (
        "search/summary/regions.py",
        "row_weights(rows) * (whole.n / n_seen)[labels]",
        "row_weights(rows)",
        ["search/test_regions.py", "matched"],
    ),
    "clusters outside a region have no weight": (
        "search/summary/regions.py",
        "beside(rows, points[counts], sizes[counts])",
        "beside(rows, points[counts], np.ones(counts.sum()))",
        ["search/test_regions.py", "lower_the_cost"],
    ),
    "regions have no rows from beyond their border": (
        "search/summary/regions.py",
        "border=fits and not wanted.all()",
        "border=False",
        ["search/test_regions.py", "at_the_border"],
    ),
    "rows from beyond the border count twice": (
        "search/summary/regions.py",
        "    n = whole.n - taken.n\n",
        "    n = np.where(whole.n == taken.n, 0.0, whole.n)\n",
        ["search/test_regions.py", "not_taken"],
    ),
    "rows from beyond the border are not the nearest ones": (
        "engines/drawing.py",
        "(1.0 - closeness[close])",
        "closeness[close]",
        ["files/test_stream.py", "beyond_the_border"],
    ),
    "a number that is none passes": (
        "files/chunks.py",
        "            if not _core.interleave(same_type, X[n_filled : n_filled + n]):",
        "            if _core.interleave(same_type, X[n_filled : n_filled + n]) is None:",
        ["files/test_bad_files.py", "not_finite"],
    ),
    "memory of a chunk in use is written to": (
        "files/chunks.py",
        "sys.getrefcount(self._kept[place]) == 2",
        "sys.getrefcount(self._kept[place]) >= 2",
        ["files/test_formats.py", "that_were_written and parquet"],
    ),
    "a proposal is taken though it costs more": (
        "search/summary/regions.py",
        "            if new.cost < descent.state.cost:\n",
        "            if True:\n",
        ["search/test_regions.py", "refused"],
    ),
    "idle workers take tasks of busy ones": (
        "engines/dask/cluster.py",
        "after=after, key=key",
        "key=key",
        ["workers/test_traffic.py", "busy"],
    ),
    "far rows found no micro-clusters": (
        "search/summary/micro.py",
        "threshold, None, plan.most_micro - len(state.stats.n))",
        "threshold, None, 0)",
        ["files/test_any_size.py", "far"],
    ),
    "the cost within micro-clusters is forgotten": (
        "estimators/_any_size.py",
        "located.descent.state.cost + summary.offset",
        "located.descent.state.cost",
        ["files/test_any_size.py", "any_partitioning and penalty"],
    ),
    "a search asks for labels": (
        "search/centres/refine.py",
        "        founders = pays.points[",
        "        engine.labels(state.assignment)\n        founders = pays.points[",
        ["engines/test_engines.py", "crosses and one"],
    ),
    "the smallest cluster comes first": (
        "estimators/_order.py",
        "> 1), -share))",
        "> 1), share))",
        ["explain/test_label_order.py", "rule"],
    ),
    "a cluster is compared with all rows, its own included": (
        "explain/features.py",
        "mean - mean_out, 0.0)",
        "mean - total.sum(axis=0) / n.sum(), 0.0)",
        ["explain/test_summary.py", "cohens_d"],
    ),
    "wide clusters account for no row": (
        "explain/spread.py",
        "(size < _SMALL * size.sum()) & ",
        "",
        ["explain/test_outliers.py", "account"],
    ),
    "a wide Gaussian beside the others is a background": (
        "explain/spread.py",
        " & (inside > rest / 2)",
        "",
        ["explain/test_outliers.py", "is_a_background"],
    ),
    "rows that were changed since the fit have a confidence": (
        "estimators/_margins.py",
        "if not np.array_equal(view.labels, in_memory(self.labels_)):",
        "if False:",
        ["explain/test_confidence.py", "gone_or_changed"],
    ),
    "weighted scatter about a mean that is not the cluster's": (
        "engines/cost_rules/gaussian.py",
        "scaled.scatter + shift)",
        "scaled.scatter)",
        ["estimators/test_weights.py", "bayesian and gaussian-native-finite"],
    ),
    "degrees of affinities count every row once": (
        "spectral/affinity.py",
        "degrees = values @ (np.ones(values.shape[0]) if weight is None else weight)",
        "degrees = values @ np.ones(values.shape[0])",
        ["estimators/test_weights.py", "spectral_clusters and gamma"],
    ),
    "links of a node are counted by their weight": (
        "estimators/_nodes.py",
        "n_links = total[linked] ** 2 / squares[linked]",
        "n_links = total[linked]",
        ["explain/test_outliers.py", "tail_of_its_links"],
    ),
    "levels are shown as coordinates": (
        "tables/categories.py",
        "return block / np.sqrt(0.5)",
        "return block",
        ["cli/test_encode.py", "units"],
    ),
    "ties go to the youngest": (
        "native/reference/passes.py",
        "label[block] = gaps.argmin(axis=1)",
        "label[block] = gaps.shape[1] - 1 - gaps[:, ::-1].argmin(axis=1)",
        ["native/test_passes.py", "test_nearest and C-float64-plain-unweighted"],
    ),
    "sums are not joined block by block": (
        "native/reference/rows.py",
        "BLOCK = 2048",
        "BLOCK = 4096",
        ["native/test_passes.py", "test_accumulate and C-float64-plain-unweighted"],
    ),
    "blocks are joined from left to right": (
        "core/sum_tree.py",
        "parent = level + 1, node[1] // 2",
        "parent = level + 1, 0",
        ["native/test_sums.py", "those_of_the_tree and reference and dense"],
    ),
    "listed rows are summed by their place in the list": (
        "native/reference/passes.py",
        "blocks, k = rows.first_block + row // BLOCK, n.shape[-1]",
        "blocks, k = rows.first_block + np.arange(len(row)) // BLOCK, n.shape[-1]",
        ["native/test_sums.py", "no_cut and 2-columns-dense"],
    ),
    "a part begins a tree of its own": (
        "native/reference/rows.py",
        "self.first_block = first_row // BLOCK",
        "self.first_block = 0",
        ["native/test_sums.py", "each_block_once or parts_of_the_reference"],
    ),
    "a row at exactly lam opens a cluster": (
        "native/reference/passes.py",
        "if not rows.weight[row] * sq_dist[row] > lam:",
        "if not rows.weight[row] * sq_dist[row] >= lam * (1 - 1e-9):",
        ["estimators/test_dp_means.py", "serial_loop and grid and reference"],
    ),
    "newborn clusters are not seen by later far rows": (
        "native/reference/passes.py",
        "_join_nearer(z, newborn, np.array([row])",
        "_join_nearer(z, newborn[:0], np.array([row])",
        ["estimators/test_dp_means.py", "serial_loop and blobs and reference"],
    ),
    "newborn clusters take rows that came before them": (
        "native/reference/passes.py",
        "later = visited[place + 1 :]",
        "later = visited",
        ["estimators/test_dp_means.py", "serial_loop and births and reference"],
    ),
    "the order of visits is ignored": (
        "engines/in_memory/sweep.py",
        "flatnonzero(is_far) if self._order is None else self._order[is_far[self._order]]",
        "flatnonzero(is_far)",
        ["estimators/test_dp_means.py", "serial_loop and births and random and reference"],
    ),
    "what a group begins to use is not free for its later rows": (
        "native/reference/hdp.py",
        "own[site] |= w > 0",
        "own[site] |= False",
        ["estimators/test_hdp.py", "algorithm_2 and reference"],
    ),
    "groups that use both clusters save nothing by a merge": (
        "objectives/hdp.py",
        "- self.lam_local * (used[clusters] @ used.T)",
        "- 0.0 * (used[clusters] @ used.T)",
        ["estimators/test_hdp.py", "merges_and_splits"],
    ),
    "means stay where they were": (
        "search/centres/moves.py",
        "return self.start(recentred(state, objective), engine, objective)",
        "return self.start(state.sites, engine, objective)",
        ["estimators/test_dp_means.py", "serial_loop and blobs"],
    ),
    "empty clusters are kept": (
        "search/centres/state.py",
        "return moved.kept(state.stats.n > 0)",
        "return moved",
        ["estimators/test_dp_means.py", "serial_loop and every"],
    ),
    "the search never notices that it has ended": (
        "search/centres/state.py",
        "return np.array_equal(self.assignment.fingerprints[alive], later.assignment.fingerprints)",
        "return False",
        ["estimators/test_dp_means.py", "serial_loop and grid"],
    ),
    "a fit cut short keeps the labels of its last sweep": (
        "estimators/_penalised.py",
        "if not searched_all or not state.settled or",
        "if False and",
        ["estimators/test_dp_means.py", "cut_short"],
    ),
    "the last cluster is free": (
        "objectives/dp_means.py",
        "self.lam * len(stats.n)",
        "self.lam * (len(stats.n) - 1)",
        ["estimators/test_dp_means.py", "all_partitions"],
    ),
    "directions are not scaled to unit length": (
        "objectives/dp_means.py",
        "return _divided(stats.sum, self.sizes(stats), previous)",
        "return _divided(stats.sum, stats.n, previous)",
        ["estimators/test_cosine.py", "closed_form"],
    ),
    "coordinates are not anchored": (
        "engines/local/engine.py",
        "Frame(X[first_row_that_counts(weight)].astype(np.float64), np.zeros(X.shape[1]))",
        "Frame(np.zeros(X.shape[1]), np.zeros(X.shape[1]))",
        ["estimators/test_input.py", "offset"],
    ),
    "weightless rows take part in the frame": (
        "core/stats.py",
        "int(np.argmax(weight > 0))",
        "0",
        ["estimators/test_weights.py", "removed_row"],
    ),
    "weights do not count in farthest-first": (
        "engines/in_memory/potential.py",
        "saving = self._part.weight * self._sq_dist",
        "saving = self._sq_dist",
        ["estimators/test_dp_means.py", "farthest_first"],
    ),
    "weights do not count when clusters open": (
        "native/reference/passes.py",
        "if not rows.weight[row] * sq_dist[row] > lam:",
        "if not sq_dist[row] > lam:",
        ["estimators/test_dp_means.py", "weighted_sweep and whole and reference"],
    ),
    "means are off, so that the cost rises": (
        "objectives/dp_means.py",
        "return _divided(stats.sum, stats.n, previous)",
        "return _divided(stats.sum, 3 * stats.n, previous)",
        ["estimators/test_dp_means.py", "no_move_raises"],
    ),
    "rows that cancel out have a direction": (
        "objectives/dp_means.py",
        "_divided(stats.sum, self.sizes(stats), previous)",
        "_divided(stats.sum, self.sizes(stats), stats.sum)",
        ["estimators/test_cosine.py", "cancel"],
    ),
    "an empty cluster takes the nearest row": (
        "engines/in_memory/part.py",
        "order = self.arrays.largest(sq_dist, size)",
        "order = self.arrays.largest(-sq_dist, size)",
        ["estimators/test_k_means.py", "relocated"],
    ),
    "a merge under a free energy asks for labels": (
        "search/evidence/bayesian.py",
        "engine.renumbered(state.assignment, numbers, state.n_clusters)",
        "engine.assignment(numbers[engine.labels(state.assignment)], state.n_clusters)",
        ["engines/test_cost_rules.py", "no_labels_cross and brute"],
    ),
    "a merged cluster is not offered to the others": (
        "search/agglomerate.py",
        "better & self._alive[earlier]",
        "better & ~self._alive[earlier]",
        ["native/test_agglomerate.py", "every_pair and inf"],
    ),
    "ties in merging go to any pair": (
        "search/agglomerate.py",
        "nearest = int(np.argmin(later))",
        "nearest = len(later) - 1 - int(np.argmin(later[::-1]))",
        ["native/test_agglomerate.py", "every_pair and inf and ties"],
    ),
    "merging costs what the masses weigh together": (
        "objectives/dp_means.py",
        "costs: Floats = shared * self.space.sq_gaps(means, clusters)",
        "costs: Floats = both * self.space.sq_gaps(means, clusters)",
        ["native/test_agglomerate.py", "recomputed_cost and euclidean"],
    ),
    "a row draws the window to itself": (
        "search/path/windows.py",
        "own = np.where(labels == end, self.weight[rows], 0.0)",
        "own = np.zeros(len(rows))",
        ["search/test_lambda_path.py", "dips_are_those"],
    ),
    "a clustering off the hull has a step": (
        "search/path/steps.py",
        "while len(hull) > 1 and",
        "while len(hull) > 9 and",
        ["search/test_staircase.py", "every_penalty"],
    ),
    "steps need no evidence": (
        "search/path/verdicts.py",
        "(self.evidence >= _needed(score)) &",
        "(self.evidence >= -9) &",
        ["search/test_staircase.py", "evidence"],
    ),
    "close calls are not looked at again": (
        "search/path/verdicts.py",
        "if best < _CLOSE else []",
        "if best < -9 else []",
        ["search/test_lambda_path.py", "halved"],
    ),
    "a direction weighs what its rows weigh": (
        "objectives/dp_means.py",
        "previous=stats.sum), self.sizes(stats)",
        "previous=stats.sum), stats.n",
        ["native/test_agglomerate.py", "stand_for and cosine"],
    ),
    "joining a cluster does not move its mean": (
        "core/row_costs.py",
        "return w * size / (size + w) * sq_dist",
        "return w * sq_dist",
        ["search/test_split_merge.py", "joining_and_leaving and euclidean"],
    ),
    "one half is counted twice": (
        "search/centres/bisection.py",
        "cost - halves_cost[0::2] - halves_cost[1::2]",
        "cost - halves_cost[0::2] - halves_cost[0::2]",
        ["search/test_split_merge.py", "halves_and_what and euclidean"],
    ),
    "deaths forget the weights": (
        "native/reference/passes.py",
        "added = rows.first_block + row // BLOCK, rows.weight[row] * (then - now)",
        "added = rows.first_block + row // BLOCK, then - now",
        ["native/test_passes.py", "moves and C-float64-plain-weighted"],
    ),
    "new rows are seen in coordinates of their own": (
        "estimators/_centres.py",
        "frame=frame, n_threads",
        "frame=None, n_threads",
        ["estimators/test_dp_means.py", "allow_new"],
    ),
    "halves of a cluster keep its centroid, unlike the paper's": (
        "native/reference/online.py",
        "weight * ((high - middle) / (high - low)), self._low",
        "weight * ((middle - low) / (high - low)), self._low",
        ["estimators/test_online.py", "bit_for_bit and 0-split-2.0-reference"],
    ),
    "clusters take rows that would make them split": (
        "native/reference/online.py",
        "gaps[outside & too_large] = np.nan",
        "gaps[outside & too_large & False] = np.nan",
        ["estimators/test_online.py", "bit_for_bit and 0-split-2.0-reference"],
    ),
    "clusters refuse rows that they hold already": (
        "native/reference/online.py",
        "gaps[outside & too_large]",
        "gaps[too_large]",
        ["estimators/test_online.py", "bit_for_bit and 0-split-2.0-reference"],
    ),
    "weights do not count when a stream opens clusters": (
        "native/reference/online.py",
        "None if weight * gaps[nearest] > self.lam",
        "None if gaps[nearest] > self.lam",
        ["estimators/test_online.py", "bit_for_bit and 2-online-2.0-reference"],
    ),
    "the first pair is merged, not the cheapest": (
        "native/reference/online.py",
        "np.unravel_index(cost.argmin(), cost.shape)",
        "np.argwhere(cost < self._penalty)[0] if (cost < self._penalty).any() else (0, 1)",
        ["estimators/test_online.py", "equation_10 and reference"],
    ),
    "a stream's coordinates begin anew with every chunk": (
        "engines/local/stream.py",
        "if self._anchor is not None or",
        "if",
        ["estimators/test_online.py", "bit_for_bit and 0-split-2.0-native"],
    ),
    "half a logarithm for each cluster, as printed in App. A": (
        "objectives/gaussian.py",
        "eta * math.log(math.pi) + np.log(xi)",
        "eta * math.log(math.pi) + np.log(xi) / n_features",
        ["search/test_free_energy.py", "corrected_formula"],
    ),
    "a box is owned although its far end is not": (
        "native/reference/quadratic.py",
        "- 2 * parting - reach_sq[best] > doubt",
        "> doubt",
        ["native/test_quadratic.py", "twins_agree"],
    ),
    "a step that costs more is kept": (
        "search/evidence/hard_labels.py",
        "return new if new.cost <= state.cost else state",
        "return new",
        ["search/test_bayesian_search.py", "undone"],
    ),
    "pairs that cost most are merged first": (
        "search/evidence/bayesian.py",
        'np.argsort(costs, axis=None, kind="stable")[: k * (k - 1) // 2]',
        'np.argsort(costs, axis=None, kind="stable")[: k * (k - 1) // 2][::-1]',
        ["search/test_bayesian_search.py", "costs_least"],
    ),
    "the last cuts stop early too": (
        "search/evidence/splits.py",
        "cuts = [_updated_cut(side, whole, part, objective, -math.inf) for side in sides]",
        "cuts = [_updated_cut(side, whole, part, objective, penalty) for side in sides]",
        ["search/test_bayesian_search.py", "narrow_gaussian"],
    ),
    "rows that left a cluster stay in its kernel sums": (
        "engines/kernel/sums.py",
        "-self._weight[rows][left]",
        "0 * self._weight[rows][left]",
        ["estimators/test_kernel.py", "patched_right"],
    ),
    "the length of a centre is forgotten in feature space": (
        "engines/kernel/engine.py",
        "DUAL.sq_norms(centres)[:, None] - 2 *",
        "1.0 - 2 *",
        ["estimators/test_kernel.py", "linear_kernel_is_dp_means and sweep-0"],
    ),
    "eigenvalues just below lam count": (
        "spectral/spectrum.py",
        "kept = values > lam",
        "kept = values > 0.5 * lam",
        ["estimators/test_spectral.py", "theorem"],
    ),
    "labels do not follow merges": (
        "estimators/_events.py",
        "successor[goes] = successor.get(stays, stays)",
        "pass",
        ["estimators/test_online.py", "labels_follow"],
    ),
    "a node takes its links along, but not both ends of them": (
        "native/reference/cut.py",
        "self.total_out[to] += self.out[i] - 2 * linked.get(to, 0.0)",
        "self.total_out[to] += self.out[i] - linked.get(to, 0.0)",
        ["native/test_cut.py", "moves_are_those and normalized and whole"],
    ),
    "clusters without links to each other never merge": (
        "search/graph/multilevel.py",
        "if not deltas[other] < -_least_gain(clusters, objective):",
        "if not (deltas[other] < -_least_gain(clusters, objective) and clusters.links_of(weak)[other]):",
        ["native/test_cut.py", "weak_clusters"],
    ),
    "links may fall from a node to itself": (
        "objectives/planted.py",
        "totals(labels, out) ** 2 - totals(labels, out**2)",
        "totals(labels, out) ** 2",
        ["search/test_planted_evidence.py", "by_hand"],
    ),
    "the number of clusters costs nothing": (
        "search/evidence/tree.py",
        "Tree(merges, clusters + shared, n_pairs)",
        "Tree(merges, clusters + shared[-1], n_pairs)",
        ["estimators/test_agglomerative_bayes.py", "greedy and 1-bernoulli-finite"],
    ),
    "a merge forgets what lies between two means": (
        "native/reference/agglomerate.py",
        "scatter + scatter_one + between",
        "scatter + scatter_one",
        ["estimators/test_agglomerative_bayes.py", "same_tree and 70-2-gaussian"],
    ),
    "leaves alone in their class are drawn too": (
        "metrics.py",
        "if size > 1)",
        "if size > 0)",
        ["test_metrics.py", "alone_in_their_class"],
    ),
    "a row counts itself when its label is drawn": (
        "native/reference/samplers.py",
        "            self.counts[self.labels[i]] -= 1\n            sq_dist",
        "            sq_dist",
        ["native/test_chains.py", "spherical_chains"],
    ),
    "a row is as near to its cluster as if it were in it": (
        "native/reference/samplers.py",
        "return self._log_weight(half_log_det, count, ratio * ratio * sq_dist / share)",
        "return self._log_weight(half_log_det, count, sq_dist)",
        ["native/test_chains.py", "collapsed_chains"],
    ),
    "alpha is drawn as if there were no rows": (
        "baselines/_sampling.py",
        "rate = prior.rate - math.log(rng.beta(alpha + 1, n_rows))",
        "rate = prior.rate",
        ["baselines/test_samplers.py", "alpha_and_sigma"],
    ),
    "k-means labels rows by the weights of clusters": (
        "baselines/information.py",
        "return costs.argmin(axis=1).astype(np.int32)",
        "return super()._labels_by(costs)",
        ["baselines/test_mixtures.py", "overlap and model0"],
    ),
    "soft labels have no entropy": (
        "baselines/variational.py",
        "self.objective.free_energy(stats) + float((r * log_r).sum())",
        "self.objective.free_energy(stats)",
        ["baselines/test_mixtures.py", "variational_bound"],
    ),
    "parameters of clusters cost nothing": (
        "objectives/information.py",
        "return k * self.n_features + (k - 1) + 1",
        "return 1",
        ["estimators/test_choose_k.py", "what_they_are_called"],
    ),
    "sparse matrices stay matrices": (
        "core/sparse.py",
        "rows = sp.csr_array(X.shape, dtype=X.dtype)",
        "rows = sp.csr_matrix(X.shape, dtype=X.dtype)",
        ["estimators/test_sparse.py", "multinomial and csr_matrix"],
    ),
    "a missing value is a mean": (
        "tables/gaps.py",
        "n_neighbors=1,",
        "n_neighbors=500,",
        ["tables/test_encoder.py", "right_in_expectation"],
    ),
    "a mismatch weighs twice as much": (
        "tables/categories.py",
        "astype(int)] = np.sqrt(0.5)",
        "astype(int)] = 1.0",
        ["tables/test_encoder.py", "typically_one_apart"],
    ),
    "equal rows count for the scale": (
        "tables/numeric.py",
        "differences = differences[differences > 0]",
        "differences = differences[differences >= 0]",
        ["tables/test_encoder.py", "all_pairs and counts"],
    ),
    "rows lose sight of micro-clusters that merge": (
        "estimators/_micro_stream.py",
        "joined = followed(joined, moves)",
        "joined = joined.copy()",
        ["estimators/test_online_micro.py", "any_chunking and 60"],
    ),
    "the penalty does not grow with what a stream remembers": (
        "estimators/_micro_stream.py",
        "self.fixed + self.per_weight * weight",
        "self.fixed + self.per_weight * 1000",
        ["estimators/test_online_micro.py", "first_chunk"],
    ),
    "groups are sought across clusters": (
        "estimators/_column_advice.py",
        "_distinct(rows[labels == cluster])",
        "_distinct(rows)",
        ["estimators/test_advice.py", "no_advice and ten"],
    ),
    "rows on a circle gather in the middle of the disc": (
        "search/path/circles.py",
        "np.sqrt(rng.uniform(size=len(pair)))",
        "rng.uniform(size=len(pair))",
        ["search/test_circles.py", "fill_a_disc"],
    ),
    "a round of seeds forgets the rounds before": (
        "search/path/seeds.py",
        "sq_dist = np.minimum(sq_dist, engine.sq_dists(assignment, sites.centres))",
        "sq_dist = engine.sq_dists(assignment, sites.centres)",
        ["search/test_path_parts.py", "seeds_are_distinct"],
    ),
    "halves are drawn from all rows alike": (
        "search/path/halves.py",
        'np.argsort(strata[single], kind="stable")',
        'np.argsort(0 * strata[single], kind="stable")',
        ["search/test_path_parts.py", "every_stratum"],
    ),
    "unimodality is tested for the suggested step alone": (
        "search/path/verdicts.py",
        "decisive = {self._merit(score)[1], *self.ranked(score)[:2]}",
        "decisive = {*self.ranked(score)[:1]}",
        ["search/test_staircase.py", "asked_only"],
    ),
    "one long axis passes for round": (
        "estimators/_advice.py",
        "rest = variance[1:].sum() / (n_features - 1)",
        "rest = variance.sum() / (n_features - 1)",
        ["estimators/test_advice.py", "remedy and strips"],
    ),
}


@pytest.fixture(scope="module")
def outcomes(request, tmp_path_factory):
    """All mistakes that were asked for, as many at a time as there are processors."""
    wanted = [item.callspec.params["mistake"] for item in request.session.items if item.path == Path(__file__)]
    package, folder = Path(kfree.__file__).parent, tmp_path_factory.mktemp
    with spoiled.processes(available_cpus()) as pool:
        yield {
            mistake: pool.submit(spoiled.outcome, package, MISTAKES[mistake], folder("spoiled")) for mistake in wanted
        }


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_planted_mistake_is_noticed(mistake, outcomes):
    code, printed = outcomes[mistake].result()
    assert code == pytest.ExitCode.TESTS_FAILED, printed[-2000:]
