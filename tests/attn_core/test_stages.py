"""The stages: each is a product of two matrices with their names, labels and roles."""

import dataclasses
import inspect
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from attn_core import Lesson, run_lesson
from attn_core.palette import ROLE_COLORS
from attn_core.softmax import SoftmaxSettings, softmax_steps
from attn_core.stages import (
    STEPS,
    THREAD_STEPS,
    Parts,
    heads_weights,
    last_step,
    neighbouring_cell,
    pairwise,
    share_stage,
    similarity_view,
    softmax_matrices,
    stage,
    thread,
)

lessons = st.fixed_dictionaries(
    {
        "text": st.sampled_from(["the cat sat down", "the the cat", "私は学生です", "word", "one two three four five"]),
        "d_model": st.integers(2, 7),
        "seed": st.integers(0, 999_999),
        "scale": st.sampled_from(["sqrt_d_k", "none", "d_k"]),
    }
)
# Two heads of three columns each; four queries, five keys of another sentence.
CROSS = Lesson(lang="en", second_text="I am a dog you", d_model=6, n_heads=2, head=1)


@pytest.mark.parametrize("lang", ["ja", "en"])
def test_the_stages_of_the_default_lesson(lang: str) -> None:
    trace = run_lesson(Lesson(lang=lang))
    read = [
        (
            step,
            *((m.symbol, m.entry, m.role, m.shape) for m in (shown.left, shown.right, shown.result)),
        )
        for step, shown in ((step, stage(trace, step)) for step in STEPS)
    ]
    one_hot = (r"\text{one-hot}", "v", "one_hot", "4 × 10")
    x = ("X", "x", "embedding", "4 × 4")
    assert read == [
        ("x", one_hot, ("W_E", "w", "weight", "10 × 4"), x),
        ("q", x, ("W_Q", "w", "weight", "4 × 4"), ("Q", "q", "query", "4 × 4")),
        ("k", x, ("W_K", "w", "weight", "4 × 4"), ("K", "k", "key", "4 × 4")),
        ("v", x, ("W_V", "w", "weight", "4 × 4"), ("V", "v", "value", "4 × 4")),
        ("scores", ("Q", "q", "query", "4 × 4"), (r"K^{\top}", "k", "key", "4 × 4"), ("S", "s", "scores", "4 × 4")),
        ("output", ("A", "a", "weights", "4 × 4"), ("V", "v", "value", "4 × 4"), ("O", "o", "value", "4 × 4")),
        ("y", ("O", "o", "value", "4 × 4"), ("W_O", "w", "weight", "4 × 4"), ("Y", "y", "embedding", "4 × 4")),
    ]


@settings(max_examples=12)
@given(lessons, st.integers(0, 6), st.sampled_from(["", "I am a dog you"]))
def test_left_times_right_is_the_result(fields: dict, head: int, second_text: str) -> None:
    n_heads = fields["d_model"] if head % 2 else 1
    trace = run_lesson(Lesson(**fields, n_heads=n_heads, head=head, second_text=second_text))
    for step in STEPS:
        shown = stage(trace, step)
        assert shown.step == step
        assert shown.result.first_column == (trace.head_columns.start if step == "output" else 0)
        assert_close(shown.left.values @ shown.right.values, shown.result.values)
        assert len(shown.left.columns) == len(shown.right.rows) == shown.left.values.shape[1]
        assert (shown.result.rows, shown.result.columns) == (
            shown.left.rows,
            shown.result.columns if step == "output" else shown.right.columns,
        )
        for matrix in (shown.left, shown.right, shown.result):
            assert matrix.values.shape == (len(matrix.rows), len(matrix.columns))
            assert matrix.shape == f"{len(matrix.rows)} × {len(matrix.columns)}"
            assert matrix.role in ROLE_COLORS


