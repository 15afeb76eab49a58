"""The stages of a thread: each is one product of two matrices, left × right = result.

With several heads the matrices of the chosen head carry its number: Q is all heads' queries side by
side, Q_1 those of head 1.
"""

import dataclasses
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from jaxtyping import Bool, Float
from torch import Tensor

from attn_core.edits import EditedMatrix
from attn_core.geometry import cosines, distances
from attn_core.numbers import texts
from attn_core.softmax import SoftmaxTrace
from attn_core.thread import EmbeddedSequence, Thread

Role = Literal["one_hot", "pixels", "embedding", "query", "key", "value", "weight", "scores", "weights"]
Step = Literal["x", "q", "k", "v", "scores", "output", "y"]
STEPS: tuple[Step, ...] = ("x", "q", "k", "v", "scores", "output", "y")
View = Literal["scores", "scaled", "masked", "cosine"]
VIEWS: tuple[View, ...] = ("scores", "scaled", "masked", "cosine")
THREAD_STEPS = (
    "one_hot",
    "x",
    "inputs",
    "second",
    "q",
    "k",
    "v",
    "scores",
    "scaled",
    "masked",
    "weights",
    "output",
    "joined",
    "y",
)


@dataclass(frozen=True)
class Matrix:
    """A matrix with what its symbol, its rows and its columns are called, and the part it plays.

    `symbol` is LaTeX; `entry` is the LaTeX letter of a single entry; `edited` are the cells whose
    number was put in by hand; `hidden` is True where a mask hides a key from a query.
    `first_column` is the number of the first column: a head's columns keep their numbers in the whole.
    """

    symbol: str
    entry: str
    role: Role
    values: Float[Tensor, "row column"]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    edited: tuple[tuple[int, int], ...] = ()
    hidden: Bool[Tensor, "row column"] | None = None
    first_column: int = 0

    @functools.cached_property
    def texts(self) -> list[list[str]]:
        """Every number as it is printed."""
        return texts(self.values)

    @property
    def unit_range(self) -> bool:
        """Whether every entry lies in 0 … 1, and the colours do too."""
        return self.role in ("one_hot", "pixels", "weights")

    @property
    def shape(self) -> str:
        """Rows × columns, as printed."""
        return f"{self.values.shape[0]} × {self.values.shape[1]}"


@dataclass(frozen=True)
class Parts:
    """How the summed index of a product falls into equal parts: their LaTeX names, and which one is chosen."""

    names: tuple[str, ...]
    chosen: int


@dataclass(frozen=True)
class Stage:
    """One product of the numeric thread; `parts` are the heads where several are joined."""

    step: Step
    left: Matrix
    right: Matrix
    result: Matrix
    parts: Parts | None = None


def stage(trace: Thread, step: Step) -> Stage:
    """The matrices of one step; scores and output are the chosen head's.

    Raises:
        ValueError: there is no such step.
    """
    if step not in STEPS:
        raise ValueError(f"step must be one of {', '.join(STEPS)}, got {step!r}")
    if step == "x":
        return Stage(step, _entries(trace), _w_e(trace), _x(trace))
    if step in ("q", "k", "v"):
        return Stage(step, _inputs(trace, step), _projection(trace, step), _projected(trace, step))
    if step == "scores":
        key = _of_head(trace, _projected(trace, "k"))
        return Stage(step, _of_head(trace, _projected(trace, "q")), _transposed(key), _scores(trace))
    if step == "output":
        return Stage(step, _weights(trace), _of_head(trace, _projected(trace, "v")), _output(trace))
    heads = tuple(_numbered(trace.with_head(head), "O") for head in range(trace.n_heads))
    parts = Parts(heads, trace.head) if trace.n_heads > 1 else None
    return Stage(step, _joined(trace), _w_o(trace), _y(trace), parts)


def heads_weights(trace: Thread) -> tuple[Matrix, ...]:
    """The weights of every head."""
    return tuple(_weights(trace.with_head(head)) for head in range(trace.n_heads))


def share_stage(trace: Thread) -> Stage:
    """The chosen head's share of Y: its outputs times its own rows of W_O."""
    left, right = _of_head(trace, _joined(trace)), _w_o(trace)
    inside, mark = trace.head_columns, f"^{{({trace.head})}}"
    rows = slice(inside.start, inside.stop)
    right = dataclasses.replace(right, symbol=f"W_O{mark}", values=right.values[rows], rows=right.rows[rows], edited=())
    result = dataclasses.replace(_y(trace), symbol=f"Y{mark}", entry=f"y{mark}", values=left.values @ right.values)
    return Stage("y", left, right, result)


