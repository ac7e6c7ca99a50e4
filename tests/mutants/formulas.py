"""Mutants of formulas and bounds: objectives, statistics, reference passes, moves, the path, what explains a model."""

from tests.mutants.planting import Mutant

OBJECTIVES = {
    "the last cluster is free": Mutant(
        "self.lam * len(stats.n)",
        "self.lam * (len(stats.n) - 1)",
        "estimators/test_dp_means.py",
        "all_partitions",
    ),
    "directions are not scaled to unit length": Mutant(
        "_divided(stats.sum, self.sizes(stats), previous)",
        "_divided(stats.sum, stats.n, previous)",
        "estimators/test_cosine.py",
        "closed_form",
    ),
    "means are off, so that the cost rises": Mutant(
        "stats.sum / stats.n[:, None] if has_weight.all() else _divided(stats.sum, stats.n, previous)",
        "stats.sum / (3 * stats.n[:, None])",
        "estimators/test_dp_means.py",
        "no_move_raises",
    ),
    "merging costs what the masses weigh together": Mutant(
        "shared * self.space.sq_gaps(means, clusters)",
        "both * self.space.sq_gaps(means, clusters)",
        "native/test_agglomerate.py",
        "recomputed_cost and euclidean",
    ),
    "joining a cluster does not move its mean": Mutant(
        "w * size / (size + w) * sq_dist",
        "w * sq_dist",
        "search/test_split_merge.py",
        "joining_and_leaving and euclidean",
    ),
    "groups that use both clusters save nothing by a merge": Mutant(
        "self.lam_local * (used[clusters] @ used.T)",
        "0.0 * (used[clusters] @ used.T)",
        "estimators/test_hdp.py",
        "merges_and_splits",
    ),
    "half a logarithm for each cluster, as printed in App. A": Mutant(
        "eta * math.log(math.pi) + np.log(xi)",
        "eta * math.log(math.pi) + np.log(xi) / n_features",
        "search/test_free_energy.py",
        "corrected_formula",
    ),
    "the prior's mean counts as one row": Mutant(
        "np.append(weight[own], self.prior.xi0)",
        "np.append(weight[own], 1.0)",
        "search/test_gaussian_by_gram.py",
        "formulas and near",
    ),
    "links may fall from a node to itself": Mutant(
        "totals(labels, out) ** 2 - totals(labels, out**2)",
        "totals(labels, out) ** 2",
        "search/test_planted_evidence.py",
        "by_hand",
    ),
    "parameters of clusters cost nothing": Mutant(
        "k * self.n_features + (k - 1) + 1",
        "1",
        "estimators/test_choose_k.py",
        "what_they_are_called",
    ),
    "soft labels have no entropy": Mutant(
        "self.objective.free_energy(stats) + float((r * log_r).sum())",
        "self.objective.free_energy(stats)",
        "baselines/test_mixtures.py",
        "variational_bound",
    ),
}

SUMS_AND_PASSES = {
    "blocks are joined from left to right": Mutant(
        "parent = level + 1, node[1] // 2",
        "parent = level + 1, 0",
        "native/test_sums.py",
        "those_of_the_tree and reference and dense",
    ),
    "a part begins a tree of its own": Mutant(
        "self.first_block = first_row // BLOCK",
        "self.first_block = 0",
        "native/test_sums.py",
        "each_block_once or parts_of_the_reference",
    ),
    "ties go to the youngest": Mutant(
        "label[block] = gaps.argmin(axis=1)",
        "label[block] = gaps.shape[1] - 1 - gaps[:, ::-1].argmin(axis=1)",
        "native/test_passes.py",
        "test_nearest and dense and float64",
    ),
    "a row at exactly lam opens a cluster": Mutant(
        "rows.weight[row] * sq_dist[row] > lam",
        "rows.weight[row] * sq_dist[row] >= lam * (1 - 1e-9)",
        "estimators/test_dp_means.py",
        "test_equals_the_serial_loop and grid",
    ),
    "weights do not count when clusters open": Mutant(
        "rows.weight[row] * sq_dist[row] > lam",
        "sq_dist[row] > lam",
        "estimators/test_dp_means.py",
        "weighted_sweep and whole and reference",
    ),
    "newborn clusters take rows that came before them": Mutant(
        "later = slice(place + 1, None)",
        "later = slice(None)",
        "estimators/test_dp_means.py",
        "test_equals_the_serial_loop and births",
    ),
    "deaths forget the weights": Mutant(
        "rows.weight[row] * (then - now)",
        "then - now",
        "native/test_passes.py",
        "moves and dense and float64-plain-weighted",
    ),
    "halves of a cluster keep its centroid, unlike the paper's": Mutant(
        "weight * ((high - middle) / (high - low))",
        "weight * ((middle - low) / (high - low))",
        "estimators/test_online.py",
        "bit_for_bit and 0-split-2.0-reference",
    ),
    "a box is owned although its far end is not": Mutant(
        "value - value[best] - 2 * parting - reach_sq[best] > doubt",
        "value - value[best] > doubt",
        "native/test_quadratic.py",
        "twins_agree",
    ),
    "a node takes its links along, but not both ends of them": Mutant(
        "self.total_out[to] += self.out[i] - 2 * linked.get(to, 0.0)",
        "self.total_out[to] += self.out[i] - linked.get(to, 0.0)",
        "native/test_cut.py",
        "moves_are_those and normalized and whole",
    ),
    "a merge forgets what lies between two means": Mutant(
        "scatter + scatter_one + between",
        "scatter + scatter_one",
        "estimators/test_agglomerative_bayes.py",
        "same_tree and 70-2-gaussian",
    ),
    "a row is as near to its cluster as if it were in it": Mutant(
        "self._log_weight(half_log_det, count, ratio * ratio * sq_dist / share)",
        "self._log_weight(half_log_det, count, sq_dist)",
        "native/test_chains.py",
        "collapsed_chains",
    ),
}

