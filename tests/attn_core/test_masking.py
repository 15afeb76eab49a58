"""What a mask does to the weights: by hand, against loops, and for any lesson."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from attn_core import Lesson, run_lesson
from attn_core.edits import Edit
from attn_core.masking import hidden_in_row, mask_effect, mask_matrix
from attn_core.masks import HiddenKeys, make_mask
from attn_core.presets import matrix_edits

lessons = st.fixed_dictionaries(
    {
        "text": st.sampled_from(["the cat sat down", "I think therefore I am", "word", "a b c d e f g"]),
        "seed": st.integers(0, 99),
        "mask": st.sampled_from(["none", "causal", "padding"]),
        "padding": st.integers(0, 3),
        "n_heads": st.sampled_from([1, 2, 4]),
        "head": st.integers(0, 3),
    }
)


def halves() -> Lesson:
    """q · k = ln of 1, 2, 3 for the first query, undivided: without a mask the weights are 1/6, 2/6, 3/6."""
    keys = [[math.log(1.0), 0.0], [math.log(2.0), 0.0], [math.log(3.0), 0.0]]
    identity = [[1.0, 0.0], [0.0, 1.0]]
    return Lesson(
        lang="en",
        text="one two three",
        d_model=2,
        scale="none",
        edits=(
            *matrix_edits("x", keys),
            *matrix_edits("W_K", identity),
            *matrix_edits("W_Q", [[0.0, 0.0], [0.0, 0.0]]),
            Edit("x", 0, 1, 1.0),
            Edit("W_Q", 1, 0, 1.0),
        ),
        mask="drawn",
        hidden=(HiddenKeys(0, (1,)),),
    )


def test_by_hand():
    """Hiding 2/6 leaves 1/6 and 3/6 of 4/6: weights 1/4, 0, 3/4."""
    effect = mask_effect(run_lesson(halves()))
    sixths, quarters = ([n / of for n in row] for of, row in ((6, (1, 2, 3)), (4, (1, 0, 3))))
    assert_close(effect.without.values[0], torch.tensor(sixths, dtype=torch.float64))
    assert_close(effect.weights.values[0], torch.tensor(quarters, dtype=torch.float64))
    assert_close(effect.hidden[:, 0], torch.tensor([1 / 3, 0, 0], dtype=torch.float64))
    assert_close(effect.visible[:, 0], torch.tensor([2 / 3, 1, 1], dtype=torch.float64))


@settings(max_examples=15)
@given(lessons)
def test_visible_keys_share_in_proportion(fields):
    trace = run_lesson(Lesson(**fields))
    effect = mask_effect(trace)
    for query in range(len(trace.tokens)):
        scores = trace.attention.scaled[query].tolist()
        powers = [math.exp(score - max(scores)) for score in scores]
        hides = (~trace.mask[query]).tolist()
        hidden = sum(power for power, hide in zip(powers, hides, strict=True) if hide) / sum(powers)
        assert effect.hidden[query].item() == pytest.approx(hidden)
        assert effect.visible[query].item() == pytest.approx(1 - hidden)
        for key, hide in enumerate(hides):
            without = powers[key] / sum(powers)
            assert effect.without.values[query, key].item() == pytest.approx(without)
            assert effect.weights.values[query, key].item() == pytest.approx(0 if hide else without / (1 - hidden))


def test_without_a_mask_nothing_changes():
    trace = run_lesson(Lesson())
    effect = mask_effect(trace)
    assert torch.equal(effect.without.values, trace.attention.weights)
    assert effect.hidden.tolist() == [[0.0]] * 4
    assert effect.weights.hidden is None


def test_names_and_labels():
    effect = mask_effect(run_lesson(Lesson(lang="en", mask="causal", n_heads=2, head=1)))
    assert (effect.weights.symbol, effect.without.symbol) == ("A_1", r"A_1^{\ast}")
    assert effect.without.rows == effect.without.columns == ("the", "cat", "sat", "down")
    assert torch.equal(effect.without.hidden, ~make_mask("causal", 4, 4))


def test_the_mask_as_what_is_added():
    trace = run_lesson(Lesson(lang="en", text="a b c"))
    matrix = mask_matrix(trace, make_mask("causal", 3, 3))
    assert matrix.values.tolist() == [[0, -math.inf, -math.inf], [0, 0, -math.inf], [0, 0, 0]]
    assert (matrix.symbol, matrix.entry, matrix.role) == ("M", "m", "scores")
    assert matrix.hidden.tolist() == (~make_mask("causal", 3, 3)).tolist()
    assert matrix.rows == matrix.columns == ("a", "b", "c")


def test_adding_it_gives_the_masked_scores():
    trace = run_lesson(Lesson(mask="causal"))
    assert torch.equal(trace.attention.scaled + mask_matrix(trace, trace.mask).values, trace.attention.masked)


def test_hidden_in_a_row():
    trace = run_lesson(Lesson(mask="causal"))
    assert hidden_in_row(trace, 1, 0).tolist() == [False, False, True, True]
    assert hidden_in_row(trace, 3, 1).tolist() == [False, True, False, False]
    assert torch.equal(trace.mask, make_mask("causal", 4, 4))
