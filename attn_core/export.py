"""Taking a lesson along: its numbers as NumPy arrays, as `.npz`, as CSV, and as a script that recomputes them."""

import inspect
import io
from collections.abc import Iterable
from string import Template
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from attn_core.edits import EditedMatrix, edited, is_inside
from attn_core.lesson import LessonTrace
from attn_core.parameters import Draw, draws, tenths
from attn_core.spreadsheet import table

# Each matrix of a lesson, in order, with what its rows and its columns stand for; a letter stands for x0, x1, …
_AXES = {
    "one_hot": ("token", "word"),
    "w_e": ("word", "x"),
    "x": ("token", "x"),
    "w_q": ("x", "q"),
    "w_k": ("x", "k"),
    "w_v": ("x", "v"),
    "q": ("token", "q"),
    "k": ("token", "k"),
    "v": ("token", "v"),
    "scores": ("token", "token"),
    "scaled": ("token", "token"),
    "masked": ("token", "token"),
    "weights": ("token", "token"),
    "output": ("token", "v"),
}
MATRICES = tuple(_AXES)


def _matrices(trace: LessonTrace) -> dict[str, Float[Tensor, "_ _"]]:
    """Every matrix of the trace under its field's name."""
    attention = trace.attention
    return {
        "one_hot": trace.one_hot,
        "w_e": trace.w_e,
        "x": trace.x,
        "w_q": trace.w_q,
        "w_k": trace.w_k,
        "w_v": trace.w_v,
        "q": trace.q,
        "k": trace.k,
        "v": trace.v,
        "scores": attention.scores,
        "scaled": attention.scaled,
        "masked": attention.masked,
        "weights": attention.weights,
        "output": attention.output,
    }


# NumPy.


def arrays(trace: LessonTrace) -> dict[str, NDArray[Any]]:
    """Every step of the lesson under the trace's own names: tokens, vocabulary, ids, then each of MATRICES.

    The matrices are copies in float64, ids whole numbers, tokens and vocabulary text: nothing in them needs pickle.
    """
    labels = {
        "tokens": np.array(trace.tokens, dtype=np.str_),
        "vocabulary": np.array(trace.vocabulary.words, dtype=np.str_),
        "ids": np.array(trace.ids, dtype=np.int64),
    }
    return labels | {name: values.numpy().copy() for name, values in _matrices(trace).items()}


def to_npz(trace: LessonTrace) -> bytes:
    """The same arrays as one `.npz` file, for `np.load(..., allow_pickle=False)`.

    The same lesson gives the same bytes: nothing is compressed, and NumPy dates every entry 1980.
    """
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **arrays(trace))
    return file.getvalue()


# CSV.


def to_csv(trace: LessonTrace, name: str) -> str:
    """One matrix as CSV: the first row and the first column hold its labels.

    Text is quoted and numbers are not; numbers have all the digits that give back the same float64 (minus infinity
    is written -inf). A label that a spreadsheet could take for a formula gets an apostrophe in front, and so does one
    that begins with an apostrophe: leave out the first apostrophe of a label, and it is the token again. Save the
    text as UTF-8 with a byte order mark ("utf-8-sig"), without which Excel misreads Japanese.

    Raises:
        ValueError: the lesson has no such matrix.
    """
    if name not in _AXES:
        raise ValueError(f"name must be one of {', '.join(MATRICES)}, got {name!r}")
    values = _matrices(trace)[name]
    rows, columns = (_labels(trace, axis, size) for axis, size in zip(_AXES[name], values.shape, strict=True))
    return table([(name, *columns), *((label, *row) for label, row in zip(rows, values.tolist(), strict=True))])


def _labels(trace: LessonTrace, axis: str, size: int) -> tuple[str, ...]:
    """What the rows or columns along an axis are called."""
    words = {"token": trace.tokens, "word": trace.vocabulary.words}
    return words.get(axis, tuple(f"{axis}{index}" for index in range(size)))


# Script.

