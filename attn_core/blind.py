"""A query that may see no key: how `attend` refuses it, and what others make of it."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional

from attn_core.attention import BlindQueryError, attend
from attn_core.fills import Outcome, outcome
from attn_core.reference import torch_module
from attn_core.thread import Thread

TORCH_VERSION = str(torch.__version__)


@dataclass(frozen=True)
class BlindAnswer:
    """What one way of computing gives for a query that may see no key; `weights` is None where it hides them."""

    call: str
    weights: Float[Tensor, " key"] | None
    output: Float[Tensor, " column"]

    @property
    def outcome(self) -> Outcome:
        """NaN, zeros, equal weights, or something else."""
        if self.weights is not None:
            return outcome(self.weights)
        return "others" if bool(self.output.isfinite().all() and self.output.any()) else outcome(self.output)


@dataclass(frozen=True)
class BlindRow:
    """One query's row with every key hidden: how `attend` refuses it, and what others make of it."""

    refusal: str
    answers: tuple[BlindAnswer, ...]


def blind_row(trace: Thread, row: int) -> BlindRow:
    """Hides every key from one query of the chosen head and asks each library function for its answer.

    `nn.MultiheadAttention` gets the thread's own layers; its output is that of all heads, times W_O.
    """
    mask = trace.mask.clone()
    mask[row] = False
    answers = (
        _softmax_answer(trace, row, -math.inf),
        _softmax_answer(trace, row, -1e9),
        _sdpa_answer(trace, mask, row),
        *(_module_answer(trace, mask, row, need_weights) for need_weights in (True, False)),
    )
    return BlindRow(_refusal(trace, mask), answers)


def _refusal(trace: Thread, mask: Bool[Tensor, "query key"]) -> str:
    q, k, v = (trace.of_head(values) for values in (trace.q, trace.k, trace.v))
    try:
        attend(q, k, v, mask=mask, scale=trace.divisor)
    except BlindQueryError as error:
        return str(error)
    raise AssertionError("attend refuses a blind query")


def _softmax_answer(trace: Thread, row: int, fill: float) -> BlindAnswer:
    masked = torch.full_like(trace.attention.scaled[row], fill)
    weights = torch.softmax(masked, dim=-1)
    name = "-inf" if math.isinf(fill) else f"{fill:.0e}".replace("e+0", "e")
    return BlindAnswer(f"torch.softmax, masked_fill({name})", weights, weights @ trace.of_head(trace.v))


def _sdpa_answer(trace: Thread, mask: Bool[Tensor, "query key"], row: int) -> BlindAnswer:
    q, k, v = (trace.of_head(values)[None, None] for values in (trace.q, trace.k, trace.v))
    output = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=1 / trace.divisor)
    return BlindAnswer("F.scaled_dot_product_attention", None, output[0, 0, row])


def _module_answer(trace: Thread, mask: Bool[Tensor, "query key"], row: int, need_weights: bool) -> BlindAnswer:
    """In this module's mask True means hidden, the other way round than in `attend`."""
    module, keys = torch_module(trace), trace.answering.inputs
    with torch.no_grad():
        output, weights = module(
            trace.asking.inputs, keys, keys, attn_mask=~mask, need_weights=need_weights, average_attn_weights=False
        )
    shown = weights[trace.head, row] if need_weights else None
    return BlindAnswer(f"nn.MultiheadAttention, need_weights={need_weights}", shown, output[row])
