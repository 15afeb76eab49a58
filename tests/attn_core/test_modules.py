"""The modules: their steps, their parameters, and the demonstration run."""

import math
import os
import re
import subprocess
import sys

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from attn_core import MultiHeadSelfAttention, SimpleSelfAttention
from attn_core.__main__ import demonstration, language

SEQ, SIZE = 5, 3


def module(size: int = SIZE, seed: int = 0) -> SimpleSelfAttention:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return SimpleSelfAttention(size).to(torch.float64)


def uniform(*shape: int, seed: int = 1) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_parameters_by_name_and_shape():
    shapes = {name: tuple(tensor.shape) for name, tensor in module().state_dict().items()}
    assert shapes == {
        "query_dense.weight": (SIZE, SIZE),
        "query_dense.bias": (SIZE,),
        "key_dense.weight": (SIZE, SIZE),
        "key_dense.bias": (SIZE,),
        "value_dense.weight": (SIZE, SIZE),
        "value_dense.bias": (SIZE,),
    }


def dense(layer: nn.Linear, rows: list[list[float]]) -> list[list[float]]:
    weight, bias = layer.weight.tolist(), layer.bias.tolist()
    return [
        [sum(x * w for x, w in zip(row, weight[out], strict=True)) + bias[out] for out in range(len(bias))]
        for row in rows
    ]


def test_forward_against_loops():
    attention, x = module(), uniform(SEQ, SIZE)
    query, key, value = (
        dense(layer, x.tolist()) for layer in (attention.query_dense, attention.key_dense, attention.value_dense)
    )
    expected = []
    for q in query:
        powers = [math.exp(sum(a * b for a, b in zip(q, k, strict=True)) / math.sqrt(SIZE)) for k in key]
        weights = [power / sum(powers) for power in powers]
        expected.append([sum(w * v[d] for w, v in zip(weights, value, strict=True)) for d in range(SIZE)])
    assert_close(attention(x), torch.tensor(expected, dtype=torch.float64))


@pytest.mark.parametrize("batch", [(), (2,), (4, 2)], ids=str)
def test_the_trace_ends_in_the_output_of_forward(batch):
    attention, x = module(), uniform(*batch, SEQ, SIZE)
    trace = attention.trace(x)
    assert_close(trace.output, attention(x))
    query, key = attention.query_dense(x), attention.key_dense(x)
    assert_close(trace.scores, query @ key.transpose(-2, -1))
    assert_close(trace.scaled, trace.scores / math.sqrt(SIZE))
    assert torch.equal(trace.masked, trace.scaled)


def test_equals_torch_s_own_module_with_the_same_weights():
    attention, x = module(), uniform(2, SEQ, SIZE)
    with torch.random.fork_rng(devices=[]):
        theirs = nn.MultiheadAttention(SIZE, 1, batch_first=True, dtype=torch.float64)
    layers = (attention.query_dense, attention.key_dense, attention.value_dense)
    theirs.load_state_dict(
        {
            "in_proj_weight": torch.cat([layer.weight for layer in layers]),
            "in_proj_bias": torch.cat([layer.bias for layer in layers]),
            "out_proj.weight": torch.eye(SIZE),
            "out_proj.bias": torch.zeros(SIZE),
        }
    )
    output, weights = theirs(x, x, x, average_attn_weights=False)
    assert_close(attention(x), output)
    assert_close(attention.trace(x).weights, weights[:, 0])


def test_permuted_tokens_give_permuted_outputs():
    attention, x = module(), uniform(SEQ, SIZE)
    order = [3, 0, 4, 1, 2]
    assert_close(attention(x[order]), attention(x)[order])


def test_gradients_reach_every_parameter():
    attention = module()
    attention(uniform(2, SEQ, SIZE)).square().sum().backward()
    for name, parameter in attention.named_parameters():
        if name == "key_dense.bias":  # it adds the same to a whole row of scores: see the next test
            assert_close(parameter.grad, torch.zeros_like(parameter))
        else:
            assert parameter.grad.abs().max() > 1e-6, name


