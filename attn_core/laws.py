"""What theory says about the inner product q·k when the entries of q and k are random."""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from attn_core.limits import MAX_D_K

Entries = Literal["normal", "uniform", "signs", "shifted", "linear"]
ENTRIES: tuple[Entries, ...] = ("normal", "uniform", "signs", "shifted", "linear")

# Token pairs that go through one freshly initialised layer before the next is drawn.
PAIRS_PER_LAYER = 64

_FOURTH_MOMENTS = {"normal": 3.0, "uniform": 9 / 5, "signs": 1.0}
_95_PERCENT = 1.959963984540054
# e^-40 is below the last bit of a float64: there the integrand of the exact density may be cut.
_CUT = 40.0
_NEAREST = 1e-300


@dataclass(frozen=True)
class Theory:
    """Moments of q·k, and how far a variance measured on n samples may be from the true one.

    Attributes:
        mean: expected value of q·k.
        variance: its variance.
        excess_kurtosis: its fourth central moment over variance², minus 3 (0 for a normal law).
        cluster_size: samples that share one layer; 1 where all samples are independent.
        cluster_spread: covariance of the squares of two samples of one cluster, over variance².
    """

    mean: float
    variance: float
    excess_kurtosis: float
    cluster_size: int = 1
    cluster_spread: float = 0.0

    def relative_error(self, n_samples: int) -> float:
        """Standard error of the sample variance of n samples, as a share of the variance.

        Independent samples: √(κ/n + 2/(n − 1)), which is exact and about √((2 + κ)/n). Samples that
        share a layer are correlated, so what counts is how far whole layers are apart: then the error of the mean
        square, √((n (2 + κ) + Σ m (m − 1) c) / n²) over clusters of m samples with spread c.

        Raises:
            ValueError: fewer than 2 samples.
        """
        if n_samples < 2:
            raise ValueError(f"a variance needs at least 2 samples, got {n_samples}")
        if self.cluster_size == 1:
            return math.sqrt(max(0.0, self.excess_kurtosis / n_samples + 2 / (n_samples - 1)))
        full, rest = divmod(n_samples, self.cluster_size)
        shared = full * self.cluster_size * (self.cluster_size - 1) + rest * (rest - 1)
        return math.sqrt(n_samples * (2 + self.excess_kurtosis) + shared * self.cluster_spread) / n_samples

    def band(self, n_samples: int) -> tuple[float, float]:
        """Where 95 % of the variances measured on n samples lie; the lower end is never below 0."""
        reach = _95_PERCENT * self.relative_error(n_samples)
        return self.variance * max(0.0, 1 - reach), self.variance * (1 + reach)


def check_law(d_k: int, entries: str, mean: float) -> None:
    """Raises ValueError where there is no such law."""
    if not 1 <= d_k <= MAX_D_K:
        raise ValueError(f"d_k must be 1 … {MAX_D_K}, got {d_k}")
    if entries not in ENTRIES:
        raise ValueError(f"entries must be one of {', '.join(ENTRIES)}, got {entries!r}")
    if not math.isfinite(mean):
        raise ValueError(f"mean must be a finite number, got {mean}")


def theory(d_k: int, entries: str = "normal", mean: float = 0.5) -> Theory:
    """The moments of q·k for independent entries of one law.

    Entries with mean 0, variance 1 and fourth moment m: variance d_k, excess kurtosis (m² − 3)/d_k.
    With mean μ ("shifted"): each product has mean μ², variance 1 + 2μ² and fourth central
    moment 12μ⁴ + 36μ² + 9. For "linear" see `linear_theory`.

    Args:
        d_k: size of q and k.
        entries: the law of their entries.
        mean: μ, used by "shifted" only.

    Raises:
        ValueError: there is no such law.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), footnote 4, for mean 0 and variance d_k.
    """
    check_law(d_k, entries, mean)
    if entries == "linear":
        return linear_theory(d_k)
    if entries == "shifted":
        variance = 1 + 2 * mean**2
        fourth = 12 * mean**4 + 36 * mean**2 + 9
        return Theory(d_k * mean**2, d_k * variance, (fourth / variance**2 - 3) / d_k)
    return Theory(0.0, float(d_k), (_FOURTH_MOMENTS[entries] ** 2 - 3) / d_k)


def linear_theory(d: int) -> Theory:
    """The moments of q·k for q = W_Q x + b_Q and k = W_K x′ + b_K with fresh layers of size d → d.

    torch.nn.Linear draws weights and biases uniform in ±1/√d (variance 1/(3d)); x and x′ are
    independent and uniform on 0 … 1. Given x, an entry of q has variance (|x|² + 1)/(3d), on average
    (d + 3)/(9d), so q·k has mean 0 and variance d ((d + 3)/(9d))² = (d + 3)²/(81 d).

    Two pairs of tokens that go through the same layers give correlated inner products. With u, v
    their values, E[u² v²] follows from the entries, which are independent given the tokens.
    """
    variance = (d + 3) ** 2 / (81 * d)
    norms = (d / 3 + 1) ** 2
    same_norms = d / 5 + d * (d - 1) / 9 + 2 * d / 3 + 1
    products = d / 9 + d * (d - 1) / 16 + d / 2 + 1
    same = _mean_of_squares(d, same_norms, same_norms, d / 5 + 1)
    different = _mean_of_squares(d, norms, products, d / 9 + 1)
    return Theory(0.0, variance, same / variance**2 - 3, PAIRS_PER_LAYER, different / variance**2 - 1)


