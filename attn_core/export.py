"""Taking a lesson along: its numbers as NumPy arrays, as `.npz`, and as CSV.

A matrix has one name everywhere, in the script (`attn_core.script`) too. With several heads the steps of head 0 are
scores_0, scaled_0, …; what a second sentence adds begins with second_; p, inputs, mask and joined are there where
the lesson has them.
"""

import io
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from attn_core.attention import AttentionTrace
from attn_core.lesson import LessonTrace
from attn_core.spreadsheet import table

_STEPS = tuple(field.name for field in fields(AttentionTrace))


@dataclass(frozen=True)
class _Table:
    """A matrix with the labels of its rows and columns."""

    values: Float[Tensor, "row column"] | Bool[Tensor, "row column"]
    rows: tuple[str, ...]
    columns: tuple[str, ...]


def _tables(trace: LessonTrace) -> dict[str, _Table]:
    """Every matrix of the lesson under its name, in the order of the computation."""
    first, second = trace.asking, trace.answering
    tokens, keys, words = trace.tokens, trace.key_tokens, trace.vocabulary.words
    x, q, k, v, o, y = (_places(letter, range(len(trace.w_o))) for letter in "xqkvoy")
    tables = {
        "one_hot": _Table(first.entries, tokens, words),
        "w_e": _Table(trace.w_e, words, x),
        "x": _Table(first.x, tokens, x),
        "p": _Table(first.p, tokens, x),
        "inputs": _Table(first.inputs, tokens, x),
        "second_one_hot": _Table(second.entries, keys, words),
        "second_x": _Table(second.x, keys, x),
        "second_p": _Table(second.p, keys, x),
        "second_inputs": _Table(second.inputs, keys, x),
        "w_q": _Table(trace.w_q, x, q),
        "w_k": _Table(trace.w_k, x, k),
        "w_v": _Table(trace.w_v, x, v),
        "q": _Table(trace.q, tokens, q),
        "k": _Table(trace.k, keys, k),
        "v": _Table(trace.v, keys, v),
        "mask": _Table(trace.mask, tokens, keys),
        **_heads(trace),
        "joined": _Table(trace.joined, tokens, o),
        "w_o": _Table(trace.w_o, o, y),
        "y": _Table(trace.y, tokens, y),
    }
    absent = _absent(trace)
    return {name: found for name, found in tables.items() if name not in absent}


def _absent(trace: LessonTrace) -> set[str]:
    """The matrices of parts that the lesson does not have."""
    names: set[str] = set()
    if trace.lesson.positions == "none":
        names |= {"p", "inputs", "second_p", "second_inputs"}
    if not trace.is_cross:
        names |= {"second_one_hot", "second_x", "second_p", "second_inputs"}
    if not trace.is_masked:
        names.add("mask")
    if trace.n_heads == 1:
        names.add("joined")
    return names


def _heads(trace: LessonTrace) -> dict[str, _Table]:
    """The steps of every head; a single one needs no number."""
    found = {}
    for place, head in enumerate(trace.heads):
        columns = _places("v", range(place * trace.d_k, (place + 1) * trace.d_k))
        for name in _STEPS:
            labels = columns if name == "output" else trace.key_tokens
            numbered = name if trace.n_heads == 1 else f"{name}_{place}"
            found[numbered] = _Table(getattr(head, name), trace.tokens, labels)
    return found


def _places(letter: str, places: range) -> tuple[str, ...]:
    return tuple(f"{letter}{place}" for place in places)


def matrix_names(trace: LessonTrace) -> tuple[str, ...]:
    """The names of the lesson's matrices, in the order of the computation."""
    return tuple(_tables(trace))


# NumPy.


def arrays(trace: LessonTrace) -> dict[str, NDArray[Any]]:
    """Every step of the lesson: tokens, vocabulary, ids, those of the second sentence, then each matrix.

    The matrices are copies in float64 (the mask's entries are booleans), ids whole numbers, tokens and
    vocabulary text: nothing in them needs pickle.
    """
    labels = {
        "tokens": np.array(trace.tokens, dtype=np.str_),
        "vocabulary": np.array(trace.vocabulary.words, dtype=np.str_),
        "ids": np.array(trace.ids, dtype=np.int64),
    }
    if trace.is_cross:
        labels["second_tokens"] = np.array(trace.key_tokens, dtype=np.str_)
        labels["second_ids"] = np.array(trace.vocabulary.encode(trace.key_tokens), dtype=np.int64)
    return labels | {name: found.values.numpy().copy() for name, found in _tables(trace).items()}


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
    is written -inf; the mask has 1 where a query may attend to a key, else 0). A label that a spreadsheet could take
    for a formula gets an apostrophe in front, and so does one that begins with an apostrophe: leave out the first
    apostrophe of a label, and it is the token again. Save the text as UTF-8 with a byte order mark ("utf-8-sig"),
    without which Excel misreads Japanese.

    Raises:
        ValueError: the lesson has no such matrix.
    """
    tables = _tables(trace)
    if name not in tables:
        raise ValueError(f"name must be one of {', '.join(tables)}, got {name!r}")
    found = tables[name]
    values = found.values.int() if found.values.dtype == torch.bool else found.values
    lines = ((label, *row) for label, row in zip(found.rows, values.tolist(), strict=True))
    return table([(name, *found.columns), *lines])