def test_the_key_s_bias_changes_nothing():
    attention, x = module(), uniform(SEQ, SIZE)
    before = attention(x)
    with torch.no_grad():
        attention.key_dense.bias += 10
    assert_close(attention(x), before)


def test_gradcheck():
    assert torch.autograd.gradcheck(module(), uniform(SEQ, SIZE).requires_grad_())


@pytest.mark.parametrize("size", [0, -1])
def test_a_size_below_one(size):
    with pytest.raises(ValueError, match=rf"^d_model must be at least 1, got {size}$"):
        SimpleSelfAttention(size)


# Several heads.

N_HEADS, D_MODEL = 3, 6
CAUSAL = torch.ones(SEQ, SEQ, dtype=torch.bool).tril()


def several_heads(n_heads: int = N_HEADS, size: int = D_MODEL, seed: int = 0) -> MultiHeadSelfAttention:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return MultiHeadSelfAttention(size, n_heads).to(torch.float64)


def torch_s_own(ours: MultiHeadSelfAttention) -> nn.MultiheadAttention:
    """nn.MultiheadAttention with the same weights: it keeps the three input layers in one matrix."""
    with torch.random.fork_rng(devices=[]):
        theirs = nn.MultiheadAttention(ours.d_model, ours.n_heads, batch_first=True, dtype=torch.float64)
    layers = (ours.query_dense, ours.key_dense, ours.value_dense)
    theirs.load_state_dict(
        {
            "in_proj_weight": torch.cat([layer.weight for layer in layers]),
            "in_proj_bias": torch.cat([layer.bias for layer in layers]),
            "out_proj.weight": ours.output_dense.weight,
            "out_proj.bias": ours.output_dense.bias,
        }
    )
    return theirs


def test_several_heads_have_the_parameters_of_four_layers():
    for n_heads in (1, 2, 3, 6):
        shapes = {name: tuple(tensor.shape) for name, tensor in several_heads(n_heads).state_dict().items()}
        layers = ("query_dense", "key_dense", "value_dense", "output_dense")
        assert shapes == {f"{layer}.weight": (D_MODEL, D_MODEL) for layer in layers} | {
            f"{layer}.bias": (D_MODEL,) for layer in layers
        }


def test_several_heads_against_loops():
    attention, x, d_k = several_heads(), uniform(SEQ, D_MODEL), D_MODEL // N_HEADS
    query, key, value = (
        dense(layer, x.tolist()) for layer in (attention.query_dense, attention.key_dense, attention.value_dense)
    )
    joined = [[0.0] * D_MODEL for _ in range(SEQ)]
    for head in range(N_HEADS):
        columns = range(head * d_k, (head + 1) * d_k)
        for i in range(SEQ):
            scores = [sum(query[i][c] * key[j][c] for c in columns) / math.sqrt(d_k) for j in range(SEQ)]
            powers = [math.exp(score) for score in scores]
            for c in columns:
                joined[i][c] = sum(power / sum(powers) * value[j][c] for j, power in enumerate(powers))
    assert_close(attention(x), torch.tensor(dense(attention.output_dense, joined), dtype=torch.float64))


@pytest.mark.parametrize("mask", [None, CAUSAL], ids=["no mask", "causal"])
@pytest.mark.parametrize("n_heads", [1, 2, 3, 6])
def test_several_heads_equal_torch_s_own_module(n_heads, mask):
    ours, x = several_heads(n_heads), uniform(2, SEQ, D_MODEL)
    hidden = None if mask is None else ~mask  # torch's masks name what is hidden
    output, weights = torch_s_own(ours)(x, x, x, attn_mask=hidden, average_attn_weights=False)
    assert_close(ours(x, mask), output)
    assert_close(ours.trace(x, mask).weights, weights)


def test_each_sequence_of_a_batch_can_have_a_mask_of_its_own():
    ours, x = several_heads(), uniform(2, SEQ, D_MODEL)
    masks = torch.stack([CAUSAL, CAUSAL.T])
    assert_close(ours(x, masks), torch.stack([ours(x[0], CAUSAL), ours(x[1], CAUSAL.T)]))
    assert_close(ours(x, CAUSAL), torch.stack([ours(x[0], CAUSAL), ours(x[1], CAUSAL)]))


