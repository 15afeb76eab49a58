"""The output as a mixture of values: contributions, moving weight, the hull."""

import dataclasses
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from attn_core import Lesson, run_lesson
from attn_core.figures.contributions import contributions
from attn_core.figures.hull import hull
from attn_core.geometry import convex_hull
from attn_core.learned import layer_reports
from attn_core.mixing import MixingSettings, mixture, move_weight


def test_moved_weight_by_hand():
    moved = move_weight(torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64), 0, 2, 0.4)
    assert_close(moved, torch.tensor([0.3, 0.3, 0.4], dtype=torch.float64))


@given(st.integers(0, 3), st.integers(0, 3), st.floats(0, 1), st.integers(2, 6), st.integers(0, 99))
def test_a_mixture_against_plain_loops(giver, taker, share, d_model, seed):
    trace = run_lesson(Lesson(d_model=d_model, seed=seed))
    mixed = mixture(trace, MixingSettings(giver=giver, taker=taker, moved=share))
    weights = trace.attention.weights[2].tolist()
    amount = weights[giver] * share
    weights[giver] -= amount
    weights[taker] += amount
    assert math.fsum(mixed.weights.tolist()) == pytest.approx(1)
    for column in range(d_model):
        terms = [weights[key] * float(trace.v[key, column]) for key in range(4)]
        assert mixed.contributions[:, column].tolist() == pytest.approx(terms, abs=1e-12)
        assert float(mixed.output[column]) == pytest.approx(sum(terms), abs=1e-12)
    assert_close(mixed.after, mixed.weights @ mixed.points)


def test_places_past_the_text_count_as_its_last_token():
    trace = run_lesson(Lesson(text="猫 犬"))
    mixed = mixture(trace, MixingSettings(giver=0, taker=31, moved=1.0))
    assert mixed.weights.tolist() == pytest.approx([0.0, 1.0])


def test_the_corners_of_a_square_with_points_inside():
    points = torch.tensor([[0, 0], [1, 1], [2, 0], [1, 0.5], [2, 2], [0, 2], [1, 0]], dtype=torch.float64)
    assert convex_hull(points) == (0, 2, 4, 5)


def test_figures_read_back():
    trace = run_lesson(Lesson())
    mixed = mixture(trace, MixingSettings())
    bars = contributions(mixed, trace.tokens)
    assert [list(bar.y) for bar in bars.data[:4]] == mixed.contributions.tolist()
    assert list(bars.data[4].y) == mixed.output.tolist()
    moved = contributions(mixture(trace, MixingSettings(moved=1.0)), trace.tokens)
    assert moved.layout.yaxis.range == bars.layout.yaxis.range
    picture = hull(mixed, ("<b>", *trace.tokens[1:]))
    assert picture.data[1].text[0] == "&lt;b&gt;"
    assert picture.data[2].x == (float(mixed.before[0]), float(mixed.after[0]))


def test_the_layer_before_and_after():
    untrained, trained = run_lesson(Lesson()), run_lesson(Lesson(training_steps=200))
    before, after = layer_reports(untrained)
    assert torch.equal(before.plane, after.plane)
    before, after = layer_reports(trained)
    assert after.purity > before.purity + 0.5
    assert dataclasses.replace(after, purity=None).words == trained.vocabulary.words
