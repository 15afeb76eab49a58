"""Words on a plane, read back."""

import pytest
import torch

from attn_core.figures.plane import plane
from attn_core.palette import EMBEDDING, NEUTRAL, QUERY
from tests.attn_core.figures.samples import assert_stays_still

POINTS = torch.tensor([[1.0, -2.0], [3.0, 0.5], [1.0, -2.0]], dtype=torch.float64)


def drawn(words: tuple[str, ...] = ("a", "b", "c"), points: torch.Tensor = POINTS):
    return plane(words, points, in_text=(1, 2, 1), chosen=2, axes=("first (60 %)", "second (20 %)"))


def test_every_word_at_its_place() -> None:
    [words] = drawn().data
    assert (list(words.x), list(words.y), list(words.text)) == ([1, 3, 1], [-2, 0.5, -2], ["a", "b", "c"])
    assert words.mode == "markers+text"


def test_the_text_s_words_in_colour_and_the_chosen_one_ringed() -> None:
    [words] = drawn().data
    assert list(words.marker.color) == [NEUTRAL, EMBEDDING, EMBEDDING]
    assert (list(words.marker.line.width), words.marker.line.color) == ([0, 0, 3], QUERY)


def test_both_axes_have_one_scale_with_0_in_the_middle() -> None:
    layout = drawn().layout
    assert tuple(layout.xaxis.range) == tuple(layout.yaxis.range) == pytest.approx((-3.75, 3.75))
    assert (layout.xaxis.title.text, layout.yaxis.title.text) == ("first (60 %)", "second (20 %)")
    assert_stays_still(drawn())


def test_points_that_do_not_differ() -> None:
    figure = drawn(points=torch.zeros(3, 2, dtype=torch.float64))
    assert tuple(figure.layout.xaxis.range) == (-1.25, 1.25)
    assert_stays_still(figure)


def test_hostile_and_repeated_words() -> None:
    [words] = drawn(("<b>x</b>", "a", "a")).data
    assert list(words.text) == ["&lt;b&gt;x&lt;/b&gt;", "a", "a"]
    assert len(words.x) == 3