def test_the_matrices_are_those_of_the_trace() -> None:
    trace = run_lesson(Lesson(d_model=3, seed=5))
    results = {"x": trace.x, "q": trace.q, "k": trace.k, "v": trace.v}
    results |= {"scores": trace.attention.scores, "output": trace.output, "y": trace.y}
    for step, values in results.items():
        assert torch.equal(stage(trace, step).result.values, values)
    assert torch.equal(stage(trace, "x").right.values, trace.w_e)
    for step, weights in (("q", trace.w_q), ("k", trace.w_k), ("v", trace.w_v)):
        assert torch.equal(stage(trace, step).right.values, weights)
    assert torch.equal(stage(trace, "scores").right.values, trace.k.T)
    assert torch.equal(stage(trace, "output").left.values, trace.attention.weights)
    assert torch.equal(stage(trace, "y").left.values, trace.joined)
    assert torch.equal(stage(trace, "y").right.values, trace.w_o)


def test_labels() -> None:
    trace = run_lesson(Lesson(lang="en", text="the cat the", d_model=3))
    assert stage(trace, "x").left.columns == stage(trace, "x").right.rows == trace.vocabulary.words
    assert stage(trace, "q").right.rows == ("x0", "x1", "x2")
    assert stage(trace, "q").right.columns == ("q0", "q1", "q2")
    assert stage(trace, "scores").right.rows == ("k0", "k1", "k2")
    assert stage(trace, "scores").right.columns == ("the", "cat", "the")
    assert stage(trace, "scores").result.rows == ("the", "cat", "the")
    assert stage(trace, "output").right.columns == ("v0", "v1", "v2")


def test_an_unknown_step() -> None:
    with pytest.raises(ValueError, match=r"^step must be one of x, q, k, v, scores, output, y, got 'z'$"):
        inspect.unwrap(stage)(run_lesson(Lesson()), "z")


# Several heads, and a second sentence.


def test_the_matrices_of_a_head_carry_its_number() -> None:
    trace = run_lesson(CROSS)
    read = {
        step: [(m.symbol, m.shape, m.columns[0], m.first_column) for m in (shown.left, shown.right, shown.result)]
        for step, shown in ((step, stage(trace, step)) for step in STEPS[4:])
    }
    assert read == {
        "scores": [("Q_1", "4 × 3", "q3", 3), (r"K_1^{\top}", "3 × 5", "I", 0), ("S_1", "4 × 5", "I", 0)],
        "output": [("A_1", "4 × 5", "I", 0), ("V_1", "5 × 3", "v3", 3), ("O_1", "4 × 3", "v3", 3)],
        "y": [("O", "4 × 6", "o0", 0), ("W_O", "6 × 6", "y0", 0), ("Y", "4 × 6", "y0", 0)],
    }
    assert stage(trace, "y").parts == Parts(("O_0", "O_1"), 1)
    assert stage(run_lesson(Lesson()), "y").parts is None


def test_a_head_s_number_of_two_digits_is_one_index() -> None:
    trace = run_lesson(Lesson(d_model=16, n_heads=16, head=11))
    assert stage(trace, "scores").result.symbol == "S_{11}"


def test_keys_and_values_are_those_of_the_second_sentence() -> None:
    trace = run_lesson(CROSS)
    first, second = trace.tokens, ("I", "am", "a", "dog", "you")
    rows = {step: (stage(trace, step).left.rows, stage(trace, step).result.rows) for step in ("q", "k", "v")}
    assert rows == {"q": (first, first), "k": (second, second), "v": (second, second)}
    assert [stage(trace, step).left.symbol for step in ("q", "k", "v")] == ["X", "X_2", "X_2"]
    scores = stage(trace, "scores").result
    assert (scores.rows, scores.columns) == (first, second)


