"""What is measured on random inner products, piece by piece: moments, a histogram, softmax figures."""

import dataclasses
import math
from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attn_core.laws import Theory, theory
from attn_core.softmax import entropy

_BINS = 100
_SIGMAS = 5


def softmax_jacobian(weights: Float[Tensor, "*row key"]) -> Float[Tensor, "*row key key"]:
    """How the weights change with the numbers that went into softmax: diag(p) − p pᵀ.

    Every entry lies between −1/4 and 1/4. Where one weight is close to 1 all entries are close to
    0: in saturation the gradient vanishes, it does not explode. The diagonal p (1 − p) is added up from the
    other weights, which stays exact where 1 − p would round to 0. Its squared Frobenius norm is Σp² − 2Σp³ + (Σp²)².
    """
    products = weights.unsqueeze(-1) * weights.unsqueeze(-2)
    others = products - torch.diag_embed(products.diagonal(dim1=-2, dim2=-1))
    return torch.diag_embed(others.sum(dim=-1)) - others


@dataclass(frozen=True)
class SoftmaxFigures:
    """Means over rows of softmax weights.

    Attributes:
        largest_weight: 1/n_keys when all keys count the same, 1 when one has it all.
        entropy: −Σ p ln p in nats: ln(n_keys) when all keys count the same, 0 when one has it all.
        jacobian_norm: Frobenius norm of `softmax_jacobian`, at most 1/2.
    """

    largest_weight: float
    entropy: float
    jacobian_norm: float


@dataclass(frozen=True)
class Measurement:
    """What was measured on the first n_done of n_samples inner products of one size.

    Attributes:
        d_k: size of q and k.
        n_done: inner products so far.
        n_samples: inner products in the end.
        mean: their mean.
        variance: their unbiased sample variance.
        divisor: what they are divided by.
        theory: the moments they should have.
        edges: edges of the histogram's bins, from theory; one more than counts.
        counts: inner products in each bin.
        below: inner products below the first edge.
        above: inner products at or above the last edge.
        n_rows: rows of softmax weights behind `unscaled` and `scaled`: one per n_keys inner products, at most MAX_ROWS.
        unscaled: softmax of the inner products themselves.
        scaled: softmax of the same inner products over the divisor.
    """

    d_k: int
    n_done: int
    n_samples: int
    mean: float
    variance: float
    divisor: float
    theory: Theory
    edges: tuple[float, ...] = field(repr=False)
    counts: tuple[int, ...] = field(repr=False)
    below: int
    above: int
    n_rows: int
    unscaled: SoftmaxFigures
    scaled: SoftmaxFigures

    @property
    def finished(self) -> bool:
        """Whether all inner products are in."""
        return self.n_done == self.n_samples

    @property
    def band(self) -> tuple[float, float]:
        """Where 95 % of the variances of n_done samples lie."""
        return self.theory.band(self.n_done)

    @property
    def scaled_variance(self) -> float:
        """The variance after the divisor."""
        return self.variance / self.divisor**2

    @property
    def heights(self) -> tuple[float, ...]:
        """The histogram as a density: share of the inner products per unit of q·k."""
        width = self.edges[1] - self.edges[0]
        return tuple(count / (self.n_done * width) for count in self.counts)


@dataclass(frozen=True)
class Running:
    """Sums over the samples and rows so far, in float64."""

    d_k: int
    n_samples: int
    divisor: float
    theory: Theory
    edges: tuple[float, ...]
    counts: Int[Tensor, " bin"]
    figures: Float[Tensor, "divisor figure"]
    n_rows: int = 0
    n_done: int = 0
    mean: float = 0.0
    squares: float = 0.0

    @classmethod
    def start(cls, *, d_k: int, n_samples: int, divisor: float, theory: Theory, edges: tuple[float, ...]) -> "Running":
        """Before the first sample."""
        counts = torch.zeros(len(edges) + 1, dtype=torch.int64)
        return cls(d_k, n_samples, divisor, theory, edges, counts, torch.zeros(2, 3, dtype=torch.float64))

    def with_samples(self, samples: Float[Tensor, " sample"]) -> "Running":
        """Merges the squares around two means (Chan, Golub, LeVeque 1983) and the counts."""
        n_new, mean = len(samples), float(samples.mean())
        squares = float((samples - mean).square().sum())
        n_done, distance = self.n_done + n_new, mean - self.mean
        return dataclasses.replace(
            self,
            counts=self.counts + _counts(samples, self.edges),
            n_done=n_done,
            mean=self.mean + distance * n_new / n_done,
            squares=self.squares + squares + distance**2 * self.n_done * n_new / n_done,
        )

    def with_rows(self, rows: Float[Tensor, "row key"]) -> "Running":
        """Adds the softmax figures of rows, without and with the divisor."""
        figures = torch.stack([_softmax_sums(rows), _softmax_sums(rows / self.divisor)])
        return dataclasses.replace(self, figures=self.figures + figures, n_rows=self.n_rows + len(rows))

    def measurement(self) -> Measurement:
        """What is known so far."""
        unscaled, scaled = (self.figures / self.n_rows).tolist()
        below, *counts, above = self.counts.tolist()
        return Measurement(
            d_k=self.d_k,
            n_done=self.n_done,
            n_samples=self.n_samples,
            mean=self.mean,
            variance=self.squares / (self.n_done - 1),
            divisor=self.divisor,
            theory=self.theory,
            edges=self.edges,
            counts=tuple(counts),
            below=below,
            above=above,
            n_rows=self.n_rows,
            unscaled=SoftmaxFigures(*unscaled),
            scaled=SoftmaxFigures(*scaled),
        )


def _softmax_sums(scores: Float[Tensor, "row key"]) -> Float[Tensor, " figure"]:
    """Sums over the rows of the largest weight, the entropy and the norm of the Jacobian."""
    weights = torch.softmax(scores, dim=-1)
    norm = torch.linalg.matrix_norm(softmax_jacobian(weights))
    return torch.stack([weights.amax(dim=-1), entropy(weights), norm]).sum(dim=-1)


def _counts(samples: Float[Tensor, " sample"], edges: tuple[float, ...]) -> Tensor:
    """How many samples lie below the first edge, in each bin, and above the last edge."""
    n_bins, width = len(edges) - 1, edges[1] - edges[0]
    bins = ((samples - edges[0]) / width).floor_().clamp_(-1, n_bins).add_(1).long()
    return torch.bincount(bins, minlength=n_bins + 2)


def histogram_edges(d_k: int, entries: str, mean: float) -> tuple[float, ...]:
    """Edges of equal bins over the expected mean ± 5 standard deviations.

    With entries of ±1 the inner product takes only every second whole number: each bin then holds the
    same odd count of them, and the edges lie halfway between two.
    """
    expected = theory(d_k, entries, mean)
    reach = _SIGMAS * math.sqrt(expected.variance)
    if entries != "signs":
        step = 2 * reach / _BINS
        return tuple(expected.mean - reach + step * i for i in range(_BINS + 1))
    values = math.ceil(2 * reach / (2 * _BINS)) | 1
    n_bins = math.ceil(reach / values)
    n_bins += (n_bins + d_k + 1) % 2
    return tuple(float(values * (2 * i - n_bins)) for i in range(n_bins + 1))
