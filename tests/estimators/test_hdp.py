"""HardHDP against its oracles: Algorithm 2 row by row, all partitions, all choices of a group, and the deltas."""

import numpy as np
import pytest
import scipy.sparse as sp
from oracles import centres as oracles
from oracles import hdp as oracles_hdp
from sklearn.metrics import adjusted_rand_score

from kfree import DPMeans, HardHDP
from kfree.core.sites import Sites
from kfree.engines.local.grouped import GroupedRows
from kfree.engines.registry import open_engine
from kfree.objectives.hdp import HDPObjective
from kfree.search.centres.bisection import bisect
from kfree.search.centres.state import recentred, settle, state_of
from kfree.search.groups.hdp import shared_by_all
from kfree.search.path import few_rows

ENGINES = ["native", "reference"]


def grouped(rng, n_groups=6, n_rows=8, d=2, k=5, spread=3.0, weighted=False):
    """Rows of groups that each use a few of k blobs, shuffled; their groups, and weights or None."""
    blobs = rng.normal(size=(k, d)) * spread
    group = np.repeat(np.arange(n_groups), n_rows)
    own = np.array([rng.choice(k, 2, replace=False) for _ in range(n_groups)])
    X = blobs[own[group, rng.integers(2, size=len(group))]] + 0.5 * rng.normal(size=(len(group), d))
    order = rng.permutation(len(X))
    return X[order], group[order], rng.integers(1, 4, len(X)).astype(float) if weighted else None


def some_state(rng, lam_local=1.0, lam_global=3.0, n_sites=6, weighted=True, engine="native"):
    """An engine, an objective and a state of rows held against a few of them."""
    X, group, weight = grouped(rng, weighted=weighted)
    objective = HDPObjective(lam_global, lam_local)
    held = GroupedRows.open(engine, X, group, weight=weight, n_threads=1).penalised(objective.lam_local)
    sites = Sites.of(held.rows(rng.choice(len(X), n_sites, replace=False)))
    return settle(state_of(sites, held.nearest(sites), objective), held, objective), held, objective


def cost_of(labels, engine, objective):
    Z = engine.rows(np.arange(engine.n_rows))
    return oracles_hdp.partition_cost(Z, engine.group, labels, objective.lam_local, objective.lam, engine.weight)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("lam_local", "lam_global"), [(0.5, 1.0), (2.0, 4.0), (4.0, 0.5), (30.0, 60.0)])
def test_sweep_is_algorithm_2(lam_local, lam_global, weighted, engine, rng):
    X, group, weight = grouped(rng, weighted=weighted)
    model = HardHDP(lam_local=lam_local, lam_global=lam_global, search="sweep", engine=engine, label_order="found")
    model.fit(X, groups=group, sample_weight=weight)
    number = {name: place for place, name in enumerate(model.groups_.tolist())}
    Z = oracles.canonical(X, weight)
    labels, centres, costs = oracles_hdp.serial_hard_hdp(
        Z, [number[g] for g in group.tolist()], lam_local, lam_global, weight
    )
    assert model.labels_.tolist() == labels
    np.testing.assert_allclose(model._model_.centres, centres, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.cost_history_, costs, rtol=1e-9)
    assert model.converged_


def test_groups_that_open_many_sites(rng):
    """Groups are tried side by side until one of them opens a site, wherever that is."""
    X, group, _ = grouped(rng, n_groups=120, n_rows=6, k=30, spread=20.0)
    models = [
        HardHDP(lam_local=0.5, lam_global=1.0, search="sweep", engine=engine, n_threads=n_threads, max_iter=2).fit
        for engine, n_threads in [("reference", None), ("native", 1), ("native", 3)]
    ]
    with pytest.warns(UserWarning, match="did not converge"):
        first, *others = (fit(X, groups=group).labels_ for fit in models)
    assert first.max() > 20
    for labels in others:
        np.testing.assert_array_equal(labels, first)


