"""The numeric thread: one lesson gives one trace, and every page shows a part of it."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from jaxtyping import Float
from torch import Tensor

from attn_core.edits import Edit, EditedMatrix, EditList, edited, is_inside
from attn_core.embeddings import LayerTraining, trained_layer
from attn_core.heads import check_heads
from attn_core.limits import (
    MAX_CHARACTERS,
    MAX_CORPUS_CHARACTERS,
    MAX_EMBEDDING_STEPS,
    MAX_PADDING,
    MAX_SEED,
    MAX_SIZE,
    MAX_TOKENS,
)
from attn_core.links import CutText, Ignored, Linked, OneOf, Whole, linked
from attn_core.masks import MASKS, PADDING, HiddenKeys, HiddenList, make_mask
from attn_core.parameters import draws, output_draw
from attn_core.positions import POSITIONS, position_vectors
from attn_core.thread import SCALES, EmbeddedSequence, Layers, Thread
from attn_core.tokens import (
    SEGMENTATIONS,
    Segmentation,
    Vocabulary,
    language_of,
    one_hot,
    tokenize,
)

LANGUAGES = ("ja", "en")
DEFAULT_TEXT = {"ja": "私は学生です", "en": "the cat sat down"}
CELL = ("query", "key", "column")  # the fields that change no number
_TEXT = MAX_CHARACTERS + 1  # one character more than is used, so that the reader is told


@dataclass(frozen=True)
class Lesson(Linked):
    """Everything a lesson's numbers depend on, and the cell that is chosen.

    A link holds each field under its own name. `query` and `key` are positions in the
    sequence, `column` is a position along d_model, `head` is the head whose matrices are shown.
    With a `second_text` keys and values come from it (cross-attention). `padding` counts the
    [PAD] tokens put behind the keys' sequence; `hidden` are the keys that the mask "drawn" hides.
    `edits` are numbers put in by hand, in order. With `training_steps` the embedding layer is
    trained on `corpus` ("": the built-in one).
    """

    lang: str = linked("ja", OneOf(LANGUAGES))
    text: str = linked(None, CutText(_TEXT))
    second_text: str = linked("", CutText(_TEXT))
    segmentation: Segmentation = linked("words", OneOf(SEGMENTATIONS))
    d_model: int = linked(4, Whole(2, MAX_SIZE))
    n_heads: int = linked(1, Whole(1, MAX_SIZE))
    seed: int = linked(0, Whole(0, MAX_SEED))
    scale: str = linked("sqrt_d_k", OneOf(SCALES))
    mask: str = linked("none", OneOf(MASKS))
    padding: int = linked(0, Whole(0, MAX_PADDING))
    hidden: tuple[HiddenKeys, ...] = linked((), HiddenList())
    positions: str = linked("none", OneOf(POSITIONS))
    query: int = linked(2, Whole(0, MAX_TOKENS - 1))
    key: int = linked(0, Whole(0, MAX_TOKENS - 1))
    column: int = linked(0, Whole(0, MAX_SIZE - 1))
    head: int = linked(0, Whole(0, MAX_SIZE - 1))
    edits: tuple[Edit, ...] = linked((), EditList())
    training_steps: int = linked(0, Whole(0, MAX_EMBEDDING_STEPS))
    corpus: str = linked("", CutText(MAX_CORPUS_CHARACTERS))

    def __post_init__(self) -> None:
        if self.text is None:
            object.__setattr__(self, "text", DEFAULT_TEXT.get(self.lang))
        super().__post_init__()
        check_heads(self.d_model, self.n_heads)

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> Self:
        """The lesson that the parameters describe; never raises.

        What cannot be read, and a number of heads that does not divide d_model, keeps its default and
        is listed in `ignored`.
        """
        try:
            return super().from_query(query)
        except ValueError:  # each field is allowed: only d_model and n_heads together are not
            lesson = super().from_query({name: value for name, value in query.items() if name != "n_heads"})
        possible = ", ".join(map(str, head_counts(lesson.d_model)))
        refused = Ignored("n_heads", str(query["n_heads"]), f"{possible} (d_model = {lesson.d_model})")
        return dataclasses.replace(lesson, ignored=(*lesson.ignored, refused))

    def defaults(self) -> Self:
        """The default lesson in the same language: the default text follows the language."""
        return type(self)(lang=self.lang)

    def to_query(self) -> dict[str, str]:
        """The lesson as URL parameters; the language is always among them."""
        return {"lang": self.lang} | super().to_query()

    def with_cell_of(self, other: Self) -> Self:
        """The lesson with the cell chosen that another one has: the numbers stay as they are."""
        return dataclasses.replace(self, **{name: getattr(other, name) for name in CELL})

    def resized(self, d_model: int) -> Self:
        """The lesson with another d_model, and with at most as many heads as now that divide it."""
        n_heads = max(n for n in head_counts(d_model) if n <= self.n_heads)
        return dataclasses.replace(self, d_model=d_model, n_heads=n_heads)


def head_counts(d_model: int) -> tuple[int, ...]:
    """The numbers of heads that divide d_model."""
    return tuple(n for n in range(1, d_model + 1) if d_model % n == 0)


@dataclass(frozen=True, kw_only=True)
class LessonTrace(Thread):
    """Every step of one lesson, in float64.

    `lesson` is the lesson with its chosen cell moved inside the sequence; `n_cut` counts the
    tokens past MAX_TOKENS that were left out; `unused_edits` name cells that the lesson does not have.
    """

    lesson: Lesson
    n_cut: int
    ids: tuple[int, ...]
    vocabulary: Vocabulary
    unused_edits: tuple[Edit, ...]

    @property
    def one_hot(self) -> Float[Tensor, "token vocabulary"]:
        """The one-hot vectors of the text."""
        return self.asking.entries

    @property
    def id_table(self) -> list[tuple[str, int]]:
        """Every token with its ID: those of the text, then those of the second text if there is one."""
        tokens = (*self.tokens, *(self.key_tokens if self.is_cross else ()))
        return list(zip(tokens, self.vocabulary.encode(tokens), strict=True))

    def with_cell_of(self, lesson: Lesson) -> Self:
        """The same numbers with the cell chosen that a lesson has."""
        chosen = self.lesson.with_cell_of(lesson)
        return dataclasses.replace(self, lesson=_inside(chosen, len(self.tokens), len(self.key_tokens)))


def run_lesson(lesson: Lesson) -> LessonTrace:
    """Computes the whole lesson from its seed.

    All parameters have one decimal, so x is exact at 1 decimal, q, k, v at 2 and scores at 4;
    a trained embedding layer has two, edited numbers have their own, and sines have many.

    Raises:
        ValueError: the text holds no token, or the corpus cannot be trained on.
        BlindQueryError: the mask hides every key from a query.
    """
    texts, n_cut = _texts(lesson)
    vocabulary, embedding_layer = _embedding_layer(lesson, _all_tokens(texts))
    parameters = _parameters(lesson, embedding_layer)
    w = {name: edited(name, values, lesson.edits) for name, values in parameters.items()}
    if lesson.positions == "none":
        w["p"] = parameters["p"]  # nothing is added, an edit of it neither
    sequences = [_embedded(tokens, vocabulary, w) for tokens in texts]
    cells = _editable(lesson, parameters, sequences)
    unused = [edit for edit in lesson.edits if not is_inside(edit, cells[edit.matrix])]
    sequences[0] = _with_edited_x(sequences[0], lesson)
    asking, answering = sequences[0], sequences[-1]
    n_queries, n_keys = len(asking.tokens), len(answering.tokens)
    return LessonTrace.run(
        asking,
        answering,
        Layers(w["W_Q"], w["W_K"], w["W_V"], w["W_O"]),
        mask=make_mask(lesson.mask, n_queries, n_keys, n_padding=lesson.padding, hidden=lesson.hidden),
        n_heads=lesson.n_heads,
        head=lesson.head,
        scale=lesson.scale,
        features=vocabulary.words,
        entries_symbol=r"\text{one-hot}",
        w_e=w["W_E"],
        edits=lesson.edits,
        lesson=_inside(lesson, n_queries, n_keys),
        n_cut=n_cut,
        ids=vocabulary.encode(asking.tokens),
        vocabulary=vocabulary,
        unused_edits=tuple(unused),
    )


def _texts(lesson: Lesson) -> tuple[list[tuple[str, ...]], int]:
    """The tokens of the text, and of the second text if it has any; padding is put behind the last.

    The second number says how many tokens were too many.
    """
    found = [tokenize(text, lesson.segmentation) for text in (lesson.text, lesson.second_text)]
    if not found[0]:
        raise ValueError(f"the text must hold at least one token, got {lesson.text!r}")
    texts = [tokens for tokens in found if tokens]
    limits = [MAX_TOKENS] * (len(texts) - 1) + [MAX_TOKENS - lesson.padding]
    n_cut = sum(max(0, len(tokens) - limit) for tokens, limit in zip(texts, limits, strict=True))
    kept = [tokens[:limit] for tokens, limit in zip(texts, limits, strict=True)]
    return [*kept[:-1], (*kept[-1], *[PADDING] * lesson.padding)], n_cut


def _parameters(lesson: Lesson, embedding_layer: Float[Tensor, "_ _"]) -> dict[EditedMatrix, Float[Tensor, "_ _"]]:
    """Every parameter as the seed makes it, W_E perhaps trained."""
    drawn = draws(len(embedding_layer), lesson.d_model, lesson.seed)
    return {
        **{name: draw.numbers() for name, draw in drawn.items()},
        "W_E": embedding_layer,
        "W_O": output_draw(lesson.d_model, lesson.seed).numbers(),
        "p": position_vectors(lesson.positions, lesson.d_model, lesson.seed),
    }


def _embedded(
    tokens: tuple[str, ...], vocabulary: Vocabulary, w: Mapping[EditedMatrix, Float[Tensor, "_ _"]]
) -> EmbeddedSequence:
    selector = one_hot(vocabulary.encode(tokens), len(vocabulary))
    x, p = selector @ w["W_E"], w["p"][: len(tokens)]
    return EmbeddedSequence(tokens, selector, x, p, x + p)


def _editable(
    lesson: Lesson, parameters: dict[EditedMatrix, Float[Tensor, "_ _"]], sequences: list[EmbeddedSequence]
) -> dict[EditedMatrix, Float[Tensor, "_ _"]]:
    """Every matrix that edits may name; of position vectors those in use, so none where none is added."""
    n_positions = 0 if lesson.positions == "none" else max(len(sequence.tokens) for sequence in sequences)
    return parameters | {"x": sequences[0].x, "p": parameters["p"][:n_positions]}


def _with_edited_x(sequence: EmbeddedSequence, lesson: Lesson) -> EmbeddedSequence:
    x = edited("x", sequence.x, lesson.edits)
    return dataclasses.replace(sequence, x=x, inputs=x + sequence.p)


def layer_training(lesson: Lesson) -> LayerTraining:
    """What the lesson's embedding layer is trained on and how far; with 0 steps not at all.

    Raises:
        ValueError: the text holds no token.
    """
    return _layer_training(lesson, _all_tokens(_texts(lesson)[0]))


def _layer_training(lesson: Lesson, tokens: tuple[str, ...]) -> LayerTraining:
    return LayerTraining(lesson.corpus, language_of(tokens), lesson.d_model, lesson.seed, lesson.training_steps)


def _all_tokens(texts: list[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(token for tokens in texts for token in tokens)


def _embedding_layer(lesson: Lesson, tokens: tuple[str, ...]) -> tuple[Vocabulary, Float[Tensor, "vocabulary d_model"]]:
    """The vocabulary with W_E: random, or trained on the lesson's corpus."""
    if lesson.training_steps:
        return trained_layer(tokens, _layer_training(lesson, tokens))
    vocabulary = Vocabulary.for_tokens(tokens, lesson.d_model)
    return vocabulary, draws(len(vocabulary), lesson.d_model, lesson.seed)["W_E"].numbers()


def _inside(lesson: Lesson, n_queries: int, n_keys: int) -> Lesson:
    """The lesson with its chosen cell inside the sequences, the embedding and the heads."""
    return dataclasses.replace(
        lesson,
        query=min(lesson.query, n_queries - 1),
        key=min(lesson.key, n_keys - 1),
        column=min(lesson.column, lesson.d_model - 1),
        head=min(lesson.head, lesson.n_heads - 1),
    )
