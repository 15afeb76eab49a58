"""Position vectors: by hand, against loops and the paper's formula, drawn ones by seed, and in a lesson."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from attn_core import Lesson, run_lesson
from attn_core.edits import Edit
from attn_core.limits import MAX_TOKENS
from attn_core.positions import POSITIONS, position_angles, position_vectors, sinusoidal
from attn_core.stages import position_sum, stage, thread


def test_the_first_positions_by_hand():
    """d_model 4: speeds 1 and 1/100. Position 0 is (0, 1, 0, 1)."""
    expected = [
        [0, 1, 0, 1],
        [math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)],
        [math.sin(2), math.cos(2), math.sin(0.02), math.cos(0.02)],
    ]
    assert_close(sinusoidal(3, 4), torch.tensor(expected, dtype=torch.float64))


def test_an_odd_size_ends_with_a_sine():
    expected = [[0, 1, 0], [math.sin(1), math.cos(1), math.sin(10000 ** (-2 / 3))]]
    assert_close(sinusoidal(2, 3), torch.tensor(expected, dtype=torch.float64))


@given(st.integers(1, 9), st.integers(2, 9))
def test_against_the_paper_s_formula_in_loops(n_tokens, d_model):
    p, angles = sinusoidal(n_tokens, d_model), position_angles(n_tokens, d_model)
    assert p.shape == angles.shape == (n_tokens, d_model)
    assert p.dtype == torch.float64
    for pos in range(n_tokens):
        for i in range((d_model + 1) // 2):
            angle = pos / 10000 ** (2 * i / d_model)
            assert p[pos, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-12)
            assert angles[pos, 2 * i].item() == pytest.approx(angle)
            if 2 * i + 1 < d_model:
                assert p[pos, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-12)
                assert angles[pos, 2 * i + 1] == angles[pos, 2 * i]


@given(st.integers(1, 4), st.integers(1, 8))
def test_a_step_forward_is_a_rotation_of_each_pair(half, step):
    """p of t + step is the same linear map of p of t at every t (section 3.5)."""
    d_model = 2 * half
    p, angles = sinusoidal(20 + step, d_model), position_angles(step + 1, d_model)[step]
    for pair in range(half):
        cos, sin = math.cos(angles[2 * pair]), math.sin(angles[2 * pair])
        rotation = torch.tensor([[cos, -sin], [sin, cos]], dtype=torch.float64)
        columns = p[:, 2 * pair : 2 * pair + 2]
        assert_close(columns[step:], columns[:20] @ rotation)


@pytest.mark.parametrize("kind", POSITIONS)
def test_there_is_a_vector_for_every_place_a_lesson_may_have(kind):
    assert position_vectors(kind, 6, 3).shape == (MAX_TOKENS, 6)


def test_each_kind():
    assert not position_vectors("none", 4, 0).any()
    assert torch.equal(position_vectors("sinusoidal", 4, 0), sinusoidal(MAX_TOKENS, 4))
    assert torch.equal(position_vectors("sinusoidal", 4, 9), sinusoidal(MAX_TOKENS, 4))


def test_learned_vectors_are_the_seed_s():
    first, other = position_vectors("learned", 4, 0), position_vectors("learned", 4, 1)
    assert torch.equal(first, position_vectors("learned", 4, 0))
    assert not torch.equal(first, other)
    assert_close(first, torch.round(first, decimals=1), atol=1e-15, rtol=0)
    assert set(torch.round(first * 10).unique().tolist()) <= set(range(-10, 11))
    assert first.abs().max() > 0.5


def test_an_unknown_kind():
    with pytest.raises(ValueError, match=r"^positions must be one of none, sinusoidal, learned, got 'rotary'$"):
        position_vectors("rotary", 4, 0)


# In a lesson.


@pytest.mark.parametrize("kind", POSITIONS)
@pytest.mark.parametrize("second_text", ["", "a dog"])
def test_a_lesson_adds_them_to_both_sequences(kind, second_text):
    trace = run_lesson(Lesson(lang="en", positions=kind, seed=4, second_text=second_text))
    p = position_vectors(kind, 4, 4)
    for sequence in (trace.asking, trace.answering):
        n = len(sequence.tokens)
        assert torch.equal(sequence.p, p[:n])
        assert torch.equal(sequence.inputs, sequence.x + p[:n])
    assert trace.has_positions == (kind != "none")
    assert_close(trace.q, (trace.x + p[:4]) @ trace.w_q)
    assert_close(trace.k, trace.answering.inputs @ trace.w_k)
    assert_close(trace.v, trace.answering.inputs @ trace.w_v)


def test_positions_leave_the_embeddings_and_layers_as_they_were():
    none, learned = (run_lesson(Lesson(positions=kind)) for kind in ("none", "learned"))
    for name in ("x", "w_e", "w_q", "w_k", "w_v"):
        assert torch.equal(getattr(none, name), getattr(learned, name))


def test_the_sum_as_three_matrices():
    trace = run_lesson(Lesson(lang="en", positions="sinusoidal"))
    x, p, inputs = position_sum(trace)
    assert_close(x.values + p.values, inputs.values)
    assert [matrix.symbol for matrix in (x, p, inputs)] == ["X", "P", "X + P"]
    assert {matrix.rows for matrix in (x, p, inputs)} == {trace.tokens}
    assert {matrix.role for matrix in (x, p, inputs)} == {"embedding"}
    assert torch.equal(inputs.values, stage(trace, "q").left.values)
    assert torch.equal(inputs.values, thread(trace)["inputs"].values)


def test_a_number_of_p_put_in_by_hand():
    edit = Edit("p", 2, 1, 0.5)
    trace = run_lesson(Lesson(positions="learned", edits=(edit,)))
    _, p, inputs = position_sum(trace)
    assert p.values[2, 1] == 0.5
    assert p.edited == inputs.edited == ((2, 1),)
    assert inputs.values[2, 1] == trace.x[2, 1] + 0.5
    unused = run_lesson(Lesson(edits=(edit,)))  # where nothing is added, an edit of it neither
    assert not unused.asking.p.any()
    assert position_sum(unused)[2].edited == ()


def test_equal_words_differ_by_their_places_alone():
    trace = run_lesson(Lesson(lang="en", text="the cat saw the dog", positions="sinusoidal"))
    assert torch.equal(trace.x[0], trace.x[3])
    p = sinusoidal(5, 4)
    assert_close(trace.asking.inputs[3] - trace.asking.inputs[0], p[3] - p[0])
