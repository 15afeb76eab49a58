"""All position vectors: their waves, and inner products that depend on the distance alone, or do not."""

import dataclasses
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from attn_core import Lesson
from attn_core.edits import Edit
from attn_core.limits import MAX_TOKENS
from attn_core.position_study import (
    all_positions,
    closed_form,
    position_products,
    regularity,
    shown_kind,
    sinusoidal_products,
)
from attn_core.positions import position_vectors, sinusoidal

EDIT = Edit("p", 5, 1, 0.25)


def distances(*values):
    return torch.tensor(values, dtype=torch.float64)


def test_products_in_closed_form():
    """Two pairs of columns: cos d + cos(d / 100). At distance 0 it is the number of pairs."""
    expected = [2.0, math.cos(1) + math.cos(0.01), math.cos(2.5) + math.cos(0.025)]
    assert_close(sinusoidal_products(distances(0, 1, 2.5), 4), distances(*expected))


@given(st.integers(1, 8), st.integers(2, 12))
def test_only_the_distance_counts(half, n_positions):
    p = sinusoidal(n_positions, 2 * half)
    theory = sinusoidal_products(torch.arange(n_positions, dtype=torch.float64), 2 * half)
    for s in range(n_positions):
        for t in range(n_positions):
            inner = sum(a * b for a, b in zip(p[s].tolist(), p[t].tolist(), strict=True))
            assert inner == pytest.approx(theory[abs(s - t)].item(), abs=1e-12)
    assert position_products(p).spread < 1e-12


@pytest.mark.parametrize("d_model", [3, 7])
def test_an_odd_size_depends_on_more(d_model):
    with pytest.raises(ValueError, match=rf"^d_model must be even, got {d_model}$"):
        sinusoidal_products(distances(0), d_model)
    speed = 10000 ** (-(d_model - 1) / d_model)  # of the last sine: sin² of the last place against 0 of the first
    spread = position_products(sinusoidal(MAX_TOKENS, d_model)).spread
    assert spread == pytest.approx(math.sin((MAX_TOKENS - 1) * speed) ** 2)


def test_measured_pairs_by_hand():
    """(1, 0), (1, 1), (0, 2): the products are 1, 2, 4 at distance 0, then 1 and 2 at distance 1, and 0 at 2."""
    found = position_products(torch.tensor([[1, 0], [1, 1], [0, 2]], dtype=torch.float64))
    pairs = sorted(zip(found.distances.tolist(), found.products.tolist(), strict=True))
    assert pairs == [(0, 1), (0, 2), (0, 4), (1, 1), (1, 2), (2, 0)]
    assert found.spread == 3.0


def test_drawn_vectors_follow_no_distance():
    found = position_products(position_vectors("learned", 4, 0))
    assert len(found.products) == MAX_TOKENS * (MAX_TOKENS + 1) // 2
    assert found.spread > 1


# As a lesson shows them.


@pytest.mark.parametrize(
    ("positions", "shown"), [("none", "sinusoidal"), ("sinusoidal", "sinusoidal"), ("learned", "learned")]
)
def test_a_lesson_without_positions_shows_sinusoidal_ones(positions, shown):
    lesson = Lesson(positions=positions, d_model=6, seed=2)
    assert shown_kind(lesson) == shown
    matrix = all_positions(lesson)
    assert torch.equal(matrix.values, position_vectors(shown, 6, 2).T)
    assert matrix.rows == ("x0", "x1", "x2", "x3", "x4", "x5")
    assert matrix.columns == tuple(map(str, range(MAX_TOKENS)))
    assert (matrix.symbol, matrix.edited) == (r"P^{\top}", ())


def test_numbers_put_in_by_hand_are_shown():
    matrix = all_positions(Lesson(positions="learned", edits=(EDIT, Edit("x", 0, 0, 1.0))))
    assert matrix.values[1, 5] == 0.25
    assert matrix.edited == ((1, 5),)
    assert all_positions(Lesson(edits=(EDIT,))).edited == ()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "sinusoidal"),
        ({"positions": "sinusoidal"}, "sinusoidal"),
        ({"positions": "sinusoidal", "edits": (EDIT,)}, "changed"),
        ({"edits": (EDIT,)}, "sinusoidal"),
        ({"positions": "sinusoidal", "d_model": 5}, "odd"),
        ({"positions": "learned"}, "learned"),
        ({"positions": "learned", "edits": (EDIT,)}, "learned"),
    ],
)
def test_what_the_products_follow(changes, expected):
    lesson = dataclasses.replace(Lesson(), **changes)
    assert regularity(lesson) == expected
    assert (closed_form(lesson) is None) == (expected != "sinusoidal")


def test_the_closed_form_passes_through_every_measured_point():
    lesson = Lesson(positions="sinusoidal")
    curve, measured = closed_form(lesson), position_products(all_positions(lesson).values.T)
    assert_close(curve.distances[::10], torch.arange(MAX_TOKENS, dtype=torch.float64))
    assert_close(curve.products[::10][measured.distances], measured.products)
