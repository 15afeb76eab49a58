"""All position vectors a lesson may have, side by side and multiplied with each other."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attn_core.edits import Edit, edited
from attn_core.lesson import Lesson
from attn_core.limits import MAX_TOKENS
from attn_core.positions import position_angles, position_vectors
from attn_core.stages import Matrix

Regularity = Literal["sinusoidal", "odd", "learned", "changed"]


def shown_kind(lesson: Lesson) -> str:
    """The lesson's kind of positions; a lesson without any is shown what sinusoidal ones would be."""
    return "sinusoidal" if lesson.positions == "none" else lesson.positions


def all_positions(lesson: Lesson) -> Matrix:
    """One column per position, so that each row is a wave; numbers put in by hand are in it."""
    edits = _edits(lesson)
    p = edited("p", position_vectors(shown_kind(lesson), lesson.d_model, lesson.seed), edits)
    places = tuple(str(place) for place in range(len(p)))
    columns = tuple(f"x{column}" for column in range(lesson.d_model))
    return Matrix(r"P^{\top}", "p", "embedding", p.T, columns, places, tuple((edit.column, edit.row) for edit in edits))


def _edits(lesson: Lesson) -> tuple[Edit, ...]:
    """The numbers of P put in by hand: a lesson without positions adds nothing, and no edit of it either."""
    return tuple(edit for edit in lesson.edits if edit.matrix == "p" and lesson.positions != "none")


@dataclass(frozen=True)
class PositionProducts:
    """The inner products p_s · p_t of all pairs of positions, by the pair's distance |s − t|.

    Attributes:
        distances: of every pair s ≤ t.
        products: of the same pairs.
        spread: the largest difference between two products at one distance: 0 (but for rounding) where
            only the distance counts.
    """

    distances: Int[Tensor, " pair"]
    products: Float[Tensor, " pair"]
    spread: float


@dataclass(frozen=True)
class Curve:
    """Inner products between whole distances, too, so that they can be drawn as a line."""

    distances: Float[Tensor, " distance"]
    products: Float[Tensor, " distance"]


def position_products(p: Float[Tensor, "position d_model"]) -> PositionProducts:
    """Multiplies every position vector with every later one and with itself."""
    products = p @ p.T
    spread = max(float(along.max() - along.min()) for along in (products.diagonal(n) for n in range(len(p))))
    first, second = torch.triu_indices(len(p), len(p))
    return PositionProducts(second - first, products[first, second], spread)


def sinusoidal_products(distances: Float[Tensor, " distance"], d_model: int) -> Float[Tensor, " distance"]:
    """The inner product of two sinusoidal vectors by their distance: Σ_i cos(distance / 10000^(2i / d_model)).

    For each pair of columns sin s sin t + cos s cos t = cos(s − t).

    Raises:
        ValueError: d_model is odd: the last sine has no cosine, and its product depends on more than the distance.
    """
    if d_model % 2:
        raise ValueError(f"d_model must be even, got {d_model}")
    speeds = position_angles(2, d_model)[1, ::2]  # radians from one position to the next
    return (distances[:, None] * speeds).cos().sum(dim=-1)


def regularity(lesson: Lesson) -> Regularity:
    """What the products of `all_positions` can be expected to follow."""
    if shown_kind(lesson) == "learned":
        return "learned"
    if _edits(lesson):
        return "changed"
    return "odd" if lesson.d_model % 2 else "sinusoidal"


def closed_form(lesson: Lesson) -> Curve | None:
    """What theory says of the products of `all_positions`, where only the distance counts."""
    if regularity(lesson) != "sinusoidal":
        return None
    distances = torch.linspace(0, MAX_TOKENS - 1, 10 * (MAX_TOKENS - 1) + 1, dtype=torch.float64)
    return Curve(distances, sinusoidal_products(distances, lesson.d_model))
