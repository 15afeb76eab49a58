"""Where a lesson's random numbers come from: each parameter has a bound and a stream of its own."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attn_core.edits import EditedMatrix

# In tenths: uniform in ±1.7 has a variance close to 1 (exactly 1 at ±√3).
_EMBEDDING_BOUND = 17


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


def draws(n_words: int, d_model: int, seed: int) -> dict[EditedMatrix, Draw]:
    """W_E, W_Q, W_K, W_V: no size changes another parameter's numbers, more words leave the first rows as they are.

    The bound of the square layers is Glorot and Bengio's 2010 (equation 16), √(6 / (in + out)),
    rounded to one decimal: it keeps the variance of q, k and v near that of x.
    """
    glorot = max(1, round(10 * math.sqrt(3 / d_model)))
    return {
        "W_E": Draw(n_words, d_model, _EMBEDDING_BOUND, 4 * seed),
        "W_Q": Draw(d_model, d_model, glorot, 4 * seed + 1),
        "W_K": Draw(d_model, d_model, glorot, 4 * seed + 2),
        "W_V": Draw(d_model, d_model, glorot, 4 * seed + 3),
    }