@pytest.mark.parametrize("engine", ENGINES)
def test_one_group_is_dp_means(engine, rng, monkeypatch):
    """Step 4 is DP-means' sweep with the sum of the penalties; the objective is DP-means' throughout."""
    X, _, weight = grouped(rng, weighted=True)
    one = np.zeros(len(X), dtype=int)
    objective = HDPObjective(2.5, 1.5)
    held = GroupedRows.open(engine, X, one, weight=weight).penalised(objective.lam_local)
    plain_engine = open_engine(engine, X, weight=weight, frame=held.frame)
    sites = shared_by_all(held, objective)
    for _ in range(3):
        ours, theirs = held.visit(sites, 2.5), plain_engine.sweep(Sites.of(sites.centres), 4.0, None, len(X))
        np.testing.assert_array_equal(held.labels(ours.assignment), plain_engine.labels(theirs.assignment))
        np.testing.assert_array_equal(ours.centres, theirs.centres)
        sites = recentred(state_of(sites, ours, objective), objective)
    for search in ("sweep", "split-merge"):
        model = HardHDP(lam_local=1.5, lam_global=2.5, search=search, engine=engine).fit(X, sample_weight=weight)
        # Of few rows, DPMeans also starts from the clusterings of the path, which shared clusters have none of.
        monkeypatch.setattr(few_rows, "FEW_ROWS", 0)
        plain = DPMeans(lam=4.0, search=search).fit(X, sample_weight=weight)
        assert model.cost_ == pytest.approx(oracles.partition_cost(X, model.labels_, 4.0, weight))
        assert model.cost_ <= plain.cost_ * (1 + 1e-9)


def test_against_all_partitions(rng):
    """Costs are those of Eq. 2 of Kulis & Jordan (2012), summed over all rows by the oracle.

    A local search may miss the minimum; on a few rows split-merge hardly ever does.
    """
    n_missed = 0
    for trial in range(24):
        n, lam_local, lam_global = rng.integers(2, 8), rng.choice([0.2, 1.0]), rng.choice([0.3, 1.0, 3.0])
        X, group = rng.normal(size=(n, 2)) * rng.choice([1.0, 3.0]), rng.integers(3, size=n)
        w = rng.integers(1, 4, n).astype(float) if trial % 2 else None
        lowest = oracles_hdp.lowest_cost(X, group, lam_local, lam_global, w)
        for search in ("sweep", "split-merge"):
            model = HardHDP(lam_local=lam_local, lam_global=lam_global, search=search).fit(
                X, groups=group, sample_weight=w
            )
            by_hand = oracles_hdp.partition_cost(X, group, model.labels_, lam_local, lam_global, w)
            assert model.cost_ == pytest.approx(by_hand, rel=1e-9)
            assert model.cost_ >= lowest - 1e-9
        n_missed += model.cost_ > lowest * (1 + 1e-9)
    assert n_missed <= 1


@pytest.mark.parametrize("engine", ENGINES)
def test_choices_of_groups(engine, rng):
    """No single change of what a group uses is cheaper, and hardly ever is any other choice."""
    state, held, objective = some_state(rng, engine=engine)
    gaps, n_missed = held.sq_distances(state.sites.centres), 0
    for group in range(held.n_groups):
        rows, used = held.members(group), state.stats.used[:, group]
        w = held.weight[rows]

        def cost(choice, rows=rows, w=w):
            return float((w * gaps[rows][:, choice].min(axis=1)).sum()) + objective.lam_local * len(choice)

        chosen = np.flatnonzero(used).tolist()
        n_missed += cost(chosen) > oracles_hdp.best_choice(gaps[rows], w, objective.lam_local) + 1e-9
        others = np.flatnonzero(~used).tolist()
        changes = [
            sorted({*chosen, *into} - {*out})
            for into in [[], *[[q] for q in others]]
            for out in [[], *[[p] for p in chosen]]
        ]
        assert cost(chosen) <= min(cost(choice) for choice in changes if choice) + 1e-9
    assert n_missed <= 1


@pytest.mark.parametrize("search", ["split-merge", "sweep"])
def test_distances_of_a_search_are_counted(search, rng):
    """Every pass compares each row with one site at least, and a search takes two passes or more."""
    X, group, _ = grouped(rng)
    model = HardHDP(lam_local=1.0, lam_global=3.0, search=search).fit(X, groups=group)
    assert model.n_distances_ >= 2 * len(X) * model.n_clusters_


