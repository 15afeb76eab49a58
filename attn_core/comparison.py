"""How the heads' weights differ, measured."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attn_core.softmax import entropy
from attn_core.stages import Matrix
from attn_core.thread import Thread


@dataclass(frozen=True)
class HeadComparison:
    """What one query looks at in each head.

    Attributes:
        weights: row h is the query's row of weights in head h.
        entropy: of each of these rows, in nats.
        distance: the total variation distance of each of these rows from the chosen head's.
        mean_distance: the same, averaged over all queries.
    """

    weights: Float[Tensor, "head key"]
    entropy: Float[Tensor, " head"]
    distance: Float[Tensor, " head"]
    mean_distance: Float[Tensor, " head"]

    @property
    def largest_entropy(self) -> float:
        """ln n: the entropy of equal weights on n keys."""
        return math.log(self.weights.shape[-1])

    @property
    def favourites(self) -> tuple[int, ...]:
        """The key with the largest weight in each head."""
        return tuple(self.weights.argmax(dim=-1).tolist())


def compare_heads(trace: Thread, query: int) -> HeadComparison:
    """Every head beside the chosen one."""
    weights = torch.stack([head.weights for head in trace.heads])
    apart = total_variation(weights, weights[trace.head])
    return HeadComparison(weights[:, query], entropy(weights[:, query]), apart[:, query], apart.mean(dim=-1))


def query_weights(trace: Thread, query: int, heads: tuple[str, ...]) -> Matrix:
    """One query's weights in every head as a matrix to draw, one row a head."""
    weights = torch.stack([head.weights[query] for head in trace.heads])
    hidden = (~trace.mask[query]).expand_as(weights) if trace.is_masked else None
    return Matrix(rf"a^{{(h)}}_{{{query}}}", "a", "weights", weights, heads, trace.key_tokens, hidden=hidden)


def total_variation(one: Float[Tensor, "*#batch key"], other: Float[Tensor, "*#batch key"]) -> Float[Tensor, "*batch"]:
    """½ Σ |a − b|: how much weight must be moved to make one row the other; 0 alike, 1 with no key in common."""
    distance: Tensor = (one - other).abs().sum(dim=-1) / 2
    return distance