_SCRIPT = Template('''"""$title

$needs
"""

import math

import torch

# $tokens_comment
tokens = $tokens
vocabulary = $vocabulary
ids = $ids
d_model = $d_model


# $tenths_comment
$tenths

# $parameters_comment
$parameters

# $one_hot_comment
one_hot = torch.zeros(len(ids), len(vocabulary), dtype=torch.float64)
one_hot[range(len(ids)), ids] = 1.0

# $x_comment
x = one_hot @ W_E
$x_edits
# $projections_comment
q = x @ W_Q
k = x @ W_K
v = x @ W_V

# $scores_comment
scores = q @ k.T

# $scaled_comment
scaled = scores / $divisor

# $masked_comment
$masked

# $weights_comment
weights = torch.softmax(masked, dim=-1)

# $output_comment
output = weights @ v

# $lesson_comment
matrices = {
    "one_hot": one_hot,
    "w_e": W_E,
    "x": x,
    "w_q": W_Q,
    "w_k": W_K,
    "w_v": W_V,
    "q": q,
    "k": k,
    "v": v,
    "scores": scores,
    "scaled": scaled,
    "masked": masked,
    "weights": weights,
    "output": output,
}
lesson = {"tokens": tokens, "vocabulary": vocabulary, "ids": ids, **matrices}

try:
    print(f"tokens: {tokens}")
except UnicodeEncodeError:  # $console_comment
    print(f"tokens: {ascii(tokens)}")
print(f"ids: {ids}")
for name, values in matrices.items():
    print(f"\\n{name}: {values.shape[0]} x {values.shape[1]}")
    for row in values.tolist():
        print(" ".join(f"{round(value, 4) + 0.0:9.4f}" for value in row))  # $zero_comment
''')

_COMMENTS = {
    "en": {
        "title": "One lesson on attention, step by step: the numbers on the screen, computed again.",
        "needs": "Needs PyTorch and nothing else. Everything is float64; four decimals are printed.",
        "tokens_comment": "The tokens, the vocabulary, and the ID of each token: its place in the vocabulary, from 0.",
        "tenths_comment": "Random numbers with one decimal, from -bound/10 to bound/10; the same for the same seed.",
        "parameters_comment": "The parameters: the embedding layer W_E, and the layers for query, key and value.",
        "edited": "edited",
        "one_hot_comment": "One-hot vectors: a row per token, with 1 at the place of its ID and 0 elsewhere.",
        "x_comment": "Embedding vectors: the product selects one row of W_E for each token.",
        "projections_comment": "The same x through three layers gives queries, keys and values.",
        "scores_comment": "Similarity: the inner products of all queries (rows) with all keys (columns).",
        "scaled_comment": "The scores over their divisor.",
        "masked_comment": "Where a query may not look, the score becomes minus infinity.",
        "unmasked_comment": "Nothing is masked in this lesson: every query may look at every key.",
        "weights_comment": "Attention weights: softmax makes each row sum to 1.",
        "output_comment": "Each output is the weighted sum of all values.",
        "lesson_comment": "Every step under its name.",
        "console_comment": "this console cannot show the characters",
        "zero_comment": "+ 0.0: no minus before a zero",
    },
    "ja": {
        "title": "注意の計算を一段ずつ: 画面と同じ数値を計算し直します。",
        "needs": "必要なのは PyTorch だけです。計算はすべて float64、表示は小数第 4 位までです。",
        "tokens_comment": "トークン、語彙、各トークンの ID (語彙の中での位置、0 から数える)。",
        "tenths_comment": "小数第 1 位までの乱数 (-bound/10 から bound/10 まで)。シードが同じなら数値も同じ。",
        "parameters_comment": "パラメータ: 埋め込み層 W_E と、query・key・value の 3 つの層。",
        "edited": "手で変更した値",
        "one_hot_comment": "one-hot ベクトル: トークンごとに 1 行。ID の位置だけが 1、ほかは 0。",
        "x_comment": "埋め込みベクトル: この積は、トークンごとに W_E の 1 行を選び出す。",
        "projections_comment": "同じ x を 3 つの層に通して、query・key・value を得る。",
        "scores_comment": "類似度: すべての query (行) とすべての key (列) の内積。",
        "scaled_comment": "スコアを決まった数で割る。",
        "masked_comment": "見てはいけない key のスコアをマイナス無限大にする。",
        "unmasked_comment": "この講義にマスクはない: どの query もすべての key を見る。",
        "weights_comment": "注意の重み: softmax によって各行の和が 1 になる。",
        "output_comment": "出力: すべての value の重みつきの和。",
        "lesson_comment": "すべての段階を名前で取り出せるようにする。",
        "console_comment": "この端末では表示できない文字がある",
        "zero_comment": "+ 0.0: ゼロにマイナスを付けない",
    },
}


