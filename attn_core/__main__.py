"""The reference demonstration: `python -m attn_core` prints the shapes of one run of SimpleSelfAttention."""

import os
from dataclasses import replace

from attn_core.demonstration import DemonstrationSettings, run_demonstration
from attn_core.listing import SHAPE_LABELS

REFERENCE = DemonstrationSettings()


def demonstration(seed: int = REFERENCE.module_seed) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Feeds uniform random numbers to a fresh module; returns the shapes of its input and its output."""
    run = run_demonstration(replace(REFERENCE, module_seed=seed))
    return tuple(run.x.shape), tuple(run.output.shape)


def language() -> str:
    """ja or en, by the first locale variable that is set, in the order POSIX gives them."""
    locales = (os.environ.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    return "ja" if next(filter(None, locales), "").startswith("ja") else "en"


def main() -> None:
    """Prints the demonstration."""
    for label, shape in zip(SHAPE_LABELS[language()], demonstration(), strict=True):
        print(f"{label}: {shape}")


if __name__ == "__main__":
    main()
