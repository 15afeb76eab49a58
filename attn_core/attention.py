"""Scaled dot-product attention as one function that records every step."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor


@dataclass(frozen=True)
class AttentionTrace:
    """Every step from query and key to output, each under its own name.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.2.1, equation 1.

    Attributes:
        scores: raw inner products q·k.
        scaled: scores divided by the divisor (√d_k unless told otherwise).
        masked: scaled, with -inf where a query may not attend to a key.
        weights: softmax of masked along the key axis; each row sums to 1.
        output: weighted sum of the values.
    """

    scores: Float[Tensor, "*batch query key"]
    scaled: Float[Tensor, "*batch query key"]
    masked: Float[Tensor, "*batch query key"]
    weights: Float[Tensor, "*batch query key"]
    output: Float[Tensor, "*batch query d_v"]


class BlindQueryError(ValueError):
    """A query may see no key at all: softmax over nothing has no answer. `rows` are the indices of such queries."""

    def __init__(self, rows: tuple[tuple[int, ...], ...]) -> None:
        names = ", ".join(str(index[0] if len(index) == 1 else index) for index in rows)
        super().__init__(f"every query must see at least one key; none is visible to query {names}")
        self.rows = rows


def attend(
    query: Float[Tensor, "*#batch query d_k"],
    key: Float[Tensor, "*#batch key d_k"],
    value: Float[Tensor, "*#batch key d_v"],
    *,
    mask: Bool[Tensor, "*#batch query key"] | None = None,
    scale: float | None = None,
) -> AttentionTrace:
    """Computes softmax(Q Kᵀ / scale) V and keeps every step of it.

    Args:
        query: what each position looks for.
        key: what each position offers.
        value: what each position hands on; d_v may differ from d_k.
        mask: True where the query may attend to the key; None lets all attend to all.
        scale: the divisor of the scores; None means √d_k.

    Raises:
        ValueError: sizes do not match, or the divisor is not a positive finite number.
        BlindQueryError: a query may see no key at all (its rows are named).

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.2.1, equation 1.
    """
    _check_sizes(query, key, value)
    divisor = math.sqrt(query.shape[-1]) if scale is None else scale
    if not (math.isfinite(divisor) and divisor > 0):
        raise ValueError(f"scale must be a positive finite number, got {divisor}")

    scores = query @ key.transpose(-2, -1)
    scaled = scores / divisor
    masked = scaled if mask is None else scaled.masked_fill(~_checked_mask(mask, scores), -math.inf)
    weights = torch.softmax(masked, dim=-1)
    return AttentionTrace(scores=scores, scaled=scaled, masked=masked, weights=weights, output=weights @ value)


def _check_sizes(query: Tensor, key: Tensor, value: Tensor) -> None:
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(f"query and key must have the same last size, got {query.shape[-1]} and {key.shape[-1]}")
    if key.shape[-2] != value.shape[-2]:
        raise ValueError(f"key and value must have the same length, got {key.shape[-2]} and {value.shape[-2]}")
    if query.shape[-1] == 0 or key.shape[-2] == 0:
        raise ValueError(f"attention needs at least one key and one dimension, got {tuple(key.shape[-2:])}")


def _checked_mask(mask: Tensor, scores: Tensor) -> Tensor:
    """The mask at the size of the scores, refused where a query would see nothing."""
    if mask.dtype != torch.bool:
        raise ValueError(f"mask must be boolean (True = may attend), got {mask.dtype}")
    try:
        full = mask.broadcast_to(scores.shape)
    except RuntimeError:
        raise ValueError(
            f"mask of shape {tuple(mask.shape)} does not fit scores of shape {tuple(scores.shape)}"
        ) from None
    blind = torch.nonzero(~full.any(dim=-1)).tolist()
    if blind:
        raise BlindQueryError(tuple(tuple(index) for index in blind))
    return full
