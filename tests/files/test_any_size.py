"""Fits on files and with a limit of memory: the same bits wherever the rows are, exact costs, and far rows."""

import re
import signal
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import kfree
from kfree import DPMeans, KMeans, open_rows
from kfree.estimators import _opening
from kfree.search.summary import micro
from kfree.search.summary.plan import Plan, bytes_to_search
from kfree.validation.parameters import memory_limit

# Rows of three columns that do not fit; of so many, labels fit, and an array is not streamed.
MEMORY, N_ROWS = "3MB", 16_000
FITS = {
    "automatic k": lambda: DPMeans(memory=MEMORY),
    "a penalty": lambda: DPMeans(lam=900.0, memory=MEMORY),
    "a number to aim at": lambda: DPMeans(target_k=5, memory=MEMORY),
    "centres to start from": lambda: DPMeans(lam=900.0, init=np.eye(3), memory=MEMORY),
    "k-means": lambda: KMeans(7, random_state=0, memory=MEMORY),
    "cosine": lambda: DPMeans(lam=30.0, metric="cosine", memory=MEMORY),
    "cosine k-means": lambda: KMeans(5, metric="cosine", random_state=3, memory=MEMORY),
}
NAMES = ["a", "b", "c", "w"]
PUBLISHED = ["cluster_centers_", "cost_", "inertia_", "cost_history_", "summary_cost_", "n_passes_", "n_iter_"]


def rows_with_weights(n_rows, seed=5):
    rng = np.random.default_rng(seed)
    centres = 12.0 * rng.normal(size=(7, 3)) + 20.0
    X = centres[rng.integers(7, size=n_rows)] + rng.normal(size=(n_rows, 3))
    return X, rng.integers(0, 3, n_rows).astype(float)


def cost_of(X, weight, model):
    """J by its definition, for labels that are nearest centres."""
    if model.metric == "cosine":
        X = X / np.linalg.norm(X, axis=1, keepdims=True)
    sq_dist = ((X[:, None, :] - model.cluster_centers_) ** 2).sum(axis=2)
    return weight @ sq_dist.min(axis=1), sq_dist.argmin(axis=1)


@pytest.mark.parametrize("fit", FITS)
def test_the_same_bits_from_arrays_and_files_of_any_partitioning(fit, written):
    X, weight = rows_with_weights(N_ROWS)
    kept = FITS[fit]().fit(X, sample_weight=weight)
    rows = open_rows(written(np.column_stack([X, weight]), NAMES, ".npy", (1, 10_000)), weight=3)
    model = FITS[fit]().fit(rows)
    assert (model.engine_.endswith("streamed"), kept.engine_.endswith("streamed")) == (True, False)
    for name in PUBLISHED:
        np.testing.assert_array_equal(getattr(model, name), getattr(kept, name), err_msg=name)
    np.testing.assert_array_equal(model.predict(rows), kept.labels_)
    inertia, labels = cost_of(X, weight, model)
    np.testing.assert_array_equal(kept.labels_, labels)
    assert model.inertia_ == pytest.approx(inertia, rel=1e-12)
    assert model.cost_ == pytest.approx(inertia + getattr(model, "lam_", 0.0) * model.n_clusters_, rel=1e-12)
    assert -model.score(rows) == model.cost_
    assert model.cost_history_[0] <= model.summary_cost_ * (1 + 1e-12)
    assert (np.diff(model.cost_history_) <= 0).all()
    assert 3 <= model.n_passes_ <= 25


def test_arrays_whose_labels_do_not_fit_are_streamed(written):
    X, weight = rows_with_weights(76_000)
    streamed = DPMeans(lam=3000.0, memory=MEMORY).fit(X, sample_weight=weight)
    assert streamed.engine_.endswith("streamed")
    assert streamed.n_passes_ > 8  # regions
    folder = written(np.column_stack([X, weight]), NAMES, cuts=(5000, 5001))
    model = DPMeans(lam=3000.0, memory=MEMORY).fit(open_rows(folder, weight="w"))
    for name in PUBLISHED:
        np.testing.assert_array_equal(getattr(streamed, name), getattr(model, name), err_msg=name)


