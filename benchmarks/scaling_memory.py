"""Peak memory of the √d_k experiment at ten thousand and at a million samples, each in a process of its own.

Resident memory, as the kernel has noted its peak; "above" is what the experiment adds to a first tiny run.

    python -m benchmarks.scaling_memory [--quick] [--json FILE]
"""

import subprocess
import sys

from benchmarks.rows import Row, run_alone
from benchmarks.session import ROOT

SLACK = 1.05  # pages come and go with the allocator's mood
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
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    before, after = map(float, run.stdout.split())
    return before, after


def compare(few: int, many: int, largest_d_k: int) -> Row:
    """The peak with many samples over the peak with few."""
    (few_before, few_peak), (many_before, many_peak) = (peaks(n, largest_d_k) for n in (few, many))
    return Row(
        f"√d_k experiment, peak memory, {many:,} / {few:,} samples: d_k 1 … {largest_d_k}",
        many_peak / few_peak,
        "×",
        SLACK,
        "peak resident memory, a process each",
        f"{many_peak:.0f} MB ({many_peak - many_before:.1f} above a tiny run)"
        f" beside {few_peak:.0f} MB ({few_peak - few_before:.1f} above)",
    )


def rows(quick: bool) -> list[Row]:
    """The ratio with small q and k, and with larger ones."""
    if quick:
        return [compare(1_000, 10_000, 4)]
    return [compare(10_000, 1_000_000, largest_d_k) for largest_d_k in (16, 256)]


if __name__ == "__main__":
    run_alone(rows, __doc__)
