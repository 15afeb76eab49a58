"""The stages of a lesson: each is one product of two matrices, left × right = result."""

import dataclasses
from dataclasses import dataclass
from typing import Literal

from jaxtyping import Float
from torch import Tensor

from attn_core.edits import EditedMatrix
from attn_core.geometry import cosines, distances
from attn_core.lesson import LessonTrace
from attn_core.softmax import SoftmaxTrace

Role = Literal["one_hot", "embedding", "query", "key", "value", "weight", "scores"]
Step = Literal["x", "q", "k", "v", "scores", "output"]
STEPS: tuple[Step, ...] = ("x", "q", "k", "v", "scores", "output")


@dataclass(frozen=True)
class Matrix:
    """A matrix with what its symbol, its rows and its columns are called, and the part it plays.

    `symbol` is LaTeX; `entry` is the LaTeX letter of a single entry; `edited` are the cells whose
    number was put in by hand.
    """

    symbol: str
    entry: str
    role: Role
    values: Float[Tensor, "row column"]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    edited: tuple[tuple[int, int], ...] = ()

    @property
    def unit_range(self) -> bool:
        """Whether every entry lies in 0 … 1, and the colours do too."""
        return self.role == "one_hot" or self.symbol == "A"

    @property
    def shape(self) -> str:
        """Rows × columns, as printed."""
        return f"{self.values.shape[0]} × {self.values.shape[1]}"


@dataclass(frozen=True)
class Stage:
    """One product of the numeric thread."""

    step: Step
    left: Matrix
    right: Matrix
    result: Matrix


def stage(trace: LessonTrace, step: Step) -> Stage:
    """The matrices of one step of the lesson.

    Raises:
        ValueError: there is no such step.
    """
    if step not in STEPS:
        raise ValueError(f"step must be one of {', '.join(STEPS)}, got {step!r}")
    if step == "x":
        return Stage(step, _one_hot(trace), _w_e(trace), _x(trace))
    if step in ("q", "k", "v"):
        return Stage(step, _x(trace), _projection(trace, step), _projected(trace, step))
    if step == "scores":
        return Stage(step, _projected(trace, "q"), _transposed(_projected(trace, "k")), _scores(trace))
    return Stage(step, _weights(trace), _projected(trace, "v"), _output(trace))


def similarity_view(trace: LessonTrace, view: Literal["scores", "scaled", "cosine"]) -> Stage:
    """The product Q Kᵀ with its result as it is, after the divisor, or as cosines.

    Raises:
        ValueError: there is no such view.
    """
    if view not in ("scores", "scaled", "cosine"):
        raise ValueError(f"view must be scores, scaled or cosine, got {view!r}")
    product = stage(trace, "scores")
    if view == "scores":
        return product
    values = trace.attention.scaled if view == "scaled" else cosines(trace.q, trace.k)
    scaled = {"sqrt_d_k": r"S / \sqrt{d_k}", "none": "S / 1", "d_k": "S / d_k"}[trace.lesson.scale]
    symbol = scaled if view == "scaled" else r"\cos(q, k)"
    return dataclasses.replace(product, result=dataclasses.replace(product.result, symbol=symbol, values=values))


def thread(trace: LessonTrace) -> tuple[Matrix, ...]:
    """Every matrix of the lesson in order: one-hot, X, Q, K, V, S, S over its divisor, A, O."""
    return (
        _one_hot(trace),
        _x(trace),
        *(_projected(trace, step) for step in ("q", "k", "v")),
        _scores(trace),
        similarity_view(trace, "scaled").result,
        _weights(trace),
        _output(trace),
    )


def _dimensions(letter: str, size: int) -> tuple[str, ...]:
    return tuple(f"{letter}{index}" for index in range(size))


def _one_hot(trace: LessonTrace) -> Matrix:
    return Matrix(r"\text{one-hot}", "v", "one_hot", trace.one_hot, trace.tokens, trace.vocabulary.words)


