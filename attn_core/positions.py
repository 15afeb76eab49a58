"""Where a token stands: vectors of the same size as embeddings, added to them."""

import torch
from jaxtyping import Float
from torch import Tensor

from attn_core.limits import MAX_TOKENS
from attn_core.parameters import position_draw

POSITIONS = ("none", "sinusoidal", "learned")
BASE = 10_000.0


def sinusoidal(n_tokens: int, d_model: int) -> Float[Tensor, "token d_model"]:
    """Sines in the even columns, cosines in the odd ones; each pair turns more slowly than the one before.

    p[t, 2i] = sin(t / 10000^(2i / d_model)), p[t, 2i + 1] = cos of the same angle, t counted from 0.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.5.
    """
    angles = position_angles(n_tokens, d_model)
    even = torch.arange(d_model) % 2 == 0
    return torch.where(even, angles.sin(), angles.cos())


def position_angles(n_tokens: int, d_model: int) -> Float[Tensor, "token d_model"]:
    """The angle in radians of every entry: both columns of a pair have the same."""
    pairs = torch.arange(d_model, dtype=torch.float64) // 2
    return torch.arange(n_tokens, dtype=torch.float64)[:, None] / BASE ** (2 * pairs / d_model)


def position_vectors(kind: str, d_model: int, seed: int) -> Float[Tensor, "position d_model"]:
    """The vectors of all positions a lesson may have; those of "learned" stand as the seed drew them.

    Raises:
        ValueError: there is no such kind.
    """
    if kind == "none":
        return torch.zeros(MAX_TOKENS, d_model, dtype=torch.float64)
    if kind == "sinusoidal":
        return sinusoidal(MAX_TOKENS, d_model)
    if kind == "learned":
        return position_draw(MAX_TOKENS, d_model, seed).numbers()
    raise ValueError(f"positions must be one of {', '.join(POSITIONS)}, got {kind!r}")