def similarity_view(trace: Thread, view: View) -> Stage:
    """The product Q Kᵀ with its result as it is, after the divisor, after the mask, or as cosines.

    Raises:
        ValueError: there is no such view.
    """
    if view not in VIEWS:
        raise ValueError(f"view must be one of {', '.join(VIEWS)}, got {view!r}")
    product = stage(trace, "scores")
    if view == "scores":
        return product
    return dataclasses.replace(product, result=_viewed(trace, product.result, view))


def _viewed(trace: Thread, scores: Matrix, view: View) -> Matrix:
    """The matrix of scores as `view` shows it."""
    over = {"sqrt_d_k": r"\sqrt{d_k}", "none": "1", "d_k": "d_k"}[trace.scale]
    symbol, values = {
        "scaled": (f"{scores.symbol} / {over}", trace.attention.scaled),
        "masked": (rf"{scores.symbol} / {over},\ \text{{masked}}", trace.attention.masked),
        "cosine": (r"\cos(q, k)", cosines(trace.of_head(trace.q), trace.of_head(trace.k))),
    }[view]
    return dataclasses.replace(scores, symbol=symbol, values=values)


def thread(trace: Thread) -> dict[str, Matrix]:
    """Every matrix of the thread in order, by the name of its step (THREAD_STEPS).

    Position vectors, a second sequence, a mask, and several heads have steps of their own where the
    thread has them.
    """
    scores = _scores(trace)
    matrices = {
        "one_hot": _entries(trace),
        "x": _x(trace),
        "inputs": _inputs(trace, "q"),
        "second": _inputs(trace, "k"),
        **{step: _projected(trace, step) for step in ("q", "k", "v")},
        "scores": scores,
        "scaled": _viewed(trace, scores, "scaled"),
        "masked": _viewed(trace, scores, "masked"),
        "weights": _weights(trace),
        "output": _output(trace),
        "joined": _joined(trace),
        "y": _y(trace),
    }
    absent = {
        "inputs": not trace.has_positions,
        "second": not trace.is_cross,
        "masked": not trace.is_masked,
        "joined": trace.n_heads == 1,
        "y": trace.n_heads == 1,
    }
    return {step: matrix for step, matrix in matrices.items() if not absent.get(step)}


def last_step(matrices: Mapping[str, Matrix], step: str) -> str:
    """The step, or where the thread does not have it the last one before it."""
    reached = THREAD_STEPS[: THREAD_STEPS.index(step) + 1]
    return [name for name in matrices if name in reached][-1]


def position_sum(trace: Thread) -> tuple[Matrix, Matrix, Matrix]:
    """x, p and x + p of the asking sequence."""
    return _x(trace), _p(trace, trace.asking), _inputs(trace, "q")


def _p(trace: Thread, sequence: EmbeddedSequence) -> Matrix:
    columns = _dimensions("x", trace.w_e.shape[1])
    return Matrix("P", "p", "embedding", sequence.p, sequence.tokens, columns, _edited(trace, "p"))


def _dimensions(letter: str, size: int) -> tuple[str, ...]:
    return tuple(f"{letter}{index}" for index in range(size))


def _entries(trace: Thread) -> Matrix:
    return Matrix(trace.entries_symbol, "v", trace.entries_role, trace.asking.entries, trace.tokens, trace.features)


def _w_e(trace: Thread) -> Matrix:
    columns = _dimensions("x", trace.w_e.shape[1])
    return Matrix("W_E", "w", "weight", trace.w_e, trace.features, columns, _edited(trace, "W_E"))


def _x(trace: Thread) -> Matrix:
    columns = _dimensions("x", trace.w_e.shape[1])
    return Matrix("X", "x", "embedding", trace.x, trace.tokens, columns, _edited(trace, "x"))


def _inputs(trace: Thread, step: str) -> Matrix:
    """What a layer gets: the embeddings, or embeddings plus positions, of the sequence it belongs to."""
    sequence = trace.asking if step == "q" else trace.answering
    symbol = "X + P" if trace.has_positions else "X"
    if sequence is not trace.asking:
        symbol = symbol.replace("X", "X_2").replace("P", "P_2")
    columns = _dimensions("x", trace.w_e.shape[1])
    edits = _edited(trace, "x") if sequence is trace.asking else ()
    edits += _edited(trace, "p") if trace.has_positions else ()
    return Matrix(symbol, "x", "embedding", sequence.inputs, sequence.tokens, columns, edits)


