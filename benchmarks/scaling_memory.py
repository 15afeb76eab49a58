"""Peak memory of the √d_k experiment at ten thousand and at a million samples, each in a process of its own.

python -m benchmarks.scaling_memory
"""

import subprocess
import sys

RUN = """
import resource
import torch
from attn_core.scaling import ScalingSettings, variance_experiment

torch.set_num_threads(1)
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
for _ in variance_experiment(ScalingSettings(n_samples=100, largest_d_k=2)):
    pass
before = peak()
for _ in variance_experiment(ScalingSettings(n_samples={n_samples}, largest_d_k={largest_d_k})):
    pass
print(before, peak())
"""


def peaks(n_samples: int, largest_d_k: int) -> tuple[float, float]:
    """Peak resident memory in MB after a first tiny run, and after the experiment."""
    code = RUN.format(n_samples=n_samples, largest_d_k=largest_d_k)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    before, after = map(float, run.stdout.split())
    return before, after


def main() -> None:
    for largest_d_k in (16, 256):
        for n_samples in (10_000, 1_000_000):
            before, after = peaks(n_samples, largest_d_k)
            print(
                f"d_k 1 … {largest_d_k:>3}, {n_samples:>9,} samples:"
                f" peak {after:.0f} MB, {after - before:.1f} MB above a tiny run"
            )


if __name__ == "__main__":
    main()
