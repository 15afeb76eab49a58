"""The √d_k experiment: what happens to q·k, and to softmax, as q and k grow."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from attn_core.draws import (
    THREADS,
    block_size,
    dot_products_,
    draw_blocks,
    numbers_per_block,
    on_threads,
    row_products,
    sample_dot_products,
)
from attn_core.laws import ENTRIES, Entries, Theory, exact_density, normal_density, theory
from attn_core.limits import MAX_D_K, MAX_SAMPLES, MAX_SEED
from attn_core.links import Linked, OneOf, Real, Whole, linked
from attn_core.measurement import Measurement, Running, SoftmaxFigures, histogram_edges, softmax_jacobian

__all__ = [
    "DIVISORS",
    "ENTRIES",
    "MAX_ROWS",
    "Curves",
    "Measurement",
    "PowerOfTwo",
    "ScalingSettings",
    "SoftmaxFigures",
    "VarianceTheory",
    "density_curves",
    "divisor_value",
    "exact_density",
    "histogram_edges",
    "numbers_needed",
    "progress",
    "sample_dot_products",
    "softmax_jacobian",
    "theory",
    "variance_experiment",
    "variance_theory",
]

Divisor = Literal["none", "sqrt_d_k", "d_k", "sqrt_d_model", "power"]
DIVISORS: tuple[Divisor, ...] = ("none", "sqrt_d_k", "d_k", "sqrt_d_model", "power")

MAX_ROWS = 256
_NUMBERS_PER_YIELD = 2**24
_SAMPLES_PER_YIELD = 2**16


@dataclass(frozen=True)
class PowerOfTwo:
    """A power of two from low to high."""

    low: int
    high: int

    def __str__(self) -> str:
        return f"{self.low}, {2 * self.low}, {4 * self.low}, …, {self.high}"

    def read(self, text: str) -> int:
        return Whole(self.low, self.high).read(text)

    def accepts(self, value: object) -> bool:
        return Whole(self.low, self.high).accepts(value) and isinstance(value, int) and value & (value - 1) == 0


@dataclass(frozen=True)
class ScalingSettings(Linked):
    """Everything the experiment's numbers depend on.

    Attributes:
        entries: law of the entries of q and k.
        mean: μ of the law "shifted".
        n_samples: inner products per d_k.
        largest_d_k: the experiment goes through 1, 2, 4, … up to this.
        shown_d_k: whose histogram is shown.
        divisor: what the inner products are divided by, see `divisor_value`.
        divisor_heads: heads of a model whose scores are divided by √d_model by mistake.
        exponent: of the divisor "power".
        n_keys: inner products in a row of softmax.
        sample_seed: where the random numbers start.
    """

    entries: Entries = linked("normal", OneOf(ENTRIES))
    mean: float = linked(0.5, Real(0.0, 3.0))
    n_samples: int = linked(10_000, Whole(100, MAX_SAMPLES))
    largest_d_k: int = linked(1024, PowerOfTwo(1, MAX_D_K))
    shown_d_k: int = linked(64, PowerOfTwo(1, MAX_D_K))
    divisor: Divisor = linked("sqrt_d_k", OneOf(DIVISORS))
    divisor_heads: int = linked(8, Whole(1, 16))
    exponent: float = linked(0.5, Real(0.0, 2.0))
    n_keys: int = linked(10, Whole(2, 32))
    sample_seed: int = linked(0, Whole(0, MAX_SEED))

    @property
    def d_ks(self) -> tuple[int, ...]:
        """1, 2, 4, … up to largest_d_k."""
        return tuple(2**power for power in range(self.largest_d_k.bit_length()))

    @property
    def histogram_d_k(self) -> int:
        """shown_d_k, or the largest there is."""
        return min(self.shown_d_k, self.largest_d_k)

    def divisor_at(self, d_k: int) -> float:
        """What the inner products of this size are divided by."""
        return divisor_value(self.divisor, d_k, n_heads=self.divisor_heads, exponent=self.exponent)

    def theory_at(self, d_k: int) -> Theory:
        """The moments of q·k at this size."""
        return theory(d_k, self.entries, self.mean)


def divisor_value(divisor: str, d_k: int, *, n_heads: int = 1, exponent: float = 0.5) -> float:
    """What the scores are divided by.

    "none" is 1, "power" is d_k to the exponent. "sqrt_d_model" is √(n_heads · d_k): a common mistake, where the
    width of the whole model is taken for the width of one head.

    Raises:
        ValueError: there is no such divisor, or d_k or n_heads is below 1.

    Source: Vaswani et al. 2017 (arXiv 1706.03762), equation 1, for √d_k.
    """
    if divisor not in DIVISORS:
        raise ValueError(f"divisor must be one of {', '.join(DIVISORS)}, got {divisor!r}")
    if d_k < 1 or n_heads < 1:
        raise ValueError(f"d_k and n_heads must be at least 1, got {d_k} and {n_heads}")
    powers = {"none": 0.0, "sqrt_d_k": 0.5, "d_k": 1.0, "sqrt_d_model": 0.5, "power": exponent}
    heads = math.sqrt(n_heads) if divisor == "sqrt_d_model" else 1.0
    return heads * math.pow(d_k, powers[divisor])


def variance_experiment(settings: ScalingSettings, *, n_threads: int = THREADS) -> Iterator[Measurement]:
    """Measures every d_k from 1 to the largest and yields what it has after each piece of work.

    A piece is at most 2^24 random numbers or 65536 inner products (for "linear", at least one pair of layers);
    the last measurement of each d_k is `finished`. Whoever iterates may stop at any time. A
    partial measurement equals the finished one of a run with n_samples = n_done.

    The rows for softmax come from the same pass: of each n_keys pairs the first q meets all n_keys k, for
    the first MAX_ROWS rows; unscaled and scaled use the same ones.

    Args:
        settings: what is drawn, and how much of it.
        n_threads: how many draw; the numbers are the same with any.
    """
    for d_k in settings.d_ks:
        running = Running.start(
            d_k=d_k,
            n_samples=settings.n_samples,
            divisor=settings.divisor_at(d_k),
            theory=settings.theory_at(d_k),
            edges=histogram_edges(d_k, settings.entries, settings.mean),
        )
        for samples, rows in _pieces(settings, d_k, n_threads):
            running = running.with_samples(samples).with_rows(rows)
            yield running.measurement()


def _pieces(settings: ScalingSettings, d_k: int, n_threads: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Inner products and rows of inner products, a bounded number at a time."""
    size, total = block_size(d_k, settings.entries), settings.n_samples
    fit = min(_NUMBERS_PER_YIELD // numbers_per_block(d_k, settings.entries), _SAMPLES_PER_YIELD // size)
    n_blocks, per_piece = math.ceil(total / size), max(1, fit)
    for first in range(0, n_blocks, per_piece):
        yield _piece(settings, d_k, range(first, min(first + per_piece, n_blocks)), n_threads)


def _piece(settings: ScalingSettings, d_k: int, blocks: range, n_threads: int) -> tuple[Tensor, Tensor]:
    """The inner products of some blocks, and their rows.

    Every block writes into tensors made before: small results left between freed large ones
    would keep the heap from being used again.
    """
    size, n_keys = block_size(d_k, settings.entries), settings.n_keys

    def place(block: int) -> tuple[int, int]:
        """Samples and rows before this block."""
        n_samples = min(settings.n_samples, block * size)
        n_rows = n_samples // size * (size // n_keys) + n_samples % size // n_keys
        return n_samples, min(MAX_ROWS, n_rows)

    (first_sample, first_row), (last_sample, last_row) = place(blocks.start), place(blocks.stop)
    samples, rows = torch.empty(last_sample - first_sample), torch.empty(last_row - first_row, n_keys)

    def fill(part: range) -> None:
        pairs = draw_blocks(d_k, part, seed=settings.sample_seed, entries=settings.entries, mean=settings.mean)
        for block, (q, k) in zip(part, pairs, strict=True):
            (sample, row), (next_sample, next_row) = place(block), place(block + 1)
            if next_row > row:
                rows[row - first_row : next_row - first_row] = row_products(q, k, next_row - row, n_keys)
            samples[sample - first_sample : next_sample - first_sample] = dot_products_(q, k)[: next_sample - sample]

    on_threads(n_threads, fill, blocks)
    return samples.double(), rows.double()


def numbers_needed(settings: ScalingSettings) -> int:
    """How many random numbers the whole experiment draws."""
    return round(sum(settings.n_samples * cost for cost in _costs(settings).values()))


def _costs(settings: ScalingSettings) -> dict[int, float]:
    """Random numbers per inner product, for each d_k."""
    return {d: numbers_per_block(d, settings.entries) / block_size(d, settings.entries) for d in settings.d_ks}


def progress(settings: ScalingSettings, measurement: Measurement) -> float:
    """Share of the experiment's work that is done with this measurement, 0 … 1."""
    costs = _costs(settings)
    before = sum(cost for d_k, cost in costs.items() if d_k < measurement.d_k)
    now = costs[measurement.d_k] * measurement.n_done / measurement.n_samples
    return min(1.0, (before + now) / sum(costs.values()))


@dataclass(frozen=True)
class Curves:
    """Densities over q·k: the normal law with the same mean and variance, and the exact one where it is known."""

    x: tuple[float, ...]
    normal: tuple[float, ...]
    exact: tuple[float, ...] | None


def density_curves(settings: ScalingSettings, d_k: int, n_points: int = 400) -> Curves:
    """The curves beside a histogram; the exact one only for normal entries.

    An even number of points around the mean never meets 0, where the density for d_k = 1 is infinite.
    """
    edges, expected = histogram_edges(d_k, settings.entries, settings.mean), settings.theory_at(d_k)
    x = torch.linspace(edges[0], edges[-1], n_points, dtype=torch.float64)
    normal = normal_density(x, expected.mean, expected.variance)
    exact = tuple(exact_density(x, d_k).tolist()) if settings.entries == "normal" else None
    return Curves(tuple(x.tolist()), tuple(normal.tolist()), exact)


@dataclass(frozen=True)
class VarianceTheory:
    """The expected variance for every d_k of an experiment, before and after the divisor, with its 95 % band."""

    d_ks: tuple[int, ...]
    variance: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    scaled: tuple[float, ...]


def variance_theory(settings: ScalingSettings) -> VarianceTheory:
    """What the experiment should find with n_samples inner products per d_k."""
    variances = tuple(settings.theory_at(d_k).variance for d_k in settings.d_ks)
    bands = [settings.theory_at(d_k).band(settings.n_samples) for d_k in settings.d_ks]
    return VarianceTheory(
        settings.d_ks,
        variances,
        tuple(low for low, _ in bands),
        tuple(high for _, high in bands),
        tuple(v / settings.divisor_at(d_k) ** 2 for d_k, v in zip(settings.d_ks, variances, strict=True)),
    )