def _projection(trace: Thread, step: Literal["q", "k", "v"]) -> Matrix:
    names: dict[str, EditedMatrix] = {"q": "W_Q", "k": "W_K", "v": "W_V"}
    name, values = names[step], {"q": trace.w_q, "k": trace.w_k, "v": trace.w_v}[step]
    size = len(values)
    return Matrix(name, "w", "weight", values, _dimensions("x", size), _dimensions(step, size), _edited(trace, name))


def _w_o(trace: Thread) -> Matrix:
    size = len(trace.w_o)
    return Matrix(
        "W_O", "w", "weight", trace.w_o, _dimensions("o", size), _dimensions("y", size), _edited(trace, "W_O")
    )


def editable_matrix(trace: Thread, name: EditedMatrix) -> Matrix:
    """The matrix that edits of this name change; P with the places of the longer sequence."""
    steps: dict[str, Literal["q", "k", "v"]] = {"W_Q": "q", "W_K": "k", "W_V": "v"}
    if name in steps:
        return _projection(trace, steps[name])
    if name == "p":
        return _p(trace, max(trace.asking, trace.answering, key=lambda sequence: len(sequence.tokens)))
    return {"W_E": _w_e, "W_O": _w_o, "x": _x}[name](trace)


def _edited(trace: Thread, name: EditedMatrix) -> tuple[tuple[int, int], ...]:
    return tuple((edit.row, edit.column) for edit in trace.edits if edit.matrix == name)


def _projected(trace: Thread, step: str) -> Matrix:
    values = {"q": trace.q, "k": trace.k, "v": trace.v}[step]
    tokens = trace.tokens if step == "q" else trace.key_tokens
    roles: dict[str, Role] = {"q": "query", "k": "key", "v": "value"}
    return Matrix(step.upper(), step, roles[step], values, tokens, _dimensions(step, values.shape[1]))


def _of_head(trace: Thread, matrix: Matrix) -> Matrix:
    """The chosen head's columns of a matrix that has all heads side by side."""
    inside = trace.head_columns
    columns = matrix.columns[inside.start : inside.stop]
    return dataclasses.replace(
        matrix,
        symbol=_numbered(trace, matrix.symbol),
        values=trace.of_head(matrix.values),
        columns=columns,
        first_column=inside.start,
    )


def _numbered(trace: Thread, symbol: str) -> str:
    """The symbol with the head's number, of two digits in braces as LaTeX needs them."""
    if trace.n_heads == 1:
        return symbol
    return f"{symbol}_{trace.head}" if trace.head < 10 else f"{symbol}_{{{trace.head}}}"


def _transposed(matrix: Matrix) -> Matrix:
    return Matrix(rf"{matrix.symbol}^{{\top}}", matrix.entry, matrix.role, matrix.values.T, matrix.columns, matrix.rows)


def _pairs(trace: Thread, letter: str, role: Role, values: Float[Tensor, "query key"]) -> Matrix:
    """A matrix query × key of the chosen head."""
    hidden = ~trace.mask if trace.is_masked else None
    symbol = _numbered(trace, letter)
    return Matrix(symbol, letter.lower(), role, values, trace.tokens, trace.key_tokens, hidden=hidden)


def _scores(trace: Thread) -> Matrix:
    return _pairs(trace, "S", "scores", trace.attention.scores)


def _weights(trace: Thread) -> Matrix:
    return _pairs(trace, "A", "weights", trace.attention.weights)


def _output(trace: Thread) -> Matrix:
    inside = trace.head_columns
    columns = _dimensions("v", trace.v.shape[1])[inside.start : inside.stop]
    symbol = _numbered(trace, "O")
    return Matrix(symbol, "o", "value", trace.output, trace.tokens, columns, first_column=inside.start)


def _joined(trace: Thread) -> Matrix:
    return Matrix("O", "o", "value", trace.joined, trace.tokens, _dimensions("o", trace.joined.shape[1]))


def _y(trace: Thread) -> Matrix:
    return Matrix("Y", "y", "embedding", trace.y, trace.tokens, _dimensions("y", trace.y.shape[1]))


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


def softmax_matrices(trace: Thread, steps: SoftmaxTrace) -> tuple[Matrix, Matrix, Matrix]:
    """What goes into the exponential, the exponentials, and the weights, each query × key."""

    def matrix(symbol: str, role: Role, values: Tensor) -> Matrix:
        return dataclasses.replace(_pairs(trace, "A", role, values), symbol=symbol, entry=symbol)

    return (
        matrix("z", "scores", steps.shifted),
        matrix("e^z", "scores", steps.exponentials),
        matrix(_numbered(trace, "A"), "weights", steps.weights),
    )
