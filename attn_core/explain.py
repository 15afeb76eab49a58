r"""One cell of a lesson → the terms it is made of, their running sum and their total.

The LaTeX comes as short lines for inline math: a reader's screen may break each line after any
operator, so that nothing is cut off on a phone.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from attn_core.attention import AttentionTrace
from attn_core.geometry import cosines
from attn_core.masking import MaskEffect
from attn_core.numbers import LARGE, MAX_DECIMALS, decimals_for, is_exact, scientific, written
from attn_core.palette import NEUTRAL, ROLE_COLORS
from attn_core.positions import BASE, position_angles
from attn_core.shares import head_shares
from attn_core.softmax import SoftmaxTrace
from attn_core.stages import Matrix, Stage, Step, position_sum, stage
from attn_core.thread import Thread

_SMALL = 0.001


_ALL_TERMS_UP_TO = 12
_AT_EACH_END = 4
_TERMS_OF_A_LESSON = 16
_FIRST, _LARGEST = 3, 4
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
class Rest:
    """Terms of a long sum that its lines do not write one by one: how many, and their sum."""

    n: int
    total: float


@dataclass(frozen=True)
class Explanation:
    """How one cell comes about.

    `total` is the cell's exact value (float64): the sum of the terms, unless another was put in by
    hand, which the last line then says. `exact` tells whether `latex` prints it without
    rounding; `latex` holds the lines of the worked example, in which `n_rest` terms are one number, R.
    """

    row: int
    column: int
    terms: tuple[Term, ...]
    total: float
    decimals: int
    exact: bool
    latex: tuple[str, ...]
    n_rest: int = 0


def explain(trace: Thread, step: Step, row: int, column: int) -> Explanation:
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
    name = f"{product.result.entry}_{{{row},{product.result.first_column + column}}}"
    shown = _shortened(product.left.role, terms)
    latex, total = _latex(product, name, shown, decimals, exact, float(running[-1])), running[-1]
    if (row, column) in product.result.edited:
        total = product.result.values[row, column]
        latex = (*latex, rf"{name} := \boldsymbol{{{_number(float(total), decimals_for(total))}}}")
    n_rest = sum(part.n for part in shown if isinstance(part, Rest) and part.total)
    return Explanation(row, column, terms, float(total), decimals, exact, latex, n_rest)


def _latex(
    product: Stage, name: str, shown: tuple[Term | Rest, ...], decimals: int, exact: bool, total: float
) -> tuple[str, ...]:
    """Three lines: the factors, the products, the total."""
    left, right = _FactorStyle(product.left), _FactorStyle(product.right)
    greys = product.left.role in ("one_hot", "pixels")

    def factors(part: Term | Rest) -> str:
        if isinstance(part, Rest):
            return _DOTS if part.total == 0 else f"R_{{{part.n}}}"
        return _greyed(rf"{left(part.left)} \cdot {right(part.right)}", greys and part.left == 0)

    def product_of(part: Term | Rest) -> str:
        if isinstance(part, Rest):
            return _DOTS if part.total == 0 else _signed(part.total, decimals)
        return _greyed(_signed(part.product, decimals), greys and part.left == 0)

    equals = "=" if exact else r"\approx"
    first = "=" if left.exact and right.exact else r"\approx"
    lines = (
        f"{name} {first} {' + '.join(map(factors, shown))}",
        f"{equals} {' + '.join(map(product_of, shown))}",
        rf"{equals} \boldsymbol{{{_number(total, decimals)}}}",
    )
    return lines if len(shown) > 1 else (lines[0], lines[2])


def _shortened(role: str, terms: tuple[Term, ...]) -> tuple[Term | Rest, ...]:
    """The terms as the lines have them: of a long sum those that tell most, and the others as one number."""
    if role not in _KEPT:
        return _first_and_largest(terms)
    kept = _KEPT[role](terms)
    shown: list[Term | Rest] = []
    for is_kept, places in itertools.groupby(range(len(terms)), key=kept.__contains__):
        part = [terms[place] for place in places]
        shown += part if is_kept else [_rest(part)]
    return tuple(shown)


def _rest(terms: Sequence[Term]) -> Rest:
    return Rest(len(terms), math.fsum(term.product for term in terms))


def _first_and_largest(terms: tuple[Term, ...]) -> tuple[Term | Rest, ...]:
    """Of a pretrained model's many terms: the first few, then those that count most in order, then the others."""
    if len(terms) <= _TERMS_OF_A_LESSON:
        return terms
    by_size = sorted(range(_FIRST, len(terms)), key=lambda place: -abs(terms[place].product))
    largest, others = sorted(by_size[:_LARGEST]), sorted(by_size[_LARGEST:])
    return *terms[:_FIRST], *(terms[place] for place in largest), _rest([terms[place] for place in others])


def _around_the_one(terms: tuple[Term, ...]) -> set[int]:
    """Of more than a dozen terms of a one-hot product: both ends, the 1 and its neighbours."""
    if len(terms) <= _ALL_TERMS_UP_TO:
        return set(range(len(terms)))
    return {0, len(terms) - 1} | {i + near for i, term in enumerate(terms) if term.left for near in (-1, 0, 1)}


