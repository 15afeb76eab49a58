"""The thread of a picture: by hand, against loops, and the very layers that the words get."""

import dataclasses
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from attn_core import Lesson, run_lesson
from attn_core.edits import Edit
from attn_core.explain import explain
from attn_core.images import SAMPLES, Picture, digit_picture, sample_picture, to_patches
from attn_core.numbers import is_exact
from attn_core.parameters import draws, output_draw, patch_draw, position_draw
from attn_core.picture_thread import MAX_PATCHES, PICTURES, PictureSettings, patch_sizes, run_picture
from attn_core.stages import STEPS, stage
from tests.attn_core.latex import summands
from tests.independent import tenths


def picture(edge: int = 4, channels: int = 1, seed: int = 0) -> Picture:
    generator = torch.Generator().manual_seed(seed)
    pixels = torch.rand(edge, edge, channels, generator=generator, dtype=torch.float64).round(decimals=2)
    return Picture(pixels, edge, edge)


def test_four_by_four_by_hand():
    """A picture of 4 × 4 in patches of 2 × 2: x is the sum of four pixels times four rows of W_E."""
    pixels = torch.tensor(
        [[0.0, 1.0, 0.5, 0.5], [0.2, 0.4, 0.5, 0.5], [0.1, 0.1, 0.9, 0.8], [0.1, 0.1, 0.7, 0.6]], dtype=torch.float64
    )
    trace = run_picture(Picture(pixels[:, :, None], 4, 4), 1, Lesson(d_model=2))
    assert trace.asking.entries.tolist() == [
        [0.0, 1.0, 0.2, 0.4],
        [0.5, 0.5, 0.5, 0.5],
        [0.1, 0.1, 0.1, 0.1],
        [0.9, 0.8, 0.7, 0.6],
    ]
    w = trace.w_e.tolist()
    assert float(trace.x[0, 1]) == pytest.approx(1.0 * w[1][1] + 0.2 * w[2][1] + 0.4 * w[3][1], abs=1e-15)
    assert float(trace.x[2, 0]) == pytest.approx(0.1 * sum(row[0] for row in w), abs=1e-15)
    assert (trace.tokens, trace.features) == (("(0,0)", "(0,1)", "(1,0)", "(1,1)"),) * 2
    assert (trace.patch_size, trace.per_edge, trace.is_masked, trace.has_positions) == (2, 2, False, False)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("cuts", [1, 2, 3])
