"""Finite numbers in place of −∞: what becomes of a mask in number types that are too small for it."""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

NumberType = Literal["float64", "float32", "bfloat16", "float16"]
NUMBER_TYPES: tuple[NumberType, ...] = ("float64", "float32", "bfloat16", "float16")
FILLS = (-math.inf, -1e9, -1e4, -100.0, -10.0)
Outcome = Literal["nan", "zeros", "equal", "others"]


@dataclass(frozen=True)
class FillResult:
    """What one number, added to the scores of hidden keys, does in one number type.

    Attributes:
        fill: the number that was meant.
        stored: the number that the type keeps of it.
        gap: from `stored` to the type's next number; a score much smaller than that is lost when it is added.
        hidden_weight: what the hidden keys get, together.
        visible: the row's weights if nothing is hidden.
        blind: the row's weights if every key is hidden.
    """

    fill: float
    stored: float
    gap: float
    hidden_weight: float
    visible: Float[Tensor, " key"]
    blind: Float[Tensor, " key"]

    @property
    def difference(self) -> float:
        """The largest difference between the weights with every key hidden and with none."""
        return float((self.blind - self.visible).abs().max())


def fill_results(
    scaled: Float[Tensor, " key"], hidden: Bool[Tensor, " key"], number_type: NumberType
) -> tuple[FillResult, ...]:
    """Rounds one row of scaled scores to a number type and hides keys by adding each of FILLS to their scores.

    Source: an added −10000 is how BERT's code hides padding (Devlin et al. 2018, arXiv 1810.04805).
    """
    dtype = getattr(torch, number_type)
    row = scaled.to(dtype)
    return tuple(_filled(row, hidden, fill) for fill in FILLS)


def _filled(row: Tensor, hidden: Bool[Tensor, " key"], fill: float) -> FillResult:
    stored = torch.tensor(fill, dtype=row.dtype)
    weights = torch.softmax(torch.where(hidden, row + stored, row), dim=-1).to(torch.float64)
    return FillResult(
        fill=fill,
        stored=float(stored),
        gap=_gap(stored),
        hidden_weight=float(weights[hidden].sum()),
        visible=torch.softmax(row, dim=-1).to(torch.float64),
        blind=torch.softmax(row + stored, dim=-1).to(torch.float64),
    )


def _gap(value: Tensor) -> float:
    """From a number to the next of its type; 0 where there is none, after infinity."""
    if torch.isinf(value):
        return 0.0
    return torch.finfo(value.dtype).eps * 2.0 ** math.floor(math.log2(abs(float(value))))


def outcome(weights: Float[Tensor, " key"]) -> Outcome:
    """What has become of a row that may see nothing."""
    if bool(weights.isnan().any()):
        return "nan"
    if not bool(weights.any()):
        return "zeros"
    return "equal" if bool((weights == weights[0]).all()) else "others"