def test_native_passes_equal_their_twins(rng):
    for weighted in (False, True):
        X, group, weight = grouped(rng, n_groups=9, n_rows=7, weighted=weighted)
        if weighted:
            weight[group == 3], weight[::5] = 0.0, 0.0
        opened = [GroupedRows.open(engine, X, group, weight=weight, n_threads=2) for engine in ENGINES]
        twins = [one.penalised(1.0) for one in opened]
        start = Sites.of(twins[0].rows(np.arange(0, 40, 5))).used_by(rng.random((8, 9)) < 0.3)
        passes = [[e.nearest(start), e.visit(start, 3.0)] for e in twins]
        for ours, theirs in zip(*passes, strict=True):
            np.testing.assert_array_equal(twins[0].labels(ours.assignment), twins[1].labels(theirs.assignment))
            np.testing.assert_array_equal(ours.stats.sse, theirs.stats.sse)
            np.testing.assert_array_equal(ours.stats.used, theirs.stats.used)
        done = passes[0][0]
        deletion = [e.deletion_costs() for e in twins]
        for one in deletion:
            one.update(done.assignment, start.after(done.centres, done.stats))
        np.testing.assert_allclose(deletion[0].costs(), deletion[1].costs(), rtol=1e-12)
        np.testing.assert_array_equal(deletion[0].neighbours().toarray(), deletion[1].neighbours().toarray())
        labels = twins[0].labels(done.assignment)
        seconds = [e.seconds(labels, start.centres, done.stats.used) for e in twins]
        np.testing.assert_array_equal(seconds[0][0], seconds[1][0])
        np.testing.assert_array_equal(seconds[0][1], seconds[1][1])


def test_merges_and_splits_change_the_cost_as_said(rng):
    state, engine, objective = some_state(rng)
    labels = engine.labels(state.assignment)
    now = cost_of(labels, engine, objective)
    for a in range(len(state.stats.n)):
        said = objective.merge_costs(state.stats, a)
        for b in set(range(len(said))) - {a}:
            merged = np.where(labels == b, a, labels)
            assert cost_of(merged, engine, objective) - now == pytest.approx(said[b] - objective.lam, abs=1e-9)
    bisections = bisect(state, engine, objective)
    for place in range(len(bisections.clusters)):
        after = bisections.cut(state, np.array([place]), objective)
        gained = now - cost_of(engine.labels(after.assignment), engine, objective)
        assert gained == pytest.approx(bisections.gain[place] - objective.lam, abs=1e-9)


def test_deaths_cost_what_is_said(rng):
    """Closing a site costs each group the better of doing without it and of opening another one."""
    state, engine, objective = some_state(rng)
    deaths = engine.deletion_costs()
    deaths.update(state.assignment, state.sites)
    gaps = engine.sq_distances(state.sites.centres)
    for site, said in enumerate(deaths.costs()):
        extra = 0.0
        for group in np.flatnonzero(state.stats.used[site]):
            rows, used = engine.members(group), state.stats.used[:, group]
            kept = [q for q in np.flatnonzero(used) if q != site]
            choices = [*([kept] if kept else []), *([*kept, q] for q in np.flatnonzero(~used))]
            costs = [
                (engine.weight[rows] * gaps[rows][:, c].min(axis=1)).sum() + objective.lam_local * len(c)
                for c in [np.flatnonzero(used), *choices]
            ]
            extra += min(costs[1:]) - costs[0]
        assert said == pytest.approx(extra, rel=1e-9)