def test_the_second_sentence_is_a_block_of_the_thread() -> None:
    matrices = thread(run_lesson(CROSS))
    assert [(step, matrix.symbol, matrix.shape) for step, matrix in matrices.items()] == [
        ("one_hot", r"\text{one-hot}", "4 × 10"),
        ("x", "X", "4 × 6"),
        ("second", "X_2", "5 × 6"),
        ("q", "Q", "4 × 6"),
        ("k", "K", "5 × 6"),
        ("v", "V", "5 × 6"),
        ("scores", "S_1", "4 × 5"),
        ("scaled", r"S_1 / \sqrt{d_k}", "4 × 5"),
        ("weights", "A_1", "4 × 5"),
        ("output", "O_1", "4 × 3"),
        ("joined", "O", "4 × 6"),
        ("y", "Y", "4 × 6"),
    ]
    both = thread(run_lesson(dataclasses.replace(CROSS, positions="sinusoidal", mask="causal")))
    assert (both["inputs"].symbol, both["second"].symbol) == ("X + P", "X_2 + P_2")
    assert tuple(both) == THREAD_STEPS


def test_a_thread_without_the_step_shows_the_one_before() -> None:
    plain, cross = thread(run_lesson(Lesson())), thread(run_lesson(CROSS))
    assert {step: last_step(plain, step) for step in THREAD_STEPS} == {
        **{step: step for step in plain},
        "inputs": "x",
        "second": "x",
        "masked": "scaled",
        "joined": "output",
        "y": "output",
    }
    assert last_step(cross, "second") == "second"


def test_the_weights_of_every_head() -> None:
    trace = run_lesson(CROSS)
    for head, matrix in enumerate(heads_weights(trace)):
        assert (matrix.symbol, matrix.role) == (f"A_{head}", "weights")
        assert torch.equal(matrix.values, trace.heads[head].weights)


def test_a_head_s_share_is_its_outputs_times_its_rows_of_w_o() -> None:
    trace = run_lesson(CROSS)
    shown = share_stage(trace)
    assert [m.symbol for m in (shown.left, shown.right, shown.result)] == ["O_1", "W_O^{(1)}", "Y^{(1)}"]
    assert (shown.left.columns, shown.right.rows) == (("o3", "o4", "o5"),) * 2
    assert torch.equal(shown.left.values, trace.heads[1].output)
    assert torch.equal(shown.right.values, trace.w_o[3:])
    total = sum(share_stage(trace.with_head(head)).result.values for head in range(2))
    assert_close(total, trace.y)


# The numeric thread.


@settings(max_examples=8)
@given(lessons)
def test_the_thread_in_order(fields: dict) -> None:
    trace = run_lesson(Lesson(**fields))
    attention = trace.attention
    arrays = [trace.one_hot, trace.x, trace.q, trace.k, trace.v]
    arrays += [attention.scores, attention.scaled, attention.weights, attention.output]
    named = thread(trace)
    assert list(named) == ["one_hot", "x", "q", "k", "v", "scores", "scaled", "weights", "output"]
    matrices = list(named.values())
    assert [m.symbol for m in matrices[:6] + matrices[7:]] == [r"\text{one-hot}", *"XQKVSAO"]
    for matrix, values in zip(matrices, arrays, strict=True):
        assert torch.equal(matrix.values, values)
        assert matrix.rows == trace.tokens
    assert [m.symbol for m in matrices if m.unit_range] == [r"\text{one-hot}", "A"]
    assert all(((m.values >= 0) & (m.values <= 1)).all() for m in matrices if m.unit_range)


@pytest.mark.parametrize(("scale", "symbol"), [("sqrt_d_k", r"S / \sqrt{d_k}"), ("none", "S / 1"), ("d_k", "S / d_k")])
def test_the_name_of_the_scaled_scores_tells_the_divisor(scale: str, symbol: str) -> None:
    trace = run_lesson(Lesson(scale=scale))
    assert similarity_view(trace, "scaled").result.symbol == thread(trace)["scaled"].symbol == symbol


