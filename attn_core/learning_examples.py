"""One unseen problem of a training run, as it is shown: what the model attends to, what it should, what it answers."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attn_core.language import grammar, language
from attn_core.learning import LayerWeights, LearningProgress, LearningSettings, Snapshot, layer_sources
from attn_core.problems import NOTHING, ideal_weights
from attn_core.stages import Matrix, Role
from attn_core.tasks import task

_ROLES: dict[str, Role] = {"q": "query", "k": "key", "v": "value"}


@dataclass(frozen=True)
class Example:
    """What of an unseen problem is shown for one layer.

    Attributes:
        tokens: the sequence, up to the last place that asks for anything.
        rows: the places whose attention matters in this layer.
        sources: where each of these rows has to attend; empty where no solution is known.
    """

    tokens: tuple[str, ...]
    rows: tuple[int, ...]
    sources: tuple[int, ...]

    @property
    def marked(self) -> tuple[tuple[int, int], ...]:
        """The cells that should hold all the weight."""
        return tuple(enumerate(self.sources))


@dataclass(frozen=True)
class Answer:
    """What the model answers at one place.

    Attributes:
        place: where, counted from 0.
        token: what stands there.
        right: the right answer.
        given: the model's likeliest answer.
        probability: what the model gives to it.
        of_right: what the model gives to the right answer.
        known: what the language's own grammar gives to the right answer, for next words.
    """

    place: int
    token: str
    right: str
    given: str
    probability: float
    of_right: float
    known: float | None


def layer_shown(settings: LearningSettings) -> int:
    """The layer whose attention is shown; the last one where there are fewer."""
    return min(settings.shown_layer, settings.model_layers - 1)


def snapshot_shown(settings: LearningSettings, progress: LearningProgress) -> Snapshot:
    """The last snapshot up to the step that is shown."""
    return [one for one in progress.snapshots if one.step <= settings.shown_step][-1]


def example_shown(settings: LearningSettings) -> Example:
    """The chosen problem in the chosen layer."""
    return _example(settings, settings.shown_example)


def _example(settings: LearningSettings, place: int) -> Example:
    learned = task(settings.task)
    problem = learned.unseen.take(torch.tensor([place]))
    answers, sources = problem.answers[0].tolist(), layer_sources(problem, settings.model_layers)
    asked = sources[layer_shown(settings)][0].tolist() if sources else answers
    rows = tuple(row for row, wanted in enumerate(asked) if wanted != NOTHING)
    end = 1 + max(row for row, wanted in enumerate(answers) if wanted != NOTHING)
    tokens = tuple(learned.tokens[index] for index in problem.inputs[0, :end].tolist())
    return Example(tokens, rows, tuple(asked[row] for row in rows) if sources else ())


def example_texts(settings: LearningSettings, n: int) -> tuple[str, ...]:
    """The first n unseen sequences as text."""
    return tuple(" ".join(_example(settings, place).tokens) for place in range(n))


def learned_weights(settings: LearningSettings, progress: LearningProgress) -> tuple[Matrix, ...]:
    """The chosen layer's weights on the chosen problem, at every snapshot."""
    example, layer = example_shown(settings), layer_shown(settings)
    return tuple(_matrix(settings, example, one.weights[layer, settings.shown_example]) for one in progress.snapshots)


def ideal_matrix(settings: LearningSettings) -> Matrix | None:
    """The weights of the known solution; None where none is known."""
    example = example_shown(settings)
    if not example.sources:
        return None
    places = torch.full((task(settings.task).length,), NOTHING)
    places[list(example.rows)] = torch.tensor(example.sources)
    return _matrix(settings, example, ideal_weights(places))


def _matrix(settings: LearningSettings, example: Example, weights: Float[Tensor, "query key"]) -> Matrix:
    """The rows that matter, over the places that are shown; what the mask hides is struck through."""
    mask, rows = task(settings.task).mask, list(example.rows)
    columns = slice(len(example.tokens))
    names = tuple(example.tokens[row] for row in rows)
    hidden = None if mask is None else ~mask[rows, columns]
    return Matrix("A", "a", "weights", weights[rows, columns], names, example.tokens, hidden=hidden)


def answers(settings: LearningSettings, snapshot: Snapshot) -> tuple[Answer, ...]:
    """What the model answers to the chosen problem, at every place that asks."""
    learned, place = task(settings.task), settings.shown_example
    wanted, inputs = learned.unseen.answers[place].tolist(), learned.unseen.inputs[place].tolist()
    known = _known(settings.task, place)
    given, of_given, of_right = (one[place].tolist() for one in (snapshot.given, snapshot.of_given, snapshot.of_right))
    return tuple(
        Answer(
            at,
            learned.tokens[inputs[at]],
            learned.answers[right],
            learned.answers[given[at]],
            of_given[at],
            of_right[at],
            None if known is None else known[at],
        )
        for at, right in enumerate(wanted)
        if right != NOTHING
    )


def _known(name: str, place: int) -> list[float] | None:
    """The grammar's probability of each next word of an unseen sentence."""
    if not name.startswith("next_word"):
        return None
    lang = name.removeprefix("next_word_")
    exact: list[float] = grammar(lang).of_next[language(lang).unseen[place]].tolist()
    return exact


def layer_matrices(weights: LayerWeights) -> tuple[Matrix, ...]:
    """W_Q, W_K and W_V, rounded to two decimals."""
    return tuple(
        Matrix(f"W_{name.upper()}", "w", role, getattr(weights, f"w_{name}").round(decimals=2), *_numbered(weights))
        for name, role in _ROLES.items()
    )


def _numbered(weights: LayerWeights) -> tuple[tuple[str, ...], tuple[str, ...]]:
    names = tuple(str(index) for index in range(len(weights.w_q)))
    return names, names