def to_script(trace: LessonTrace) -> str:
    """A Python script that recomputes the lesson step by step, with torch alone, and prints its matrices.

    It does in float64 what `run_lesson` does, in the same order; its dict `lesson` holds what `arrays` holds.
    Tokens and words stand in it as `repr` writes them, so that no text can become code. Comments are in the
    lesson's language: the script is to be saved as UTF-8.
    """
    comments = _COMMENTS[trace.lesson.lang]
    masked = bool(_masked(trace).any())
    return _SCRIPT.substitute(
        comments,
        masked_comment=comments["masked_comment" if masked else "unmasked_comment"],
        tokens=_listed(map(repr, trace.tokens)),
        vocabulary=_listed(map(repr, trace.vocabulary.words)),
        ids=_listed(map(repr, trace.ids)),
        d_model=trace.lesson.d_model,
        tenths=inspect.getsource(tenths),
        parameters="\n".join(_parameters(trace)),
        x_edits="".join(f"{line}\n" for line in _assignments(trace, "x", trace.x)),
        divisor={"sqrt_d_k": "math.sqrt(d_model)", "none": "1.0", "d_k": "float(d_model)"}[trace.lesson.scale],
        masked=_masking(trace),
    )


def _parameters(trace: LessonTrace) -> list[str]:
    """The lines that make the four parameters."""
    drawn = draws(len(trace.vocabulary), trace.lesson.d_model, trace.lesson.seed)
    values = {"W_E": trace.w_e, "W_Q": trace.w_q, "W_K": trace.w_k, "W_V": trace.w_v}
    return [_parameter(trace, matrix, draw, values[matrix]) for matrix, draw in drawn.items()]


def _parameter(trace: LessonTrace, matrix: EditedMatrix, draw: Draw, values: Float[Tensor, "_ _"]) -> str:
    """One parameter: drawn if that gives its numbers, else (trained) written out; then its edits."""
    made = f"torch.tensor({_listed_rows(values)}, dtype=torch.float64)"
    if torch.equal(edited(matrix, draw.numbers(), trace.lesson.edits), values):
        made = f"tenths({draw.rows}, {draw.columns}, {draw.bound}, seed={draw.seed})"
    return "\n".join([f"{matrix} = {made}", *_assignments(trace, matrix, values)])


def _assignments(trace: LessonTrace, matrix: EditedMatrix, values: Float[Tensor, "_ _"]) -> list[str]:
    """The edits of one matrix, in order."""
    comment = _COMMENTS[trace.lesson.lang]["edited"]
    edits = [edit for edit in trace.lesson.edits if edit.matrix == matrix and is_inside(edit, values)]
    return [f"{edit.matrix}[{edit.row}, {edit.column}] = {edit.value!r}  # {comment}" for edit in edits]


def _masked(trace: LessonTrace) -> Bool[Tensor, "query key"]:
    return torch.isneginf(trace.attention.masked)


def _masking(trace: LessonTrace) -> str:
    """The lines that make `masked`."""
    masked = _masked(trace)
    if not masked.any():
        return "masked = scaled"
    return f"may_attend = torch.tensor({_listed_rows(~masked)})\nmasked = scaled.masked_fill(~may_attend, -math.inf)"


def _listed(items: Iterable[str], per_line: int = 8) -> str:
    """Literals as a Python list, a few to a line."""
    all_items = list(items)
    if len(all_items) <= per_line:
        return f"[{', '.join(all_items)}]"
    lines = [all_items[start : start + per_line] for start in range(0, len(all_items), per_line)]
    return "[\n" + "".join(f"    {', '.join(line)},\n" for line in lines) + "]"


def _listed_rows(values: Tensor) -> str:
    """A matrix as a Python list of its rows, each number with all its digits."""
    return "[\n" + "".join(f"    {row!r},\n" for row in values.tolist()) + "]"