@pytest.mark.parametrize("model", [DPMeans(), KMeans(7, random_state=0)], ids=["DPMeans", "KMeans"])
def test_files_that_fit_in_memory_are_searched_as_arrays(model, written):
    X, weight = rows_with_weights(4000)
    expected = model.fit(X, sample_weight=weight)
    centres, labels, names = expected.cluster_centers_, expected.labels_, NAMES[:3]
    rows = open_rows(written(np.column_stack([X, weight]), NAMES, cuts=(1000,)), weight="w")
    model.fit(rows)
    np.testing.assert_array_equal(model.cluster_centers_, centres)
    np.testing.assert_array_equal(model.predict(rows), labels)
    assert (model.n_passes_, model.feature_names_in_.tolist()) == (1, names)
    with pytest.raises(AttributeError, match=r"labels_ is not kept after a fit on files; write labels with predict"):
        model.labels_  # noqa: B018
    with pytest.raises(TypeError, match=r"fit_predict takes no rows of files.*call fit\(rows\), then predict\(rows\)"):
        model.fit_predict(rows)
    with pytest.raises(ValueError, match="sample_weight='…' is not allowed; give None for files"):
        model.score(rows, sample_weight=weight)
    model.fit(X)
    assert not hasattr(model, "n_passes_")
    assert len(model.labels_) == 4000


def test_outliers_in_files_that_fit(written, rng):
    X = rng.normal(size=(300, 2)) + 10.0 * rng.integers(0, 3, size=(300, 1))
    X = np.vstack([X, [[900.0, 900.0], [-990.0, 800.0]]])
    model = DPMeans().fit(open_rows(written(X, NAMES[:2])))
    np.testing.assert_array_equal(model.cluster_centers_, DPMeans().fit(X).cluster_centers_)
    assert (model.n_clusters_, model.path_.n_outliers) == (3, 2)


def test_rows_far_from_the_sample_found_micro_clusters(rng):
    # Six rows of 30,000 make up most of the cost, and a sample of 3,000 misses some of them.
    X = np.vstack([rng.normal(size=(30_000, 3)), 1e4 * rng.normal(size=(6, 3))])
    X = X[rng.permutation(len(X))]
    model = DPMeans(lam=1e4, memory=MEMORY).fit(X)
    assert model.cost_ <= DPMeans(lam=1e4).fit(X).cost_ * 1.003
    # Regions would find them later.
    assert model.summary_cost_ <= model.cost_ * 1.1
    assert model.n_clusters_ >= 7


def test_cost_and_k_are_close_to_those_of_a_search_on_all_rows():
    X, weight = rows_with_weights(20_000)
    for lam in (1500.0, 15_000.0):
        full, summary = (DPMeans(lam=lam, memory=m).fit(X, sample_weight=weight) for m in (None, MEMORY))
        assert summary.cost_ <= full.cost_ * 1.003
    automatic = DPMeans(memory=MEMORY).fit(X, sample_weight=weight)
    assert automatic.n_clusters_ == DPMeans().fit(X, sample_weight=weight).n_clusters_ == 7


@pytest.mark.parametrize("settings", [{}, {"lam": 900.0}, {"target_k": 5}, {"lam": 30.0, "metric": "cosine"}])
def test_large_arrays_are_searched_by_a_summary_without_a_limit(settings, monkeypatch):
    monkeypatch.setattr(_opening, "ROWS_AT_ONCE", 14_000)
    X, weight = rows_with_weights(N_ROWS)
    model = DPMeans(**settings).fit(X, sample_weight=weight)
    limited = DPMeans(**settings, memory=bytes_to_search(14_000, 3)).fit(X, sample_weight=weight)
    for name in [*PUBLISHED, "labels_", "confidence_"]:
        np.testing.assert_array_equal(getattr(model, name), getattr(limited, name), err_msg=name)
    assert model.n_passes_ > 1
    assert not hasattr(DPMeans(**settings).fit(X[:14_000]), "n_passes_")


@pytest.mark.parametrize("settings", [{}, {"patience": 1, "lam": 900.0, "random_state": 0}])
def test_a_large_file_has_the_result_of_the_array_without_a_limit(settings, monkeypatch, tmp_path):
    monkeypatch.setattr(_opening, "ROWS_AT_ONCE", 14_000)
    X, _ = rows_with_weights(N_ROWS)
    np.save(tmp_path / "x.npy", X)
    array, file = (DPMeans(**settings).fit(rows) for rows in (X, open_rows(tmp_path / "x.npy")))
    assert array.search_ == file.search_ == ("split-merge" if settings else "summary")
    assert (array.lam_, array.cost_, array.n_clusters_) == (file.lam_, file.cost_, file.n_clusters_)


@pytest.mark.filterwarnings("ignore::kfree.exceptions.DataAdvice")
@pytest.mark.parametrize("step", [1.0, 0.1])
def test_a_summary_of_few_distinct_rows_is_exact(step, rng):
    X = step * rng.integers(1, 5, size=(N_ROWS, 3))
    assert DPMeans(memory=MEMORY).fit(X).n_clusters_ == 1
    for k in (3, 64):
        assert DPMeans(target_k=k, memory=MEMORY).fit(X).n_clusters_ == k
    assert DPMeans(lam=1e-3, memory=MEMORY).fit(X).inertia_ == pytest.approx(0.0, abs=1e-20)
    with pytest.raises(ValueError, match="target_k=65 is more than the 64 distinct rows of X"):
        DPMeans(target_k=65, memory=MEMORY).fit(X)