@pytest.mark.parametrize("search", ["sweep", "split-merge"])
@pytest.mark.parametrize("weighted", [False, True])
def test_what_a_fit_leaves_behind(search, weighted, rng):
    X, group, weight = grouped(rng, n_groups=20, weighted=weighted)
    names = np.array([f"group {g}" for g in group])
    model = HardHDP(lam_local=1.0, lam_global=3.0, search=search).fit(X, groups=names, sample_weight=weight)
    assert (np.diff(model.cost_history_) <= 1e-9).all()
    assert model.cost_history_[-1] == model.cost_
    assert model.cost_ == pytest.approx(model.inertia_ + model.local_cost_ + model.global_cost_)
    assert model.local_cost_ == model.n_local_clusters_.sum() * 1.0
    assert model.global_cost_ == model.n_global_clusters_ * 3.0
    np.testing.assert_array_equal(model.predict(X, groups=names), model.labels_)
    assert -model.score(X, groups=names, sample_weight=weight) == pytest.approx(model.cost_)
    assert model.groups_.tolist() == list(dict.fromkeys(names.tolist()))
    for name, n_local in zip(model.groups_, model.n_local_clusters_, strict=True):
        pairs = {*zip(model.labels_[names == name].tolist(), model.local_labels_[names == name].tolist(), strict=True)}
        assert sorted(local for _, local in pairs) == list(range(n_local))
        assert len({label for label, _ in pairs}) == n_local


def test_split_merge_is_no_worse_than_sweeps(rng):
    for _ in range(5):
        X, group, _ = grouped(rng, n_groups=15, n_rows=10, k=8)
        costs = [
            HardHDP(lam_local=1.0, lam_global=3.0, search=search).fit(X, groups=group).cost_
            for search in ("split-merge", "sweep")
        ]
        assert costs[0] <= costs[1] * (1 + 1e-9)


def test_threads_engines_and_repeats_leave_no_trace(rng):
    X, group, weight = grouped(rng, n_groups=12, weighted=True)
    settings = [{"n_threads": 1}, {"n_threads": 4}, {"engine": "reference"}, {}]
    first, *others = (HardHDP(random_state=3, **s).fit(X, groups=group, sample_weight=weight) for s in settings)
    for other in others:
        np.testing.assert_array_equal(other.labels_, first.labels_)
        assert other.lam_local_ == pytest.approx(first.lam_local_, rel=1e-12)


def test_rows_of_no_weight_leave_no_trace(rng):
    X, group, _ = grouped(rng)
    far, w = np.vstack([X, [[100.0, 100.0]], [[50.0, 0.0]]]), np.append(np.ones(len(X)), [0.0, 0.0])
    names = np.append(group, [group[0], 99])
    for search in ("sweep", "split-merge"):
        plain = HardHDP(lam_local=1.0, lam_global=3.0, search=search).fit(X, groups=group)
        model = HardHDP(lam_local=1.0, lam_global=3.0, search=search).fit(far, groups=names, sample_weight=w)
        np.testing.assert_array_equal(model.labels_[:-2], plain.labels_)
        assert model.cost_ == pytest.approx(plain.cost_)
        assert model.n_local_clusters_[-1] == 0
        np.testing.assert_array_equal(model.predict(far, groups=names), model.labels_)


def test_lists_and_sparse_rows_are_the_same_groups(rng):
    X, group, weight = grouped(rng, weighted=True)
    order = np.argsort(group, kind="stable")
    X, group, weight = X[order], group[order], weight[order]
    parts, weights = [X[group == g] for g in range(6)], [weight[group == g] for g in range(6)]
    plain = HardHDP(lam_local=1.0, lam_global=3.0).fit(X, groups=group, sample_weight=weight)
    listed = HardHDP(lam_local=1.0, lam_global=3.0).fit(parts, sample_weight=weights)
    np.testing.assert_array_equal(listed.labels_, plain.labels_)
    np.testing.assert_array_equal(listed.predict(parts), plain.labels_)
    sparse = HardHDP(lam_local=1.0, lam_global=3.0).fit([sp.csr_array(part) for part in parts], sample_weight=weight)
    assert sparse.cost_ == pytest.approx(plain.cost_)
    np.testing.assert_array_equal(plain.predict(sp.csr_array(X), groups=group), plain.labels_)


