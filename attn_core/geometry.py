"""How vectors lie to each other: distances, angles, and the plane that shows most of them."""

import torch
from jaxtyping import Float
from torch import Tensor


def distances(points: Float[Tensor, "point size"]) -> Float[Tensor, "point point"]:
    """The Euclidean distance of each pair."""
    between: Tensor = points[:, None, :] - points[None, :, :]
    return between.square().sum(dim=-1).sqrt()


def cosines(left: Float[Tensor, "row size"], right: Float[Tensor, "column size"]) -> Float[Tensor, "row column"]:
    """The inner product of each pair over the product of their lengths; 0 where one has no length."""
    lengths = left.norm(dim=-1)[:, None] * right.norm(dim=-1)[None, :]
    return torch.where(lengths > 0, left @ right.T / lengths.clamp(min=1e-300), 0.0)


def principal_plane(
    points: Float[Tensor, "point size"],
) -> tuple[Float[Tensor, "point 2"], Float[Tensor, "2"]]:
    """The points' coordinates along their two principal axes, and each axis's share of the variance.

    Each axis points to where its largest loading is positive, so that the same points always
    give the same picture. An axis along which the points differ by rounding alone counts as none.
    """
    centred = points - points.mean(dim=0)
    left, singular, axes = torch.linalg.svd(centred, full_matrices=False)
    rounding = torch.finfo(points.dtype).eps * max(points.shape) * points.norm()
    singular = torch.where(singular > rounding, singular, 0.0)
    kept = min(2, axes.shape[0])
    largest = axes.abs().argmax(dim=1)
    signs = torch.where(axes[torch.arange(axes.shape[0]), largest] < 0, -1.0, 1.0).to(points.dtype)
    plane, shares = points.new_zeros(points.shape[0], 2), points.new_zeros(2)
    plane[:, :kept] = (left * singular * signs)[:, :kept]
    total = singular.square().sum()
    if total > 0:
        shares[:kept] = singular[:kept].square() / total
    return plane, shares


def convex_hull(points: Float[Tensor, "point 2"]) -> tuple[int, ...]:
    """The points on the corners of the convex hull, counter-clockwise (Andrew's monotone chain)."""
    places = points.tolist()
    ordered = sorted(range(len(places)), key=lambda i: places[i])
    if len(ordered) < 3:
        return tuple(ordered)
    lower, upper = _chain(places, ordered), _chain(places, ordered[::-1])
    return tuple(lower[:-1] + upper[:-1])


def _chain(places: list[list[float]], ordered: list[int]) -> list[int]:
    """Points in order, without those that would make the chain turn clockwise or go straight on."""
    chain: list[int] = []
    for index in ordered:
        while len(chain) > 1 and _turn(places[chain[-2]], places[chain[-1]], places[index]) <= 0:
            chain.pop()
        chain.append(index)
    return chain


def _turn(a: list[float], b: list[float], c: list[float]) -> float:
    """Positive where a → b → c turns counter-clockwise."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