@pytest.mark.parametrize("memory", [None, "3MB"])
def test_more_distinct_rows_than_micro_clusters(memory, rng):
    X = rng.integers(1, 40, size=(25_000, 2)) / 10
    assert DPMeans(memory=memory).fit(X).n_clusters_ == 1


def test_many_clusters_of_a_summary():
    X, _ = rows_with_weights(N_ROWS)
    with pytest.warns(UserWarning, match="no penalty makes target_k=150"):
        assert DPMeans(target_k=150, memory=MEMORY).fit(X).n_clusters_ == 150
    with pytest.raises(ValueError, match=r"target_k=15000 is more than the \d+ that are found on a sample"):
        DPMeans(target_k=15_000, memory=MEMORY).fit(X)


def test_a_summary_keeps_what_a_fit_promises(monkeypatch, rng):
    monkeypatch.setattr(_opening, "ROWS_AT_ONCE", 14_000)
    tied = np.repeat([[5.0, 5.0], [0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], 4000, axis=0)
    assert DPMeans(lam=10.0).fit(tied).labels_[::4000].tolist() == [0, 1, 2, 3]
    X = rng.normal(size=(N_ROWS, 3))
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        assert DPMeans(lam=500.0, max_iter=1).fit(X).stop_reason_ == "max_iter"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="the cost overflows float64"):
            DPMeans(lam=1e10).fit(X * 1e299)
        DPMeans().fit(X, sample_weight=np.eye(1, N_ROWS, 5)[0])


@pytest.mark.parametrize("model", [DPMeans(), DPMeans(lam=900.0), KMeans(3)])
def test_an_interrupt_before_there_are_clusters_raises(model, monkeypatch):
    def interrupted(*given, **more):
        signal.raise_signal(signal.SIGINT)
        return summarised(*given, **more)

    summarised = micro.summarised
    module = "kfree.search." + ("lloyd" if isinstance(model, KMeans) else "penalised")
    monkeypatch.setattr(f"{module}.summarised", interrupted)
    with pytest.raises(KeyboardInterrupt):
        clone(model).set_params(on_interrupt="keep", memory=MEMORY).fit(rows_with_weights(N_ROWS)[0])


def test_a_large_array_of_many_columns_gets_the_memory_that_it_needs(monkeypatch, rng):
    monkeypatch.setattr(_opening, "ROWS_AT_ONCE", 2100)
    monkeypatch.setattr(_opening, "DEFAULT_MEMORY", "1MB")
    X = 9.0 * rng.integers(3, size=(20_000, 1)) + rng.normal(size=(20_000, 40))
    model = DPMeans(lam=3e4).fit(X)
    assert (model.n_clusters_, model.n_passes_ > 1) == (3, True)


@pytest.mark.filterwarnings("ignore:DPMeans did not converge within time_budget")
def test_other_large_arrays_are_searched_as_a_whole(monkeypatch):
    monkeypatch.setattr(_opening, "ROWS_AT_ONCE", 1000)
    X = rows_with_weights(1500)[0]
    for settings in (
        {"search": "sweep"},
        {"noise": 0.01},
        {"time_budget": 0.1},
        {"patience": 1},
        {"lam": "farthest-first", "target_k": 3},
    ):
        assert not hasattr(DPMeans(**{"lam": 900.0, **settings}).fit(X), "n_passes_")
    assert not hasattr(DPMeans(lam=900.0).fit(sp.csr_matrix(X)), "n_passes_")
    assert not hasattr(KMeans(7).fit(X), "n_passes_")


@pytest.mark.parametrize("allow_new", [False, True])
def test_labels_are_written_for_every_file(allow_new, written, tmp_path):
    X, _ = rows_with_weights(5000)
    model = DPMeans(lam=300.0).fit(X)
    X[4321] = 1e4
    rows = open_rows(written(X, NAMES[:3], cuts=(0, 10, 4096)))
    paths = model.predict(rows, allow_new=allow_new, out=tmp_path / "deep" / "labels")
    assert [path.rsplit("/", 1)[1] for path in paths] == [f"part{number}.parquet" for number in range(4)]
    labels = [open_rows(path, columns=["label"]) for path in paths if path != paths[0]]
    found = np.concatenate([chunk.X[:, 0] for one in labels for chunk in one.chunks(0, one.n_rows, 9999)])
    np.testing.assert_array_equal(found, model.predict(X, allow_new=allow_new))
    assert (found == -1).any() == allow_new


