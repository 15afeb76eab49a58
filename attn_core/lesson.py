"""The numeric thread: one lesson gives one trace, and every page shows a part of it."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Self

from jaxtyping import Float
from torch import Tensor

from attn_core.attention import AttentionTrace, attend
from attn_core.edits import Edit, EditList, edited, is_inside
from attn_core.embeddings import MAX_STEPS, trained_layer
from attn_core.links import AnyText, Linked, OneOf, Whole, linked
from attn_core.parameters import draws
from attn_core.tokens import (
    MAX_TOKENS,
    SEGMENTATIONS,
    Segmentation,
    Vocabulary,
    language_of,
    one_hot,
    tokenize,
)

LANGUAGES = ("ja", "en")
DEFAULT_TEXT = {"ja": "私は学生です", "en": "the cat sat down"}
SCALES = ("sqrt_d_k", "none", "d_k")


@dataclass(frozen=True)
class Lesson(Linked):
    """Everything a lesson's numbers depend on, and the cell that is chosen.

    A link holds each field under its own name. `query` and `key` are positions in the
    sequence, `column` is a position along d_model. `edits` are numbers put in by hand, in order.
    With `training_steps` the embedding layer is trained on `corpus` ("": the built-in one).
    """

    lang: str = linked("ja", OneOf(LANGUAGES))
    text: str = linked(None, AnyText())
    segmentation: Segmentation = linked("words", OneOf(SEGMENTATIONS))
    d_model: int = linked(4, Whole(2, 16))
    seed: int = linked(0, Whole(0, 999_999))
    scale: str = linked("sqrt_d_k", OneOf(SCALES))
    query: int = linked(2, Whole(0, MAX_TOKENS - 1))
    key: int = linked(0, Whole(0, MAX_TOKENS - 1))
    column: int = linked(0, Whole(0, 15))
    edits: tuple[Edit, ...] = linked((), EditList())
    training_steps: int = linked(0, Whole(0, MAX_STEPS))
    corpus: str = linked("", AnyText())

    def __post_init__(self) -> None:
        if self.text is None:
            object.__setattr__(self, "text", DEFAULT_TEXT.get(self.lang))
        super().__post_init__()

    def defaults(self) -> Self:
        """The default lesson in the same language: the default text follows the language."""
        return type(self)(lang=self.lang)

    def to_query(self) -> dict[str, str]:
        """The lesson as URL parameters; the language is always among them."""
        return {"lang": self.lang} | super().to_query()

    @property
    def divisor(self) -> float:
        """What the scores are divided by; with one head d_k = d_model."""
        return {"sqrt_d_k": math.sqrt(self.d_model), "none": 1.0, "d_k": float(self.d_model)}[self.scale]


@dataclass(frozen=True)
class LessonTrace:
    """Every step of one lesson, in float64.

    `lesson` is the lesson with its chosen cell moved inside the sequence; `n_cut` counts the
    tokens past MAX_TOKENS that were left out; `unused_edits` are those outside of their matrix.
    """

    lesson: Lesson
    tokens: tuple[str, ...]
    n_cut: int
    ids: tuple[int, ...]
    vocabulary: Vocabulary
    one_hot: Float[Tensor, "token vocabulary"]
    w_e: Float[Tensor, "vocabulary d_model"]
    x: Float[Tensor, "token d_model"]
    w_q: Float[Tensor, "d_model d_k"]
    w_k: Float[Tensor, "d_model d_k"]
    w_v: Float[Tensor, "d_model d_k"]
    q: Float[Tensor, "token d_k"]
    k: Float[Tensor, "token d_k"]
    v: Float[Tensor, "token d_k"]
    attention: AttentionTrace
    unused_edits: tuple[Edit, ...]

    @property
    def output(self) -> Float[Tensor, "token d_k"]:
        """The weighted sums of the values."""
        return self.attention.output


def run_lesson(lesson: Lesson) -> LessonTrace:
    """Computes the whole lesson from its seed.

    All parameters have one decimal, so x is exact at 1 decimal, q, k, v at 2 and scores at 4;
    a trained embedding layer has two, and edited numbers have their own.

    Raises:
        ValueError: the text holds no token, or the corpus cannot be trained on.
    """
    found = tokenize(lesson.text, lesson.segmentation)
    if not found:
        raise ValueError(f"the text must hold at least one token, got {lesson.text!r}")
    tokens = found[:MAX_TOKENS]
    vocabulary, embedding_layer = _embedding_layer(lesson, tokens)
    ids = vocabulary.encode(tokens)
    selector = one_hot(ids, len(vocabulary))
    drawn = draws(len(vocabulary), lesson.d_model, lesson.seed)
    parameters = {name: draw.numbers() for name, draw in drawn.items()} | {"W_E": embedding_layer}
    w_e, w_q, w_k, w_v = (edited(name, values, lesson.edits) for name, values in parameters.items())
    x = edited("x", selector @ w_e, lesson.edits)
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    return LessonTrace(
        lesson=_inside(lesson, len(tokens)),
        tokens=tokens,
        n_cut=len(found) - len(tokens),
        ids=ids,
        vocabulary=vocabulary,
        one_hot=selector,
        w_e=w_e,
        x=x,
        w_q=w_q,
        w_k=w_k,
        w_v=w_v,
        q=q,
        k=k,
        v=v,
        attention=attend(q, k, v, scale=lesson.divisor),
        unused_edits=tuple(e for e in lesson.edits if not is_inside(e, (parameters | {"x": x})[e.matrix])),
    )


def _embedding_layer(lesson: Lesson, tokens: tuple[str, ...]) -> tuple[Vocabulary, Float[Tensor, "vocabulary d_model"]]:
    """The vocabulary with W_E: random, or trained on the lesson's corpus."""
    if lesson.training_steps:
        return trained_layer(
            tokens,
            corpus=lesson.corpus,
            language=language_of(tokens),
            d_model=lesson.d_model,
            seed=lesson.seed,
            steps=lesson.training_steps,
        )
    vocabulary = Vocabulary.for_tokens(tokens, lesson.d_model)
    return vocabulary, draws(len(vocabulary), lesson.d_model, lesson.seed)["W_E"].numbers()


def _inside(lesson: Lesson, n_tokens: int) -> Lesson:
    """The lesson with its chosen cell inside the sequence and the embedding."""
    return dataclasses.replace(
        lesson,
        query=min(lesson.query, n_tokens - 1),
        key=min(lesson.key, n_tokens - 1),
        column=min(lesson.column, lesson.d_model - 1),
    )
