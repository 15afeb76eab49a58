"""How fast the √d_k experiment is, beside two yardsticks in the same run.

Yardsticks: drawing the same count of normal numbers and nothing else (torch, float32, in place, one
thread), and the same inner products, variance and histogram written directly in NumPy (float64, default_rng).
The rounds time all of them one after the other. Printed are the median over the rounds of the ratio within
a round, and the ratio of the best rounds: other programs on a shared machine can only make a round slower.
The experiment runs on two threads; "one thread" compares processor time, without that help.

    python -m benchmarks.scaling [--quick]
"""

import argparse
import statistics
import time
from unittest import mock

import numpy as np
import torch

from attn_core import draws
from attn_core.measurement import Measurement
from attn_core.scaling import ScalingSettings, variance_experiment

CACHE_SIZED = 2**14


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


def experiment(settings: ScalingSettings) -> list[Measurement]:
    return list(variance_experiment(settings))


def one_thread(settings: ScalingSettings) -> None:
    with mock.patch.object(draws, "_WORKERS", 1):
        experiment(settings)


def ratio(above: list[float], below: list[float]) -> str:
    """Median of the ratios, and the ratio of the best."""
    median = statistics.median(a / b for a, b in zip(above, below, strict=True))
    return f"{median:.2f} ({min(above) / min(below):.2f})"


def compare(settings: ScalingSettings, n_rounds: int) -> None:
    """Prints the ratios for one size of experiment, softmax figures included."""
    d_ks, n_samples = settings.d_ks, settings.n_samples
    works = {
        "ours": lambda: experiment(settings),
        "draw": lambda: only_draw(2 * sum(d_ks) * n_samples),
        "numpy": lambda: numpy_experiment(d_ks, n_samples),
        "alone": lambda: one_thread(settings),
    }
    took: dict[str, list[float]] = {}
    for _ in range(n_rounds):
        for name, work in works.items():
            clock, processor = time.perf_counter(), time.process_time()
            work()
            took.setdefault(name, []).append(time.perf_counter() - clock)
            took.setdefault(f"{name} work", []).append(time.process_time() - processor)
    print(f"d_k 1 … {d_ks[-1]}, {n_samples} samples: median (best)")
    print(f"  two threads, clock:    {ratio(took['ours'], took['draw'])} × drawing alone")
    print(f"                         {ratio(took['numpy'], took['ours'])} × faster than NumPy")
    print(f"  one thread, processor: {ratio(took['alone work'], took['draw work'])} × drawing alone")
    print(f"                         {ratio(took['numpy work'], took['alone work'])} × faster than NumPy")


def longest_wait(settings: ScalingSettings) -> None:
    """Prints the longest time between two results: how long a person waits after pressing stop."""
    waits, before = [], time.perf_counter()
    for _ in variance_experiment(settings):
        now = time.perf_counter()
        waits.append(now - before)
        before = now
    print(f"{settings.entries:>8}, d_k up to {settings.largest_d_k}: longest wait for a result {max(waits):.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one small size, three rounds")
    quick = parser.parse_args().quick
    torch.set_num_threads(1)  # as a server does: the experiment has threads of its own
    experiment(ScalingSettings(n_samples=100, largest_d_k=2))
    compare(ScalingSettings(largest_d_k=256 if quick else 1024), 3 if quick else 9)
    if not quick:
        compare(ScalingSettings(n_samples=2000, largest_d_k=4096), 9)
        compare(ScalingSettings(n_samples=100_000, largest_d_k=64), 9)
    longest_wait(ScalingSettings(largest_d_k=256 if quick else 4096))
    longest_wait(ScalingSettings(entries="linear", n_samples=200, largest_d_k=256 if quick else 4096))


if __name__ == "__main__":
    main()
