"""What is measured on problems: by hand, against plain loops, and its limits."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from attn_core.problems import (
    NOTHING,
    Problems,
    average,
    closeness,
    equal_shares,
    ideal_weights,
    is_right,
    log_loss,
)


def table(rows: list[list[float]]) -> torch.Tensor:
    return torch.tensor(rows, dtype=torch.float64)


def problems(answers: list[list[int]], shares: list[float] | None = None) -> Problems:
    wanted = torch.tensor(answers)
    counts = equal_shares(len(answers)) if shares is None else torch.tensor(shares, dtype=torch.float64)
    return Problems(torch.zeros_like(wanted), wanted, wanted[None], counts)


# Averages.


def test_the_average_by_hand():
    # Sequence 0 counts 3/4 and asks twice, sequence 1 counts 1/4 and asks once: (3·1 + 3·2 + 1·5) / 7.
    asked = problems([[0, 0], [NOTHING, 0]], [0.75, 0.25])
    assert average(table([[1, 2], [9, 5]]), asked).item() == pytest.approx(14 / 7)


def test_equal_shares_are_the_plain_mean_over_what_is_asked():
    asked = problems([[0, NOTHING, 1], [2, NOTHING, NOTHING]])
    assert average(table([[1, 100, 2], [6, 100, 100]]), asked).item() == pytest.approx(3)


def test_loss_and_right_answers_by_hand():
    asked = problems([[1, NOTHING], [0, 0]])
    log_probabilities = torch.stack([table([[0.25, 0.75], [0.5, 0.5]]), table([[0.1, 0.9], [0.6, 0.4]])]).log()
    losses = log_loss(log_probabilities, asked)
    assert_close(losses[0, 0].item(), -math.log(0.75))
    assert_close(losses[1], torch.tensor([-math.log(0.1), -math.log(0.6)], dtype=torch.float64))
    right = is_right(log_probabilities, asked)
    assert right.tolist() == [[1, 0], [0, 1]]
    assert average(right, asked).item() == pytest.approx(2 / 3)


def test_some_of_the_problems_keep_their_relative_shares():
    chosen = problems([[0], [1], [2]], [0.5, 0.3, 0.2]).take(torch.tensor([2, 1]))
    assert chosen.answers.tolist() == [[2], [1]]
    assert chosen.sources.tolist() == [[[2], [1]]]
    assert_close(chosen.shares, torch.tensor([0.4, 0.6], dtype=torch.float64))


# Closeness.


def test_ideal_weights_by_hand():
    assert ideal_weights(torch.tensor([2, NOTHING, 0])).tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 0]]


def test_closeness_by_hand():
    # ½ (0.5 + 0.5) = 0.5 and ½ (0.25 + 0.25) = 0.25: mean distance 3/8.
    learned, ideal = table([[0.5, 0.5], [0.25, 0.75]]), table([[1, 0], [0, 1]])
    assert closeness(learned, ideal).item() == pytest.approx(5 / 8)
    assert closeness(ideal, ideal).item() == 1
    assert closeness(ideal.flip(-1), ideal).item() == 0


def test_equal_weights_are_1_over_n_close_to_one_place():
    learned = torch.full((3, 5, 5), 1 / 5, dtype=torch.float64)
    assert closeness(learned, ideal_weights(torch.arange(5).expand(3, 5))).item() == pytest.approx(1 / 5)


def test_rows_that_ask_for_nothing_do_not_count():
    learned = table([[0.5, 0.5], [1.0, 0.0]])
    assert closeness(learned, ideal_weights(torch.tensor([0, NOTHING]))).item() == pytest.approx(0.5)
    with pytest.raises(ValueError, match=r"^ideal must have a row that is not all zeros, got none of 2$"):
        closeness(learned, ideal_weights(torch.tensor([NOTHING, NOTHING])))


def rows_of(n: int, seed: int) -> torch.Tensor:
    return torch.rand(n, n, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).softmax(dim=-1)


@given(st.integers(1, 6), st.integers(0, 999))
def test_closeness_to_single_places_is_the_mean_weight_there(n, seed):
    learned = rows_of(n, seed)
    sources = torch.randint(n, (n,), generator=torch.Generator().manual_seed(seed))
    there = sum(learned[row, place].item() for row, place in enumerate(sources.tolist())) / n
    assert closeness(learned, ideal_weights(sources)).item() == pytest.approx(there)


@given(st.integers(1, 6), st.integers(0, 999))
def test_closeness_is_symmetric_and_lies_between_0_and_1(n, seed):
    one, other = rows_of(n, seed), rows_of(n, seed + 1)
    assert 0 <= closeness(one, other).item() <= 1
    assert_close(closeness(one, other), closeness(other, one))
