"""How numbers are written: exactly where few decimals suffice, rounded and said so elsewhere."""

import math

import numpy as np
from torch import Tensor

MAX_DECIMALS = 4
LARGE = 1e9
_MINUS = "−"
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def decimals_for(values: Tensor) -> int:
    """The fewest decimals (at most MAX_DECIMALS) that write every value exactly, or MAX_DECIMALS."""
    if not is_exact(values, MAX_DECIMALS - 1):  # as of most: what is exact with fewer is so with more
        return MAX_DECIMALS
    return next(n for n in range(MAX_DECIMALS) if is_exact(values, n))


def is_exact(values: Tensor, decimals: int) -> bool:
    """Whether rounding to this many decimals changes nothing but float64's last bits."""
    numbers = values.numpy(force=True)  # NumPy starts an operation in a tenth of the time
    finite = numbers[np.isfinite(numbers)]
    if finite.size == 0:
        return True
    largest = float(np.abs(finite).max())
    if largest >= LARGE:
        return False
    tolerance = 1e-12 * max(1.0, largest)
    return bool((np.abs(finite - np.round(finite, decimals)) <= tolerance).all())


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


def texts(values: Tensor, decimals: int | None = None) -> list[list[str]]:
    """Every number as it is printed."""
    places = decimals_for(values) if decimals is None else decimals
    return [[written(value, places) for value in row] for row in values.tolist()]


def scientific(value: float) -> tuple[str, int]:
    """Mantissa and power of ten of a finite value."""
    mantissa, exponent = f"{value:.{MAX_DECIMALS}e}".split("e")
    return mantissa, int(exponent)


def compact(value: float, digits: int = 4) -> str:
    """The value with few significant digits, as a power of ten where it is far from 1: −10⁹, 1.192·10⁻⁷, 0.5."""
    if not math.isfinite(value):
        return written(value, 0)
    mantissa, _, exponent = f"{value:.{digits}g}".partition("e")
    if not exponent:
        return mantissa.replace("-", _MINUS)
    sign, factor = (_MINUS if value < 0 else ""), mantissa.removeprefix("-")
    return f"{sign}{'' if factor == '1' else f'{factor}·'}10{str(int(exponent)).translate(_RAISED)}"
