"""How fast the √d_k experiment is, beside two yardsticks in the same run.

Yardsticks: drawing the same count of normal numbers and nothing else (torch, float32, in place), and the same inner
products, variance and histogram written directly in NumPy (float64, default_rng). The experiment also measures softmax.

The goals are for processor time on one thread, which other programs disturb least. "Two threads" is the time on the
clock, as the page runs it, beside yardsticks that have one. Ratios are medians over the rounds of the ratio within a
round. The longest wait between two results is how long a person waits after pressing stop.

    python -m benchmarks.scaling [--quick] [--json FILE]
"""

import functools
import time
from collections.abc import Callable

import numpy as np
import torch

from attn_core.draws import THREADS
from attn_core.scaling import ScalingSettings, variance_experiment
from benchmarks.rounds import Rounds, time_rounds
from benchmarks.rows import Row, run_alone

CACHE_SIZED = 2**14
DRAW_GOAL, NUMPY_GOAL = 1.3, 1 / 3
DEFAULT = ScalingSettings()
OTHER_SIZES = (ScalingSettings(n_samples=2000, largest_d_k=4096), ScalingSettings(n_samples=100_000, largest_d_k=64))
SMALL = ScalingSettings(n_samples=1000, largest_d_k=64)


def only_draw(n_numbers: int) -> None:
    generator, buffer = torch.Generator().manual_seed(0), torch.empty(CACHE_SIZED)
    for _ in range(n_numbers // CACHE_SIZED):
        buffer.normal_(generator=generator)


def numpy_experiment(d_ks: tuple[int, ...], n_samples: int) -> None:
    generator = np.random.default_rng(0)
    for d_k in d_ks:
        q, k = (generator.standard_normal((n_samples, d_k)) for _ in range(2))
        products = (q * k).sum(axis=1)
        products.var(ddof=1)
        np.histogram(products, bins=100)


def experiment(settings: ScalingSettings, n_threads: int) -> None:
    for _ in variance_experiment(settings, n_threads=n_threads):
        pass


def timed(settings: ScalingSettings, n_rounds: int, n_threads: int, clock: Callable[[], float]) -> Rounds:
    """The experiment and its two yardsticks."""
    n_numbers = 2 * sum(settings.d_ks) * settings.n_samples
    works = {
        "ours": functools.partial(experiment, settings, n_threads),
        "draw": functools.partial(only_draw, n_numbers),
        "numpy": functools.partial(numpy_experiment, settings.d_ks, settings.n_samples),
    }
    return time_rounds(works, n_rounds, clock=clock)


def compare(settings: ScalingSettings, n_rounds: int) -> list[Row]:
    """Both ratios for one size, on one thread and on two."""
    one = timed(settings, n_rounds, 1, time.process_time)
    two = timed(settings, n_rounds, THREADS, time.perf_counter)
    size = f"d_k 1 … {settings.largest_d_k}, {settings.n_samples:,} samples"
    work, clock = (
        f"{sort}, median of {n_rounds} rounds" for sort in ("processor time, one thread", "time on the clock")
    )
    return [
        _row(f"√d_k experiment / drawing alone: {size}", one, "draw", DRAW_GOAL, work),
        _row(f"√d_k experiment / NumPy: {size}", one, "numpy", NUMPY_GOAL, work),
        _row(f"√d_k experiment on two threads / drawing alone: {size}", two, "draw", None, clock),
        _row(f"√d_k experiment on two threads / NumPy: {size}", two, "numpy", None, clock),
    ]


def _row(what: str, found: Rounds, yardstick: str, goal: float | None, method: str) -> Row:
    return Row(what, found.ratio("ours", yardstick), "×", goal, method, found.beside("ours", yardstick))


def longest_wait(settings: ScalingSettings) -> Row:
    """The longest time between two results."""
    waits, before = [], time.perf_counter()
    for _ in variance_experiment(settings):
        now = time.perf_counter()
        waits.append(now - before)
        before = now
    what = f"√d_k experiment, longest wait for a result: {settings.entries}, d_k up to {settings.largest_d_k}"
    return Row(what, max(waits), "s", None, "time on the clock, two threads, one run")


def rows(quick: bool) -> list[Row]:
    """Every ratio at every size, and the longest waits."""
    sizes, n_rounds = ((SMALL,), 3) if quick else ((DEFAULT, *OTHER_SIZES), 9)
    largest = 64 if quick else 4096
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # as a server does: the experiment has threads of its own
    try:
        return [
            *(row for settings in sizes for row in compare(settings, n_rounds)),
            longest_wait(ScalingSettings(largest_d_k=largest)),
            longest_wait(ScalingSettings(entries="linear", n_samples=200, largest_d_k=largest)),
        ]
    finally:
        torch.set_num_threads(before)


if __name__ == "__main__":
    run_alone(rows, __doc__)
