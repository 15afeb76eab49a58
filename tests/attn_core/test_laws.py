"""Theory of q·k against exact sums, higher precision and simulation."""

import itertools
import math
from fractions import Fraction

import mpmath
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special
from torch import nn

from attn_core.laws import ENTRIES, PAIRS_PER_LAYER, exact_density, linear_theory, normal_density, theory

D_KS = (1, 2, 3, 4, 7, 16, 64, 255, 1024, 4096)


def density_at(x: float, d_k: int) -> float:
    return exact_density(torch.tensor(x, dtype=torch.float64), d_k).item()


def exact_moments(one_entry: dict[Fraction, Fraction], d_k: int) -> tuple[Fraction, Fraction, Fraction]:
    """Mean, variance and excess kurtosis of q·k by going through every q and k."""
    law: dict[Fraction, Fraction] = {Fraction(0): Fraction(1)}
    for _ in range(d_k):
        after: dict[Fraction, Fraction] = {}
        for (total, p), (a, pa), (b, pb) in itertools.product(law.items(), one_entry.items(), one_entry.items()):
            after[total + a * b] = after.get(total + a * b, Fraction(0)) + p * pa * pb
        law = after
    mean = sum(x * p for x, p in law.items())
    variance = sum((x - mean) ** 2 * p for x, p in law.items())
    fourth = sum((x - mean) ** 4 * p for x, p in law.items())
    return Fraction(mean), Fraction(variance), fourth / variance**2 - 3


@pytest.mark.parametrize("d_k", [1, 2, 3, 5])
def test_signs_are_exact(d_k: int) -> None:
    half = Fraction(1, 2)
    mean, variance, kurtosis = exact_moments({Fraction(1): half, Fraction(-1): half}, d_k)
    found = theory(d_k, "signs")
    assert (found.mean, found.variance) == (mean, variance) == (0, d_k)
    assert found.excess_kurtosis == pytest.approx(float(kurtosis))


@pytest.mark.parametrize("d_k", [1, 2, 3])
def test_shifted_against_a_law_with_the_same_first_four_moments(d_k: int) -> None:
    # ±√3 with probability 1/6 each and 0 with 2/3 has the normal law's moments up to the fifth; with mean μ = √3/2
    # all values are multiples of √3, which leaves the sums exact.
    unit = {Fraction(-1, 2): Fraction(1, 6), Fraction(1, 2): Fraction(2, 3), Fraction(3, 2): Fraction(1, 6)}
    mean, variance, kurtosis = exact_moments(unit, d_k)
    found = theory(d_k, "shifted", math.sqrt(3) / 2)
    assert found.mean == pytest.approx(3 * float(mean))
    assert found.variance == pytest.approx(9 * float(variance))
    assert found.excess_kurtosis == pytest.approx(float(kurtosis))


def test_normal_and_uniform_in_closed_form() -> None:
    assert theory(8).excess_kurtosis == pytest.approx(6 / 8)
    assert theory(8, "uniform").excess_kurtosis == pytest.approx(-(3 - 81 / 25) / 8)
    assert theory(8, "shifted", 0.0) == theory(8)
    assert [theory(8, law).variance for law in ("normal", "uniform", "signs")] == [8.0, 8.0, 8.0]


def test_linear_of_size_one_by_hand() -> None:
    # s = (w x + b)(w′ x′ + b′), all four weights uniform on ±1: E w² = 1/3, E w⁴ = 1/5;
    # tokens uniform on 0 … 1: E x = 1/2, E x² = 1/3, E x⁴ = 1/5.
    variance = Fraction(1, 9) + Fraction(1, 3)
    same = Fraction(1, 25) + 6 * Fraction(1, 27) + Fraction(1, 5)
    different = Fraction(1, 45) + Fraction(1, 9) * (Fraction(2, 3) + 4 * Fraction(1, 4)) + Fraction(1, 5)
    found = linear_theory(1)
    assert found.variance == pytest.approx(float(variance**2))
    assert found.excess_kurtosis == pytest.approx(float(same**2 / variance**4) - 3)
    assert found.cluster_spread == pytest.approx(float(different**2 / variance**4) - 1)
    assert found.cluster_size == PAIRS_PER_LAYER