SEARCHES = {
    "one half is counted twice": Mutant(
        "cost - halves_cost[0::2] - halves_cost[1::2]",
        "cost - halves_cost[0::2] - halves_cost[0::2]",
        "search/test_split_merge.py",
        "halves_and_what and euclidean",
    ),
    "ties in merging go to any pair": Mutant(
        "nearest = int(np.argmin(later))",
        "nearest = len(later) - 1 - int(np.argmin(later[::-1]))",
        "native/test_agglomerate.py",
        "every_pair and inf and ties",
    ),
    "a clustering off the hull has a step": Mutant(
        "len(hull) > 1",
        "len(hull) > 9",
        "search/test_staircase.py",
        "every_penalty",
    ),
    "a row draws the window to itself": Mutant(
        "own = np.where(labels[rows] == end, weight[rows], 0.0)",
        "own = np.zeros(len(rows))",
        "native/test_path.py",
        "between",
    ),
    "clusters of which the cheapest pair is one are not compared": Mutant(
        "near = np.flatnonzero(least <= (1 + 1e-9) * at_most)",
        "near = np.arange(1)",
        "search/test_micro_clusters.py",
        "near_clusters and anywhere",
    ),
    "clusters that have come near are not noticed": Mutant(
        "better = np.flatnonzero(~alone & (offered < least))",
        "better = np.flatnonzero(np.zeros(len(least)))",
        "search/test_path_parts.py",
        "bounds_are_kept",
    ),
    "a step that costs more is kept": Mutant(
        "return new if new.cost <= state.cost else state",
        "return new",
        "search/test_bayesian_search.py",
        "undone",
        within="until_no_gain",
    ),
    "the number of clusters costs nothing": Mutant(
        "clusters + shared",
        "clusters + shared[-1]",
        "estimators/test_agglomerative_bayes.py",
        "greedy and 1-bernoulli-finite",
    ),
    "eigenvalues just below lam count": Mutant(
        "kept = values > lam",
        "kept = values > 0.5 * lam",
        "estimators/test_spectral.py",
        "theorem",
    ),
    "a cluster is compared with all rows, its own included": Mutant(
        "mean - mean_out",
        "mean - total.sum(axis=0) / n.sum()",
        "explain/test_summary.py",
        "deviations_within_clusters",
    ),
    "differences between clusters count as spread within them": Mutant(
        "within = _sum_of_squares(square, total, mean).sum(axis=0)",
        "within = _sum_of_squares(square.sum(axis=0), total.sum(axis=0), total.sum(axis=0) / n.sum())",
        "explain/test_summary.py",
        "does_not_widen",
    ),
}

OTHER_METRICS = {
    "only the row is moved by a divergence that joins": Mutant(
        "costs[0] + costs[1]",
        "costs[0]",
        "search/test_bregman.py",
        "row_that_moves",
    ),
    "divergences are about sites, not about means": Mutant(
        "stats.sse[alive] - about",
        "stats.sse[alive]",
        "search/test_bregman.py",
        "brought_to_the_means",
    ),
    "a centre of zero explains what is not": Mutant(
        "scores[self._apart(X, centres, vertical) > 0] = -np.inf",
        "pass",
        "search/test_bregman.py",
        "ends_included",
    ),
    "arcs are chords": Mutant(
        "np.arcsin(np.minimum(np.sqrt(sq_chords) / 2, 1.0))",
        "np.minimum(np.sqrt(sq_chords) / 2, 1.0)",
        "estimators/test_haversine.py",
        "arcs_in_km",
    ),
    "the first assignment is an iteration": Mutant(
        "descent.n_iter - 1",
        "descent.n_iter",
        "estimators/test_k_means.py",
        "counted_as_scikit_learn",
        within="_n_iterations",
    ),
    "weights do not count where centres are drawn": Mutant(
        "weight / weight.sum()",
        "np.ones(len(weight)) / len(weight)",
        "estimators/test_k_means.py",
        "drawn_by_weight",
        within="random_rows",
    ),
    "the farthest row joins, of whatever group": Mutant(
        "int(by_group.argmax())",
        "int(rows.group[saving.argmax()])",
        "estimators/test_hdp.py",
        "those_of_the_paper",
        within="global_penalty",
    ),
    "rows of linear embeddings have unit length": Mutant(
        "isinstance(affinity, Products)",
        "False",
        "estimators/test_spectral.py",
        "keep_their_length",
    ),
}
MUTANTS = OBJECTIVES | SUMS_AND_PASSES | SEARCHES | OTHER_METRICS
