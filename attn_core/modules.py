"""Attention as PyTorch modules."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attn_core.attention import AttentionTrace, attend
from attn_core.heads import check_heads, join_heads, split_heads


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


class MultiHeadSelfAttention(nn.Module):
    """Several heads side by side, each with d_k = d_model / n_heads columns, joined by a fourth layer.

    Given the same weights it computes what torch.nn.MultiheadAttention does.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.2.2.
    """

    def __init__(self, d_model: int, n_heads: int) -> None:
        """Four layers d_model → d_model, each with a bias.

        Raises:
            ValueError: d_model is below 1, or n_heads does not divide it.
        """
        super().__init__()
        if d_model < 1:
            raise ValueError(f"d_model must be at least 1, got {d_model}")
        check_heads(d_model, n_heads)
        self.d_model = d_model
        self.n_heads = n_heads
        self.query_dense = nn.Linear(d_model, d_model)
        self.key_dense = nn.Linear(d_model, d_model)
        self.value_dense = nn.Linear(d_model, d_model)
        self.output_dense = nn.Linear(d_model, d_model)

    def forward(
        self, x: Float[Tensor, "*batch seq d_model"], mask: Bool[Tensor, "*#batch seq seq"] | None = None
    ) -> Float[Tensor, "*batch seq d_model"]:
        """Every head attends for itself; what they found is joined and mixed.

        Args:
            x: the sequence.
            mask: True where a query (row) may attend to a key (column), the same for all heads.

        Raises:
            ValueError: a query may see no key at all.
        """
        return self.mix(self.trace(x, mask))

    def mix(self, trace: AttentionTrace) -> Float[Tensor, "*batch seq d_model"]:
        """What `forward` makes of its own trace: the heads' outputs joined and mixed."""
        output: Tensor = self.output_dense(join_heads(trace.output))
        return output

    def trace(
        self, x: Float[Tensor, "*batch seq d_model"], mask: Bool[Tensor, "*#batch seq seq"] | None = None
    ) -> AttentionTrace:
        """Every step of every head, up to the heads' own outputs: leading axes (*batch, head)."""
        query, key, value = (
            split_heads(layer(x), self.n_heads) for layer in (self.query_dense, self.key_dense, self.value_dense)
        )
        return attend(query, key, value, mask=None if mask is None else mask.unsqueeze(-3))
