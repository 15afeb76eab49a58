"""The numeric thread of a picture: patches in place of words, then the same layers and the same attention."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch

from attn_core.edits import Edit, EditedMatrix, edited
from attn_core.images import SAMPLES, Picture, number_names, patch_names, to_patches
from attn_core.lesson import Lesson
from attn_core.limits import MAX_SIZE
from attn_core.links import Linked, OneOf, Whole, YesNo, linked
from attn_core.parameters import draws, output_draw, patch_draw
from attn_core.thread import EmbeddedSequence, Layers, Thread

PICTURES = ("digit", *SAMPLES, "own")
MAX_CUTS = 3
MAX_PATCHES = 4**MAX_CUTS
PICTURE_STEPS = ("x", "q", "k", "v", "scores", "output")

_SHARED: tuple[EditedMatrix, ...] = ("W_Q", "W_K", "W_V", "W_O")


@dataclass(frozen=True)
class PictureSettings(Linked):
    """Which picture, how it is cut, and what is chosen in it.

    Each of `patch_cuts` halves rows and columns of patches: 2 × 2, 4 × 4 or 8 × 8 patches. `patch` asks,
    `patch_key` answers, `patch_column` is a place along d_model; `patch_step` is the product that is shown.
    A reader's own picture is in no link.
    """

    picture: str = linked("digit", OneOf(PICTURES))
    digit: int = linked(64, Whole(0, 1796))
    grey: bool = linked(False, YesNo())
    patch_cuts: int = linked(2, Whole(1, MAX_CUTS))
    patch: int = linked(5, Whole(0, MAX_PATCHES - 1))
    patch_key: int = linked(0, Whole(0, MAX_PATCHES - 1))
    patch_column: int = linked(0, Whole(0, MAX_SIZE - 1))
    patch_step: str = linked("x", OneOf(PICTURE_STEPS))


@dataclass(frozen=True, kw_only=True)
class PictureTrace(Thread):
    """Every step of one picture, in float64; `per_edge` patches stand side by side."""

    entries_role: ClassVar[Literal["one_hot", "pixels"]] = "pixels"

    picture: Picture
    patch_size: int
    per_edge: int

    @property
    def channels(self) -> int:
        """1 for grey, 3 for colour."""
        return self.picture.pixels.shape[-1]

    @property
    def equal_weight(self) -> float:
        """What each patch would get from a query that prefers none."""
        return 1 / len(self.tokens)

    def patch_at(self, row: int, column: int) -> int:
        """The patch in a row and a column of patches."""
        return row * self.per_edge + column

    def mean(self, patch: int) -> float:
        """The mean of a patch's numbers."""
        return float(self.asking.entries[patch].mean())

    def most_seen(self, patch: int, n: int) -> tuple[tuple[str, float], ...]:
        """The n patches that a patch gives most weight to, and those weights, the largest first."""
        weights = self.attention.weights[patch]
        order = weights.argsort(descending=True, stable=True).tolist()[:n]
        return tuple((self.tokens[place], float(weights[place])) for place in order)


def patch_sizes(picture: Picture) -> dict[int, int]:
    """The edge of a patch in pixels for every number of cuts, the smallest patch first."""
    return {cuts: len(picture.pixels) // 2**cuts for cuts in range(MAX_CUTS, 0, -1)}


def run_picture(picture: Picture, cuts: int, lesson: Lesson) -> PictureTrace:
    """Computes the thread of a picture with the layers, the heads and the divisor of a lesson.

    The lesson's W_Q, W_K, W_V and W_O, edits included, are those that its words get; only W_E is another,
    for it takes pixels. There are no positions and no mask. Pixels have two decimals and W_E one, so x is
    exact at 3 decimals and q, k, v at 4.

    Raises:
        ValueError: the picture cannot be halved so often.
    """
    edge, per_edge = len(picture.pixels), 2**cuts
    if edge % per_edge:
        raise ValueError(f"the picture's edge must be a multiple of 2^{cuts}, got {edge}")
    patch_size = edge // per_edge
    patches = to_patches(picture.pixels, patch_size)
    w_e = patch_draw(patches.shape[1], lesson.d_model, lesson.seed).numbers()
    x = patches @ w_e
    p = torch.zeros_like(x)
    sequence = EmbeddedSequence(patch_names(per_edge, per_edge), patches, x, p, x + p)
    return PictureTrace.run(
        sequence,
        sequence,
        _layers(lesson),
        mask=torch.ones(len(x), len(x), dtype=torch.bool),
        n_heads=lesson.n_heads,
        head=lesson.head,
        scale=lesson.scale,
        features=number_names(patch_size, picture.pixels.shape[-1]),
        entries_symbol=r"\text{patches}",
        w_e=w_e,
        edits=_shared_edits(lesson),
        picture=picture,
        patch_size=patch_size,
        per_edge=per_edge,
    )


def _layers(lesson: Lesson) -> Layers:
    """The square layers of the lesson as its words get them."""
    drawn = draws(1, lesson.d_model, lesson.seed) | {"W_O": output_draw(lesson.d_model, lesson.seed)}
    return Layers(*(edited(name, drawn[name].numbers(), lesson.edits) for name in _SHARED))


def _shared_edits(lesson: Lesson) -> tuple[Edit, ...]:
    return tuple(edit for edit in lesson.edits if edit.matrix in _SHARED)
