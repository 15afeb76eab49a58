"""What a mask does to the weights."""

import dataclasses
import math
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attn_core.stages import Matrix, stage
from attn_core.thread import Thread


def mask_matrix(trace: Thread, mask: Bool[Tensor, "query key"]) -> Matrix:
    """The mask as what is added to the scores: 0 where the query may look, −∞ where it may not."""
    weights = _weights(trace)
    values = torch.zeros(mask.shape, dtype=torch.float64).masked_fill(~mask, -math.inf)
    return dataclasses.replace(weights, symbol="M", entry="m", role="scores", values=values, hidden=~mask)


def _weights(trace: Thread) -> Matrix:
    return stage(trace, "output").left


@dataclass(frozen=True)
class MaskEffect:
    """The chosen head's weights with the thread's mask and without.

    Softmax shares a row's 1 among the keys that are left, each in proportion to what it had:
    a visible key's weight is its weight without the mask over `visible`.

    Attributes:
        weights: as they are.
        without: as they would be if no key were hidden.
        hidden: for each query, the sum of what its hidden keys have in `without`.
        visible: the same of its visible keys, 1 − hidden.
    """

    weights: Matrix
    without: Matrix
    hidden: Float[Tensor, "query 1"]
    visible: Float[Tensor, "query 1"]


def mask_effect(trace: Thread) -> MaskEffect:
    """Takes the mask away and measures what changes."""
    weights = _weights(trace)
    without = torch.softmax(trace.attention.scaled, dim=-1)
    hidden, visible = (without.masked_fill(mask, 0.0).sum(dim=-1, keepdim=True) for mask in (trace.mask, ~trace.mask))
    unmasked = dataclasses.replace(weights, symbol=rf"{weights.symbol}^{{\ast}}", values=without)
    return MaskEffect(weights, unmasked, hidden, visible)


def hidden_in_row(trace: Thread, row: int, otherwise: int) -> Bool[Tensor, " key"]:
    """Which keys are hidden from a query: where none is, the key `otherwise` alone."""
    hidden = ~trace.mask[row]
    if not hidden.any():
        hidden[otherwise] = True
    return hidden
