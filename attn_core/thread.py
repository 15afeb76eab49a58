"""What words and pictures have in common: from embeddings through query, key, value and heads to the output."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attn_core.attention import AttentionTrace, attend
from attn_core.edits import Edit
from attn_core.heads import join_heads, split_heads

SCALES = ("sqrt_d_k", "none", "d_k")


def divisor(scale: str, d_k: int) -> float:
    """What scores are divided by under the name `scale`."""
    return {"sqrt_d_k": math.sqrt(d_k), "none": 1.0, "d_k": float(d_k)}[scale]


@dataclass(frozen=True)
class EmbeddedSequence:
    """One sequence on its way to what attention gets.

    Attributes:
        tokens: what each position is called.
        entries: what goes into the embedding layer: one-hot vectors, or the numbers of patches.
        x: the embeddings, entries · W_E.
        p: the position vectors, 0 where the lesson has none.
        inputs: x + p, what the layers for query, key and value get.
    """

    tokens: tuple[str, ...]
    entries: Float[Tensor, "token feature"]
    x: Float[Tensor, "token d_model"]
    p: Float[Tensor, "token d_model"]
    inputs: Float[Tensor, "token d_model"]


@dataclass(frozen=True)
class Layers:
    """The square layers: query, key, value, and the one that mixes the joined heads."""

    w_q: Float[Tensor, "d_model d_model"]
    w_k: Float[Tensor, "d_model d_model"]
    w_v: Float[Tensor, "d_model d_model"]
    w_o: Float[Tensor, "d_model d_model"]

    @property
    def n_parameters(self) -> int:
        """All numbers of the four layers: 4 d_model², whatever the number of heads."""
        return 4 * self.w_q.numel()


@dataclass(frozen=True, kw_only=True)
class Thread:
    """Every step from two embedded sequences (the same one in self-attention) to the output, in float64.

    Attributes:
        entries_role: what the entries are; not a field.
        asking: the sequence whose tokens are queries.
        answering: the sequence whose tokens are keys and values.
        features: what the entries' columns are called: words, or places in a patch.
        entries_symbol: the entries' name in LaTeX.
        w_e: the embedding layer.
        layers: the square layers.
        edits: numbers put in by hand.
        mask: True where a query may attend to a key, the same for every head.
        q, k, v: queries, keys and values of all heads side by side.
        heads: one AttentionTrace per head.
        head: the chosen head.
        scale: the name of the divisor.
        joined: the heads' outputs side by side.
        y: joined · W_O.
    """

    entries_role: ClassVar[Literal["one_hot", "pixels"]] = "one_hot"

    asking: EmbeddedSequence
    answering: EmbeddedSequence
    features: tuple[str, ...]
    entries_symbol: str
    w_e: Float[Tensor, "feature d_model"]
    layers: Layers
    edits: tuple[Edit, ...]
    mask: Bool[Tensor, "token key"]
    q: Float[Tensor, "token d_model"]
    k: Float[Tensor, "key d_model"]
    v: Float[Tensor, "key d_model"]
    heads: tuple[AttentionTrace, ...]
    head: int
    scale: str
    joined: Float[Tensor, "token d_model"]
    y: Float[Tensor, "token d_model"]

    @classmethod
    def run(
        cls,
        asking: EmbeddedSequence,
        answering: EmbeddedSequence,
        layers: Layers,
        *,
        mask: Bool[Tensor, "token key"],
        n_heads: int,
        head: int,
        scale: str,
        **more: Any,
    ) -> Self:
        """Computes the thread; `more` are the remaining fields.

        Raises:
            ValueError: n_heads does not divide d_model.
            BlindQueryError: a query may see no key.
        """
        q, k, v = asking.inputs @ layers.w_q, answering.inputs @ layers.w_k, answering.inputs @ layers.w_v
        parts = zip(*(split_heads(values, n_heads) for values in (q, k, v)), strict=True)
        d_k = q.shape[-1] // n_heads
        heads = tuple(attend(*part, mask=mask, scale=divisor(scale, d_k)) for part in parts)
        joined = join_heads(torch.stack([one.output for one in heads]))
        return cls(
            asking=asking,
            answering=answering,
            layers=layers,
            mask=mask,
            q=q,
            k=k,
            v=v,
            heads=heads,
            head=min(head, n_heads - 1),
            scale=scale,
            joined=joined,
            y=joined @ layers.w_o,
            **more,
        )

    @property
    def tokens(self) -> tuple[str, ...]:
        """What the queries are called."""
        return self.asking.tokens

    @property
    def key_tokens(self) -> tuple[str, ...]:
        """What the keys and values are called."""
        return self.answering.tokens

    @property
    def x(self) -> Float[Tensor, "token d_model"]:
        """The embeddings of the asking sequence."""
        return self.asking.x

    @property
    def w_q(self) -> Float[Tensor, "d_model d_model"]:
        return self.layers.w_q

    @property
    def w_k(self) -> Float[Tensor, "d_model d_model"]:
        return self.layers.w_k

    @property
    def w_v(self) -> Float[Tensor, "d_model d_model"]:
        return self.layers.w_v

    @property
    def w_o(self) -> Float[Tensor, "d_model d_model"]:
        return self.layers.w_o

    @property
    def attention(self) -> AttentionTrace:
        """The steps of the chosen head."""
        return self.heads[self.head]

    @property
    def output(self) -> Float[Tensor, "token d_k"]:
        """The chosen head's weighted sums of the values."""
        return self.attention.output

    @property
    def n_heads(self) -> int:
        return len(self.heads)

    @property
    def d_k(self) -> int:
        """Columns per head."""
        return self.q.shape[-1] // self.n_heads

    @property
    def head_columns(self) -> range:
        """The chosen head's columns of q, k, v and joined."""
        return range(self.head * self.d_k, (self.head + 1) * self.d_k)

    @property
    def divisor(self) -> float:
        """What the scores are divided by."""
        return divisor(self.scale, self.d_k)

    @property
    def is_cross(self) -> bool:
        """Whether keys and values come from another sequence than the queries."""
        return self.answering is not self.asking

    @property
    def has_positions(self) -> bool:
        """Whether position vectors are added."""
        return bool(self.asking.p.any() or self.answering.p.any())

    @property
    def is_masked(self) -> bool:
        """Whether any key is hidden from any query."""
        return not bool(self.mask.all())

    def of_head(self, values: Float[Tensor, "token d_model"]) -> Float[Tensor, "token d_k"]:
        """The chosen head's columns of q, k, v or joined."""
        return values[:, self.head_columns.start : self.head_columns.stop]

    def column_of_head(self, column: int) -> int:
        """The chosen head's column nearest to this one of all heads' columns, counted from the head's first."""
        inside = self.head_columns
        return min(max(column, inside.start), inside.stop - 1) - inside.start

    def with_head(self, head: int) -> Self:
        """The same thread with another head chosen."""
        return dataclasses.replace(self, head=head)
