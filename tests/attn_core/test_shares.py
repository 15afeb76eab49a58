"""The output as the sum of the heads' shares: by hand, against loops, and to the last bits."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from attn_core import Lesson, LessonTrace, run_lesson
from attn_core.heads import split_heads
from attn_core.presets import matrix_edits
from attn_core.shares import head_shares, output_rows

fields = st.fixed_dictionaries(
    {
        "d_model": st.sampled_from([6, 12]),
        "n_heads": st.sampled_from([1, 2, 3, 6]),
        "seed": st.integers(0, 999_999),
        "scale": st.sampled_from(["sqrt_d_k", "none", "d_k"]),
        "mask": st.sampled_from(["none", "causal"]),
        "second_text": st.sampled_from(["", "I am a dog you"]),
        "positions": st.sampled_from(["none", "sinusoidal"]),
    }
)
# Two heads of one column; a single word, so that each head's output is its value: x = (1, 2), W_V = I.
BY_HAND = Lesson(
    text="猫",
    d_model=2,
    n_heads=2,
    edits=(
        *matrix_edits("x", [[1.0, 2.0]]),
        *matrix_edits("W_V", [[1.0, 0.0], [0.0, 1.0]]),
        *matrix_edits("W_O", [[3.0, 0.0], [0.0, 2.0]]),
    ),
)


def test_two_heads_by_hand() -> None:
    shared = head_shares(run_lesson(BY_HAND), 0)
    assert shared.shares.tolist() == [[3, 0], [0, 4]]
    assert shared.total.tolist() == [3, 4]
    assert shared.norms.tolist() == [3, 4]
    assert shared.length == 5
    assert_close(shared.along, torch.tensor([9 / 5, 16 / 5], dtype=torch.float64))


def test_a_head_that_works_against_the_other_has_a_negative_reach() -> None:
    edits = (*BY_HAND.edits[:-4], *matrix_edits("W_O", [[3.0, 0.0], [-1.0, 0.0]]))
    shared = head_shares(run_lesson(Lesson(text="猫", d_model=2, n_heads=2, edits=edits)), 0)
    assert shared.shares.tolist() == [[3, 0], [-2, 0]]
    assert shared.along.tolist() == [3, -2]
    assert shared.length == 1


def test_shares_that_cancel_leave_no_direction() -> None:
    edits = (*BY_HAND.edits[:-4], *matrix_edits("W_O", [[2.0, 2.0], [-1.0, -1.0]]))
    shared = head_shares(run_lesson(Lesson(text="猫", d_model=2, n_heads=2, edits=edits)), 0)
    assert shared.total.tolist() == [0, 0]
    assert shared.along.tolist() == [0, 0]
    assert shared.norms.tolist() == [math.sqrt(8)] * 2


@settings(max_examples=20)
@given(fields, st.integers(0, 3))
def test_the_shares_add_up_to_the_output_to_the_last_bits(fields: dict, query: int) -> None:
    trace = run_lesson(Lesson(**fields))
    shared = head_shares(trace, query)
    assert torch.equal(shared.total, trace.y[query])
    largest = float(shared.shares.abs().max())
    assert float((shared.shares.sum(dim=0) - shared.total).abs().max()) <= 8 * len(trace.w_o) * largest * 2**-53
    assert math.fsum(shared.along.tolist()) == pytest.approx(shared.length)
    assert (shared.along.abs() <= shared.norms * (1 + 1e-12)).all()


@settings(max_examples=10)
@given(fields, st.integers(0, 3))
def test_against_loops(fields: dict, query: int) -> None:
    trace = run_lesson(Lesson(**fields))
    shared, d_k = head_shares(trace, query), trace.d_k
    for head in range(trace.n_heads):
        output, total = trace.heads[head].output[query].tolist(), trace.y[query].tolist()
        share = [
            sum(output[m] * float(trace.w_o[head * d_k + m, column]) for m in range(d_k))
            for column in range(len(trace.w_o))
        ]
        assert shared.shares[head].tolist() == pytest.approx(share, abs=1e-12)
        assert float(shared.norms[head]) == pytest.approx(math.hypot(*share))
        along = sum(a * b for a, b in zip(share, total, strict=True)) / math.hypot(*total)
        assert float(shared.along[head]) == pytest.approx(along, abs=1e-12)


@settings(max_examples=10)
@given(fields)
def test_the_same_as_the_output_of_all_other_heads_set_to_zero(fields: dict) -> None:
    """Independent of how W_O is cut: a head's share is Y where the other heads found nothing."""
    trace = run_lesson(Lesson(**fields))
    for head in range(trace.n_heads):
        alone = split_heads(trace.joined, trace.n_heads).clone()
        alone[[other for other in range(trace.n_heads) if other != head]] = 0.0
        joined = torch.cat([*alone], dim=-1)
        assert_close(head_shares(trace, 1).shares[head], joined[1] @ trace.w_o)


def test_the_rows_of_w_o_that_belong_to_each_head() -> None:
    trace: LessonTrace = run_lesson(Lesson(d_model=6, n_heads=3))
    rows = output_rows(trace)
    assert rows.shape == (3, 2, 6)
    for head in range(3):
        assert torch.equal(rows[head], trace.w_o[2 * head : 2 * head + 2])
