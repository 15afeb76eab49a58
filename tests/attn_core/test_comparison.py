"""What differs between heads: entropies and total variation distances."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from attn_core import Lesson, run_lesson
from attn_core.comparison import compare_heads, total_variation

rows = st.lists(st.floats(0.01, 1), min_size=3, max_size=3).map(
    lambda numbers: torch.softmax(torch.tensor(numbers, dtype=torch.float64) * 9, dim=-1)
)


def test_total_variation_by_hand() -> None:
    one = torch.tensor([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]], dtype=torch.float64)
    other = torch.tensor([[0.25, 0.25, 0.5], [0.0, 0.5, 0.5]], dtype=torch.float64)
    assert total_variation(one, other).tolist() == [0.5, 1.0]
    assert total_variation(one, one).tolist() == [0, 0]
    assert total_variation(one, other[0]).tolist() == [0.5, 0.75]


@given(rows, rows, rows)
def test_total_variation_is_a_distance_and_the_largest_difference_of_any_set(a, b, c) -> None:
    distance = float(total_variation(a, b))
    sets = [[i for i in range(3) if mask >> i & 1] for mask in range(8)]
    assert distance == pytest.approx(max(abs(float(a[s].sum() - b[s].sum())) for s in sets), abs=1e-12)
    assert distance == float(total_variation(b, a))
    assert 0 <= distance <= 1
    assert distance <= float(total_variation(a, c) + total_variation(c, b)) + 1e-12


@settings(max_examples=10)
@given(st.sampled_from([1, 2, 3, 6]), st.integers(0, 5), st.integers(0, 3), st.integers(0, 99))
def test_every_head_beside_the_chosen_one_against_loops(n_heads: int, head: int, query: int, seed: int) -> None:
    trace = run_lesson(
        Lesson(lang="en", second_text="I am a dog you", d_model=6, n_heads=n_heads, head=head, seed=seed)
    )
    compared, chosen = compare_heads(trace, query), trace.attention.weights.tolist()
    for index, attention in enumerate(trace.heads):
        weights = attention.weights.tolist()
        assert compared.weights[index].tolist() == weights[query]
        entropy = -sum(w * math.log(w) for w in weights[query])
        assert float(compared.entropy[index]) == pytest.approx(entropy)
        apart = [sum(abs(a - b) for a, b in zip(*pair, strict=True)) / 2 for pair in zip(weights, chosen, strict=True)]
        assert float(compared.distance[index]) == pytest.approx(apart[query], abs=1e-12)
        assert float(compared.mean_distance[index]) == pytest.approx(sum(apart) / 4, abs=1e-12)
    assert float(compared.distance[trace.head]) == float(compared.mean_distance[trace.head]) == 0


def test_heads_that_look_at_different_words_have_nothing_in_common() -> None:
    """A causal mask leaves query 0 one key: there all heads are alike, whatever their layers."""
    trace = run_lesson(Lesson(n_heads=4, mask="causal"))
    compared = compare_heads(trace, 0)
    assert_close(compared.weights, torch.tensor([[1.0, 0, 0, 0]] * 4, dtype=torch.float64))
    assert compared.distance.tolist() == compared.entropy.tolist() == [0] * 4
    assert float(compared.mean_distance.max()) > 0
