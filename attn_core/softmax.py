"""Softmax step by step: what torch.softmax does in one call."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attn_core.links import Linked, Real, Whole, YesNo, linked


@dataclass(frozen=True)
class SoftmaxSettings(Linked):
    """What the softmax page lets a reader change."""

    temperature: float = linked(1.0, Real(0.1, 10.0))
    offset: int = linked(0, Whole(0, 1000))
    subtract_maximum: bool = linked(False, YesNo())


@dataclass(frozen=True)
class SoftmaxTrace:
    """Every step from logits to weights, row by row.

    Attributes:
        logits: the numbers that go in, after temperature and offset.
        shifted: logits minus the row's maximum, or the logits themselves.
        exponentials: e to the power of shifted.
        totals: the sum of each row's exponentials.
        weights: exponentials over totals; each row sums to 1.
        entropy: −Σ w ln w per row, in nats: 0 when one weight has it all, ln n when all are equal.
    """

    logits: Float[Tensor, "query key"]
    shifted: Float[Tensor, "query key"]
    exponentials: Float[Tensor, "query key"]
    totals: Float[Tensor, "query 1"]
    weights: Float[Tensor, "query key"]
    entropy: Float[Tensor, " query"]

    @property
    def largest_entropy(self) -> float:
        """ln n: the entropy of equal weights on n keys."""
        return math.log(self.weights.shape[-1])


def softmax_steps(scores: Float[Tensor, "query key"], settings: SoftmaxSettings) -> SoftmaxTrace:
    """Softmax of each row of scores / temperature + offset.

    An offset changes no weight in theory. In float64 the exponential overflows above 709, and
    ∞ / ∞ is not a number; subtracting the row's maximum first keeps every exponential in 0 … 1.
    """
    logits = scores / settings.temperature + settings.offset
    shifted = logits - logits.max(dim=-1, keepdim=True).values if settings.subtract_maximum else logits
    exponentials = shifted.exp()
    totals = exponentials.sum(dim=-1, keepdim=True)
    weights = exponentials / totals
    return SoftmaxTrace(logits, shifted, exponentials, totals, weights, entropy(weights))


def entropy(weights: Float[Tensor, "*row key"]) -> Float[Tensor, "*row"]:
    """−Σ w ln w of each row, in nats; 0 · ln 0 counts as 0."""
    return -torch.xlogy(weights, weights).sum(dim=-1)
