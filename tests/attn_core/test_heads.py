"""Cutting into heads and joining them again: which number goes where."""

import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attn_core.heads import check_heads, join_heads, split_heads

N_TOKENS, D_MODEL = 3, 6


def counting(*shape: int) -> torch.Tensor:
    """0, 1, 2, … in reading order: every number names its own place."""
    return torch.arange(torch.Size(shape).numel(), dtype=torch.float64).reshape(shape)


def test_two_heads_by_hand():
    x = torch.tensor([[1, 2, 3, 4], [5, 6, 7, 8]], dtype=torch.float64)
    assert split_heads(x, 2).tolist() == [[[1, 2], [5, 6]], [[3, 4], [7, 8]]]


@pytest.mark.parametrize("n_heads", [1, 2, 3, 6])
def test_head_h_gets_its_d_k_columns_of_every_token(n_heads):
    x, d_k = counting(N_TOKENS, D_MODEL), D_MODEL // n_heads
    heads = split_heads(x, n_heads)
    assert heads.shape == (n_heads, N_TOKENS, d_k)
    for head in range(n_heads):
        for token in range(N_TOKENS):
            for column in range(d_k):
                assert heads[head, token, column] == x[token, head * d_k + column]


def test_joining_by_hand():
    heads = torch.tensor([[[1, 2], [5, 6]], [[3, 4], [7, 8]]], dtype=torch.float64)
    assert join_heads(heads).tolist() == [[1, 2, 3, 4], [5, 6, 7, 8]]


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 5), st.lists(st.integers(1, 3), max_size=2))
def test_joining_undoes_splitting(n_heads, d_k, n_tokens, batch):
    x = counting(*batch, n_tokens, n_heads * d_k)
    before = x.clone()
    heads = split_heads(x, n_heads)
    assert heads.shape == (*batch, n_heads, n_tokens, d_k)
    assert torch.equal(join_heads(heads), x)
    assert torch.equal(x, before)


def test_one_head_is_everything():
    x = counting(2, N_TOKENS, D_MODEL)
    assert torch.equal(split_heads(x, 1)[:, 0], x)


def test_gradients_flow_back_to_where_the_numbers_came_from():
    x = counting(N_TOKENS, D_MODEL).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: join_heads(split_heads(x, 3)), x)
    split_heads(x, 3)[1].sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[0, 0, 1, 1, 0, 0]] * N_TOKENS


@pytest.mark.parametrize("n_heads", [4, 5, 12, 0, -2])
def test_a_number_of_heads_that_does_not_divide_d_model(n_heads):
    message = rf"^n_heads must divide d_model, got {re.escape(str(n_heads))} and 6$"
    with pytest.raises(ValueError, match=message):
        check_heads(D_MODEL, n_heads)
    with pytest.raises(ValueError, match=message):
        split_heads(counting(N_TOKENS, D_MODEL), n_heads)