def test_a_model_of_files_is_saved_and_explained(written, tmp_path):
    X, _ = rows_with_weights(20_000)
    rows = open_rows(written(X, NAMES[:3], cuts=(7000,)))
    model = DPMeans(memory=MEMORY).fit(rows)
    model.save(tmp_path / "model.kfree")
    again = kfree.load(tmp_path / "model.kfree")
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    with pytest.warns(UserWarning, match="feature names"):
        assert "7 clusters" in str(again.summary(X)) or len(again.summary(X).to_frame()) == 7


def test_progress_names_the_pass_and_the_bytes(written, capsys):
    X, _ = rows_with_weights(20_000)
    DPMeans(lam=300.0, memory=MEMORY, verbose=1).fit(open_rows(written(X, NAMES[:3])))
    shown = capsys.readouterr().out
    assert re.search(r"cost \S+, \d+ clusters; pass \d+, (0\.\d+) of \1 MB", shown)


def test_a_search_that_may_not_go_on_keeps_the_state_of_the_last_pass(written, monkeypatch):
    X, _ = rows_with_weights(20_000)
    rows = open_rows(written(X, NAMES[:3]))
    model = KMeans(40, random_state=1, memory=MEMORY)
    long = KMeans(40, random_state=1, memory=MEMORY).fit(rows)
    monkeypatch.setattr("kfree.search.fit.MOST_PASSES", 1)
    short = model.fit(rows)
    assert short.stop_reason_ == "passes"
    assert short.n_passes_ == 3 < long.n_passes_
    assert short.cost_ == long.cost_history_[0]


@pytest.mark.parametrize(
    ("given", "expected"),
    [(5000, 5000), ("1GB", 10**9), ("1.5 MiB", 3 * 2**19), ("20kb", 20_000), ("4.1MB", 4_100_000)],
)
def test_memory_is_a_number_of_bytes_or_a_text(given, expected):
    assert memory_limit(given) == expected


@pytest.mark.parametrize("given", ["much", "5", 0, -3, True, "GB"])
def test_memory_that_is_not_allowed(given, rng):
    with pytest.raises(ValueError, match=f"memory={given!r} is not allowed; give a number of bytes"):
        DPMeans(lam=1.0, memory=given).fit(rng.normal(size=(9, 2)))


def test_memory_that_is_too_small_says_how_much_is_needed(rng):
    X = rng.normal(size=(30_000, 5))
    with pytest.raises(ValueError, match=r"memory=100000 bytes is not enough for 5 columns; give at least \d+ bytes"):
        DPMeans(memory="100KB").fit(X)
    needed = int(str(_error_of(lambda: Plan.of(1, 5, 2048))).split("at least ")[1].split(" ")[0])
    Plan.of(needed, 5, 2048)
    with pytest.raises(ValueError, match="memory=.* is not allowed; give more memory for n_clusters=20000"):
        KMeans(20_000, memory=needed).fit(X)


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (DPMeans(search="sweep", lam=1.0, memory=MEMORY), "search='sweep' searches all rows in memory"),
        (DPMeans(lam="farthest-first", target_k=3, memory=MEMORY), "lam='farthest-first' is not allowed"),
        (DPMeans(noise=0.1, memory=MEMORY), "noise=0.1 is not allowed; give 0 for rows that do not fit in memory"),
        (DPMeans(time_budget=1.0, memory=MEMORY), "time_budget=1.0 is not allowed; give None for rows"),
        (KMeans(3, noise=0.1, memory=MEMORY), "noise=0.1 is not allowed"),
    ],
)
def test_parameters_of_searches_in_memory(model, match, rng):
    with pytest.raises(ValueError, match=match):
        model.fit(rng.normal(size=(20_000, 3)))


def test_sparse_rows_have_no_limit(rng):
    X = sp.random_array((50, 9), density=0.3, format="csr", rng=rng)
    with pytest.raises(ValueError, match="memory='3MB' is not allowed; give None for sparse rows"):
        KMeans(2, memory=MEMORY).fit(X)


def _error_of(call):
    with pytest.raises(ValueError, match="memory") as error:
        call()
    return error.value


@pytest.mark.parametrize(
    ("model", "expected"), [(KMeans(3, memory="8MB"), 1024), (DPMeans(lam=1e5, memory="8MB"), 4096)]
)
def test_fewer_micro_clusters_are_made_where_the_number_of_clusters_is_known(monkeypatch, rng, model, expected):
    made, settled = [], micro._settled

    def counted(sample, objective, n_micro, rng):
        made.append(n_micro)
        return settled(sample, objective, n_micro, rng)

    monkeypatch.setattr(micro, "_settled", counted)
    model.fit(rng.choice([-9.0, 0.0, 9.0], size=(50_000, 2)) + rng.normal(size=(50_000, 2)))
    assert made == [expected]
