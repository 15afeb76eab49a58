"""Where a lesson's random numbers come from: each parameter has a bound and a stream of its own."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attn_core.edits import EditedMatrix

# In tenths: uniform in ±1.7 has a variance close to 1 (exactly 1 at ±√3).
_EMBEDDING_BOUND = 17
_POSITION_BOUND = 10
_LATER_STREAMS = 4_000_000  # past 4 · seed + 3 of every seed: parameters added later leave the others as they were
_PATCH_STREAM = 6_000_000


# Stands in the exported script word for word, under a comment in the reader's language.
def tenths(rows: int, columns: int, bound: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-bound, bound + 1, (rows, columns), generator=generator).to(torch.float64) / 10


@dataclass(frozen=True)
class Draw:
    """The arguments of `tenths` for one parameter."""

    rows: int
    columns: int
    bound: int
    seed: int

    def numbers(self) -> Float[Tensor, "rows columns"]:
        """Numbers with one decimal, uniform from -bound/10 to bound/10."""
        return tenths(self.rows, self.columns, self.bound, self.seed)


def _glorot_bound(d_model: int) -> int:
    """In tenths, Glorot and Bengio's 2010 bound (equation 16), √(6 / (in + out)), of a square layer."""
    return max(1, round(10 * math.sqrt(3 / d_model)))


def position_draw(n_positions: int, d_model: int, seed: int) -> Draw:
    """Position vectors to be learned, uniform in ±1: as large as sinusoidal ones."""
    return Draw(n_positions, d_model, _POSITION_BOUND, _LATER_STREAMS + 2 * seed)


def output_draw(d_model: int, seed: int) -> Draw:
    """W_O, the layer that mixes the joined heads."""
    return Draw(d_model, d_model, _glorot_bound(d_model), _LATER_STREAMS + 2 * seed + 1)


def patch_draw(n_numbers: int, d_model: int, seed: int) -> Draw:
    """W_E for patches of so many numbers.

    Numbers spread evenly over 0 … 1 have a mean square of 1/3, entries spread evenly over ±b one of b²/3: with
    b = 3 / √n_numbers, rounded to one decimal, the mean square of x is 1, as it is for words.
    """
    bound = max(1, round(10 * 3 / math.sqrt(n_numbers)))
    return Draw(n_numbers, d_model, bound, _PATCH_STREAM + seed)


def draws(n_words: int, d_model: int, seed: int) -> dict[EditedMatrix, Draw]:
    """W_E, W_Q, W_K, W_V: no size changes another parameter's numbers, more words leave the first rows as they are.

    The bound of the square layers keeps the variance of q, k and v near that of x.
    """
    glorot = _glorot_bound(d_model)
    return {
        "W_E": Draw(n_words, d_model, _EMBEDDING_BOUND, 4 * seed),
        "W_Q": Draw(d_model, d_model, glorot, 4 * seed + 1),
        "W_K": Draw(d_model, d_model, glorot, 4 * seed + 2),
        "W_V": Draw(d_model, d_model, glorot, 4 * seed + 3),
    }
