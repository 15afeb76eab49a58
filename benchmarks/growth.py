"""How the cost grows: with tokens, with heads, with samples; the fitted exponent beside the one in theory.

Processor time on one thread, the best of some rounds: other programs can only make a round slower. The exponent p of
cost ∝ size^p is the slope of the least-squares line through log cost over log size, at the upper sizes only, where the
fixed cost of a call has faded, and only up to matrices of 8 MB: larger ones get memory fresh from the kernel each time.

- attend over tokens (32 columns): n² scores, so 2.
- attend over heads that share 512 columns, 256 tokens: each head has its own n² scores and softmax, so at most 1;
  products and sums stay the same work, shared among the heads, so below 1.
- attend over heads of 32 columns each, 128 tokens: more of the same, so 1.
- The √d_k experiment over samples (d_k up to 64): each sample is drawn once, so 1.

    python -m benchmarks.growth [--quick] [--json FILE]
"""

import functools
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import log

import torch

from attn_core.attention import attend
from attn_core.scaling import ScalingSettings, variance_experiment
from benchmarks.rounds import in_words, time_rounds
from benchmarks.rows import Row, run_alone


@dataclass(frozen=True)
class Curve:
    """What grows, the exponent in theory, the work at each of the sizes that are fitted."""

    what: str
    theory: str
    works: Mapping[int, Callable[[], object]]


def exponent(costs: Mapping[int, float]) -> float:
    """The slope of the least-squares line through log cost over log size."""
    logs = [(log(size), log(cost)) for size, cost in costs.items()]
    return statistics.linear_regression(*zip(*logs, strict=True)).slope


def attention(n_heads: int, n_tokens: int, d_k: int) -> Callable[[], object]:
    parts = torch.randn(3, n_heads, n_tokens, d_k, generator=torch.Generator().manual_seed(0))
    return functools.partial(attend, *parts.unbind())


def experiment(n_samples: int) -> Callable[[], object]:
    settings = ScalingSettings(n_samples=n_samples, largest_d_k=64)
    return lambda: list(variance_experiment(settings, n_threads=1))


def curves(quick: bool) -> tuple[Curve, ...]:
    tokens = (64, 128, 256) if quick else (256, 512, 1024)
    shared, more = ((4, 8, 16), (4, 8, 16)) if quick else ((4, 8, 16, 32), (8, 16, 32, 64))
    samples = (1000, 2000, 4000) if quick else (50_000, 100_000, 200_000, 400_000)
    return (
        Curve("attend over tokens", "2", {n: attention(1, n, 32) for n in tokens}),
        Curve("attend over heads that share 512 columns", "< 1", {n: attention(n, 256, 512 // n) for n in shared}),
        Curve("attend over heads of 32 columns", "1", {n: attention(n, 128, 32) for n in more}),
        Curve("√d_k experiment over samples", "1", {n: experiment(n) for n in samples}),
    )


def measured(curve: Curve, n_rounds: int) -> Row:
    """The fitted exponent of one curve."""
    works = {str(size): work for size, work in curve.works.items()}
    found = time_rounds(works, n_rounds, at_least=0.005)
    costs = {size: found.best(str(size)) for size in curve.works}
    return Row(
        f"growth exponent: {curve.what}",
        exponent(costs),
        "",
        None,
        f"in theory {curve.theory}; processor time, one thread, best of {n_rounds} rounds, slope of log over log",
        ", ".join(f"{size}: {in_words(cost)}" for size, cost in costs.items()),
    )


def rows(quick: bool) -> list[Row]:
    """The exponent of every curve."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return [measured(curve, 3 if quick else 5) for curve in curves(quick)]
    finally:
        torch.set_num_threads(before)


if __name__ == "__main__":
    run_alone(rows, __doc__)
