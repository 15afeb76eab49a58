"""The output as a mixture of values: what each value contributes, and what moving weight does."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from attn_core.geometry import convex_hull, principal_plane
from attn_core.lesson import LessonTrace
from attn_core.links import Linked, Real, Whole, linked
from attn_core.tokens import MAX_TOKENS


@dataclass(frozen=True)
class MixingSettings(Linked):
    """How much of one key's weight is moved to another key."""

    giver: int = linked(1, Whole(0, MAX_TOKENS - 1))
    taker: int = linked(3, Whole(0, MAX_TOKENS - 1))
    moved: float = linked(0.0, Real(0.0, 1.0))


@dataclass(frozen=True)
class Mixture:
    """One query's output as a sum over the values, before and after weight was moved.

    `points` are the values on a plane: their two columns themselves where they have two, else
    their two principal axes. `corners` are the values on the convex hull, in order around it.
    Weights sum to 1 and the projection is linear, so the outputs stay inside the hull.
    """

    weights: Float[Tensor, " key"]
    values: Float[Tensor, "key d_v"]
    contributions: Float[Tensor, "key d_v"]
    output: Float[Tensor, " d_v"]
    points: Float[Tensor, "key 2"]
    corners: tuple[int, ...]
    before: Float[Tensor, "2"]
    after: Float[Tensor, "2"]
    is_exact_plane: bool


def mixture(trace: LessonTrace, settings: MixingSettings) -> Mixture:
    """The chosen query's output after moving weight; positions past the sequence count as its last token."""
    last = len(trace.tokens) - 1
    row = trace.attention.weights[trace.lesson.query]
    weights = move_weight(row, min(settings.giver, last), min(settings.taker, last), settings.moved)
    exact = trace.v.shape[1] == 2
    points = trace.v if exact else principal_plane(trace.v)[0]
    return Mixture(
        weights=weights,
        values=trace.v,
        contributions=weights[:, None] * trace.v,
        output=weights @ trace.v,
        points=points,
        corners=convex_hull(points),
        before=row @ points,
        after=weights @ points,
        is_exact_plane=exact,
    )


def move_weight(weights: Float[Tensor, " key"], giver: int, taker: int, share: float) -> Float[Tensor, " key"]:
    """Moves a share (0 … 1) of one key's weight to another; the sum stays what it was."""
    amount = float(weights[giver]) * share
    moved = weights.clone()
    moved[giver] -= amount
    moved[taker] += amount
    return moved
