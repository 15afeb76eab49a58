"""Finite numbers in place of −∞: stored, gap, leak and blind rows, by hand and against NumPy's own number types."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from attn_core.fills import FILLS, NUMBER_TYPES, fill_results, outcome

SCORES = torch.tensor([-1.5, 1.25, -1.25, -0.5], dtype=torch.float64)
HIDDEN = torch.tensor([True, False, True, False])


def results(number_type, scores=SCORES, hidden=HIDDEN):
    return {result.fill: result for result in fill_results(scores, hidden, number_type)}


def softmax(scores):
    powers = [math.exp(score - max(scores)) for score in scores]
    return [power / sum(powers) for power in powers]


@pytest.mark.parametrize("number_type", NUMBER_TYPES)
def test_each_fill_once(number_type):
    assert list(results(number_type)) == list(FILLS) == [-math.inf, -1e9, -1e4, -100.0, -10.0]


@pytest.mark.parametrize(
    ("number_type", "fill", "stored", "gap"),
    [
        ("float64", -1e9, -1e9, 2.0**-23),  # 10⁹ lies between 2²⁹ and 2³⁰: 2²⁹ · 2⁻⁵²
        ("float64", -1e4, -1e4, 2.0**-39),
        ("float32", -1e9, -1e9, 64.0),  # 2²⁹ · 2⁻²³
        ("float32", -1e4, -1e4, 2.0**-10),
        ("bfloat16", -1e9, -998244352.0, 2.0**22),  # 2²⁹ · 2⁻⁷: 238 gaps
        ("bfloat16", -1e4, -9984.0, 64.0),
        ("float16", -1e9, -math.inf, 0.0),  # past 65504
        ("float16", -1e4, -1e4, 8.0),  # 2¹³ · 2⁻¹⁰
        ("float16", -10.0, -10.0, 2.0**-7),
        ("float32", -math.inf, -math.inf, 0.0),
    ],
)
def test_what_is_stored_and_how_far_the_next_number_is(number_type, fill, stored, gap):
    result = results(number_type)[fill]
    assert (result.stored, result.gap) == (stored, gap)


@pytest.mark.parametrize("number_type", ["float64", "float32", "float16"])
def test_against_numpy_s_own(number_type):
    numpy_type = getattr(np, number_type)
    for fill, result in results(number_type).items():
        with np.errstate(over="ignore"):
            stored = numpy_type(fill)
        assert result.stored == float(stored)
        if np.isfinite(stored):
            assert result.gap == abs(float(np.nextafter(stored, numpy_type(-np.inf)) - stored))


@pytest.mark.parametrize("number_type", NUMBER_TYPES)
def test_the_hidden_keys_weight(number_type):
    """Against plain arithmetic: at −10 it can be measured, at −∞ it is 0."""
    found = results(number_type)
    expected = softmax([-11.5, 1.25, -11.25, -0.5])
    digits = {"float64": 1e-12, "float32": 1e-6, "bfloat16": 0.02, "float16": 0.01}[number_type]
    assert found[-10.0].hidden_weight == pytest.approx(expected[0] + expected[2], rel=digits)
    assert found[-10.0].hidden_weight > 0
    assert [found[fill].hidden_weight for fill in (-math.inf, -1e9, -1e4)] == [0.0, 0.0, 0.0]
    assert (found[-100.0].hidden_weight > 0) == (number_type in ("float64", "float32"))


@pytest.mark.parametrize("number_type", NUMBER_TYPES)
def test_the_row_without_a_mask(number_type):
    expected = torch.tensor(softmax(SCORES.tolist()), dtype=torch.float64)
    for result in results(number_type).values():
        assert_close(result.visible, expected, atol=torch.finfo(getattr(torch, number_type)).eps, rtol=0)


@pytest.mark.parametrize(
    ("number_type", "outcomes"),
    [
        ("float64", ["nan", "others", "others", "others", "others"]),
        ("float32", ["nan", "equal", "others", "others", "others"]),
        ("bfloat16", ["nan", "equal", "equal", "others", "others"]),
        ("float16", ["nan", "nan", "equal", "others", "others"]),
    ],
)
def test_a_row_whose_every_key_is_hidden(number_type, outcomes):
    assert [outcome(result.blind) for result in results(number_type).values()] == outcomes


def test_a_fill_that_leaves_the_scores_alone_hides_nothing_from_a_blind_row():
    found = results("float64", SCORES / 3)
    for fill in (-1e4, -100.0, -10.0):
        assert found[fill].difference < 1e-11
        assert_close(found[fill].blind, found[fill].visible, atol=1e-11, rtol=0)
    assert 0 < found[-1e9].difference < 1e-7
    assert math.isnan(found[-math.inf].difference)


def test_scores_round_to_multiples_of_the_gap():
    """Near −10000 in float32 the gap is 1/1024: scores that differ by a quarter of it become one number."""
    scores = torch.tensor([0.0, 2.0**-12, 1.0], dtype=torch.float64)
    blind = results("float32", scores, torch.tensor([True, False, False]))[-1e4].blind
    assert blind[0] == blind[1] < blind[2]


@given(st.lists(st.floats(-20, 20), min_size=1, max_size=6), st.sampled_from(NUMBER_TYPES), st.data())
def test_any_row(scores, number_type, data):
    hidden = torch.tensor(data.draw(st.lists(st.booleans(), min_size=len(scores), max_size=len(scores))))
    for result in fill_results(torch.tensor(scores, dtype=torch.float64), hidden, number_type):
        assert (result.gap == 0) == math.isinf(result.stored)
        if hidden.any() and not hidden.all():
            assert 0 <= result.hidden_weight <= 1
        assert outcome(result.blind) == ("nan" if math.isinf(result.stored) else outcome(result.blind))
        assert outcome(result.visible) in ("equal", "others")


@pytest.mark.parametrize(
    ("weights", "named"),
    [
        ([math.nan, math.nan], "nan"),
        ([math.nan, 0.5], "nan"),
        ([0.0, 0.0, 0.0], "zeros"),
        ([0.25] * 4, "equal"),
        ([1.0], "equal"),
        ([0.5, 0.25, 0.25], "others"),
    ],
)
def test_outcomes(weights, named):
    assert outcome(torch.tensor(weights, dtype=torch.float64)) == named
