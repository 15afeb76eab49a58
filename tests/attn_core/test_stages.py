"""The stages: each is a product of two matrices with their names, labels and roles."""

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
    neighbouring_cell,
    pairwise,
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
        ("output", ("A", "a", "scores", "4 × 4"), ("V", "v", "value", "4 × 4"), ("O", "o", "value", "4 × 4")),
    ]


@settings(max_examples=12)
@given(lessons)
def test_left_times_right_is_the_result(fields: dict) -> None:
    trace = run_lesson(Lesson(**fields))
    for step in STEPS:
        shown = stage(trace, step)
        assert shown.step == step
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
    results |= {"scores": trace.attention.scores, "output": trace.output}
    for step, values in results.items():
        assert torch.equal(stage(trace, step).result.values, values)
    assert torch.equal(stage(trace, "x").right.values, trace.w_e)
    for step, weights in (("q", trace.w_q), ("k", trace.w_k), ("v", trace.w_v)):
        assert torch.equal(stage(trace, step).right.values, weights)
    assert torch.equal(stage(trace, "scores").right.values, trace.k.T)
    assert torch.equal(stage(trace, "output").left.values, trace.attention.weights)


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
    with pytest.raises(ValueError, match=r"^step must be one of x, q, k, v, scores, output, got 'z'$"):
        inspect.unwrap(stage)(run_lesson(Lesson()), "z")


# The numeric thread.


@settings(max_examples=8)
@given(lessons)
def test_the_thread_in_order(fields: dict) -> None:
    trace = run_lesson(Lesson(**fields))
    attention = trace.attention
    arrays = [trace.one_hot, trace.x, trace.q, trace.k, trace.v]
    arrays += [attention.scores, attention.scaled, attention.weights, attention.output]
    matrices = thread(trace)
    assert [m.symbol for m in matrices[:6] + matrices[7:]] == [r"\text{one-hot}", *"XQKVSAO"]
    for matrix, values in zip(matrices, arrays, strict=True):
        assert torch.equal(matrix.values, values)
        assert matrix.rows == trace.tokens
    assert [m.symbol for m in matrices if m.unit_range] == [r"\text{one-hot}", "A"]
    assert all(((m.values >= 0) & (m.values <= 1)).all() for m in matrices if m.unit_range)


@pytest.mark.parametrize(("scale", "symbol"), [("sqrt_d_k", r"S / \sqrt{d_k}"), ("none", "S / 1"), ("d_k", "S / d_k")])
def test_the_name_of_the_scaled_scores_tells_the_divisor(scale: str, symbol: str) -> None:
    trace = run_lesson(Lesson(scale=scale))
    assert similarity_view(trace, "scaled").result.symbol == thread(trace)[6].symbol == symbol


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
    assert set(pairwise(trace.one_hot, trace.tokens, "distance", "v").values[off].tolist()) == {math.sqrt(2)}
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
    assert {(m.rows, m.columns, m.role) for m in (z, powers, weights)} == {(trace.tokens, trace.tokens, "scores")}


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
