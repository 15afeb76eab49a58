"""What `attend` with its whole record costs, beside PyTorch's own attention and beside the bare operations.

Two sizes of model: the module of the reference demonstration (64 columns, one head) and the paper's (512 columns,
8 heads); 16 to 1024 tokens, float32, one thread. Everything runs without gradients, where PyTorch's module takes its
fast path, unless "with gradients" stands in the name. Three comparisons:

- `attend` beside `nn.MultiheadAttention`'s forward that returns every head's weights. That one also makes q, k and v
  and mixes the heads, which is not attend's work.
- The whole layer beside it: `MultiHeadSelfAttention` with its record, four layers as PyTorch's module has.
- `attend` beside the three operations that cannot be left out: matmul, softmax, matmul, with queries that were divided
  before. attend divides scores in between and keeps them before and after. At few tokens an operation costs the
  microseconds of its call, so that one more weighs a third of the three; at many it costs the new memory it fills:
  with 1024 tokens and 8 heads every matrix of the record is 32 MB, fresh from the kernel each time. attend fills three
  of them, the three operations two, the fast path one (its softmax writes over the scores).

Times are processor time; the ratio is the median over the rounds of the ratio within a round.

    python -m benchmarks.core [--quick] [--json FILE]
"""

import functools
import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from attn_core.attention import AttentionTrace, attend
from attn_core.modules import MultiHeadSelfAttention
from benchmarks.rounds import time_rounds
from benchmarks.rows import Row, run_alone

MODELS = {"64 columns, one head": (64, 1), "512 columns, 8 heads": (512, 8)}
N_TOKENS = (16, 64, 256, 1024)
TORCH_GOAL, BARE_GOAL = 1.0, 1.3


def bare(divided_query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """What cannot be left out."""
    return torch.softmax(divided_query @ key.transpose(-2, -1), dim=-1) @ value


def whole_layer(layer: MultiHeadSelfAttention, x: Tensor) -> tuple[Tensor, AttentionTrace]:
    """As nn.MultiheadAttention: what comes out, and every head's weights (here with all other steps)."""
    trace = layer.trace(x)
    return layer.mix(trace), trace


def works(d_model: int, n_heads: int, n_tokens: int) -> dict[str, Callable[[], object]]:
    """The same sizes for all four."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(1, n_tokens, d_model, generator=generator)
    query, key, value = torch.randn(3, 1, n_heads, n_tokens, d_model // n_heads, generator=generator).unbind()
    ours = MultiHeadSelfAttention(d_model, n_heads).eval()
    torchs = nn.MultiheadAttention(d_model, n_heads, batch_first=True).eval()
    return {
        "attend": functools.partial(attend, query, key, value),
        "bare": functools.partial(bare, query / math.sqrt(d_model // n_heads), key, value),
        "layer": functools.partial(whole_layer, ours, x),
        "torch": functools.partial(torchs, x, x, x, average_attn_weights=False),
    }


# The name of a row's first half: what is above, what is below, the goal, what the method says of it.
COMPARISONS = {
    "attend / nn.MultiheadAttention": ("attend", "torch", TORCH_GOAL, "its forward with weights does the layers too"),
    "whole layer / nn.MultiheadAttention": ("layer", "torch", TORCH_GOAL, "both with their four layers"),
    "attend / matmul, softmax, matmul": ("attend", "bare", BARE_GOAL, "queries divided beforehand"),
}


def compare(model: str, n_tokens: int, n_rounds: int, *, gradients: bool) -> list[Row]:
    """A row for each comparison at one size; with gradients only the whole layers, which have any."""
    compared = {name: it for name, it in COMPARISONS.items() if not gradients or it[0] == "layer"}
    with torch.set_grad_enabled(gradients):
        found = time_rounds(works(*MODELS[model], n_tokens), n_rounds, at_least=0.002)
    return [
        Row(
            f"{name}: {model}, {n_tokens} tokens{', with gradients' if gradients else ''}",
            found.ratio(above, below),
            "×",
            goal,
            f"processor time, one thread, float32, median of {n_rounds} rounds; {method}",
            found.beside(above, below),
        )
        for name, (above, below, goal, method) in compared.items()
    ]


def rows(quick: bool) -> list[Row]:
    """Every comparison at every size."""
    sizes, n_rounds = (N_TOKENS[:1], 3) if quick else (N_TOKENS, 11)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return [
            row
            for model in MODELS
            for gradients in (False, True)
            for n_tokens in sizes
            for row in compare(model, n_tokens, n_rounds, gradients=gradients)
        ]
    finally:
        torch.set_num_threads(before)


if __name__ == "__main__":
    run_alone(rows, __doc__)