def _first_and_last(terms: tuple[Term, ...]) -> set[int]:
    """Of more than a dozen terms of a patch: the first and the last few."""
    places = range(len(terms))
    return set(places if len(terms) <= _ALL_TERMS_UP_TO else (*places[:_AT_EACH_END], *places[-_AT_EACH_END:]))


_KEPT: dict[str, Callable[[tuple[Term, ...]], set[int]]] = {
    "one_hot": _around_the_one,
    "pixels": _first_and_last,
}


class _FactorStyle:
    """Writes the factors of one matrix in its colour, at its decimals."""

    def __init__(self, matrix: Matrix) -> None:
        self.role = matrix.role
        self.decimals = decimals_for(matrix.values)
        self.exact = is_exact(matrix.values, self.decimals)

    def __call__(self, value: float) -> str:
        return _colored(_signed(value, self.decimals), self.role)


def explain_scaled(trace: Thread, row: int, column: int) -> tuple[str, ...]:
    """The division of one score by the lesson's divisor, as LaTeX lines."""
    divisor = {"sqrt_d_k": rf"\sqrt{{{trace.d_k}}}", "none": "1", "d_k": str(trace.d_k)}
    return explain_division(trace.attention, row, column, trace.divisor, divisor[trace.scale])


def explain_division(attention: AttentionTrace, row: int, column: int, divisor: float, symbol: str) -> tuple[str, ...]:
    """The same for any attention: the divisor as a number, and as it is written in LaTeX."""
    score, scaled = float(attention.scores[row, column]), float(attention.scaled[row, column])
    fraction = rf"\dfrac{{s_{{{row},{column}}}}}{{{symbol}}}"
    numbers = rf"\dfrac{{{_number(score, decimals_for(attention.scores))}}}{{{_plain(divisor)}}}"
    return (
        rf"{fraction} {_equals(divisor)} {numbers} {_equals(scaled)} \boldsymbol{{{_number(scaled, MAX_DECIMALS)}}}",
    )


def explain_head_size(trace: Thread) -> tuple[str, ...]:
    """How many columns a head has, and what its scores are divided by, as LaTeX lines."""
    size, d_k = trace.q.shape[1], trace.d_k
    root = rf"\sqrt{{d_k}} = \sqrt{{{d_k}}} {_equals(trace.divisor)} \boldsymbol{{{_plain(trace.divisor)}}}"
    divisor = {"sqrt_d_k": root, "none": r"\boldsymbol{1}", "d_k": rf"d_k = \boldsymbol{{{d_k}}}"}
    return (rf"d_k = d_{{\text{{model}}}} / H = {size} / {trace.n_heads} = \boldsymbol{{{d_k}}}", divisor[trace.scale])


def explain_shares(trace: Thread, row: int, column: int) -> tuple[str, ...]:
    """One cell of Y as the sum of the heads' shares of it, as LaTeX lines."""
    shares = head_shares(trace, row).shares[:, column].tolist()
    name = f"{{{row},{column}}}"
    lines = (
        rf"y_{name} = \textstyle\sum_h y^{{(h)}}_{name}",
        rf"\approx {' + '.join(_signed(share, MAX_DECIMALS) for share in shares)}",
        rf"\approx {_bold(float(trace.y[row, column]))}",
    )
    return lines if len(shares) > 1 else (lines[0], lines[2])


def explain_cosine(trace: Thread, row: int, column: int) -> tuple[str, ...]:
    """cos(q, k) = q·k / (‖q‖ ‖k‖) of one pair, as LaTeX lines; a vector of length 0 has no angle, and 0 is taken."""
    query, key = trace.of_head(trace.q)[row], trace.of_head(trace.k)[column]
    cosine = float(cosines(query[None], key[None])[0, 0])
    q, k = _colored("q", "query"), _colored("k", "key")
    numbers = rf"\dfrac{{{_number(float(query @ key), 4)}}}{{{float(query.norm()):.4f} \cdot {float(key.norm()):.4f}}}"
    fraction = rf"\dfrac{{{q} \cdot {k}}}{{\lVert {q} \rVert\, \lVert {k} \rVert}}"
    if 0 in (query.norm(), key.norm()):
        without = q if query.norm() == 0 else k
        return (rf"\lVert {without} \rVert = 0 \;\Rightarrow\; \cos := \boldsymbol{{0}}",)
    return (rf"\cos = {fraction} \approx {numbers} \approx \boldsymbol{{{_number(cosine, 4)}}}",)