@pytest.mark.parametrize("batch", [(), (2,), (4, 2)], ids=str)
def test_the_trace_of_several_heads(batch):
    attention, x, d_k = several_heads(), uniform(*batch, SEQ, D_MODEL), D_MODEL // N_HEADS
    trace = attention.trace(x, CAUSAL)
    assert trace.weights.shape == (*batch, N_HEADS, SEQ, SEQ)
    assert trace.output.shape == (*batch, N_HEADS, SEQ, d_k)
    assert_close(trace.scaled, trace.scores / math.sqrt(d_k))
    assert torch.equal(trace.masked, trace.scaled.masked_fill(~CAUSAL, -math.inf))
    query, key = attention.query_dense(x), attention.key_dense(x)
    for head in range(N_HEADS):
        inside = slice(head * d_k, (head + 1) * d_k)
        assert_close(trace.scores[..., head, :, :], query[..., inside] @ key[..., inside].transpose(-2, -1))
    joined = torch.cat([trace.output[..., head, :, :] for head in range(N_HEADS)], dim=-1)
    assert_close(attention.output_dense(joined), attention(x, CAUSAL))


def test_one_head_is_simple_self_attention_and_a_fourth_layer():
    ours, simple, x = several_heads(1), module(D_MODEL, seed=3), uniform(SEQ, D_MODEL)
    ours.load_state_dict(
        simple.state_dict() | {f"output_dense.{k}": v for k, v in ours.output_dense.state_dict().items()}
    )
    assert_close(ours(x), ours.output_dense(simple(x)))


def test_gradients_of_several_heads():
    assert torch.autograd.gradcheck(several_heads(), (uniform(SEQ, D_MODEL).requires_grad_(), CAUSAL))


def test_a_query_that_several_heads_would_leave_blind():
    mask = CAUSAL.clone()
    mask[0] = False
    with pytest.raises(
        ValueError, match=r"^every query must see at least one key; none is visible to query \(0, 0\), "
    ):
        several_heads()(uniform(SEQ, D_MODEL), mask)


@pytest.mark.parametrize(
    ("d_model", "n_heads", "message"),
    [
        (0, 1, "d_model must be at least 1, got 0"),
        (6, 4, "n_heads must divide d_model, got 4 and 6"),
        (6, 0, "n_heads must divide d_model, got 0 and 6"),
    ],
)
def test_sizes_that_several_heads_cannot_have(d_model, n_heads, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        MultiHeadSelfAttention(d_model, n_heads)


# The demonstration.


def test_demonstration_returns_the_shapes():
    assert demonstration() == ((1, 10, 64), (1, 10, 64))


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"LANG": "ja_JP.UTF-8"}, "ja"),
        ({"LANG": "en_US.UTF-8"}, "en"),
        ({"LANG": "ja_JP.UTF-8", "LC_ALL": "C.UTF-8"}, "en"),
        ({"LANG": "C", "LC_MESSAGES": "ja_JP"}, "ja"),
        ({"LANG": "ja_JP.UTF-8", "LC_ALL": ""}, "ja"),
        ({}, "en"),
    ],
    ids=str,
)
def test_language_follows_the_locale(monkeypatch, variables, expected):
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert language() == expected


@pytest.mark.parametrize(
    ("locale", "labels"),
    [("ja_JP.UTF-8", ("入力の形状", "出力の形状")), ("en_US.UTF-8", ("Input shape", "Output shape"))],
)
def test_demonstration_as_a_command(locale, labels):
    environment = os.environ | {"LC_ALL": locale, "PYTHONUTF8": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "attn_core"], capture_output=True, encoding="utf-8", env=environment, check=True
    )
    assert done.stderr == ""
    assert re.findall(r"^(.+): \((\d+), (\d+), (\d+)\)$", done.stdout, re.MULTILINE) == [
        (label, "1", "10", "64") for label in labels
    ]
