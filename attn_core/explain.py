r"""One cell of a lesson → the terms it is made of, their running sum and their total.

The LaTeX comes as short lines for inline math: a reader's screen may break each line after any
operator, so that nothing is cut off on a phone.
"""

import math
from dataclasses import dataclass

import torch

from attn_core.geometry import cosines
from attn_core.lesson import LessonTrace
from attn_core.numbers import LARGE, MAX_DECIMALS, decimals_for, is_exact, scientific, written
from attn_core.palette import NEUTRAL, ROLE_COLORS
from attn_core.softmax import SoftmaxTrace
from attn_core.stages import Matrix, Stage, Step, stage

_SMALL = 0.001


_ALL_TERMS_UP_TO = 12
_DOTS = rf"\textcolor{{{NEUTRAL}}}{{\cdots}}"


@dataclass(frozen=True)
class Term:
    """One product of a sum: left · right, and the sum up to and including it."""

    label: str
    left: float
    right: float
    product: float
    running: float


@dataclass(frozen=True)
class Explanation:
    """How one cell comes about.

    `total` is the cell's exact value (float64): the sum of the terms, unless another was put in by
    hand, which the last line then says. `exact` tells whether `latex` prints it without
    rounding; `latex` holds the lines of the worked example.
    """

    row: int
    column: int
    terms: tuple[Term, ...]
    total: float
    decimals: int
    exact: bool
    latex: tuple[str, ...]


def explain(trace: LessonTrace, step: Step, row: int, column: int) -> Explanation:
    """The inner product behind one cell of x, q, k, v, scores or output.

    Raises:
        ValueError: unknown step.
        IndexError: there is no such cell.
    """
    return explain_product(stage(trace, step), row, column)


def explain_product(product: Stage, row: int, column: int) -> Explanation:
    """The same for any stage."""
    left, right = product.left.values, product.right.values
    n_rows, n_columns = left.shape[0], right.shape[1]
    if not (0 <= row < n_rows and 0 <= column < n_columns):
        raise IndexError(f"cell ({row}, {column}) is outside {n_rows} × {n_columns}")
    products = left[row] * right[:, column]
    running = products.cumsum(0)
    terms = tuple(
        Term(label, float(a), float(b), float(ab), float(total))
        for label, a, b, ab, total in zip(
            product.left.columns, left[row], right[:, column], products, running, strict=True
        )
    )
    decimals = decimals_for(products)
    exact = is_exact(products, decimals)
    name = f"{product.result.entry}_{{{row},{column}}}"
    latex, total = _latex(product, name, terms, decimals, exact), running[-1]
    if (row, column) in product.result.edited:
        total = product.result.values[row, column]
        latex = (*latex, rf"{name} := \boldsymbol{{{_number(float(total), decimals_for(total))}}}")
    return Explanation(row, column, terms, float(total), decimals, exact, latex)


def _latex(product: Stage, name: str, terms: tuple[Term, ...], decimals: int, exact: bool) -> tuple[str, ...]:
    """Three lines: the factors, the products, the total."""
    left, right = _FactorStyle(product.left), _FactorStyle(product.right)
    selects = product.left.role == "one_hot"
    shown = _without_long_runs_of_zeros(terms) if selects else terms
    factors = [
        _greyed(rf"{left(t.left)} \cdot {right(t.right)}", selects and t.left == 0) if t else _DOTS for t in shown
    ]
    products = [_greyed(_signed(t.product, decimals), selects and t.left == 0) if t else _DOTS for t in shown]
    equals = "=" if exact else r"\approx"
    total = rf"\boldsymbol{{{_number(terms[-1].running, decimals)}}}"
    first = "=" if left.exact and right.exact else r"\approx"
    lines = (f"{name} {first} {' + '.join(factors)}", f"{equals} {' + '.join(products)}", f"{equals} {total}")
    return lines if len(terms) > 1 else (lines[0], lines[2])


def _without_long_runs_of_zeros(terms: tuple[Term, ...]) -> list[Term | None]:
    """The terms of a one-hot product; of more than a dozen, a None stands for zeros far from the 1 and the ends."""
    if len(terms) <= _ALL_TERMS_UP_TO:
        return list(terms)
    kept = {0, len(terms) - 1} | {i + near for i, term in enumerate(terms) if term.left for near in (-1, 0, 1)}
    shown = [term if index in kept else None for index, term in enumerate(terms)]
    return [term for index, term in enumerate(shown) if term or index == 0 or shown[index - 1]]


class _FactorStyle:
    """Writes the factors of one matrix in its colour, at its decimals."""

    def __init__(self, matrix: Matrix) -> None:
        self.role = matrix.role
        self.decimals = decimals_for(matrix.values)
        self.exact = is_exact(matrix.values, self.decimals)

    def __call__(self, value: float) -> str:
        return _colored(_signed(value, self.decimals), self.role)


