"""Cutting vectors into heads and joining them again."""

from jaxtyping import Float
from torch import Tensor


def split_heads(x: Float[Tensor, "*batch token d_model"], n_heads: int) -> Float[Tensor, "*batch head token d_k"]:
    """Head h gets the columns h · d_k … (h + 1) · d_k − 1 of every token, with d_k = d_model / n_heads.

    Raises:
        ValueError: n_heads does not divide d_model.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.2.2.
    """
    check_heads(x.shape[-1], n_heads)
    return x.reshape(*x.shape[:-1], n_heads, x.shape[-1] // n_heads).transpose(-3, -2)


def join_heads(heads: Float[Tensor, "*batch head token d_k"]) -> Float[Tensor, "*batch token d_model"]:
    """The heads' columns side by side again: Concat(head_1, …, head_h) of the paper."""
    return heads.transpose(-3, -2).flatten(-2)


def check_heads(d_model: int, n_heads: int) -> None:
    """Every head must get the same number of columns.

    Raises:
        ValueError: n_heads is below 1 or does not divide d_model.
    """
    if n_heads < 1 or d_model % n_heads:
        raise ValueError(f"n_heads must divide d_model, got {n_heads} and {d_model}")
