"""Order: without positions and mask the outputs are the same rows in another order; with either they are not."""

import dataclasses
import inspect

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from attn_core import Lesson, run_lesson
from attn_core.edits import Edit
from attn_core.masks import HiddenKeys
from attn_core.permutation import (
    OrderSettings,
    order_variants,
    output_matrices,
    permutation_experiment,
    token_order,
    verdict,
)

texts = st.sampled_from(["the cat sat down", "one two three four five", "a b a c"])
settings_of_lessons = st.fixed_dictionaries(
    {"text": texts, "seed": st.integers(0, 99), "n_heads": st.sampled_from([1, 2]), "head": st.integers(0, 1)}
)


def experiment(lesson, order):
    return permutation_experiment(run_lesson(lesson), tuple(order))


@settings(max_examples=20)
@given(settings_of_lessons, st.data())
def test_without_positions_and_mask_the_same_rows_move(fields, data):
    trace = run_lesson(Lesson(**fields))
    order = tuple(data.draw(st.permutations(range(len(trace.tokens)))))
    found = permutation_experiment(trace, order)
    assert_close(found.after, trace.output[list(order)], atol=1e-12, rtol=0)
    assert_close(found.restored, trace.output, atol=1e-12, rtol=0)
    assert found.largest_difference < 1e-12
    assert found.is_same


@settings(max_examples=20)
@given(settings_of_lessons, st.sampled_from(["sinusoidal", "learned"]), st.data())
def test_with_positions_they_change(fields, kind, data):
    trace = run_lesson(Lesson(**fields | {"positions": kind}))
    order = tuple(data.draw(st.permutations(range(len(trace.tokens)))))
    assume(order != tuple(range(len(trace.tokens))))
    found = permutation_experiment(trace, order)
    assert found.largest_difference > 1e-6
    assert not found.is_same


def test_a_causal_mask_brings_order_in_without_positions():
    """Reversed, the last word sees itself alone: its output is its value."""
    trace = run_lesson(Lesson(mask="causal"))
    found = experiment(Lesson(mask="causal"), (3, 2, 1, 0))
    assert_close(found.after[0], trace.v[3])
    assert_close(found.restored[3], trace.v[3])
    assert found.largest_difference > 0.1


@pytest.mark.parametrize(
    "lesson", [Lesson(), Lesson(lang="en", positions="learned", mask="causal", seed=3)], ids=["plain", "with both"]
)
def test_it_is_the_lesson_of_the_reordered_text(lesson):
    """The tokens typed in the other order, from the start: IDs, one-hot vectors and all."""
    trace = run_lesson(lesson)
    order = (2, 0, 3, 1)
    joined = ("" if lesson.lang == "ja" else " ").join(trace.tokens[i] for i in order)
    typed = run_lesson(dataclasses.replace(lesson, text=joined))
    found = permutation_experiment(trace, order)
    assert typed.tokens == found.new_tokens
    assert_close(found.after, typed.output)


def test_by_hand_with_two_tokens():
    trace = run_lesson(Lesson(text="猫 犬", positions="learned"))
    x, p = trace.x.flip(0), trace.asking.p
    q, k, v = ((x + p) @ w for w in (trace.w_q, trace.w_k, trace.w_v))
    weights = torch.softmax(q @ k.T / 2, dim=-1)
    found = permutation_experiment(trace, (1, 0))
    assert_close(found.after, weights @ v)
    assert_close(found.restored, (weights @ v).flip(0))
    assert found.largest_difference == pytest.approx(float(((weights @ v).flip(0) - trace.output).abs().max()))
    assert torch.equal(found.before, trace.output)


def test_an_edited_embedding_goes_with_its_token_and_an_edited_position_stays():
    trace = run_lesson(Lesson(positions="learned", edits=(Edit("x", 0, 0, 9.0), Edit("p", 0, 1, 5.0))))
    found = permutation_experiment(trace, (3, 2, 1, 0))
    inputs = trace.x.flip(0) + trace.asking.p
    assert inputs[3, 0] == 9.0 + trace.asking.p[3, 0]
    assert inputs[0, 1] == trace.x[3, 1] + 5.0
    scores = (inputs @ trace.w_q) @ (inputs @ trace.w_k).T / 2
    assert_close(found.after, torch.softmax(scores, dim=-1) @ (inputs @ trace.w_v))