def test_views_of_the_similarity() -> None:
    trace = run_lesson(Lesson(d_model=3))
    scores = stage(trace, "scores")
    for view, symbol in (("scores", "S"), ("scaled", r"S / \sqrt{d_k}"), ("cosine", r"\cos(q, k)")):
        shown = similarity_view(trace, view)
        assert (shown.left.symbol, shown.right.symbol, shown.result.symbol) == ("Q", r"K^{\top}", symbol)
        assert (shown.result.rows, shown.result.columns) == (scores.result.rows, scores.result.columns)
        for i in range(4):
            for j in range(4):
                q, k = trace.q[i].tolist(), trace.k[j].tolist()
                inner = sum(a * b for a, b in zip(q, k, strict=True))
                divisor = {"scores": 1, "scaled": math.sqrt(3), "cosine": math.hypot(*q) * math.hypot(*k)}[view]
                assert shown.result.values[i, j].item() == pytest.approx(inner / divisor)


# What else is drawn.


def test_pairwise_distances_and_cosines() -> None:
    values = torch.tensor([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]], dtype=torch.float64)
    tokens = ("a", "b", "a")
    apart, alike = pairwise(values, tokens, "distance", "x"), pairwise(values, tokens, "cosine", "x")
    assert apart.values.tolist() == [[0, 5, 10], [5, 0, 5], [10, 5, 0]]
    assert_close(alike.values, torch.tensor([[0.0, 0, 0], [0, 1, 1], [0, 1, 1]], dtype=torch.float64))
    assert (apart.rows, apart.columns, apart.role, alike.role) == (tokens, tokens, "embedding", "scores")
    assert not apart.unit_range
    assert not alike.unit_range


def test_one_hot_vectors_are_all_equally_far_apart() -> None:
    trace = run_lesson(Lesson())
    off = ~torch.eye(4, dtype=torch.bool)
    apart = pairwise(trace.one_hot, trace.tokens, "distance", "v").values[off]
    assert_close(apart, torch.full_like(apart, math.sqrt(2)))
    assert set(pairwise(trace.one_hot, trace.tokens, "cosine", "v").values[off].tolist()) == {0.0}


def test_softmax_matrices() -> None:
    trace = run_lesson(Lesson())
    steps = softmax_steps(trace.attention.masked, SoftmaxSettings(subtract_maximum=True))
    z, powers, weights = softmax_matrices(trace, steps)
    assert torch.equal(z.values, steps.shifted)
    assert torch.equal(powers.values, steps.exponentials)
    assert torch.equal(weights.values, steps.weights)
    assert [m.symbol for m in (z, powers, weights)] == ["z", "e^z", "A"]
    assert [m.unit_range for m in (z, powers, weights)] == [False, False, True]
    assert {(m.rows, m.columns) for m in (z, powers, weights)} == {(trace.tokens, trace.tokens)}
    assert [m.role for m in (z, powers, weights)] == ["scores", "scores", "weights"]
    crossed = run_lesson(CROSS)
    steps = softmax_steps(crossed.attention.masked, SoftmaxSettings())
    assert softmax_matrices(crossed, steps)[2].symbol == "A_1"


@pytest.mark.parametrize(
    ("row", "column", "by", "cell"),
    [
        (0, 0, 1, (0, 1)),
        (0, 2, 1, (1, 0)),
        (1, 2, 1, (0, 0)),
        (0, 0, -1, (1, 2)),
        (1, 0, -1, (0, 2)),
        (1, 1, 0, (1, 1)),
    ],
)
def test_neighbouring_cells_of_two_by_three(row: int, column: int, by: int, cell: tuple[int, int]) -> None:
    assert neighbouring_cell((2, 3), row, column, by) == cell


@given(st.integers(1, 6), st.integers(1, 6), st.sampled_from([1, -1]))
def test_stepping_visits_every_cell_once(rows: int, columns: int, by: int) -> None:
    visited, cell = [], (0, 0)
    for _ in range(rows * columns):
        visited.append(cell)
        cell = neighbouring_cell((rows, columns), *cell, by)
    assert cell == (0, 0)
    assert sorted(visited) == [(i, j) for i in range(rows) for j in range(columns)]
