"""Whole numbers that float64 rounds, such as numbers of accounts: refused, or left out by the front door."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import kfree
from kfree.core.exact import is_rounded, rounded_number

pytestmark = pytest.mark.filterwarnings("ignore::kfree.exceptions.DataAdvice")
FIRST = 2**53 + 1


def test_rounding_is_found_where_python_finds_it():
    rng = np.random.default_rng(0)
    for bits in range(50, 64):
        values = rng.integers(-(2**bits), 2**bits, 200, endpoint=False)
        values[::3] = values[::3] >> 12 << 12  # whose last bits are zero
        expected = next((int(v) for v in values if int(float(int(v))) != int(v)), None)
        assert rounded_number(values) == expected
        assert [is_rounded(int(v)) for v in values] == [int(float(int(v))) != int(v) for v in values]
    assert [is_rounded(Decimal(10**40 + digit)) for digit in (0, 1)] == [True, True]
    assert not is_rounded(Decimal(2**150))
    assert rounded_number(np.array([-(2**63), 2**62, 2**53, 0])) is None
    assert rounded_number(np.array([2**64 - 1], dtype=np.uint64)) == 2**64 - 1
    assert rounded_number(np.array([2.0**70])) is None


def _tables(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"account": FIRST + 2 * rng.permutation(40), "a": rng.normal(size=40)})
    gaps = frame.assign(account=frame["account"].astype("Int64").mask(frame.index == 3))
    frame.to_csv(tmp_path / "t.csv", index=False)
    gaps.to_csv(tmp_path / "gaps.csv", index=False)
    gaps.to_parquet(tmp_path / "t.parquet")
    frame.assign(account=[f"1{account:020d}" for account in frame["account"]]).to_csv(tmp_path / "l.csv", index=False)
    return {
        "pandas": frame,
        "pandas with gaps": gaps,
        "objects": frame.assign(account=[10**30 + int(account) for account in frame["account"]]),
        "polars": pl.from_pandas(gaps),
        "pyarrow": pa.Table.from_pandas(gaps),
        **{name: tmp_path / name for name in ("t.csv", "gaps.csv", "t.parquet", "l.csv")},
    }


@pytest.mark.parametrize(
    "name", ["pandas", "pandas with gaps", "objects", "polars", "pyarrow", "t.csv", "gaps.csv", "t.parquet", "l.csv"]
)
def test_long_numbers_are_left_out_by_the_door_and_refused_elsewhere(name, tmp_path):
    table = _tables(tmp_path)[name]
    made = kfree.cluster(table, lam=1.0)
    assert made.preparation.columns == ["a"]
    assert "'account' (" in made.remarks[0]
    assert "that float64 rounds" in made.remarks[0]
    with pytest.raises(ValueError, match="account"):
        kfree.cluster(table, columns=["account", "a"])
    if name in ("t.csv", "gaps.csv", "t.parquet", "l.csv"):
        with pytest.raises(ValueError, match=r"column 'account' (holds \d+, a whole number|does not hold)"):
            kfree.DPMeans(lam=1.0).fit(kfree.open_rows(table))
        return
    with pytest.raises(ValueError, match="column 'account' holds whole numbers that float64 rounds, such as"):
        kfree.TableEncoder().fit(table)
    if name not in ("objects", "pandas with gaps", "polars", "pyarrow"):
        with pytest.raises(
            ValueError, match="X holds whole numbers that float64 rounds, such as .* in column 'account'"
        ):
            kfree.DPMeans(lam=1.0).fit(table)


def test_arrays_of_long_numbers_are_refused():
    X = np.array([[1, 2], [FIRST, 3]])
    with pytest.raises(ValueError, match=rf"float64 rounds, such as {FIRST}\. Leave out columns that name rows"):
        kfree.DPMeans(lam=1.0).fit(X)
    with pytest.raises(ValueError, match="column 'x0' holds whole numbers that float64 rounds"):
        kfree.TableEncoder().fit(X)
    for made in (sp.csr_array, sp.coo_array, sp.lil_array, sp.dok_array, sp.bsr_array, sp.dia_array):
        with pytest.raises(ValueError, match=rf"float64 rounds, such as {FIRST}"):
            kfree.DPMeans(lam=1.0).fit(made(X))
        assert kfree.DPMeans(lam=1.0).fit(made(X // 2)).n_clusters_ == 2
    assert kfree.DPMeans(lam=1.0).fit(X.astype(float)).n_clusters_ == 2


def test_long_numbers_may_be_categories_and_stay_what_they_are():
    table = pd.DataFrame({"account": [FIRST, FIRST + 1, FIRST + 2] * 10, "a": range(30)})
    encoder = kfree.TableEncoder(categories=["account"]).fit(table)
    assert encoder.encoders_[0].levels == (FIRST, FIRST + 1, FIRST + 2)
    assert encoder.inverse_transform(encoder.transform(table))["account"].tolist() == table["account"].tolist()
