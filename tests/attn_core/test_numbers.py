"""How numbers are written."""

import math
from decimal import Decimal

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attn_core import Lesson, run_lesson
from attn_core.numbers import LARGE, MAX_DECIMALS, compact, decimals_for, is_exact, scientific, written


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (1.5, 1, "1.5"),
        (1.5, 3, "1.500"),
        (-1.5, 1, "\u22121.5"),
        (0.0, 2, "0.00"),
        (-0.0, 2, "0.00"),
        (-0.004, 2, "0.00"),
        (-0.006, 2, "\u22120.01"),
        (-0.4, 0, "0"),
        (2.0, 0, "2"),
        (math.nan, 4, "NaN"),
        (-math.nan, 4, "NaN"),
        (math.inf, 4, "∞"),
        (-math.inf, 4, "\u2212∞"),
        (999_999_999.0, 1, "999999999.0"),
        (1e9, 1, "1.0000·10⁹"),
        (-2.5e9, 0, "\u22122.5000·10⁹"),
        (math.exp(709), 4, "8.2184·10³⁰⁷"),
    ],
)
def test_written(value: float, decimals: int, text: str) -> None:
    assert written(value, decimals) == text


@given(st.floats(allow_nan=True, allow_infinity=True), st.integers(0, MAX_DECIMALS))
def test_no_hyphen_no_minus_zero_and_never_long(value: float, decimals: int) -> None:
    text = written(value, decimals)
    assert "-" not in text
    assert len(text) <= 15
    if text.startswith("\u2212"):
        assert any(character in "123456789∞" for character in text)


@given(st.floats(-1e6, 1e6), st.integers(0, MAX_DECIMALS))
def test_what_is_written_is_the_rounded_value(value: float, decimals: int) -> None:
    assert Decimal(written(value, decimals).replace("\u2212", "-")) == round(Decimal(value), decimals)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_scientific(value: float) -> None:
    mantissa, exponent = scientific(value)
    assert value == 0 or 1 <= abs(float(mantissa)) < 10
    assert Decimal(mantissa) * Decimal(10) ** exponent == pytest.approx(Decimal(value), rel=Decimal("5.1e-5"))


@pytest.mark.parametrize(
    ("values", "decimals"),
    [
        ([1.0, -2.0], 0),
        ([1.0, 0.5], 1),
        ([0.1 + 0.2], 1),
        ([-1.1102230246251565e-16, 1.86], 2),
        ([0.125], 3),
        ([0.0001], 4),
        ([1 / 3], 4),
        ([0.00001], 4),
        ([math.nan, math.inf, 2.5], 1),
        ([math.nan, -math.inf], 0),
        ([], 0),
        ([1e300], 4),
    ],
)
def test_decimals_for(values: list[float], decimals: int) -> None:
    assert decimals_for(torch.tensor(values, dtype=torch.float64)) == decimals


@pytest.mark.parametrize(
    ("value", "exact"),
    [(0.1 + 0.2, True), (0.30001, True), (0.300001, False), (1 / 3, False), (math.inf, True), (LARGE, False)],
)
def test_is_exact_at_five_decimals(value: float, exact: bool) -> None:
    assert is_exact(torch.tensor([value], dtype=torch.float64), 5) is exact


@given(st.lists(st.integers(-(10**7), 10**7), min_size=1, max_size=6), st.integers(0, MAX_DECIMALS))
def test_the_fewest_decimals_that_write_every_value(units: list[int], places: int) -> None:
    values = torch.tensor(units, dtype=torch.float64) / 10**places
    expected = next(n for n in range(MAX_DECIMALS + 1) if all(unit % 10 ** max(0, places - n) == 0 for unit in units))
    assert decimals_for(values) == expected
    assert is_exact(values, expected)
    texts = [written(value, expected).replace("\u2212", "-") for value in values.tolist()]
    assert [Decimal(text) for text in texts] == [Decimal(unit) / 10**places for unit in units]


@pytest.mark.parametrize("lang", ["ja", "en"])
def test_the_default_lesson_is_exact_at_one_two_and_four_decimals(lang: str) -> None:
    trace = run_lesson(Lesson(lang=lang))
    assert [decimals_for(m) for m in (trace.one_hot, trace.x, trace.w_q, trace.q, trace.k, trace.v)] == [
        0, 1, 1, 2, 2, 2,
    ]  # fmt: skip
    assert decimals_for(trace.attention.scores) == 4
    assert is_exact(trace.attention.scores, 4)
    assert not is_exact(trace.attention.weights, 4)


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (-math.inf, 4, "\u2212∞"),
        (math.nan, 4, "NaN"),
        (0.0, 4, "0"),
        (-1e9, 4, "\u221210⁹"),
        (-1e4, 4, "\u221210⁴"),
        (-9984.0, 4, "\u22129984"),
        (-998244352.0, 4, "\u22129.982·10⁸"),
        (64.0, 4, "64"),
        (1e-7, 4, "10⁻⁷"),
        (2.0**-23, 4, "1.192·10⁻⁷"),
        (0.25, 4, "0.25"),
        (0.8371778, 2, "0.84"),
        (1.1102e-16, 2, "1.1·10⁻¹⁶"),
        (4.79, 1, "5"),
    ],
)
def test_compact(value: float, digits: int, text: str) -> None:
    assert compact(value, digits) == text
