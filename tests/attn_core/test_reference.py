"""The lesson beside torch.nn.MultiheadAttention."""

import dataclasses

import pytest
import torch

from attn_core import Lesson, run_lesson
from attn_core.reference import TorchDifference, torch_difference, torch_module

LESSONS = [
    {},
    {"n_heads": 2},
    {"n_heads": 4},
    {"d_model": 6, "n_heads": 3, "mask": "causal", "positions": "sinusoidal"},
    {"d_model": 16, "n_heads": 8, "scale": "none"},
    {"d_model": 6, "n_heads": 2, "scale": "d_k", "second_text": "I am a dog you", "padding": 2, "mask": "padding"},
]


@pytest.mark.parametrize("fields", LESSONS, ids=str)
def test_the_lesson_computes_what_torch_does(fields: dict) -> None:
    found = torch_difference(run_lesson(Lesson(**fields)))
    assert 0 <= found.output < 1e-13
    assert 0 <= found.weights < 1e-14


def test_a_difference_would_be_seen_and_measured() -> None:
    trace = run_lesson(Lesson(n_heads=2))
    off = trace.y.clone()
    off[1, 2] += 0.25
    assert torch_difference(dataclasses.replace(trace, y=off)).output == pytest.approx(0.25)
    swapped = dataclasses.replace(trace, heads=trace.heads[::-1])
    found = torch_difference(swapped)
    apart = (trace.heads[0].weights - trace.heads[1].weights).abs().max()
    assert found.weights == pytest.approx(float(apart))
    assert found != TorchDifference(0.0, 0.0)


def test_torch_s_module_gets_the_lesson_s_layers() -> None:
    trace = run_lesson(Lesson(n_heads=2))
    module = torch_module(trace)
    assert module.num_heads == 2
    assert module.in_proj_bias is None
    assert torch.equal(module.in_proj_weight, torch.cat([trace.w_q.T, trace.w_k.T, trace.w_v.T]))
    assert torch.equal(module.out_proj.weight, trace.w_o.T)
