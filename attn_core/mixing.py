"""The output as a mixture of values: what each value contributes, and what moving weight does."""

from dataclasses import dataclass
from typing import Literal

from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import pad

from attn_core.geometry import convex_hull, principal_plane
from attn_core.lesson import LessonTrace
from attn_core.limits import MAX_TOKENS
from attn_core.links import Linked, Real, Whole, linked

Plane = Literal["line", "exact_plane", "pca_plane"]


@dataclass(frozen=True)
class MixingSettings(Linked):
    """How much of one key's weight is moved to another key."""

    giver: int = linked(1, Whole(0, MAX_TOKENS - 1))
    taker: int = linked(3, Whole(0, MAX_TOKENS - 1))
    moved: float = linked(0.0, Real(0.0, 1.0))


@dataclass(frozen=True)
class Mixture:
    """One query's output as a sum over the values, before and after weight was moved.

    `columns` are the numbers of the output's columns: with several heads those of the chosen one.
    `points` are the values on a plane: their columns themselves where they have one or two, else their two
    principal axes; `plane` says which. `corners` are the values on the convex hull, in order around it.
    Weights sum to 1 and the projection is linear, so the outputs stay inside the hull.
    """

    weights: Float[Tensor, " key"]
    values: Float[Tensor, "key d_v"]
    contributions: Float[Tensor, "key d_v"]
    output: Float[Tensor, " d_v"]
    columns: range
    points: Float[Tensor, "key 2"]
    corners: tuple[int, ...]
    before: Float[Tensor, "2"]
    after: Float[Tensor, "2"]
    plane: Plane


def mixture(trace: LessonTrace, settings: MixingSettings) -> Mixture:
    """The chosen query's output after moving weight; positions past the sequence count as its last token."""
    last, values = len(trace.key_tokens) - 1, trace.of_head(trace.v)
    row = trace.attention.weights[trace.lesson.query]
    weights = move_weight(row, min(settings.giver, last), min(settings.taker, last), settings.moved)
    points, plane = _on_a_plane(values)
    return Mixture(
        weights=weights,
        values=values,
        contributions=weights[:, None] * values,
        output=weights @ values,
        columns=trace.head_columns,
        points=points,
        corners=convex_hull(points),
        before=row @ points,
        after=weights @ points,
        plane=plane,
    )


def _on_a_plane(values: Float[Tensor, "key d_v"]) -> tuple[Float[Tensor, "key 2"], Plane]:
    """Values of one column lie on a line, of two on a plane, of more they are projected onto one."""
    if values.shape[1] == 1:
        return pad(values, (0, 1)), "line"
    return (values, "exact_plane") if values.shape[1] == 2 else (principal_plane(values)[0], "pca_plane")


def move_weight(weights: Float[Tensor, " key"], giver: int, taker: int, share: float) -> Float[Tensor, " key"]:
    """Moves a share (0 … 1) of one key's weight to another; the sum stays what it was."""
    amount = float(weights[giver]) * share
    moved = weights.clone()
    moved[giver] -= amount
    moved[taker] += amount
    return moved
