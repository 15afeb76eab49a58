"""Prepared lessons: numbers that readers know from published texts, and lessons that make one point each."""

from collections.abc import Sequence
from types import MappingProxyType

from attn_core.edits import Edit, EditedMatrix
from attn_core.lesson import Lesson


def matrix_edits(matrix: EditedMatrix, rows: Sequence[Sequence[float]]) -> tuple[Edit, ...]:
    """Edits that put a whole matrix in."""
    return tuple(
        Edit(matrix, row, column, float(value))
        for row, values in enumerate(rows)
        for column, value in enumerate(values)
    )


def _scaled_identity(size: int, factor: float = 1.0) -> list[list[float]]:
    return [[factor if row == column else 0.0 for column in range(size)] for row in range(size)]


def _journey() -> Lesson:
    """Embeddings as they are: no trained weights, no division.

    Source: S. Raschka, Build a Large Language Model (From Scratch), chapter 3.
    """
    inputs = [
        [0.43, 0.15, 0.89],
        [0.55, 0.87, 0.66],
        [0.57, 0.85, 0.64],
        [0.22, 0.58, 0.33],
        [0.77, 0.25, 0.10],
        [0.05, 0.80, 0.55],
    ]
    layers = [edit for name in ("W_Q", "W_K", "W_V") for edit in matrix_edits(name, _scaled_identity(3))]
    return Lesson(
        lang="en",
        text="Your journey starts with one step",
        d_model=3,
        scale="none",
        query=1,
        edits=(*matrix_edits("x", inputs), *layers),
    )


def _one_over_one_plus_e() -> Lesson:
    """q = (0, √2), K = I: the scaled scores are 0 and 1, the weights 1/(1 + e) and e/(1 + e)."""
    return Lesson(
        lang="en",
        text="zero one",
        d_model=2,
        query=0,
        key=1,
        edits=(
            *matrix_edits("x", _scaled_identity(2)),
            *matrix_edits("W_Q", [[0.0, 2**0.5], [2**0.5, 0.0]]),
            *matrix_edits("W_K", _scaled_identity(2)),
        ),
    )


def _to_itself() -> Lesson:
    """x = 3 I and W_Q = W_K = I: each query points along its own key and no other."""
    layers = [edit for name in ("W_Q", "W_K") for edit in matrix_edits(name, _scaled_identity(4))]
    return Lesson(query=1, key=1, edits=(*matrix_edits("x", _scaled_identity(4, 3.0)), *layers))


def _hidden_key() -> Lesson:
    """Every query has 1 in its last column, and one key has −200 there: its score falls far below all others."""
    marks = [Edit("x", row, 3, 1.0) for row in range(4)]
    hidden = [Edit("x", row, 2, float(row == 1)) for row in range(4)]
    query_column = [Edit("W_Q", row, 3, float(row == 3)) for row in range(4)]
    key_column = [Edit("W_K", row, 3, -200.0 if row == 2 else 0.0) for row in range(4)]
    return Lesson(query=2, key=1, edits=(*marks, *hidden, *query_column, *key_column))


def _two_heads() -> Lesson:
    """x = I, so that each token has rows of W_Q and W_K of its own: keys a quarter turn apart on a circle of radius 4.

    In head 0 each query points along its own key, in head 1 along the key of the token before (the first one
    along its own): the score is 16 there, 0 beside it and −16 opposite.
    """
    around = [[4.0, 0.0], [0.0, 4.0], [-4.0, 0.0], [0.0, -4.0]]
    before = [around[0], *around[:-1]]
    return Lesson(
        n_heads=2,
        query=2,
        key=1,
        head=1,
        edits=(
            *matrix_edits("x", _scaled_identity(4)),
            *matrix_edits("W_Q", [own + other for own, other in zip(around, before, strict=True)]),
            *matrix_edits("W_K", [own + own for own in around]),
        ),
    )


def _translation_pair() -> Lesson:
    """Words that translate each other get the same embedding, 3 along an axis of their own; は and a get 0.

    With W_Q = W_K = I and d_k = 4 the scaled scores are 4.5 for a translation and 0 elsewhere.
    """
    meanings = {"私": 0, "です": 1, "学生": 2, "I": 0, "am": 1, "student": 2, "は": None, "a": None}
    ids = {"私": 1, "は": 2, "学生": 3, "です": 4, "I": 10, "am": 11, "a": 12, "student": 13}
    embeddings = [
        Edit("W_E", ids[word], column, 3.0 if column == axis else 0.0)
        for word, axis in meanings.items()
        for column in range(4)
    ]
    layers = [edit for name in ("W_Q", "W_K") for edit in matrix_edits(name, _scaled_identity(4))]
    # English, so that the link names the text: it is the default one in Japanese only.
    return Lesson(
        lang="en",
        text="私は学生です",
        second_text="I am a student",
        query=2,
        key=3,
        edits=(*embeddings, *layers),
    )


# Each under a name that the pages explain in a sentence.
PRESETS = MappingProxyType(
    {
        "journey": _journey(),
        "one_over_one_plus_e": _one_over_one_plus_e(),
        "identical_words": Lesson(lang="en", text="the cat saw the dog", query=0, key=1),
        "reversed_order": Lesson(text="です学生は私", query=1, key=3),
        "to_itself": _to_itself(),
        "saturation": Lesson(d_model=16, scale="none", query=0, key=1),
        "hidden_key": _hidden_key(),
        "no_preference": Lesson(query=0, key=0, edits=matrix_edits("W_Q", [[0.0] * 4] * 4)),
        "one_word": Lesson(text="猫", query=0, key=0),
        "two_heads": _two_heads(),
        "translation_pair": _translation_pair(),
        "causal": Lesson(lang="en", text="I think therefore I am", mask="causal", query=3, key=0),
        "padding_seen": Lesson(padding=2, query=0, key=4),
        "padding_hidden": Lesson(padding=2, mask="padding", query=0, key=4),
        "equal_words_apart": Lesson(lang="en", text="the cat saw the dog", positions="sinusoidal", query=0, key=3),
    }
)
