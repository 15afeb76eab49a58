"""The reference demonstration: `python -m attn_core` prints the shapes of one run of SimpleSelfAttention."""

import os

import torch

from attn_core.modules import SimpleSelfAttention

BATCH, SEQ_LEN, D_MODEL, SEED = 1, 10, 64, 0

_LABELS = {"ja": ("入力の形状", "出力の形状"), "en": ("Input shape", "Output shape")}


def demonstration(seed: int = SEED) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Feeds uniform random numbers to a fresh module; returns the shapes of its input and its output."""
    with torch.random.fork_rng(devices=[]):  # nn.Linear draws from the global generator: seed a copy of it
        torch.manual_seed(seed)
        module = SimpleSelfAttention(D_MODEL)
    x = torch.rand(BATCH, SEQ_LEN, D_MODEL, generator=torch.Generator().manual_seed(seed + 1))
    with torch.no_grad():
        return tuple(x.shape), tuple(module(x).shape)


def language() -> str:
    """ja or en, by the first locale variable that is set, in the order POSIX gives them."""
    locales = (os.environ.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    return "ja" if next(filter(None, locales), "").startswith("ja") else "en"


def main() -> None:
    """Prints the demonstration."""
    for label, shape in zip(_LABELS[language()], demonstration(), strict=True):
        print(f"{label}: {shape}")


if __name__ == "__main__":
    main()