def test_new_groups_choose_among_the_clusters(rng):
    X, group, _ = grouped(rng, spread=20.0)
    model = HardHDP(lam_local=1.0, lam_global=3.0).fit(X, groups=group)
    rows = X[group == 2]
    new = model.predict(rows, groups=["new"] * len(rows))
    np.testing.assert_array_equal(new, model.labels_[group == 2])
    # Alone, a row pays for its cluster anyway, and takes the nearest; with others it may do without its own.
    stray = np.vstack([model.cluster_centers_[[0] * 5], [model.cluster_centers_[0] + 0.9]])
    assert len(set(model.predict(stray, groups=[7] * 6).tolist())) == 1


def test_further_groups(rng):
    """New groups find the old clusters and open new ones; what is said about the old groups stays true."""
    centres = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0], [10.0, 10.0]])
    uses = [[0, 1], [1, 2], [0, 2], [2, 3]]
    y = np.concatenate([np.repeat(use, 10) for use in uses])
    X, group = centres[y] + rng.normal(size=(80, 2)), np.repeat(list("abcd"), 20)
    model = HardHDP(lam_local=15.0, lam_global=30.0).fit(X[:40], groups=group[:40])
    assert model.n_global_clusters_ == 3
    model.partial_fit(X[40:], groups=group[40:])
    assert model.n_global_clusters_ == 4
    assert model.n_local_clusters_.tolist() == [2, 2, 2, 2]
    assert model.groups_.tolist() == list("abcd")
    assert adjusted_rand_score(y[40:], model.labels_) == 1.0
    whole = HardHDP(lam_local=15.0, lam_global=30.0).fit(X, groups=group)
    assert model.cost_ == pytest.approx(whole.cost_)
    assert adjusted_rand_score(model.predict(X, groups=group), y) == 1.0
    assert (np.diff(model.cost_history_) <= 1e-9).all()
    assert model.cost_history_[-1] == pytest.approx(model.cost_)
    first = HardHDP(lam_local=15.0, lam_global=30.0).partial_fit(X, groups=group)
    np.testing.assert_array_equal(first.labels_, whole.labels_)


@pytest.mark.parametrize(("n_groups", "n_rows", "d"), [(20, 12, 2), (3, 200, 2), (150, 3, 5), (1, 300, 3)])
def test_penalty_are_found(n_groups, n_rows, d, rng):
    """Clear clusters are found without any penalty, whatever the sizes of the groups."""
    centres = 30.0 * np.eye(max(d, 5))[:5, :d] + 15.0 * np.arange(5)[:, None]
    own = np.array([rng.choice(5, 2, replace=False) for _ in range(n_groups)])
    group = np.repeat(np.arange(n_groups), n_rows)
    y = own[group, rng.integers(2, size=len(group))]
    model = HardHDP().fit(centres[y] + rng.normal(size=(len(y), d)), groups=group)
    assert adjusted_rand_score(y, model.labels_) == 1.0


@pytest.mark.parametrize("n_rows", [2, 3, 20])
def test_no_clusters_are_one_cluster(n_rows, rng):
    X, group = rng.normal(size=(400, 3)) * [5, 1, 1], np.arange(400) // n_rows
    model = HardHDP().fit(X, groups=group)
    assert (model.n_global_clusters_, model.n_local_clusters_.max()) == (1, 1)