def test_of_two_sentences_the_first_moves():
    trace = run_lesson(Lesson(lang="en", second_text="a dog"))
    found = permutation_experiment(trace, (1, 0, 3, 2))
    assert_close(found.after, trace.output[[1, 0, 3, 2]])
    assert found.new_tokens == ("cat", "the", "down", "sat")


def test_the_order_as_it_is_changes_nothing():
    assert experiment(Lesson(positions="learned", mask="causal"), range(4)).largest_difference == 0.0


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 1, 2, 2), (1, 2, 3, 4), ()])
def test_no_order(order):
    with pytest.raises(ValueError, match=r"^order must have each of 0 … 3 once, got \("):
        inspect.unwrap(permutation_experiment)(run_lesson(Lesson()), order)


# The new order.


def test_reversed_and_shuffled():
    trace = run_lesson(Lesson())
    assert token_order(trace, OrderSettings()) == (3, 2, 1, 0)
    orders = {token_order(trace, OrderSettings(new_order="shuffled", shuffle_seed=seed)) for seed in range(40)}
    assert len(orders) > 10
    assert all(sorted(order) == [0, 1, 2, 3] for order in orders)
    assert (0, 1, 2, 3) not in orders
    one = OrderSettings(new_order="shuffled", shuffle_seed=7)
    assert token_order(trace, one) == token_order(trace, one)


def test_padding_keeps_its_place():
    trace = run_lesson(Lesson(padding=2))
    assert token_order(trace, OrderSettings()) == (3, 2, 1, 0, 4, 5)
    crossed = run_lesson(Lesson(lang="en", padding=2, second_text="a dog"))
    assert token_order(crossed, OrderSettings()) == (3, 2, 1, 0)


def test_one_token_has_one_order():
    trace = run_lesson(Lesson(text="猫"))
    assert token_order(trace, OrderSettings()) == token_order(trace, OrderSettings(new_order="shuffled")) == (0,)


# What is shown.


def test_output_matrices():
    trace = run_lesson(Lesson(lang="en", n_heads=2, head=1))
    found = permutation_experiment(trace, (1, 0, 3, 2))
    before, after, restored = output_matrices(trace, found)
    assert [m.symbol for m in (before, after, restored)] == ["O_1", "O_1'", "O_1'"]
    assert (before.rows, after.rows, restored.rows) == (trace.tokens, found.new_tokens, trace.tokens)
    for matrix, values in zip((before, after, restored), (found.before, found.after, found.restored), strict=True):
        assert torch.equal(matrix.values, values)
        assert matrix.columns == ("v2", "v3")


def test_variants():
    lesson = Lesson(positions="learned", query=1)
    found = order_variants(lesson, (3, 2, 1, 0))
    assert [(v.positions, v.mask) for v in found] == [
        (kind, mask) for kind in ("none", "sinusoidal", "learned") for mask in ("none", "causal")
    ]
    for variant in found:
        other = dataclasses.replace(lesson, positions=variant.positions, mask=variant.mask)
        assert variant.largest_difference == experiment(other, (3, 2, 1, 0)).largest_difference
    assert found[0].largest_difference < 1e-12
    assert all(variant.largest_difference > 0.01 for variant in found[1:])


def test_variants_with_the_lesson_s_own_mask():
    padded = order_variants(Lesson(mask="padding", padding=2), (3, 2, 1, 0, 4, 5))
    assert [v.mask for v in padded] == ["none", "padding"] * 3
    assert padded[1].largest_difference < 1e-12  # padding hides by what a token is, not by where it stands
    drawn = order_variants(Lesson(mask="drawn", hidden=(HiddenKeys(0, (1,)),)), (3, 2, 1, 0))
    assert drawn[1].largest_difference > 0.01


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, "same"),
        ({"padding": 2, "mask": "padding"}, "same"),
        ({"second_text": "猫"}, "same_cross"),
        ({"positions": "sinusoidal"}, "different"),
        ({"mask": "causal"}, "different"),
        ({"text": "a", "positions": "sinusoidal"}, "cannot_tell"),
        ({"text": "a a a", "mask": "causal"}, "cannot_tell"),
        ({"text": "a a"}, "cannot_tell"),
    ],
    ids=str,
)
def test_what_an_experiment_shows(fields, expected):
    trace = run_lesson(Lesson(**fields))
    assert verdict(trace, permutation_experiment(trace, token_order(trace, OrderSettings()))) == expected
