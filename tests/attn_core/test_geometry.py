"""Distances, angles and the plane that shows most of the points."""

import math

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from attn_core import Lesson, run_lesson
from attn_core.geometry import cosines, distances, principal_plane


def points(*values: list[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def clouds(size: int | None = None) -> st.SearchStrategy[Tensor]:
    """Up to seven points of one decimal, as a lesson's embeddings are."""
    sizes = st.integers(1, 5) if size is None else st.just(size)
    return sizes.flatmap(
        lambda d: st.lists(
            st.lists(st.integers(-17, 17).map(lambda tenth: tenth / 10), min_size=d, max_size=d),
            min_size=1,
            max_size=7,
        )
    ).map(lambda values: torch.tensor(values, dtype=torch.float64))


# Distances and cosines.


def test_three_four_five() -> None:
    assert distances(points([0, 0], [3, 4], [0, 4])).tolist() == [[0, 5, 4], [5, 0, 3], [4, 3, 0]]


def test_one_hot_vectors() -> None:
    eye = torch.eye(5, dtype=torch.float64)
    assert_close(distances(eye), math.sqrt(2) * (1 - eye))
    assert_close(cosines(eye, eye), eye)


@given(clouds())
def test_distances_against_plain_python_and_torch(cloud: Tensor) -> None:
    expected = [[math.dist(a, b) for b in cloud.tolist()] for a in cloud.tolist()]
    assert_close(distances(cloud), torch.tensor(expected, dtype=torch.float64))
    assert_close(distances(cloud), torch.cdist(cloud, cloud, compute_mode="donot_use_mm_for_euclid_dist"))


def test_cosines_by_hand() -> None:
    found = cosines(points([3, 4], [1, 0]), points([4, 3], [0, 2], [-3, -4]))
    assert_close(found, points([0.96, 0.8, -1.0], [0.8, 0.0, -0.6]))


def test_a_vector_without_length_has_cosine_0() -> None:
    found = cosines(points([0, 0], [1, 1]), points([0, 0], [2, 2]))
    assert_close(found, points([0.0, 0.0], [0.0, 1.0]))


@given(st.integers(1, 4).flatmap(lambda d: st.tuples(clouds(d), clouds(d))))
def test_cosines_against_torch(pair: tuple[Tensor, Tensor]) -> None:
    left, right = pair
    found = cosines(left, right)
    assert_close(found, torch.nn.functional.cosine_similarity(left[:, None], right[None], dim=-1))
    assert (found.abs() <= 1 + 1e-12).all()


# The principal plane.


def test_points_on_a_line() -> None:
    plane, shares = principal_plane(points([0, 0], [3, 4], [6, 8]))
    assert_close(plane, points([-5, 0], [0, 0], [5, 0]))
    assert_close(shares, torch.tensor([1.0, 0.0], dtype=torch.float64))


def test_a_cross_keeps_its_axes() -> None:
    plane, shares = principal_plane(points([0, 2, 0], [0, -2, 0], [1, 0, 0], [-1, 0, 0]))
    assert_close(plane, points([2, 0], [-2, 0], [0, 1], [0, -1]))
    assert_close(shares, torch.tensor([0.8, 0.2], dtype=torch.float64))


@given(clouds(2))
def test_in_two_dimensions_nothing_is_lost(cloud: Tensor) -> None:
    plane, shares = principal_plane(cloud)
    assert_close(distances(plane), distances(cloud), rtol=1e-9, atol=1e-9)
    assert shares.sum().item() == pytest.approx(1.0 if (cloud != cloud[0]).any() else 0.0)


@given(clouds())
def test_against_the_covariance_matrix(cloud: Tensor) -> None:
    plane, shares = principal_plane(cloud)
    centred = cloud.numpy() - cloud.numpy().mean(axis=0)
    spread = np.zeros(2)
    highest = np.sort(np.linalg.eigvalsh(centred.T @ centred))[::-1][:2]
    spread[: len(highest)] = highest
    assert_close(plane.T @ plane, torch.diag(torch.from_numpy(spread)), rtol=1e-9, atol=1e-9)
    assert_close(plane.mean(0), torch.zeros(2, dtype=torch.float64), rtol=0, atol=1e-9)
    total = (centred**2).sum()
    if (cloud != cloud[0]).any():
        assert_close(shares, torch.from_numpy(spread / total), rtol=1e-9, atol=1e-9)
    assert shares[0] >= shares[1] >= 0


@given(clouds())
def test_each_axis_points_to_its_largest_loading(cloud: Tensor) -> None:
    plane, _ = principal_plane(cloud)
    loadings = (cloud - cloud.mean(0)).T @ plane  # each axis times its spread
    for column in loadings.T:
        largest = column[column.abs() >= column.abs().max() - 1e-9]
        assert (largest > -1e-9).any()


@given(clouds())
def test_the_same_points_give_the_same_picture(cloud: Tensor) -> None:
    first, again = principal_plane(cloud), principal_plane(cloud.clone())
    assert torch.equal(first[0], again[0])
    assert torch.equal(first[1], again[1])


@given(clouds(3), st.randoms(use_true_random=False))
def test_order_and_place_of_the_points_do_not_matter(cloud: Tensor, random) -> None:
    plane, shares = principal_plane(cloud)
    _, singular, axes = torch.linalg.svd(cloud - cloud.mean(0), full_matrices=False)
    loadings = axes.abs().sort(dim=1, descending=True).values
    assume(len(singular) == 3)
    assume((singular[:-1] - singular[1:] > 0.1).all() and (loadings[:, 0] - loadings[:, 1] > 0.01).all())
    order = random.sample(range(len(cloud)), len(cloud))
    moved, moved_shares = principal_plane(cloud[order] + torch.tensor([5.0, -3.0, 1.0], dtype=torch.float64))
    assert_close(moved, plane[order], rtol=1e-9, atol=1e-9)
    assert_close(moved_shares, shares, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "cloud",
    [points([1.5, -2.0, 0.3]), points([0.7]), points(*[[0.1, 0.2, 0.3]] * 3), points([0.0, 0.0], [0.0, 0.0])],
    ids=["one point", "one number", "equal points", "zeros"],
)
def test_points_that_do_not_differ_have_no_spread(cloud: Tensor) -> None:
    plane, shares = principal_plane(cloud)
    assert plane.tolist() == [[0.0, 0.0]] * len(cloud)
    assert shares.tolist() == [0.0, 0.0]


@given(st.lists(st.integers(-17, 17), min_size=1, max_size=4), st.integers(1, 9), st.sampled_from([1.0, 1e-6, 1e6]))
def test_equal_points_of_any_length_have_no_spread(tenths: list[int], count: int, unit: float) -> None:
    plane, shares = principal_plane(points(*[[unit * tenth / 10 for tenth in tenths]] * count))
    assert (plane.abs().sum().item(), shares.tolist()) == (0.0, [0.0, 0.0])


def test_one_dimension() -> None:
    plane, shares = principal_plane(points([1], [2], [6]))
    assert_close(plane, points([-2, 0], [-1, 0], [3, 0]))
    assert shares.tolist() == [1.0, 0.0]


def test_the_default_lesson_s_embeddings() -> None:
    w_e = run_lesson(Lesson()).w_e
    plane, shares = principal_plane(w_e)
    assert plane.dtype == torch.float64
    assert 0.5 < shares.sum().item() < 1
    assert (distances(plane) <= distances(w_e) + 1e-12).all()
