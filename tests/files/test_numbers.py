"""Numbers as people write them, against the numbers that were written."""

import random
import warnings

import pytest

from kfree.exceptions import DataAdvice
from tests.files.test_text import table_of


def written(value, decimal, thousands, unit, before, digits):
    """A number as text, by Python's own formatting."""
    text = f"{abs(value):,.{digits}f}".translate(str.maketrans({",": thousands, ".": decimal}))
    sign = "-" if value < 0 else ""
    return f"{sign}{unit}{text}" if before else f"{sign}{text} {unit}" if unit else f"{sign}{text}"


@pytest.mark.parametrize("seed", range(60))
def test_a_column_in_one_form_is_read_as_its_numbers(seed, tmp_path):
    rng = random.Random(seed)
    decimal, thousands = rng.choice([(".", ","), (",", "."), (".", ""), (",", "")])
    unit, before = rng.choice(["€", "$", "CHF", "%", "kr.", "zł", "£"]), rng.random() < 0.5
    digits = rng.choice([1, 2, 2])
    values = [round(rng.choice([1, -1]) * 10 ** rng.uniform(-1, 7), digits) for _ in range(30)]
    values = [0.0, 1234567.5, *values] if digits else values
    cells = [written(value, decimal, thousands, unit, before, digits) for value in values]
    cells[0] = rng.choice([cells[0], "0"])
    text = "x;y\n" + "".join(f"{cell};a\n" for cell in cells)
    with pytest.warns(DataAdvice, match=f"column 'x' is read as numbers in {unit!r}".replace("$", r"\$")):
        assert table_of(text, tmp_path)["x"] == values


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["€1,200", "€900"], [1200.0, 900.0]),  # money has no thousandths
        (["€1.200", "€3.400"], None),  # or has it?
        (["€1.200", "€3.4"], [1.2, 3.4]),
        (["12,345 %", "1,200 %"], None),
        (["5%", "10"], None),  # one without a unit
        (["5%", "0"], [5.0, 0.0]),
        (["$3", "€4"], None),
        (["1 200,50 €", "900 €"], [1200.5, 900.0]),
        (["CHF 1'200.50", "CHF 900"], [1200.5, 900.0]),
        (["($10.50)", "$1,200.00", "(3 $)"], [-10.5, 1200.0, -3.0]),  # as accountants write
        (["(5 %)", "7 %"], None),
        (["K001", "K002"], None),
        (["3 kg", "4 kg"], None),
    ],
)
def test_what_a_column_decides_is_read_and_the_rest_is_text(cells, expected, tmp_path):
    text = "x;y\n" + "".join(f"{cell};a\n" for cell in cells)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataAdvice)
        assert table_of(text, tmp_path)["x"] == (cells if expected is None else expected)
