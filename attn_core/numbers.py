"""How numbers are written: exactly where few decimals suffice, rounded and said so elsewhere."""

import math

import torch
from torch import Tensor

MAX_DECIMALS = 4
LARGE = 1e9
_MINUS = "−"
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def decimals_for(values: Tensor) -> int:
    """The fewest decimals (at most MAX_DECIMALS) that write every value exactly, or MAX_DECIMALS."""
    return next((n for n in range(MAX_DECIMALS) if is_exact(values, n)), MAX_DECIMALS)


def is_exact(values: Tensor, decimals: int) -> bool:
    """Whether rounding to this many decimals changes nothing but float64's last bits."""
    finite = values[torch.isfinite(values)]
    if finite.numel() == 0:
        return True
    largest = float(finite.abs().max())
    if largest >= LARGE:
        return False
    tolerance = 1e-12 * max(1.0, largest)
    return bool(((finite - torch.round(finite, decimals=decimals)).abs() <= tolerance).all())


def written(value: float, decimals: int) -> str:
    """The value with a true minus sign, no minus before a zero, and ∞ or NaN by name.

    From LARGE on it is written with a power of ten: digits that no one reads fit into no cell.
    """
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "∞" if value > 0 else f"{_MINUS}∞"
    if abs(value) >= LARGE:
        mantissa, exponent = scientific(value)
        return f"{mantissa}·10{str(exponent).translate(_RAISED)}".replace("-", _MINUS)
    text = f"{value:.{decimals}f}"
    if float(text) == 0:
        text = text.removeprefix("-")
    return text.replace("-", _MINUS)


def scientific(value: float) -> tuple[str, int]:
    """Mantissa and power of ten of a finite value."""
    mantissa, exponent = f"{value:.{MAX_DECIMALS}e}".split("e")
    return mantissa, int(exponent)
