"""What each head adds to the output: Y is the sum of the heads' shares."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attn_core.heads import split_heads
from attn_core.stages import Matrix
from attn_core.thread import Thread


@dataclass(frozen=True)
class HeadShares:
    """One query's output as a sum over the heads.

    Joining the heads and multiplying by W_O is the same as multiplying each head's output by its own rows of
    W_O and adding up.

    Attributes:
        shares: row h is the query's output in head h times the rows of W_O that belong to head h.
        total: the query's row of Y, the sum of the shares.
        norms: the length of each share.
        along: how far each share reaches along the total; these add up to the total's length, and a head
            that works against the others has a negative one.
    """

    shares: Float[Tensor, "head d_model"]
    total: Float[Tensor, " d_model"]
    norms: Float[Tensor, " head"]
    along: Float[Tensor, " head"]

    @property
    def length(self) -> float:
        """The length of the total."""
        return float(self.total.norm())

    @property
    def fractions(self) -> Float[Tensor, " head"]:
        """How much of the total's length each share makes up; these add up to 1, or are 0 where the total is."""
        return self.along / max(self.length, 1e-300)

    @property
    def reach(self) -> float:
        """How far the shares of one sign, stacked, reach from 0 in any column."""
        upwards, downwards = self.shares.clamp(min=0).sum(dim=0), self.shares.clamp(max=0).sum(dim=0)
        return float(torch.maximum(upwards, -downwards).max())

    def matrix(self, query: int, heads: tuple[str, ...]) -> Matrix:
        """The shares as a matrix to draw, one row a head."""
        columns = tuple(f"y{column}" for column in range(len(self.total)))
        return Matrix(rf"y^{{(h)}}_{{{query}}}", "y", "embedding", self.shares, heads, columns)


def head_shares(trace: Thread, query: int) -> HeadShares:
    """The shares of every head in one query's output.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.2.2; written as a sum: Elhage et al. 2021,
    A Mathematical Framework for Transformer Circuits.
    """
    outputs = split_heads(trace.joined[query : query + 1], trace.n_heads)
    shares = (outputs @ output_rows(trace))[:, 0]
    total = trace.y[query]
    along = shares @ total / total.norm().clamp(min=1e-300)
    return HeadShares(shares, total, shares.norm(dim=-1), along)


def output_rows(trace: Thread) -> Float[Tensor, "head d_k d_model"]:
    """The rows of W_O that belong to each head."""
    return trace.w_o.reshape(trace.n_heads, trace.d_k, -1)
