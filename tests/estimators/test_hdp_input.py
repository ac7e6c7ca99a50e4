"""What HardHDP is given: groups that cannot be, groups that are odd but fine, and settings that mean nothing."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from kfree import HardHDP

X = np.array([[0.0, 0.0], [0.1, 0.0], [5.0, 5.0], [5.1, 5.0], [9.0, 0.0]])
GROUPS = [0, 0, 1, 1, 1]

BAD_ROWS = {
    "too few groups": ((X, None, [0, 1]), r"groups has shape \(2,\) for 5 rows of X; give one name or number per row"),
    "too many groups": ((X, None, [0] * 6), r"groups has shape \(6,\) for 5 rows"),
    "a table of groups": ((X, None, np.zeros((5, 2))), r"groups has shape \(5, 2\) for 5 rows"),
    "one word": ((X, None, "all"), "groups='all' is not allowed; give the name or number of its group for every row"),
    "a number": ((X, None, 3), "groups=3 is not allowed"),
    "NaN": ((X, None, [0, 0, 1, np.nan, np.nan]), r"2 missing value\(s\) \(NaN or None\), the first for row 3"),
    "None": ((X, None, ["a", None, "a", "b", "b"]), r"1 missing value\(s\) \(NaN or None\), the first for row 1"),
    "NA": ((X, None, pd.Series(["a", "a", pd.NA, "b", "b"], dtype="string")), r"1 missing value\(s\) .* for row 2"),
    "names of two kinds": ((X, None, np.array(["a", 1, 1, 1, 1], dtype=object)), "cannot be compared .*all strings"),
    "list and groups": (([X, X], None, GROUPS), "a list of arrays, one per group, and groups was given"),
    "other columns": (([X, X[:, :1]],), "array 0 has 2, array 1 has 1; groups share clusters only if they share col"),
    "NaN in a group": (([X, X * np.nan],), r"10 NaN or inf value\(s\)"),
    "an empty group": (([X, X[:0]],), "minimum of 1 is required"),
    "weights of other lengths": (([X, X], None, None, [[1.0] * 5, [1.0]]), r"arrays of lengths \[5, 1\] for 2 groups"),
    "too many weights": ((X, None, GROUPS, [1.0] * 6), "6 values for 5 rows"),
    "no weight at all": ((X, None, GROUPS, [0.0] * 5), "at least one non-zero number"),
}


@pytest.mark.parametrize("bad", BAD_ROWS)
def test_bad_rows(bad):
    arguments, message = BAD_ROWS[bad]
    with pytest.raises(ValueError, match=message):
        HardHDP(lam_local=1.0, lam_global=2.0).fit(*arguments)


BAD_PARAMETERS = [
    ({"lam_local": 0.0}, r"lam_local=0.0 is not allowed; give a finite number > 0 .* 'auto' or 'farthest-first'"),
    ({"lam_global": "farthest"}, "lam_global='farthest' is not allowed"),
    ({"lam_global": True}, "lam_global=True is not allowed"),
    ({"search": "sweeps"}, "did you mean 'sweep'"),
    ({"patience": -1}, "patience=-1 is not allowed"),
    ({"search": "sweep", "patience": 2}, "patience=2 is not allowed; give 0 with search='sweep'"),
    ({"max_iter": 0}, "max_iter=0 is not allowed"),
    ({"engine": "gpu"}, "give one of 'auto', 'native', 'reference'"),
    ({"n_threads": 0}, "n_threads=0 is not allowed"),
    ({"gamma": 2.0}, "gamma=2.0 is not allowed; give None with kernel=None"),
    ({"kernel_params": {}}, "kernel_params={} is not allowed; give .* else None"),
]


@pytest.mark.parametrize(("parameters", "message"), BAD_PARAMETERS)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        HardHDP(**parameters).fit(X, groups=GROUPS)


@pytest.mark.parametrize("search", ["split-merge", "sweep"])
@pytest.mark.parametrize("penalties", [{}, {"lam_local": 1.0, "lam_global": 2.0}])
def test_odd_groups_that_are_fine(search, penalties):
    """One row in a group, one row in all, equal rows, one column, names of all kinds."""
    one_row = HardHDP(**penalties, search=search).fit(X, groups=["a", "a", "b", "b", "c"])
    assert one_row.n_local_clusters_[2] == 1
    assert HardHDP(**penalties, search=search).fit(X[:1]).n_global_clusters_ == 1
    assert HardHDP(**penalties, search=search).fit(np.ones((6, 2)), groups=[0, 0, 1, 1, 2, 2]).n_global_clusters_ == 1
    assert HardHDP(**penalties, search=search).fit(X[:, :1].astype(np.float32), groups=GROUPS).labels_.dtype == np.int32
    for names in (pd.Series(GROUPS), pd.Categorical(GROUPS), np.array(GROUPS, dtype="datetime64[D]"), (True,) * 5):
        HardHDP(**penalties, search=search).fit(X, groups=names)


def test_known_and_new_groups_in_predict():
    model = HardHDP(lam_local=0.5, lam_global=1.0).fit(X, groups=["a", "a", "b", "b", "b"])
    with pytest.raises(ValueError, match="this model was fitted with 2 named groups, such as .*a.*; give groups"):
        model.predict(X)
    assert model.predict(X, groups=["a", "x", "b", "y", "y"]).tolist() == model.labels_.tolist()
    unnamed = HardHDP(lam_local=0.5, lam_global=1.0).fit(X)
    assert unnamed.predict(X).tolist() == unnamed.labels_.tolist()
    assert unnamed.transform(X).shape == (5, unnamed.n_global_clusters_)


@pytest.mark.parametrize("method", ["summary", "confidence", "nearest_two", "plot"])
def test_methods_without_groups_say_which_have_them(method):
    model = HardHDP(lam_local=0.5, lam_global=1.0).fit(X, groups=["a", "a", "b", "b", "b"])
    said = r"X holds other rows than the last fit, .* 2 named groups, such as 'a'.*predict\(X, groups=…\)"
    with pytest.raises(ValueError, match=said):
        getattr(model, method)(X + 0.1)
    assert model.predict(X + 0.1, groups=["a", "a", "b", "b", "b"]).tolist() == model.labels_.tolist()
    assert model.confidence(X).shape == (5,)


def test_further_groups_must_be_new():
    model = HardHDP(lam_local=0.5, lam_global=1.0).fit(X, groups=GROUPS)
    before = clone(model).fit(X, groups=GROUPS)
    for groups, message in [
        ([1, 1, 2, 2, 2], r"1 group\(s\) that were already fitted, such as 1"),
        (["a"] * 5, "names of type <U1 and the groups so far have int64"),
        ([2] * 4, r"groups has shape \(4,\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.partial_fit(X, groups=groups)
    with pytest.raises(ValueError, match="X has 1 features"):
        model.partial_fit(X[:, :1], groups=[2] * 5)
    assert vars(model).keys() == vars(before).keys()
    assert model.cost_ == before.cost_
    with pytest.raises(ValueError, match="fitted with 2 named groups, such as .*a.*; give groups"):
        HardHDP(lam_local=0.5, lam_global=1.0).fit(X, groups=list("aabbb")).partial_fit(X)
    assert model.partial_fit([X, X[:2]]).groups_.tolist() == [0, 1, 2, 3]
    assert model.partial_fit(sp.csr_array(X), groups=[7] * 5).groups_.tolist() == [0, 1, 2, 3, 7]
    assert model.predict(X, groups=[7] * 5).tolist() == model.labels_.tolist()


def test_a_fit_that_ends_too_early_says_so(rng):
    rows, groups = rng.normal(size=(60, 2)), np.repeat(np.arange(6), 10)
    for search in ("sweep", "split-merge"):
        with pytest.warns(UserWarning, match="did not converge within max_iter=2"):
            model = HardHDP(lam_local=0.3, lam_global=0.5, search=search, max_iter=2).fit(rows, groups=groups)
        assert not model.converged_
        assert model.cost_history_[-1] == model.cost_
        np.testing.assert_array_equal(model.predict(rows, groups=groups), model.labels_)


def test_too_large_numbers_are_refused():
    with pytest.raises(ValueError, match="overflow"):
        HardHDP(lam_local=1.0, lam_global=2.0).fit(X * 1e200, groups=GROUPS)


@pytest.mark.parametrize("mixed", [[1, "1"], ("1", 1), ["a", 2.5], ["a", np.nan]])
def test_names_of_groups_of_two_types_are_not_made_one(mixed, rng):
    """NumPy would make texts of all, and one group of 1 and "1"."""
    with pytest.raises(ValueError, match=r"groups holds texts and other names, such as (1|2\.5|nan); give all"):
        HardHDP().fit(rng.normal(size=(20, 2)), groups=type(mixed)(list(mixed) * 10))


def test_masked_names_of_groups_are_refused(rng):
    names = np.ma.masked_array(np.arange(20) % 2, mask=np.arange(20) == 3)
    with pytest.raises(ValueError, match=r"groups is a masked array with 1 masked value"):
        HardHDP().fit(rng.normal(size=(20, 2)), groups=names)