def test_linear_against_torch_layers() -> None:
    d, n_layers, n_pairs = 3, 2000, 8
    generator = torch.Generator().manual_seed(1)
    squares = torch.empty(n_layers, n_pairs, dtype=torch.float64)
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(0)
        for row in squares:
            query, key = nn.Linear(d, d), nn.Linear(d, d)
            x, other = torch.rand(2, n_pairs, d, generator=generator)
            row.copy_((query(x) * key(other)).sum(dim=1) ** 2)
    expected = linear_theory(d)
    covariance = (squares.sum(1) ** 2 - (squares**2).sum(1)).mean() / (n_pairs * (n_pairs - 1))
    assert squares.mean().item() == pytest.approx(expected.variance, rel=0.1)
    assert covariance.item() / expected.variance**2 - 1 == pytest.approx(expected.cluster_spread, rel=0.25)
    assert expected.variance != pytest.approx(d, rel=0.5)


def test_linear_variance_is_far_from_d_k() -> None:
    assert theory(64, "linear").variance == pytest.approx(67**2 / (81 * 64))


def test_relative_error_in_closed_form() -> None:
    n = 1000
    assert theory(4).relative_error(n) == pytest.approx(math.sqrt(1.5 / n + 2 / (n - 1)))
    assert theory(4).relative_error(n) == pytest.approx(math.sqrt((2 + 6 / 4) / n), rel=1e-3)


def test_relative_error_counts_layers_not_samples() -> None:
    found, m = theory(16, "linear"), PAIRS_PER_LAYER
    layers = ((2 + found.excess_kurtosis) / m + (1 - 1 / m) * found.cluster_spread) / 10
    assert found.relative_error(10 * m) == pytest.approx(math.sqrt(layers))
    assert found.relative_error(10 * m) > 3 * math.sqrt((2 + found.excess_kurtosis) / (10 * m))
    # A layer that is only begun counts with the samples it has.
    assert found.relative_error(2) == pytest.approx(
        math.sqrt((2 * (2 + found.excess_kurtosis) + 2 * found.cluster_spread) / 4)
    )


@pytest.mark.parametrize("entries", ENTRIES)
def test_band_surrounds_the_variance_and_shrinks(entries: str) -> None:
    found = theory(8, entries)
    low, high = found.band(400)
    closer_low, closer_high = found.band(4000)
    assert 0 <= low <= closer_low <= found.variance <= closer_high <= high
    assert found.band(2)[0] == 0 or entries == "signs"


def test_density_of_two_entries_is_laplace() -> None:
    x = torch.tensor([0.0, -0.5, 1.0, 3.0, 700.0], dtype=torch.float64)
    torch.testing.assert_close(exact_density(x, 2), torch.exp(-x.abs()) / 2, rtol=1e-13, atol=0.0)


def test_density_of_four_entries_in_closed_form() -> None:
    x = torch.linspace(-30, 30, 41, dtype=torch.float64)
    torch.testing.assert_close(exact_density(x, 4), (1 + x.abs()) * torch.exp(-x.abs()) / 4, rtol=1e-13, atol=0.0)


@pytest.mark.parametrize("d_k", D_KS)
@pytest.mark.parametrize("x", [1e-300, 1e-30, 1e-3, -0.5, 1.0, 5.0, 37.0, -100.0, 500.0])
def test_density_against_forty_digits(d_k: int, x: float) -> None:
    with mpmath.workdps(40):
        order, distance = mpmath.mpf(d_k - 1) / 2, abs(mpmath.mpf(x))
        below = mpmath.sqrt(mpmath.pi) * 2**order * mpmath.gamma(mpmath.mpf(d_k) / 2)
        expected = float(distance**order * mpmath.besselk(order, distance) / below)
    assert density_at(x, d_k) == pytest.approx(expected, rel=1e-11, abs=1e-300)


