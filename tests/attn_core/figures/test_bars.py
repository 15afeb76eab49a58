"""Attention weights as bars, read back."""

import math

import pytest
import torch

from attn_core.figures.bars import weight_bars
from attn_core.palette import NEUTRAL, SCORES
from tests.attn_core.figures.samples import assert_stays_still


def weights(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def test_a_bar_per_key_and_a_mark_per_reference() -> None:
    figure = weight_bars(("a", "b", "c"), weights(0.5, 0.125, 0.375), 2, weights(0.2, 0.3, 0.5))
    bars, marks = figure.data
    assert (list(bars.x), list(bars.y), bars.orientation) == ([0.5, 0.125, 0.375], [0, 1, 2], "h")
    assert list(bars.text) == ["0.5000", "0.1250", "0.3750"]
    assert (bars.marker.color, list(bars.marker.opacity)) == (SCORES, [0.55, 0.55, 1.0])
    assert (list(marks.x), list(marks.y), marks.mode) == ([0.2, 0.3, 0.5], [0, 1, 2], "markers")
    assert (marks.marker.symbol, marks.marker.line.color) == ("line-ns", NEUTRAL)
    assert_stays_still(figure)


def test_the_axis_goes_from_0_to_1_whatever_the_weights() -> None:
    for values in (weights(0.5, 0.5), weights(1.0, 0.0), weights(0.01, 0.99)):
        layout = weight_bars(("a", "b"), values, 0, values).layout
        assert list(layout.xaxis.tickvals) == [0, 0.25, 0.5, 0.75, 1]
        assert layout.xaxis.range[0] == 0
        assert layout.xaxis.range[1] > 1  # room for the number of a full bar


def test_the_first_key_is_on_top() -> None:
    layout = weight_bars(("a", "b", "c"), weights(0.5, 0.25, 0.25), 0, weights(0.5, 0.25, 0.25)).layout
    assert tuple(layout.yaxis.range) == pytest.approx((2.6, -0.6))
    assert (list(layout.yaxis.tickvals), list(layout.yaxis.ticktext)) == ([0, 1, 2], ["a", "b", "c"])


def test_hostile_and_repeated_tokens() -> None:
    figure = weight_bars(("<b>x</b>", "a", "a"), weights(0.5, 0.25, 0.25), 1, weights(0.5, 0.25, 0.25))
    assert list(figure.layout.yaxis.ticktext) == ["&lt;b&gt;x&lt;/b&gt;", "a", "a"]
    assert list(figure.data[0].y) == [0, 1, 2]
    assert list(figure.data[0].marker.opacity) == [0.55, 1.0, 0.55]


def test_numbers_that_are_none() -> None:
    figure = weight_bars(("a", "b"), weights(math.nan, 0.0), 0, weights(0.5, 0.5))
    assert list(figure.data[0].text) == ["NaN", "0.0000"]
    assert_stays_still(figure)


def test_many_keys() -> None:
    count = 32
    figure = weight_bars([f"t{i}" for i in range(count)], torch.full((count,), 1 / count), 5, torch.zeros(count))
    assert figure.layout.height <= 420
    assert len(figure.layout.yaxis.ticktext) == count