def explain_weight(steps: SoftmaxTrace, row: int, column: int) -> tuple[str, ...]:
    """One attention weight: its exponential over the sum of its row's, as LaTeX lines.

    Of a long row the chosen and the largest exponentials are written, and the others as one number, R.
    """
    shifted, exponentials = steps.shifted[row].tolist(), steps.exponentials[row].tolist()
    kept = _largest_exponentials(exponentials, column)
    powers = [rf"e^{{{_number(shifted[place], MAX_DECIMALS)}}}" for place in kept]
    sums = [_positive(exponentials[place]) for place in kept]
    if n_rest := len(exponentials) - len(kept):
        powers.append(f"R_{{{n_rest}}}")
        sums.append(_positive(math.fsum(e for place, e in enumerate(exponentials) if place not in kept)))
    name = rf"a_{{{row},{column}}}"
    total, weight = _positive(float(steps.totals[row, 0])), float(steps.weights[row, column])
    return (
        rf"{name} = e^{{z_{{{row},{column}}}}} \,/\, \textstyle\sum_l e^{{z_{{{row},l}}}}",
        rf"\textstyle\sum_l e^{{z_{{{row},l}}}} \approx {' + '.join(powers)}",
        rf"\approx {' + '.join(sums)} \approx {total}",
        rf"{name} \approx {_positive(exponentials[column])} \,/\, {total} \approx {_bold(weight)}",
    )


def _largest_exponentials(exponentials: list[float], column: int) -> list[int]:
    """The places in a row that are written one by one: all, or of a long row the chosen one and the largest."""
    places = range(len(exponentials))
    if len(places) <= _TERMS_OF_A_LESSON:
        return list(places)
    return sorted({column, *sorted(places, key=lambda place: -exponentials[place])[:_LARGEST]})


def explain_masked_weight(effect: MaskEffect, row: int, column: int) -> tuple[str, ...]:
    """One weight under a mask from its weight without, a*: 0, or a larger share, as LaTeX lines."""
    cell, name = f"{{{row},{column}}}", rf"a_{{{row},{column}}}"
    without, weight = (float(matrix.values[row, column]) for matrix in (effect.without, effect.weights))
    visible, hidden = float(effect.visible[row, 0]), float(effect.hidden[row, 0])
    if effect.weights.hidden is not None and bool(effect.weights.hidden[row, column]):
        score = rf"z_{cell} + m_{cell} = z_{cell} - \infty = -\infty"
        return score, rf"{name} \propto e^{{-\infty}} = \boldsymbol{{0}}"
    if hidden == 0:
        return (rf"{name} = a^{{\ast}}_{cell} \approx {_bold(weight)}",)
    taken = rf"\textstyle\sum_{{l:\,m_{{{row},l}}=-\infty}} a^{{\ast}}_{{{row},l}} \approx {_positive(hidden)}"
    if visible == 0:  # the hidden scores are so far above that nothing is left to divide by
        beside = rf"e^{{z_{cell}}} \,/\, \textstyle\sum_{{l:\,m_{{{row},l}}=0}} e^{{z_{{{row},l}}}}"
        return rf"h_{{{row}}} = {taken}", rf"{name} = {beside} \approx {_bold(weight)}"
    share = rf"\approx {_positive(without)} \,/\, {_positive(visible)}"
    divided = rf"a^{{\ast}}_{cell} \,/\, (1 - h_{{{row}}})"
    return rf"h_{{{row}}} = {taken}", rf"{name} = {divided} {share} \approx {_bold(weight)}"


def explain_position(trace: Thread, kind: str, row: int, column: int) -> tuple[str, ...]:
    """One entry of x + p: the angle and its sine or cosine where p is sinusoidal, then the sum, as LaTeX lines."""
    sequence, cell = trace.asking, f"{{{row},{column}}}"
    parts = torch.stack([values[row, column] for values in (sequence.x, sequence.p, sequence.inputs)])
    x, p, total = parts.tolist()
    before = _sinusoid(len(sequence.x[0]), row, column) if kind == "sinusoidal" else ()
    if kind != "none" and (row, column) in position_sum(trace)[1].edited:
        before = (*before, rf"{_colored(f'p_{cell}', 'embedding')} := {_exactly(p)}")
    places = decimals_for(parts)
    sign = "=" if is_exact(parts, places) else r"\approx"
    name = " + ".join(_colored(f"{letter}_{cell}", "embedding") for letter in "xp")
    numbers = (_number(x, decimals_for(sequence.x)), _signed(p, places))
    added = " + ".join(_colored(number, "embedding") for number in numbers)
    return (*before, rf"{name} {sign} {added} {sign} \boldsymbol{{{_number(total, places)}}}")


def _sinusoid(d_model: int, row: int, column: int) -> tuple[str, ...]:
    """The angle of one entry, and what its sine or cosine is."""
    angle = float(position_angles(row + 1, d_model)[row, column])
    function, value = (r"\sin", math.sin(angle)) if column % 2 == 0 else (r"\cos", math.cos(angle))
    cell, power = f"{{{row},{column}}}", rf"{BASE:.0f}^{{2 \cdot {column // 2} / {d_model}}}"
    return (
        rf"\theta_{cell} = {row} \,/\, {power} {_equals(angle)} {_exactly(angle)}",
        rf"{_colored(f'p_{cell}', 'embedding')} = {function}(\theta_{cell}) {_equals(value)} {_exactly(value)}",
    )


def _exactly(value: float) -> str:
    """With the fewest decimals that are exact, or MAX_DECIMALS; a very small one as a power of ten."""
    return (
        _positive(value)
        if 0 < value < _SMALL
        else _number(value, decimals_for(torch.tensor([value], dtype=torch.float64)))
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
