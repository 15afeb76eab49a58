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
    give the same picture.
    """
    centred = points - points.mean(dim=0)
    _, singular, axes = torch.linalg.svd(centred, full_matrices=False)
    kept = min(2, axes.shape[0])
    largest = axes.abs().argmax(dim=1)
    signs = torch.where(axes[torch.arange(axes.shape[0]), largest] < 0, -1.0, 1.0).to(points.dtype)
    plane, shares = points.new_zeros(points.shape[0], 2), points.new_zeros(2)
    plane[:, :kept] = centred @ (axes * signs[:, None])[:kept].T
    total = singular.square().sum()
    if total > 0:
        shares[:kept] = singular[:kept].square() / total
    return plane, shares
