"""Attention as PyTorch modules."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attn_core.attention import AttentionTrace, attend


class SimpleSelfAttention(nn.Module):
    """Self-attention with one head: query, key and value come from the same x.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.2.1.
    """

    def __init__(self, d_model: int) -> None:
        """Three layers d_model → d_model, each with a bias.

        Raises:
            ValueError: d_model is below 1.
        """
        super().__init__()
        if d_model < 1:
            raise ValueError(f"d_model must be at least 1, got {d_model}")
        self.d_model = d_model
        self.query_dense = nn.Linear(d_model, d_model)
        self.key_dense = nn.Linear(d_model, d_model)
        self.value_dense = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "*batch seq d_model"]) -> Float[Tensor, "*batch seq d_model"]:
        """Each output is the weighted sum of all values, so it has seen the whole sequence."""
        query = self.query_dense(x)
        key = self.key_dense(x)
        value = self.value_dense(x)
        scores = query @ key.transpose(-2, -1) / math.sqrt(self.d_model)
        weights = torch.softmax(scores, dim=-1)
        output: Tensor = weights @ value
        return output

    def trace(self, x: Float[Tensor, "*batch seq d_model"]) -> AttentionTrace:
        """The same computation with every step recorded."""
        return attend(self.query_dense(x), self.key_dense(x), self.value_dense(x))
