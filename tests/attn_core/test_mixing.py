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


@given(st.sampled_from([1, 2, 4]), st.integers(0, 3), st.integers(0, 9))
def test_a_mixture_of_one_head_s_values(n_heads, head, key):
    """Four queries, five keys of another sentence, four columns of values for all heads."""
    lesson = Lesson(second_text="I am a dog you", n_heads=n_heads, head=min(head, n_heads - 1), key=key)
    trace = run_lesson(lesson)
    mixed = mixture(trace, MixingSettings(giver=0, taker=4, moved=0.5))
    d_k = 4 // n_heads
    assert list(mixed.columns) == [lesson.head * d_k + column for column in range(d_k)]
    assert mixed.contributions.shape == (5, d_k)
    assert mixed.plane == {1: "line", 2: "exact_plane", 4: "pca_plane"}[d_k]
    own = trace.v[:, mixed.columns.start : mixed.columns.stop]
    if d_k < 3:
        assert torch.equal(mixed.points[:, :d_k], own)
        assert_close(mixed.after[:d_k], mixed.output)
    if d_k == 1:
        assert mixed.points[:, 1].tolist() == [0.0] * 5
        assert sorted(own[list(mixed.corners), 0].tolist()) == [float(own.min()), float(own.max())]


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
    assert list(bars.layout.xaxis.ticktext) == ["v0", "v1", "v2", "v3"]
    of_a_head = mixture(run_lesson(Lesson(n_heads=2, head=1)), MixingSettings())
    assert list(contributions(of_a_head, trace.tokens).layout.xaxis.ticktext) == ["v2", "v3"]
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
