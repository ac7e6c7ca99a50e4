"""Arrays that do not fit each other, and stored streams that were cut short: refused where compiled code begins."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from common import INSTRUCTION_SETS

from kfree import AgglomerativeBayes, BayesianKMeans, DPMeans, HardHDP, KMeans, OnlineDPMeans
from kfree.native import _core
from kfree.native.reference import passes as reference

X = np.random.default_rng(0).normal(size=(30, 3))
ISA = INSTRUCTION_SETS[-1]


def held(rows=X, anchor=3, shift=3, weight=None):
    return _core.dense_rows(rows, np.zeros(anchor), np.zeros(shift), False, weight, ISA)


def stream_state():
    """Settings, counters, ids, last, weights, centres, low, high, number of columns."""
    model = OnlineDPMeans(lam=0.5, search="published", split=True).partial_fit(X)
    return list(model._stream_._stream.__getstate__())


def restored(state):
    stream = _core.Stream.__new__(_core.Stream)
    stream.__setstate__(tuple(state))
    return stream


def test_a_sound_state_goes_on_as_if_nothing_had_happened():
    state = stream_state()
    again = restored(state).__getstate__()
    for before, after in zip(state, again, strict=True):
        np.testing.assert_array_equal(before, after)


def with_nan(array):
    array = array.copy()
    array.flat[-1] = np.nan
    return array


CHANGES = {
    "few ids": (2, lambda a: a[:-1], "last must have shape"),
    "few last": (3, lambda a: a[:-1], "last must have shape"),
    "few weights": (4, lambda a: a[:-1], "weights must have shape"),
    "few centres": (5, lambda a: a[:-1], "centres must have shape"),
    "narrow centres": (5, lambda a: np.ascontiguousarray(a[:, :-1]), "centres must have shape"),
    "flat centres": (5, np.ravel, "centres must have shape"),
    "few boxes": (6, lambda a: a[:-1], "low must have shape"),
    "no boxes": (7, lambda a: a[:0], "high must have shape"),
    "a huge number of columns": (8, lambda d: 2**40, "centres must have shape"),
    "columns whose product with k overflows": (8, lambda d: 2**63 - 1, "centres must have shape"),
    "no columns": (8, lambda d: 0, "centres must have shape"),
    "NaN centres": (5, with_nan, "must be finite"),
    "NaN weights": (4, with_nan, "must be finite"),
    "NaN boxes": (6, with_nan, "must be finite"),
    "negative weights": (4, np.negative, "must not be negative"),
    "falling ids": (2, lambda a: a[::-1].copy(), "ids of a stream must rise"),
    "last beyond the rows": (3, lambda a: a + 10**6, "cannot have joined later"),
    "NaN lam": (1, lambda c: (np.nan, *c[1:]), "lam must be"),
    "NaN growth": (1, lambda c: (c[0], np.nan, *c[2:]), "growth must lie"),
    "negative counters": (1, lambda c: (*c[:2], -5, *c[3:]), "counts its rows"),
    "no clusters allowed": (0, lambda s: (s[0], 0, *s[2:]), "max_clusters must be"),
    "NaN lifetime": (0, lambda s: (*s[:3], np.nan), "lifetime must be"),
    "NaN growth per row": (0, lambda s: (*s[:2], np.nan, s[3]), "growth_per_row must"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changed_states_are_refused(change):
    place, broken, message = CHANGES[change]
    state = stream_state()
    state[place] = broken(state[place])
    with pytest.raises(ValueError, match=message):
        restored(state)


def test_an_object_that_was_never_made_is_refused():
    stream = _core.Stream.__new__(_core.Stream)
    with pytest.warns(RuntimeWarning, match="uninitialized"), pytest.raises(TypeError):
        stream.merge()


def test_a_stream_takes_rows_of_its_own_width():
    stream = restored(stream_state())
    with pytest.raises(ValueError, match="as many columns as the stream"):
        stream.advance(held(np.ones((4, 5)), 5, 5), np.empty(4, dtype=np.int64))
    with pytest.raises(ValueError, match=r"joined must have shape \(30\)"):
        stream.advance(held(), np.empty(7, dtype=np.int64))


@pytest.mark.parametrize("lengths", [{"anchor": 2}, {"shift": 2}, {"weight": np.ones(29)}])
def test_rows_and_what_belongs_to_them(lengths):
    with pytest.raises(ValueError, match=rf"{next(iter(lengths))} must have shape"):
        held(**lengths)


def test_csr_arrays_of_other_lengths():
    whole = np.arange(4, dtype=np.int32)
    for data, indices, indptr, weight in (
        (np.ones(3), whole[:2], whole, None),
        (np.ones(2), whole[:2], whole, None),
        (np.ones(3), whole[:3], whole[1:], None),
        (np.ones(3), whole[:3], whole[:0], None),
        (np.ones(3), whole[:3], whole, np.ones(2)),
    ):
        with pytest.raises(ValueError, match=r"must (have shape|rise)"):
            _core.csr_rows(data, indices, indptr, 4, False, weight)


def arrays_of_passes():
    """What passes over 30 rows and two centres are given, but for rows and numbers."""
    label, sq_dist = np.zeros(30, dtype=np.int32), np.ones(30)
    stats, half = ({"n": np.ones(k), "sum": np.ones((k, 3)), "sse": np.ones(k)} for k in (2, 1))
    centres, one = np.zeros((2, 3)), np.zeros((1, 3))
    listed = {"row": np.arange(30), "cluster": np.zeros(30, dtype=np.int32)}
    per_row, clusters = {"label": label, "sq_dist": sq_dist}, {"n": np.ones(2), "sum": np.ones((2, 3))}
    clusters |= {"centres": centres, "path_length": np.zeros(2)}
    return {
        "nearest": {"centres": centres, "uids": np.arange(2), **per_row, **stats, "far": np.zeros(30, dtype=bool)},
        "k_means": {"centres": centres, "uids": np.arange(2), **per_row, **stats},
        "nearest_labels": {"centres": centres, "numbers": np.arange(2, dtype=np.int32), "label": label},
        "accumulate": {**per_row, "sum": stats["sum"], "sse": stats["sse"]},
        "choose": {**listed, "centres": centres, "label": label, **stats},
        "scatter_product": {**listed, "centres": centres, **half},
        "second_nearest": {**listed, "centres": centres, "second": label, "sq_dist": sq_dist},
        "deletion_costs": {**listed, "second": label, "centres": centres, "cost": np.ones(2)},
        "distances_to_own": {**listed, "centres": centres, "sq_dist": sq_dist},
        "distances": {"centres": centres, "sq_dist": np.ones((30, 2))},
        "open_clusters": per_row,
        "join_newborn": {"order": np.arange(30), "newborn": one, "born_at": np.arange(1), **per_row},
        "approach": {"site": one, "sq_dist": sq_dist},
        "best_candidate": {"candidates": centres, "sq_dist": sq_dist},
        "copy": {"index": np.arange(30), "z": X.copy()},
        "Exchange": {"row": np.arange(30), "other": label, "label": label, **clusters},
        "round": {"label": label, **clusters},
        "measured": {**listed, "sq_dist": sq_dist},
    }


NUMBERS_OF_PASSES = {
    "nearest": {"lam": 1.0, "bounds": 30, "n_threads": 1},
    "k_means": {"penalty": 0.0, "max_passes": 1, "bounds": 30, "n_threads": 1},
    "accumulate": {"n": np.ones(2), "n_threads": 1},
    "open_clusters": {"far": np.arange(3), "first_label": 2, "lam": 1.0, "room": 5, "n_threads": 1},
    "join_newborn": {"first_label": 2, "n_threads": 1},
    "copy": {},
    "Exchange": {"least_gain": 0.1, "n_threads": 1},
    "round": {},
    "measured": {"centres": np.zeros((2, 3))},
}


def call_pass(name, arrays):
    given = arrays | NUMBERS_OF_PASSES.get(name, {"n_threads": 1})
    if "bounds" in given:
        given["bounds"] = _core.Bounds(given["bounds"])
    if name == "measured":
        return _core.Bounds(30).measured(**given)
    if name == "round":
        whole = arrays_of_passes()["Exchange"] | NUMBERS_OF_PASSES["Exchange"]
        return _core.Exchange(held(), **whole).round(**given)
    return getattr(_core, name)(held(), **given)


@pytest.mark.parametrize(
    ("name", "short"), [(name, short) for name, arrays in arrays_of_passes().items() for short in arrays]
)
def test_passes_take_arrays_that_fit_each_other(name, short):
    """Else what is written beyond the end of an array belongs to others."""
    arrays = arrays_of_passes()[name]
    call_pass(name, arrays)
    arrays[short] = np.ascontiguousarray(arrays[short][..., :-1])
    with pytest.raises(ValueError, match="must have (shape|a row)"):
        call_pass(name, arrays)


def arrays_of_graphs():
    """A path of four nodes, and what functions of graphs are given with it."""
    path = {"begin": np.array([0, 1, 3, 5, 6]), "neighbour": np.array([1, 0, 2, 1, 3, 2], dtype=np.int32)}
    path |= {"weight": np.ones(6), "out": np.array([1.0, 2.0, 2.0, 1.0]), "volume": np.array([1.0, 2.0, 2.0, 1.0])}
    label, new = np.array([0, 0, 1, 1], dtype=np.int32), {"new_begin": np.zeros(3, dtype=np.int64)}
    new |= {"new_neighbour": np.zeros(6, dtype=np.int32), "new_weight": np.ones(6), "new_out": np.ones(2)}
    return {
        "move_nodes": path | {"order": np.arange(4), "block": np.zeros(4, dtype=np.int32), "label": label},
        "contract": path | {"label": label} | new,
        "merge_neighbours": path | {"pairs": np.zeros((3, 2), dtype=np.int64), "cost": np.ones(3)},
    }


NUMBERS_OF_GRAPHS = {
    "move_nodes": {"lam": 0.1, "least_gain": 0.0, "thorough": False},
    "contract": {},
    "merge_neighbours": {"below": 0.1},
}


@pytest.mark.parametrize(
    ("name", "short"), [(name, short) for name, arrays in arrays_of_graphs().items() for short in arrays]
)
def test_functions_of_graphs_take_arrays_that_fit_each_other(name, short):
    arrays = arrays_of_graphs()[name]
    getattr(_core, name)(**arrays, **NUMBERS_OF_GRAPHS[name])
    arrays[short] = np.ascontiguousarray(arrays[short][..., :-1])
    with pytest.raises(ValueError, match="must have shape|must rise"):
        getattr(_core, name)(**arrays, **NUMBERS_OF_GRAPHS[name])


def test_order_of_nodes():
    given = arrays_of_graphs()["move_nodes"] | NUMBERS_OF_GRAPHS["move_nodes"]
    with pytest.raises(ValueError, match="order must lie between 0 and 3"):
        _core.move_nodes(**given | {"order": np.array([0, 1, 2, 4])})


@pytest.mark.parametrize("name", ["nearest", "k_means"])
def test_bounds_are_those_of_the_rows(name, monkeypatch):
    monkeypatch.setitem(NUMBERS_OF_PASSES[name], "bounds", 29)
    with pytest.raises(ValueError, match="bounds must be those of as many rows"):
        call_pass(name, arrays_of_passes()[name])


GROUPS = {
    "member": (np.arange(29), "member must have shape"),
    "begin": (np.array([0, 40]), "begin must rise"),
    "centres": (np.zeros((2, 2)), "centres must have shape"),
    "used": (np.zeros((1, 5), dtype=bool), "used must have shape"),
    "label": (np.empty(3, dtype=np.int32), "label must have shape"),
    "sq_dist": (np.empty(3), "sq_dist must have shape"),
}


@pytest.mark.parametrize("name", GROUPS)
def test_groups(name):
    arguments = {
        "member": np.arange(30),
        "begin": np.array([0, 30]),
        "centres": np.zeros((2, 3)),
        "used": np.zeros((1, 2), dtype=bool),
        "label": np.empty(30, dtype=np.int32),
        "sq_dist": np.empty(30),
    }
    shared = {"rows": held(), "n_threads": 1, "lam_local": 1.0}
    _core.visit(**shared, **arguments, lam_global=1.0)
    arguments[name], message = GROUPS[name]
    with pytest.raises(ValueError, match=message):
        _core.visit(**shared, **arguments, lam_global=1.0)
    with pytest.raises(ValueError, match=message):
        _core.allot(**shared, **arguments, cost=None, successor=None)


def test_groups_without_sites():
    arrays = {"used": np.zeros((1, 0), dtype=bool), "label": np.empty(30, dtype=np.int32), "sq_dist": np.empty(30)}
    rows = {"rows": held(), "member": np.arange(30), "begin": np.array([0, 30]), "centres": np.zeros((0, 3))}
    with pytest.raises(ValueError, match="centres must have at least one row"):
        _core.allot(**rows, lam_local=1.0, n_threads=1, **arrays, cost=None, successor=None)
    with pytest.raises(ValueError, match="centres must have at least one row"):
        _core.visit(**rows, lam_local=1.0, lam_global=1.0, n_threads=1, **arrays)


def test_weights_of_a_model_that_were_changed_by_hand():
    model = HardHDP(lam_local=3.0, lam_global=3.0).fit(X, groups=np.arange(30) % 3)
    model._model_ = replace(model._model_, weights=np.full_like(model._model_.weights, np.nan))
    with pytest.raises(ValueError, match="centres must have"):
        model.partial_fit(X, groups=np.arange(30) % 3 + 9)


COUNTS = {
    "indices beyond": ({"indices": np.array([0, 9])}, "indices must lie between 0 and 1"),
    "indices below": ({"indices": np.array([0, -1])}, "indices must lie between 0 and 1"),
    "indptr beyond": ({"indptr": np.array([0, 1, 9])}, "indptr must rise"),
    "counts below zero": ({"counts": np.array([1, -1])}, "counts must not be negative"),
    "counts whose sum overflows": ({"counts": np.array([2**62, 2**62])}, "must fit into 64 bits"),
    "few counts": ({"counts": np.array([1])}, "counts must have shape"),
    "few terms": ({"size_terms": np.zeros(2)}, "size_terms must have shape"),
    "little room": ({"pairs": np.empty((0, 2), dtype=np.int64)}, "pairs must have shape"),
}


@pytest.mark.parametrize("function", ["merge_multinomials", "merge_bernoullis"])
@pytest.mark.parametrize("case", COUNTS)
def test_counts(function, case):
    arguments = {
        "indptr": np.array([0, 1, 2]),
        "indices": np.array([0, 1]),
        "counts": np.array([1, 1]),
        "n_features": 2,
        "prior": 0.5,
        "size_terms": np.zeros(3),
        "unit": 2.0**-40,
        "pairs": np.empty((1, 2), dtype=np.int64),
        "cost": np.empty(1),
        "conga": False,
        "n_threads": 1,
    }
    getattr(_core, function)(**arguments)
    with pytest.raises(ValueError, match=COUNTS[case][1]):
        getattr(_core, function)(**(arguments | COUNTS[case][0]))


@pytest.mark.parametrize(
    "wrong", [{"gram": np.eye(2)}, {"pairs": np.empty((1, 2), dtype=int)}, {"cost": np.empty(3)}, {"n": np.ones(0)}]
)
def test_inner_products_of_clusters(wrong):
    arguments = {
        "n": np.ones(3),
        "gram": np.eye(3),
        "directions": False,
        "pairs": np.empty((2, 2), dtype=np.int64),
        "cost": np.empty(2),
    }
    _core.merge_by_gram(**arguments)
    with pytest.raises(ValueError, match="must have shape|needs a cluster"):
        _core.merge_by_gram(**(arguments | wrong))


@pytest.mark.parametrize("make", [AgglomerativeBayes, BayesianKMeans])
def test_counts_too_large_to_add(make):
    P = np.random.default_rng(0).poisson(3.0, size=(20, 4)).astype(float)
    with pytest.raises(ValueError, match=r"X holds counts with a total of 2\.\d+e\+19; .* only up to 2\*\*53"):
        make("multinomial").fit(P * 1e17)
    make("multinomial").fit(P * 2.0**40)


MODELS = [
    DPMeans(lam=3.0),
    KMeans(3, random_state=0),
    HardHDP(lam_local=3.0, lam_global=3.0),
    OnlineDPMeans(lam=3.0, search="published"),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("method", ["predict", "transform"])
def test_models_whose_centres_were_changed(model, method):
    fitted = pickle.loads(pickle.dumps(model.fit(X)))
    if isinstance(model, OnlineDPMeans):
        fitted._stream_._anchor = np.zeros(2)
        message = "must have shape"
    else:
        fitted._model_.centres[0, 0] = np.nan
        message = "centres of this model hold NaN or inf"
    with pytest.raises(ValueError, match=message):
        getattr(fitted, method)(X)


QUADRATICS = {
    "centre": (np.zeros((2, 2)), "centre must have shape"),
    "factor": (np.zeros((2, 3, 2)), "factor must have shape"),
    "offset": (np.zeros(1), "offset must have shape"),
    "label": (np.empty(3, dtype=np.int32), "label must have shape"),
    "sum": (np.zeros((1, 3)), "sum must have shape"),
    "scatter": (np.zeros((2, 3, 2)), "scatter must have shape"),
}


@pytest.mark.parametrize("name", QUADRATICS)
def test_quadratics(name):
    rule = {"centre": np.zeros((2, 3)), "factor": np.zeros((2, 3, 3)), "offset": np.zeros(2)}
    out = {"n": np.zeros(2), "sum": np.zeros((2, 3)), "scatter": np.zeros((2, 3, 3))}
    arguments = {"rows": X, "n_threads": 1, "label": np.zeros(30, dtype=np.int32)} | rule | out
    tree = _core.KdTree(X, 4)
    tree.assign(**arguments)
    arguments[name], message = QUADRATICS[name]
    with pytest.raises(ValueError, match=message):
        tree.assign(**arguments)
    call = _core.moments if name in out else _core.cheapest
    taken = set(arguments) - (set(rule) if name in out else set(out))
    with pytest.raises(ValueError, match=message):
        call(**{key: arguments[key] for key in taken})


def test_a_tree_takes_the_rows_it_was_made_of():
    tree = _core.KdTree(X, 4)
    other = X[:20].copy()
    arguments = {"centre": np.zeros((1, 3)), "factor": np.zeros((1, 3, 3)), "offset": np.zeros(1)}
    out = {"n": np.zeros(1), "sum": np.zeros((1, 3)), "scatter": np.zeros((1, 3, 3))}
    with pytest.raises(ValueError, match=r"rows must have shape \(30, 3\)"):
        tree.assign(rows=other, n_threads=1, label=np.zeros(20, dtype=np.int32), **arguments, **out)


WRONG_LABELS = {"beyond": 5, "far beyond": 10**6, "negative": -1}


@pytest.mark.parametrize("passes", [_core, reference], ids=["native", "reference"])
@pytest.mark.parametrize("wrong", WRONG_LABELS)
@pytest.mark.parametrize("n_columns", [3, 300])  # rows are added up one by one, or cluster by cluster
def test_labels_that_are_no_cluster(passes, wrong, n_columns):
    """As in a damaged model: compiled code would write beyond its sums."""
    n_rows, k = 3 * _core.BLOCK, 5 if n_columns == 3 else 500
    zero = np.zeros(n_columns)
    rows = passes.dense_rows(np.zeros((n_rows, n_columns)), zero, zero, False, None, ISA)
    labels = np.zeros(n_rows, dtype=np.int32)
    labels[-7] = WRONG_LABELS[wrong] + (k - 5) * (wrong != "negative")
    with pytest.raises(ValueError, match=f"labels beyond {k} clusters"):
        passes.accumulate(rows, labels, np.zeros(n_rows), 2, np.empty(k), np.empty((k, n_columns)), np.empty(k))
    with pytest.raises(ValueError, match=f"labels beyond {k} clusters"):
        passes.fingerprints(rows, labels, 2, np.empty(k, dtype=np.uint64))


@pytest.mark.parametrize("n_labels", [0, len(X) - 1])
def test_labels_of_other_rows(n_labels):
    labels, sums = np.zeros(n_labels, dtype=np.int32), (np.empty(1), np.empty((1, 3)), np.empty(1))
    with pytest.raises(ValueError, match=r"label must have shape \(30\)"):
        _core.accumulate(held(), labels, np.zeros(len(X)), 1, *sums)
    with pytest.raises(ValueError, match=r"label must have shape \(30\)"):
        _core.fingerprints(held(), labels, 1, np.empty(1, dtype=np.uint64))