def _mean_of_squares(d: int, norms: float, products: float, fourths: float) -> float:
    """E[u² v²] of two inner products that share their layers.

    Args:
        d: size of the layers.
        norms: E[(|x|² + 1)(|y|² + 1)] of the two tokens.
        products: E[(x·y + 1)²].
        fourths: E[Σ x² y² + 1].
    """
    variance, fourth_cumulant = 1 / (3 * d), -2 / (15 * d**2)
    one_entry = variance**2 * (norms + 2 * products) + fourth_cumulant * fourths
    two_entries = variance**4 * (norms**2 + 2 * products**2)
    return d * one_entry**2 + d * (d - 1) * two_entries


def normal_density(x: Float[Tensor, "*point"], mean: float, variance: float) -> Float[Tensor, "*point"]:
    """The density of the normal law with this mean and variance, in float64."""
    return torch.exp(-((x.to(torch.float64) - mean) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)


def exact_density(x: Float[Tensor, "*point"], d_k: int) -> Float[Tensor, "*point"]:
    """The density of q·k for independent standard normal entries, in float64.

    It is the variance-gamma density |x|^ν K_ν(|x|) / (√π 2^ν Γ(d_k/2)) with ν = (d_k − 1)/2. For a
    given q the inner product is normal with variance |q|², which is chi-squared, so the density is an
    average of normal densities: with |q|² = e^u

        ∫ exp(ν u − x² e^−u / 2 − e^u / 2) du / (√(2π) 2^(d_k/2) Γ(d_k/2)),

    which is also K_ν's own integral. The trapezoid rule converges exponentially on it. At x = 0
    the density is finite for d_k ≥ 2 and infinite for d_k = 1; other |x| below 1e-300 count as 1e-300.

    Raises:
        ValueError: d_k is outside 1 … 4096, or x holds a number that is not finite.
    """
    check_law(d_k, "normal", 0.0)
    if not x.isfinite().all():
        raise ValueError("x must hold finite numbers only")
    order = (d_k - 1) / 2
    distance = x.to(torch.float64).abs().clamp(min=_NEAREST)
    curvature = torch.hypot(torch.full_like(distance, order), distance)
    rising = (order + curvature) / 2
    falling = distance / rising / 4 * distance
    log_scale = -0.5 * math.log(2 * math.pi) - d_k / 2 * math.log(2) - math.lgamma(d_k / 2)
    log_peak = order * torch.log(2 * rising) - curvature + log_scale
    density = torch.exp(log_peak + _log_integral(rising, falling, curvature))
    return torch.where((x == 0) & (d_k == 1), math.inf, density)


def _log_integral(
    rising: Float[Tensor, "*point"], falling: Float[Tensor, "*point"], curvature: Float[Tensor, "*point"]
) -> Float[Tensor, "*point"]:
    """Logarithm of the integral relative to the integrand's peak: at a distance t from it the exponent is
    −rising (e^t − 1 − t) − falling (e^−t − 1 + t).
    """
    left, right = -_reach(rising, falling), _reach(falling, rising)
    finest = torch.clamp(0.6 / curvature.sqrt(), max=0.2)
    n_steps = math.ceil(float(((right - left) / finest).max())) if left.numel() else 1
    step = (right - left) / n_steps
    t = left.unsqueeze(-1) + step.unsqueeze(-1) * torch.arange(n_steps + 1, dtype=torch.float64)
    exponent = -rising.unsqueeze(-1) * (torch.expm1(t) - t) - falling.unsqueeze(-1) * (torch.expm1(-t) + t)
    return torch.logsumexp(exponent, dim=-1) + step.log()


def _reach(linear: Float[Tensor, "*point"], steep: Float[Tensor, "*point"]) -> Float[Tensor, "*point"]:
    """A distance past which linear (e^−t − 1 + t) + steep (e^t − 1 − t) exceeds the cut.

    The smallest of three bounds, from t²/(2 + t) ≤ e^−t − 1 + t and t²/2 ≤ e^t − 1 − t.
    """
    by_line, by_steep = _CUT / linear, _CUT / steep
    quadratic = (by_line + torch.sqrt(by_line**2 + 8 * by_line)) / 2
    bounds = torch.stack([quadratic, torch.sqrt(2 * by_steep), 1 + torch.log1p(by_steep)])
    return bounds.amin(dim=0)