@pytest.mark.parametrize("n_rows", [2, 3])
def test_clusters_of_groups_too_small_to_show_them(n_rows, rng):
    centres = 12.0 * np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    y = rng.integers(4, size=300)
    model = HardHDP().fit(centres[y] + rng.normal(size=(300, 2)), groups=np.arange(300) // n_rows)
    assert adjusted_rand_score(y, model.labels_) == 1.0


def test_one_penalty_may_be_given(rng):
    X, group, _ = grouped(rng, n_groups=20, n_rows=12, spread=20.0)
    both = HardHDP().fit(X, groups=group)
    for given in ({"lam_local": both.lam_local_}, {"lam_global": both.lam_global_}):
        model = HardHDP(**given).fit(X, groups=group)
        assert model.n_global_clusters_ == both.n_global_clusters_
        assert {f"{name}_": value for name, value in given.items()}.items() <= vars(model).items()


def test_penalties_that_still_change_are_said(monkeypatch, rng):
    """A bound on rounds that is reached is not silent."""
    X, groups = rng.normal(size=(60, 2)) + 9 * rng.integers(3, size=(60, 1)), np.arange(60) % 3
    HardHDP(random_state=0).fit(X, groups=groups)
    monkeypatch.setattr("kfree.search.groups.penalties._MOST_ROUNDS", 0)
    with pytest.warns(UserWarning, match="after 0 rounds the penalties still changed"):
        HardHDP(random_state=0).fit(X, groups=groups)


def penalties_by_the_published_rule(X, group, k_local, k_global, weight):
    """Kulis & Jordan 2012, §6.1, row by row."""
    local = []
    for g in np.unique(group):
        rows, w = X[group == g], weight[group == g]
        T, lam = [np.average(rows, axis=0, weights=w)], 0.0
        for _ in range(k_local):
            far = [w[i] * min(((x - t) ** 2).sum() for t in T) for i, x in enumerate(rows)]
            lam = max(far)
            T.append(rows[int(np.argmax(far))])
        local.append(lam)
    T, lam = [np.average(X, axis=0, weights=weight)], 0.0
    for _ in range(k_global):
        near = np.array([weight[i] * min(((x - t) ** 2).sum() for t in T) for i, x in enumerate(X)])
        sums = [near[group == g].sum() for g in np.unique(group)]
        lam, farthest = max(sums), int(np.argmax(sums))
        members = np.flatnonzero(group == farthest)
        T.append(X[members[near[members].argmax()]])
    return np.mean(local), lam


@pytest.mark.parametrize("weighted", [False, True])
def test_penalties_by_farthest_first_are_those_of_the_paper(weighted, rng):
    group = np.arange(90) % 6
    X = rng.normal(size=(4, 2))[rng.integers(4, size=90)] * 8 + rng.normal(size=(90, 2))
    weight = rng.uniform(0.5, 2.0, size=90) if weighted else np.ones(90)
    local, global_ = penalties_by_the_published_rule(X, group, 3, 5, weight)
    names = {"lam_local": "farthest-first", "lam_global": "farthest-first", "target_k": 5, "target_k_local": 3}
    for search in ("sweep", "split-merge"):
        model = HardHDP(search=search, **names).fit(X, groups=group, sample_weight=weight if weighted else None)
        assert (model.lam_local_, model.lam_global_) == pytest.approx((local, global_), rel=1e-9)
        by_number = HardHDP(lam_local=model.lam_local_, lam_global=model.lam_global_, search=search)
        same = by_number.fit(X, groups=group, sample_weight=weight if weighted else None)
        np.testing.assert_array_equal(model.labels_, same.labels_)
    # One penalty by the rule, the other found.
    mixed = HardHDP(lam_local="farthest-first", lam_global="auto", target_k_local=3).fit(X, groups=group)
    assert mixed.lam_local_ == pytest.approx(penalties_by_the_published_rule(X, group, 3, 1, np.ones(90))[0])


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"lam_local": "farthest-first"}, "target_k_local=None is not allowed; give the number of clusters of a group"),
        ({"target_k_local": 3}, "target_k_local=3 is not allowed; give the number of clusters of a group"),
        ({"lam_global": "farthest-first"}, "target_k=None is not allowed; give the number of global clusters"),
        ({"lam_global": "farthest-first", "target_k": 9}, "cannot find 9 global clusters: after 2 round"),
        ({"lam_local": "farthest"}, "'auto' or 'farthest-first'"),
    ],
)
def test_the_published_rule_needs_numbers(parameters, said):
    X = np.repeat([[0.0, 0.0], [4.0, 0.0]], 4, axis=0)
    with pytest.raises(ValueError, match=said):
        HardHDP(**parameters).fit(X, groups=np.arange(8) % 2)


def test_too_few_distinct_rows_cost_what_the_penalties_say():
    X = np.repeat([[0.0, 1.0], [1.0, 0.0]], 10, axis=0)
    with pytest.warns(UserWarning, match="found 2 clusters at .* not target_k=3"):
        model = HardHDP(target_k=3).fit(X, groups=np.arange(20) // 5)
    assert model.cost_ == model.cost_history_[-1]