def _w_e(trace: LessonTrace) -> Matrix:
    columns = _dimensions("x", trace.lesson.d_model)
    return Matrix("W_E", "w", "weight", trace.w_e, trace.vocabulary.words, columns, _edited(trace, "W_E"))


def _x(trace: LessonTrace) -> Matrix:
    columns = _dimensions("x", trace.lesson.d_model)
    return Matrix("X", "x", "embedding", trace.x, trace.tokens, columns, _edited(trace, "x"))


def _projection(trace: LessonTrace, step: Literal["q", "k", "v"]) -> Matrix:
    size = trace.lesson.d_model
    names: dict[str, EditedMatrix] = {"q": "W_Q", "k": "W_K", "v": "W_V"}
    name, values = names[step], {"q": trace.w_q, "k": trace.w_k, "v": trace.w_v}[step]
    return Matrix(name, "w", "weight", values, _dimensions("x", size), _dimensions(step, size), _edited(trace, name))


def editable_matrix(trace: LessonTrace, name: EditedMatrix) -> Matrix:
    """The matrix that edits of this name change."""
    if name in ("W_E", "x"):
        return _w_e(trace) if name == "W_E" else _x(trace)
    steps: dict[str, Literal["q", "k", "v"]] = {"W_Q": "q", "W_K": "k", "W_V": "v"}
    return _projection(trace, steps[name])


def _edited(trace: LessonTrace, name: EditedMatrix) -> tuple[tuple[int, int], ...]:
    return tuple((edit.row, edit.column) for edit in trace.lesson.edits if edit.matrix == name)


def _projected(trace: LessonTrace, step: str) -> Matrix:
    values = {"q": trace.q, "k": trace.k, "v": trace.v}[step]
    roles: dict[str, Role] = {"q": "query", "k": "key", "v": "value"}
    return Matrix(step.upper(), step, roles[step], values, trace.tokens, _dimensions(step, trace.lesson.d_model))


def _transposed(matrix: Matrix) -> Matrix:
    return Matrix(rf"{matrix.symbol}^{{\top}}", matrix.entry, matrix.role, matrix.values.T, matrix.columns, matrix.rows)


def _scores(trace: LessonTrace) -> Matrix:
    return Matrix("S", "s", "scores", trace.attention.scores, trace.tokens, trace.tokens)


def _weights(trace: LessonTrace) -> Matrix:
    return Matrix("A", "a", "scores", trace.attention.weights, trace.tokens, trace.tokens)


def _output(trace: LessonTrace) -> Matrix:
    return Matrix("O", "o", "value", trace.output, trace.tokens, _dimensions("v", trace.lesson.d_model))


def neighbouring_cell(shape: tuple[int, int], row: int, column: int, by: int) -> tuple[int, int]:
    """The cell `by` steps on in reading order; after the last comes the first."""
    rows, columns = shape
    return divmod((row * columns + column + by) % (rows * columns), columns)


def pairwise(
    values: Float[Tensor, "token size"], tokens: tuple[str, ...], measure: Literal["distance", "cosine"], symbol: str
) -> Matrix:
    """How far apart, or how alike in direction, each pair of tokens is."""
    matrix = distances(values) if measure == "distance" else cosines(values, values)
    return Matrix(symbol, "d", "embedding" if measure == "distance" else "scores", matrix, tokens, tokens)


def softmax_matrices(trace: LessonTrace, steps: SoftmaxTrace) -> tuple[Matrix, Matrix, Matrix]:
    """What goes into the exponential, the exponentials, and the weights, each query × key."""

    def matrix(symbol: str, values: Tensor) -> Matrix:
        return Matrix(symbol, symbol, "scores", values, trace.tokens, trace.tokens)

    return matrix("z", steps.shifted), matrix("e^z", steps.exponentials), matrix("A", steps.weights)
