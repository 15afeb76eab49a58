"""The reference module: its steps, its parameters, and its demonstration run."""

import math
import os
import re
import subprocess
import sys

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from attn_core import SimpleSelfAttention
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