def test_every_step_against_loops(cuts, channels):
    lesson = Lesson(d_model=6, n_heads=2, head=1, seed=3)
    trace = run_picture(picture(8, channels), cuts, lesson)
    patches = to_patches(trace.picture.pixels, 8 // 2**cuts).tolist()

    def times(rows: list[list[float]], layer: torch.Tensor) -> list[list[float]]:
        columns = list(zip(*layer.tolist(), strict=True))
        return [[sum(a * b for a, b in zip(row, column, strict=True)) for column in columns] for row in rows]

    x = times(patches, trace.w_e)
    q, k, v = (times(x, layer) for layer in (trace.w_q, trace.w_k, trace.w_v))
    for step, expected in (("x", x), ("q", q), ("k", k), ("v", v)):
        assert_close(stage(trace, step).result.values, torch.tensor(expected, dtype=torch.float64))
    for row, query in enumerate(q):
        powers = [math.exp(sum(a * b for a, b in zip(query[3:], key[3:], strict=True)) / math.sqrt(3)) for key in k]
        weights = [power / sum(powers) for power in powers]
        assert_close(trace.attention.weights[row], torch.tensor(weights, dtype=torch.float64))


def test_the_layers_are_those_of_the_words():
    edits = (Edit("W_Q", 0, 1, 0.7), Edit("W_O", 2, 2, -1.0), Edit("W_E", 0, 0, 9.0), Edit("x", 0, 0, 9.0))
    lesson = Lesson(d_model=4, n_heads=2, seed=7, scale="d_k", edits=edits)
    words, found = run_lesson(lesson), run_picture(digit_picture(0), 2, lesson)
    for name in ("w_q", "w_k", "w_v", "w_o"):
        assert torch.equal(getattr(found, name), getattr(words, name)), name
    assert (found.n_heads, found.scale) == (2, "d_k")
    assert found.edits == edits[:2]
    assert stage(found, "q").right.edited == ((0, 1),)
    assert not stage(found, "x").right.edited


def test_every_step_is_a_stage():
    trace = run_picture(sample_picture("flower"), 2, Lesson(d_model=4, n_heads=2))
    for step in STEPS:
        product = stage(trace, step)
        assert_close(product.left.values @ product.right.values, product.result.values)
    entries = stage(trace, "x").left
    assert (entries.role, entries.symbol, entries.unit_range) == ("pixels", r"\text{patches}", True)
    assert entries.columns[:4] == ("(0,0)R", "(0,0)G", "(0,0)B", "(0,1)R")


@settings(max_examples=20)
@given(st.integers(1, 3), st.integers(0, 999_999), st.sampled_from([2, 4, 16]), st.integers(0, 1796))
def test_what_is_printed_is_the_value(cuts, seed, d_model, index):
    trace = run_picture(digit_picture(index), cuts, Lesson(d_model=d_model, seed=seed))
    assert is_exact(trace.asking.entries, 2)
    assert is_exact(trace.w_e, 1)
    assert is_exact(trace.x, 3)
    for values in (trace.q, trace.k, trace.v):
        assert is_exact(values, 4)


def test_a_long_sum_is_shortened_and_a_short_one_is_not():
    lesson = Lesson(d_model=2)
    whole = explain(run_picture(picture(4), 1, lesson), "x", 0, 0)
    assert whole.n_rest == 0
    assert "R_" not in " ".join(whole.latex)
    long = explain(run_picture(picture(8), 1, lesson), "x", 0, 0)
    assert len(long.terms) == 16
    assert long.n_rest == 8
    assert [line.count("R_{8}") for line in long.latex] == [1, 0, 0]
    assert long.latex[0].count(r"\cdot ") == 8
    printed = [factors[0] for factors in summands(long.latex[1])]
    assert float(printed[4]) == pytest.approx(sum(term.product for term in long.terms[4:12]), abs=5e-4)
    assert float(sum(printed)) == pytest.approx(long.total, abs=1e-3)
    assert long.total == pytest.approx(sum(term.product for term in long.terms))


def test_black_pixels_are_greyed():
    black = Picture(torch.zeros(4, 4, 1, dtype=torch.float64), 4, 4)
    found = explain(run_picture(black, 1, Lesson(d_model=2)), "x", 0, 0)
    assert found.latex[0].count(r"\textcolor{#8A8A8A}") == 4


def test_what_a_patch_attends_to():
    trace = run_picture(picture(8), 2, Lesson(d_model=4, seed=1))
    weights = trace.attention.weights[5].tolist()
    most = trace.most_seen(5, 3)
    assert [weight for _, weight in most] == sorted(weights, reverse=True)[:3]
    assert [trace.tokens[weights.index(weight)] for _, weight in most] == [name for name, _ in most]
    assert trace.equal_weight == 1 / 16
    assert trace.mean(5) == pytest.approx(sum(trace.asking.entries[5].tolist()) / 4)
    assert [trace.tokens[trace.patch_at(row, column)] for row, column in ((0, 3), (2, 1))] == ["(0,3)", "(2,1)"]
    assert (trace.channels, run_picture(picture(8, 3), 1, Lesson()).channels) == (1, 3)


def test_patch_sizes():
    assert patch_sizes(digit_picture(0)) == {3: 1, 2: 2, 1: 4}
    assert patch_sizes(sample_picture("china")) == {3: 4, 2: 8, 1: 16}
    for cuts, size in patch_sizes(digit_picture(0)).items():
        assert run_picture(digit_picture(0), cuts, Lesson()).patch_size == size


# Random numbers.


def test_the_embedding_layer_has_a_stream_of_its_own():
    assert torch.equal(patch_draw(12, 4, 5).numbers(), torch.from_numpy(tenths(12, 4, 9, 6_000_005)))
    last = 999_999
    others = [draw.seed for draw in draws(9, 4, last).values()]
    others += [position_draw(9, 4, last).seed, output_draw(4, last).seed]
    assert max(others) < patch_draw(4, 4, 0).seed


@pytest.mark.parametrize(("n_numbers", "bound"), [(1, 30), (4, 15), (16, 8), (48, 4), (192, 2), (768, 1), (10**6, 1)])
def test_the_bound_by_hand(n_numbers, bound):
    """3 / √n in tenths."""
    assert patch_draw(n_numbers, 4, 0).bound == bound
    assert patch_draw(n_numbers, 16, 0).bound == bound


@pytest.mark.parametrize("n_numbers", [4, 16, 48])
def test_embeddings_are_about_as_large_as_those_of_words(n_numbers):
    pixels = torch.rand(2000, n_numbers, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    sizes = [float((pixels @ patch_draw(n_numbers, 16, seed).numbers()).square().mean()) for seed in range(20)]
    assert 0.7 < sum(sizes) / len(sizes) < 1.4


def test_more_numbers_leave_the_first_rows_as_they_are():
    few, many = patch_draw(14, 4, 1), patch_draw(16, 4, 1)
    assert few.bound == many.bound == 8
    assert torch.equal(few.numbers(), many.numbers()[:14])


# What cannot be.


@pytest.mark.parametrize(("edge", "cuts"), [(6, 2), (4, 3), (5, 1)])
def test_a_picture_that_cannot_be_halved_so_often(edge, cuts):
    with pytest.raises(ValueError, match=rf"^the picture's edge must be a multiple of 2\^{cuts}, got {edge}$"):
        run_picture(picture(edge), cuts, Lesson())


def test_every_picture_can_be_cut_in_every_way():
    for cuts in (1, 2, 3):
        for one in (digit_picture(0), *map(sample_picture, SAMPLES)):
            assert len(run_picture(one, cuts, Lesson()).tokens) == 4**cuts <= MAX_PATCHES


def test_the_settings():
    assert PictureSettings().to_query() == {}
    changed = dataclasses.replace(PictureSettings(), picture="china", patch_cuts=3, grey=True, patch=63)
    assert changed.to_query() == {"picture": "china", "grey": "true", "patch_cuts": "3", "patch": "63"}
    assert PictureSettings.from_query(changed.to_query()) == changed
    assert set(PICTURES) == {"digit", "flower", "china", "own"}