@pytest.mark.parametrize("d_k", D_KS[1:])
def test_density_at_zero(d_k: int) -> None:
    expected = math.exp(special.gammaln((d_k - 1) / 2) - special.gammaln(d_k / 2)) / (2 * math.sqrt(math.pi))
    assert density_at(0.0, d_k) == pytest.approx(expected, rel=1e-11)


def test_density_of_one_entry_is_infinite_at_zero_only() -> None:
    assert density_at(0.0, 1) == math.inf
    assert density_at(1e-9, 1) == pytest.approx(special.k0(1e-9) / math.pi, rel=1e-13)
    assert density_at(5e-324, 1) == density_at(1e-300, 1) < math.inf


@settings(max_examples=60)
@given(st.integers(1, 4096), st.floats(-1e6, 1e6).filter(lambda x: x != 0))
def test_density_agrees_with_scipy(d_k: int, x: float) -> None:
    order, distance = (d_k - 1) / 2, abs(x)
    scaled_bessel = special.kve(order, distance)
    log_below = math.log(math.pi) / 2 + order * math.log(2) + math.lgamma(d_k / 2)
    if 0 < scaled_bessel < math.inf:
        expected = math.exp(order * math.log(distance) + math.log(scaled_bessel) - distance - log_below)
        assert density_at(x, d_k) == pytest.approx(expected, rel=1e-9, abs=1e-290)
    assert 0 <= density_at(x, d_k) < math.inf
    assert density_at(x, d_k) == density_at(-x, d_k)


@pytest.mark.parametrize("d_k", [1, 2, 5, 64, 4096])
def test_density_has_mass_one_and_variance_d_k(d_k: int) -> None:
    def integral(power: int) -> float:
        reach = 12 * math.sqrt(d_k) + 30
        points = [0.1, math.sqrt(d_k), 4 * math.sqrt(d_k)]
        return 2 * integrate.quad(lambda x: x**power * density_at(x, d_k), 0, reach, points=points, limit=200)[0]

    assert integral(0) == pytest.approx(1, abs=1e-7)
    assert integral(2) == pytest.approx(d_k, rel=1e-7)


def test_density_nears_the_normal_one() -> None:
    x = torch.linspace(-256, 256, 101, dtype=torch.float64)
    torch.testing.assert_close(exact_density(x, 4096), normal_density(x, 0.0, 4096.0), rtol=0.02, atol=0.0)
    assert density_at(0.0, 3) > 1.3 * normal_density(torch.tensor(0.0), 0.0, 3.0).item()


def test_density_keeps_the_shape_and_takes_any_size() -> None:
    assert exact_density(torch.zeros(0), 3).shape == (0,)
    assert exact_density(torch.ones(2, 3), 3).shape == (2, 3)
    assert exact_density(torch.tensor([1e308, -1e308], dtype=torch.float64), 7).tolist() == [0.0, 0.0]


def test_normal_density_in_closed_form() -> None:
    at_mean, one_off = normal_density(torch.tensor([3.0, 5.0]), 3.0, 4.0).tolist()
    assert at_mean == pytest.approx(1 / math.sqrt(8 * math.pi))
    assert one_off == pytest.approx(at_mean * math.exp(-0.5))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, "normal", 0.0), r"^d_k must be 1 … 4096, got 0$"),
        ((4097, "normal", 0.0), r"^d_k must be 1 … 4096, got 4097$"),
        ((4, "gamma", 0.0), r"^entries must be one of normal, uniform, signs, shifted, linear, got 'gamma'$"),
        ((4, "shifted", math.nan), r"^mean must be a finite number, got nan$"),
    ],
)
def test_no_such_law(arguments: tuple[int, str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        theory(*arguments)


def test_bad_numbers_are_named() -> None:
    with pytest.raises(ValueError, match=r"^a variance needs at least 2 samples, got 1$"):
        theory(4).relative_error(1)
    with pytest.raises(ValueError, match=r"^x must hold finite numbers only$"):
        exact_density(torch.tensor([0.0, math.inf]), 4)
    with pytest.raises(ValueError, match=r"^d_k must be 1 … 4096, got 0$"):
        exact_density(torch.zeros(1), 0)