def explain_scaled(trace: LessonTrace, row: int, column: int) -> tuple[str, ...]:
    """The division of one score by the lesson's divisor, as LaTeX lines."""
    score = float(trace.attention.scores[row, column])
    scaled = float(trace.attention.scaled[row, column])
    decimals = decimals_for(trace.attention.scores)
    divisor = {"sqrt_d_k": rf"\sqrt{{{trace.lesson.d_model}}}", "none": "1", "d_k": str(trace.lesson.d_model)}
    fraction = rf"\dfrac{{s_{{{row},{column}}}}}{{{divisor[trace.lesson.scale]}}}"
    numbers = rf"\dfrac{{{_number(score, decimals)}}}{{{_plain(trace.lesson.divisor)}}}"
    divides = _equals(trace.lesson.divisor)
    return (rf"{fraction} {divides} {numbers} {_equals(scaled)} \boldsymbol{{{_number(scaled, MAX_DECIMALS)}}}",)


def explain_cosine(trace: LessonTrace, row: int, column: int) -> tuple[str, ...]:
    """cos(q, k) = q·k / (‖q‖ ‖k‖) of one pair, as LaTeX lines; a vector of length 0 has no angle, and 0 is taken."""
    query, key = trace.q[row], trace.k[column]
    cosine = float(cosines(trace.q, trace.k)[row, column])
    q, k = _colored("q", "query"), _colored("k", "key")
    numbers = rf"\dfrac{{{_number(float(query @ key), 4)}}}{{{float(query.norm()):.4f} \cdot {float(key.norm()):.4f}}}"
    fraction = rf"\dfrac{{{q} \cdot {k}}}{{\lVert {q} \rVert\, \lVert {k} \rVert}}"
    if 0 in (query.norm(), key.norm()):
        without = q if query.norm() == 0 else k
        return (rf"\lVert {without} \rVert = 0 \;\Rightarrow\; \cos := \boldsymbol{{0}}",)
    return (rf"\cos = {fraction} \approx {numbers} \approx \boldsymbol{{{_number(cosine, 4)}}}",)


def explain_weight(steps: SoftmaxTrace, row: int, column: int) -> tuple[str, ...]:
    """One attention weight: its exponential over the sum of its row's, as LaTeX lines."""
    shifted, exponentials = steps.shifted[row].tolist(), steps.exponentials[row].tolist()
    powers = [rf"e^{{{_number(value, MAX_DECIMALS)}}}" for value in shifted]
    sums = [_positive(value) for value in exponentials]
    name = rf"a_{{{row},{column}}}"
    total, weight = _positive(float(steps.totals[row, 0])), float(steps.weights[row, column])
    return (
        rf"{name} = e^{{z_{{{row},{column}}}}} \,/\, \textstyle\sum_l e^{{z_{{{row},l}}}}",
        rf"\textstyle\sum_l e^{{z_{{{row},l}}}} \approx {' + '.join(powers)}",
        rf"\approx {' + '.join(sums)} \approx {total}",
        rf"{name} \approx {sums[column]} \,/\, {total} \approx {_bold(weight)}",
    )


def _equals(value: float) -> str:
    """= where MAX_DECIMALS write the value exactly, else ≈."""
    return "=" if is_exact(torch.tensor([value], dtype=torch.float64), MAX_DECIMALS) else r"\approx"


def _positive(value: float) -> str:
    """An exponential or a sum of them: one too small for MAX_DECIMALS as a power of ten, so that none reads 0 / 0."""
    return _power_of_ten(value) if 0 < value < _SMALL else _number(value, MAX_DECIMALS)


def _power_of_ten(value: float) -> str:
    mantissa, exponent = scientific(value)
    return rf"{mantissa} \cdot 10^{{{exponent}}}"


def _bold(value: float) -> str:
    return rf"\boldsymbol{{{_number(value, MAX_DECIMALS)}}}"


def _colored(latex: str, role: str) -> str:
    """In the colour of its role; what has none keeps the text's colour."""
    color = ROLE_COLORS[role]
    return latex if color == NEUTRAL else rf"\textcolor{{{color}}}{{{latex}}}"


def _plain(value: float) -> str:
    """A divisor: whole if it is whole, else four decimals."""
    return str(int(value)) if math.isclose(value, round(value)) else f"{value:.{MAX_DECIMALS}f}"


def _number(value: float, decimals: int) -> str:
    if LARGE <= abs(value) < math.inf:
        return _power_of_ten(value)
    return written(value, decimals).replace("−", "-").replace("∞", r"\infty").replace("NaN", r"\text{NaN}")


def _signed(value: float, decimals: int) -> str:
    text = _number(value, decimals)
    return f"({text})" if text.startswith("-") else text


def _greyed(latex: str, grey: bool) -> str:
    if not grey:
        return latex
    return rf"\textcolor{{{NEUTRAL}}}{{{latex}}}"
