"""The lesson's own numbers beside those of torch.nn.MultiheadAttention with the same weights."""

import math
from dataclasses import dataclass

import torch
from torch import nn

from attn_core.initial import InitialisedFrom
from attn_core.thread import Thread


@dataclass(frozen=True)
class TorchDifference:
    """The largest difference of any number of Y, and of any attention weight of any head."""

    output: float
    weights: float


def torch_difference(trace: Thread) -> TorchDifference:
    """Runs the thread's inputs through torch's module.

    It always divides by √d_k; where the thread has another divisor, the difference is put into W_Q.
    """
    module = torch_module(trace)
    asking, answering = trace.asking.inputs, trace.answering.inputs
    with torch.no_grad():
        y, weights = module(asking, answering, answering, attn_mask=~trace.mask, average_attn_weights=False)
    ours = torch.stack([head.weights for head in trace.heads])
    return TorchDifference(float((trace.y - y).abs().max()), float((ours - weights).abs().max()))


def torch_module(trace: Thread) -> nn.MultiheadAttention:
    """nn.MultiheadAttention with the thread's layers; nothing is drawn from torch's global generator."""
    with InitialisedFrom(torch.Generator()):  # numbers drawn aside: all of them are replaced
        module = nn.MultiheadAttention(len(trace.w_q), trace.n_heads, bias=False, dtype=torch.float64)
    w_q = trace.w_q * (math.sqrt(trace.d_k) / trace.divisor)
    with torch.no_grad():  # torch multiplies by the transposed weights, and keeps three layers in one matrix
        module.in_proj_weight.copy_(torch.cat([w_q.T, trace.w_k.T, trace.w_v.T]))
        module.out_proj.weight.copy_(trace.w_o.T)
    return module
