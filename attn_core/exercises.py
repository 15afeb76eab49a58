"""Exercises: numeric questions made from a lesson, each with its answer and its worked solution."""

import dataclasses
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from attn_core.explain import explain, explain_head_size, explain_position, explain_scaled, explain_weight
from attn_core.laws import Entries, theory
from attn_core.lesson import LessonTrace
from attn_core.limits import MAX_SEED
from attn_core.links import Linked, Whole, linked
from attn_core.numbers import LARGE, decimals_for, is_exact, written
from attn_core.scaling import divisor_value
from attn_core.softmax import SoftmaxSettings, softmax_steps
from attn_core.stages import Matrix, Stage, Step, position_sum, similarity_view, stage

Kind = Literal[
    "one_hot",
    "embedding",
    "position",
    "query",
    "head_size",
    "score",
    "scaled",
    "visible",
    "exponential",
    "weight",
    "output",
    "y",
    "variance",
    "divisor",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
# The questions that are one cell of a matrix product, and the stage it belongs to.
PRODUCTS: dict[Kind, Step] = {"embedding": "x", "query": "q", "score": "scores", "output": "output", "y": "y"}

_ROUNDED = (3, 2)
_MOST_TRIES = 64
_D_KS = (2, 4, 8, 16, 32, 64, 128, 256, 512)
_MEANS = (0.5, 1.0, 1.5, 2.0)
_CENTRED: tuple[Entries, ...] = ("normal", "uniform", "signs")

Read = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class ExerciseSettings(Linked):
    """Which cells and sizes are asked about, and which question is shown (from 0)."""

    exercise_seed: int = linked(0, Whole(0, MAX_SEED))
    question: int = linked(0, Whole(0, len(KINDS) - 1))


@dataclass(frozen=True)
class Cell:
    """The row and the column a question asks about."""

    row: int
    column: int


@dataclass(frozen=True)
class Law:
    """The size of q and k and the law of their entries; `mean` is μ, 0 where the law has no mean of its own."""

    d_k: int
    entries: Entries
    mean: float = 0.0


@dataclass(frozen=True)
class Split:
    """How many columns are shared among how many heads."""

    d_model: int
    n_heads: int


@dataclass(frozen=True)
class Exercise:
    """One question.

    Attributes:
        kind: what is asked.
        about: the cell, or the sizes, it is asked of.
        answer: the exact answer (float64).
        decimals: how many decimals of it are asked for.
        solution: the worked solution as lines of LaTeX.
    """

    kind: Kind
    about: Cell | Law | Split
    answer: float
    decimals: int
    solution: tuple[str, ...]

    @property
    def tolerance(self) -> float:
        """Half a unit in the last decimal asked for; a whole number must be met exactly."""
        return 0.5 * 10**-self.decimals if self.decimals else 0.0

    @property
    def rounded(self) -> float:
        """The answer at the decimals asked for."""
        return round(self.answer, self.decimals) + 0.0

    @property
    def printed(self) -> str:
        """The answer as it is printed."""
        return written(self.answer, self.decimals)


def exercises(trace: LessonTrace, settings: ExerciseSettings) -> tuple[Exercise, ...]:
    """One question of each kind; the seed chooses the cells and the sizes.

    Each kind has a random stream of its own. A kind is left out where the lesson does not have the part it asks
    about, and where no cell can be asked about (numbers put in by hand may be so large that what is printed does
    not give the answer). Scores, weights and outputs are those of the chosen head.
    """
    made = (_exercise(kind, trace, random.Random(f"{settings.exercise_seed}/{kind}")) for kind in _kinds(trace))
    return tuple(exercise for exercise in made if exercise is not None)


def _kinds(trace: LessonTrace) -> Iterator[Kind]:
    """The kinds of questions that the lesson has the parts for."""
    several = trace.n_heads > 1
    needed = {"position": trace.has_positions, "visible": trace.is_masked, "head_size": several, "y": several}
    return (kind for kind in KINDS if needed.get(kind, True))


def is_right(exercise: Exercise, given: float) -> bool:
    """Whether the given number is within the tolerance; float64's last bits do not count."""
    slack = 1e-12 * max(1.0, abs(exercise.answer))
    return abs(given - exercise.answer) <= exercise.tolerance + slack


def _exercise(kind: Kind, trace: LessonTrace, chance: random.Random) -> Exercise | None:
    if kind in ("variance", "divisor"):
        return _variance(chance) if kind == "variance" else _divisor(chance)
    if kind in ("one_hot", "visible"):
        row = chance.randrange(len(trace.tokens))
        return _one_hot(trace, row) if kind == "one_hot" else _visible(trace, row)
    if kind == "head_size":
        return _head_size(trace)
    asked = _asked(kind, trace)
    cells = _cells(asked, chance)
    if kind == "weight":
        cells.sort(key=lambda cell: not _is_renewed(trace, cell.row))
    return next((found for cell in cells if (found := _cell(kind, trace, asked, cell)) is not None), None)


def _cells(asked: Matrix, chance: random.Random) -> list[Cell]:
    """Cells in random order, none of a key that its query may not attend to."""
    n_columns, n_cells = len(asked.columns), len(asked.rows) * len(asked.columns)
    places = chance.sample(range(n_cells), min(n_cells, _MOST_TRIES))
    cells = [Cell(*divmod(place, n_columns)) for place in places]
    return [cell for cell in cells if asked.hidden is None or not asked.hidden[cell.row, cell.column]]


def _is_renewed(trace: LessonTrace, row: int) -> bool:
    """Whether the mask shares out the weights of a query anew: some of its keys are hidden, and two are not."""
    return hides_a_key(trace, row) and int(trace.mask[row].sum()) >= 2


def hides_a_key(trace: LessonTrace, row: int) -> bool:
    """Whether the mask hides any key from the query."""
    return not bool(trace.mask[row].all())


def _one_hot(trace: LessonTrace, row: int) -> Exercise:
    place = trace.ids[row]
    solution = (
        rf"v_{{{row},{place}}} = 1, \quad v_{{{row},m}} = 0 \;\; (m \neq {place})",
        rf"\textstyle\sum_m m \cdot v_{{{row},m}} = \boldsymbol{{{place}}}",
    )
    return Exercise("one_hot", Cell(row, place), float(place), 0, solution)


def _visible(trace: LessonTrace, row: int) -> Exercise:
    """How many keys a query may attend to; the cell is the last of them."""
    seen = trace.mask[row].int().tolist()
    terms = " + ".join(map(str, seen))
    solution = (rf"\#\{{\,j : m_{{{row},j}} = 0\,\}} = {terms} = \boldsymbol{{{sum(seen)}}}",)
    last = max(key for key, one in enumerate(seen) if one)
    return Exercise("visible", Cell(row, last), float(sum(seen)), 0, solution)


def _head_size(trace: LessonTrace) -> Exercise:
    split = Split(trace.q.shape[-1], trace.n_heads)
    return Exercise("head_size", split, float(trace.d_k), 0, explain_head_size(trace)[:1])


def _variance(chance: random.Random) -> Exercise:
    """Var(q·k) = d_k Var(q_m k_m); with a mean μ, (1 + μ²)² − μ⁴ = 1 + 2μ² stands for the last factor."""
    d_k, entries = chance.choice(_D_KS), chance.choice((*_CENTRED, "shifted"))
    law = Law(d_k, entries, chance.choice(_MEANS) if entries == "shifted" else 0.0)
    answer = theory(d_k, entries, law.mean).variance
    one = theory(1, entries, law.mean).variance
    steps = rf"= (1 + \mu^2)^2 - \mu^4 = 1 + 2 \cdot {law.mean:g}^2" if entries == "shifted" else r"= 1 \cdot 1"
    solution = (
        rf"\mathrm{{Var}}(q_m k_m) {steps} = {one:g}",
        rf"\mathrm{{Var}}(q \cdot k) = {d_k} \cdot {one:g} = \boldsymbol{{{answer:g}}}",
    )
    return Exercise("variance", law, answer, decimals_for(_one(answer)), solution)


def _divisor(chance: random.Random) -> Exercise:
    """Vaswani et al. 2017 (arXiv 1706.03762), footnote 4: q·k has variance d_k, so √d_k brings it to 1."""
    law = Law(chance.choice(_D_KS), chance.choice(_CENTRED))
    answer = divisor_value("sqrt_d_k", law.d_k)
    whole = is_exact(_one(answer), 0)
    decimals = 0 if whole else _ROUNDED[0]
    equals = "=" if whole else r"\approx"
    solution = (
        rf"\mathrm{{Var}}\!\left(\dfrac{{q \cdot k}}{{c}}\right) = \dfrac{{{law.d_k}}}{{c^2}} = 1",
        rf"c = \sqrt{{d_k}} = \sqrt{{{law.d_k}}} {equals} \boldsymbol{{{written(answer, decimals)}}}",
    )
    return Exercise("divisor", law, answer, decimals, solution)


def _cell(kind: Kind, trace: LessonTrace, asked: Matrix, cell: Cell) -> Exercise | None:
    """The question about one cell, if the printed numbers lead to its answer."""
    answer = _value(kind, trace, cell, lambda values: values)
    by_hand = _value(kind, trace, cell, printed)
    exercise = Exercise(kind, cell, answer, 0, ())
    for decimals in _decimals(asked.values):
        exercise = dataclasses.replace(exercise, decimals=decimals)
        says_something = decimals not in _ROUNDED or abs(answer) > exercise.tolerance
        if abs(answer) < LARGE and says_something and is_right(exercise, round(by_hand, decimals)):
            return dataclasses.replace(exercise, solution=_solution(kind, trace, cell))
    return None


def _decimals(values: Float[Tensor, "row column"]) -> Iterator[int]:
    """As many as write the matrix exactly; else 3, or 2 where the rounding of what is given would show."""
    decimals = decimals_for(values)
    yield from (decimals,) if is_exact(values, decimals) else _ROUNDED


def printed(values: Tensor) -> Tensor:
    """The numbers as the pictures print them; NaN for those written with a power of ten."""
    rounded = torch.round(values, decimals=decimals_for(values))
    return torch.where(values.isfinite() & (values.abs() >= LARGE), torch.nan, rounded)


def _value(kind: Kind, trace: LessonTrace, cell: Cell, read: Read) -> float:
    """The cell from the matrices before it, exactly or as they are read."""
    if kind in PRODUCTS:
        product = stage(trace, PRODUCTS[kind])
        return float(read(product.left.values)[cell.row] @ read(product.right.values)[:, cell.column])
    if kind == "position":
        return sum(float(read(part.values)[cell.row, cell.column]) for part in position_sum(trace)[:2])
    if kind == "scaled":
        return float(read(trace.attention.scores)[cell.row, cell.column]) / trace.divisor
    logits = read(trace.attention.masked)[cell.row]
    return float((logits.exp() if kind == "exponential" else logits.softmax(dim=-1))[cell.column])


def _asked(kind: Kind, trace: LessonTrace) -> Matrix:
    """The matrix of which one cell is asked."""
    if kind in PRODUCTS:
        return stage(trace, PRODUCTS[kind]).result
    if kind == "position":
        return position_sum(trace)[2]
    if kind == "scaled":
        return similarity_view(trace, "scaled").result
    if kind == "exponential":
        return dataclasses.replace(_logits(trace), values=trace.attention.masked.exp())
    return stage(trace, "output").left


def _logits(trace: LessonTrace) -> Matrix:
    """What goes into softmax."""
    scaled = similarity_view(trace, "scaled").result
    return dataclasses.replace(scaled, symbol="z", entry="z", values=trace.attention.masked)


def _solution(kind: Kind, trace: LessonTrace, cell: Cell) -> tuple[str, ...]:
    row, column = cell.row, cell.column
    if kind in PRODUCTS:
        return explain(trace, PRODUCTS[kind], row, column).latex
    if kind == "position":
        return explain_position(trace, trace.lesson.positions, row, column)
    if kind == "scaled":
        return explain_scaled(trace, row, column)
    steps = softmax_steps(trace.attention.masked, SoftmaxSettings(subtract_maximum=kind == "weight"))
    if kind == "weight":
        return explain_weight(steps, row, column)
    power, result = float(steps.logits[row, column]), float(steps.exponentials[row, column])
    return (rf"e^{{z_{{{row},{column}}}}} = e^{{{_latex(power)}}} \approx \boldsymbol{{{_latex(result)}}}",)


def _latex(value: float) -> str:
    return written(value, 4).replace("−", "-")


def _one(value: float) -> Float[Tensor, "1"]:
    return torch.tensor([value], dtype=torch.float64)


def given(trace: LessonTrace, exercise: Exercise, *, solved: bool) -> Stage | Matrix | None:
    """The picture a cell is worked out from: a product, its result empty until solved, or one matrix.

    A mask with a rule is shown when its question is solved, a drawn one at once.
    """
    if exercise.kind in PRODUCTS:
        product = stage(trace, PRODUCTS[exercise.kind])
        empty = dataclasses.replace(product.result, values=torch.full_like(product.result.values, torch.nan))
        return product if solved else dataclasses.replace(product, result=empty)
    if exercise.kind == "visible":
        return _logits(trace) if solved or trace.lesson.mask == "drawn" else None
    matrices = {
        "position": lambda: position_sum(trace)[1],
        "scaled": lambda: stage(trace, "scores").result,
        "exponential": lambda: _logits(trace),
        "weight": lambda: _logits(trace),
    }
    return matrices[exercise.kind]() if exercise.kind in matrices else None


def given_numbers(trace: LessonTrace, exercise: Exercise) -> dict[str, tuple[str, ...] | tuple[float, ...]]:
    """The numbers a cell is worked out from, as printed: labels under "", then one column per letter."""
    picture, about = given(trace, exercise, solved=True), exercise.about
    if picture is None or not isinstance(about, Cell) or exercise.kind == "visible":
        return {}
    if isinstance(picture, Stage):
        left, right = printed(picture.left.values)[about.row], printed(picture.right.values)[:, about.column]
        letters = (picture.left.entry, picture.right.entry)
        return {"": picture.left.columns, letters[0]: tuple(left.tolist()), letters[1]: tuple(right.tolist())}
    if exercise.kind == "position":
        x, p = (printed(part.values)[about.row].tolist() for part in position_sum(trace)[:2])
        return {"": picture.columns, "x": tuple(x), "p": tuple(p)}
    row = printed(picture.values)[about.row].tolist()
    if exercise.kind == "weight":
        return {"": picture.columns, picture.entry: tuple(row)}
    return {"": (picture.columns[about.column],), picture.entry: (row[about.column],)}
