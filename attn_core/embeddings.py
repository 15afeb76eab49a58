"""Learned embeddings: a fully connected layer trained to predict a word's neighbours.

Skip-gram (Mikolov et al. 2013, arXiv 1301.3781, §3.2; the objective is arXiv 1310.4546,
equations 1 and 2). The vocabulary is small, so the softmax runs over all of it: negative
sampling, made for a million words, is not needed. The output layer has a bias, which the paper's
has not: it takes up how frequent a context word is, and leaves the embeddings to what differs.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from attn_core.corpus import read_corpus
from attn_core.geometry import cosines
from attn_core.limits import MAX_EMBEDDING_STEPS
from attn_core.optimizer import Adam
from attn_core.parameters import draws
from attn_core.tokens import UNKNOWN, Vocabulary

DEFAULT_STEPS = 200

# The decay keeps entries near the size of 1 however long the training, and lets what is left of the
# random start fade.
LEARNING_RATE = 0.1
DECAY = 0.2


@dataclass(frozen=True)
class EmbeddingProgress:
    """The embeddings after some steps of training, and the loss they have."""

    step: int
    steps: int
    loss: float
    w: Float[Tensor, "word d_model"]


@dataclass(frozen=True)
class Gradients:
    """The derivative of the loss by each layer's entries."""

    w: Float[Tensor, "word d_model"]
    w_out: Float[Tensor, "d_model context"]
    b_out: Float[Tensor, " context"]


def start_rows(n_rows: int, d_model: int, seed: int) -> Float[Tensor, "row d_model"]:
    """The embeddings of an untrained lesson; the first rows do not depend on how many follow."""
    return draws(n_rows, d_model, seed)["W_E"].numbers()


def skip_gram(
    counts: Float[Tensor, "word context"],
    w: Float[Tensor, "word d_model"],
    w_out: Float[Tensor, "d_model context"],
    b_out: Float[Tensor, " context"],
) -> tuple[Float[Tensor, ""], Gradients]:
    """The loss over all pairs of a word and a context word, and its gradients.

    one-hot → W selects the word's row; row × W_out + b_out → softmax → the probability of each
    context word. The loss is the mean of −ln of the probabilities of the pairs that occur. By the
    scores its derivative is softmax minus what occurred.
    """
    scores = w @ w_out + b_out
    log_probabilities = scores.log_softmax(dim=-1)
    n_pairs = counts.sum()
    loss = -(counts * log_probabilities).sum() / n_pairs
    expected = counts.sum(dim=-1, keepdim=True) * log_probabilities.exp()
    error = (expected - counts) / n_pairs
    return loss, Gradients(w=error @ w_out.T, w_out=w.T @ error, b_out=error.sum(dim=0))


def train_embeddings(
    counts: Float[Tensor, "word context"], *, d_model: int, seed: int, steps: int = DEFAULT_STEPS
) -> Iterator[EmbeddingProgress]:
    """Trains the embeddings on counted pairs, and yields them before the first step and after each.

    Each step uses all pairs. What is yielded at a step does not depend on how many are to follow.
    The output layer starts at 0, so at first every context word is equally likely and the loss is
    ln K for K words. The row of a word without any pair stays as it started.

    Args:
        counts: how often each word has each context word; Corpus.counts() counts them.
        d_model: size of an embedding.
        seed: of the random start.
        steps: how many, 0 … MAX_EMBEDDING_STEPS.

    Raises:
        ValueError: steps or d_model out of range, or no pair.
    """
    _check(counts, d_model, steps)
    n_words = len(counts)
    w = start_rows(1 + n_words, d_model, seed)[1:].clone()  # row 0 belongs to the unknown word
    w_out, b_out = w.new_zeros(d_model, n_words), w.new_zeros(n_words)
    seen = (counts.sum(dim=-1, keepdim=True) > 0).to(w.dtype)
    layers = (
        Adam(w, LEARNING_RATE, decay=DECAY * seen),
        Adam(w_out, LEARNING_RATE, decay=DECAY),
        Adam(b_out, LEARNING_RATE),
    )
    for step in range(steps + 1):
        before = w.clone()
        loss, gradients = skip_gram(counts, w, w_out, b_out)
        for layer, gradient in zip(layers, (gradients.w, gradients.w_out, gradients.b_out), strict=True):
            layer.step(gradient)
        yield EmbeddingProgress(step, steps, float(loss), before)


def _check(counts: Tensor, d_model: int, steps: int) -> None:
    if not 0 <= steps <= MAX_EMBEDDING_STEPS:
        raise ValueError(f"steps must be 0 … {MAX_EMBEDDING_STEPS}, got {steps}")
    if d_model < 1:
        raise ValueError(f"d_model must be at least 1, got {d_model}")
    if not counts.sum() > 0:
        raise ValueError(f"counts must hold at least one pair, got {len(counts)} words without any")


@dataclass(frozen=True)
class LayerTraining:
    """All that a trained embedding layer depends on.

    Attributes:
        corpus: sentences to train on; "" for the built-in ones of the language.
        language: "ja" or "en"; only the built-in corpus depends on it.
        d_model: size of an embedding.
        seed: of the random start.
        steps: how many, 0 … MAX_EMBEDDING_STEPS; 0 leaves the random start.
    """

    corpus: str
    language: str
    d_model: int
    seed: int
    steps: int


def train_layer(training: LayerTraining) -> Iterator[EmbeddingProgress]:
    """Trains a layer, and yields it before the first step and after each; see `train_embeddings`.

    Raises:
        ValueError: steps, d_model or language out of range, or a corpus with too few words.
    """
    counts = read_corpus(training.corpus, training.language).counts()
    yield from train_embeddings(counts, d_model=training.d_model, seed=training.seed, steps=training.steps)


def keep_layer(training: LayerTraining, reached: EmbeddingProgress) -> None:
    """Keeps what a training has reached: `trained_layer` finds it as the layer of that many steps.

    The layers asked for last are kept, for all who ask for the same.
    """
    _keep(training, _rounded(training, reached), reached.step)


def is_kept(training: LayerTraining) -> bool:
    """Whether `trained_layer` need not train."""
    return _find(training) is not None


@dataclass(frozen=True)
class _KeptLayer:
    """The corpus's words and their trained rows; neither depends on the lesson's text."""

    words: tuple[str, ...]
    rows: Float[Tensor, "word d_model"]


_MOST_KEPT = 128
_kept: OrderedDict[LayerTraining, _KeptLayer] = OrderedDict()
_keeping = threading.Lock()


def _find(training: LayerTraining) -> _KeptLayer | None:
    with _keeping:
        if training in _kept:
            _kept.move_to_end(training)
        return _kept.get(training)


def _keep(training: LayerTraining, layer: _KeptLayer, step: int) -> None:
    with _keeping:
        _kept[replace(training, steps=step)] = layer
        if len(_kept) > _MOST_KEPT:
            _kept.popitem(last=False)


def _rounded(training: LayerTraining, reached: EmbeddingProgress) -> _KeptLayer:
    words = read_corpus(training.corpus, training.language).words
    return _KeptLayer(words, reached.w.round(decimals=2) + 0.0)  # + 0.0: no −0.00 on the screen


def trained_layer(
    tokens: tuple[str, ...], training: LayerTraining
) -> tuple[Vocabulary, Float[Tensor, "vocabulary d_model"]]:
    """A lesson's vocabulary and its embedding layer W_E, trained on a corpus; trains if no kept layer is the same.

    The vocabulary is the unknown word, the corpus's words, then the words of the text itself that
    are not among them. Trained rows are rounded to 2 decimals, so that what is printed is the
    value; rows of words without training keep their random start, which has one.

    Args:
        tokens: the lesson's text, cut into tokens.
        training: what the layer depends on; the text is not part of it.

    Raises:
        ValueError: steps, d_model or language out of range, a corpus with too few words, or a
            vocabulary that is not larger than d_model.
    """
    layer, d_model = _find(training) or _train_and_keep(training), training.d_model
    vocabulary = Vocabulary(tuple(dict.fromkeys([UNKNOWN, *layer.words, *tokens])))
    if len(vocabulary) <= d_model:
        raise ValueError(
            f"corpus and text together must hold at least {d_model} different words, got {len(vocabulary) - 1}"
        )
    w_e = start_rows(len(vocabulary), d_model, training.seed)
    w_e[1 : 1 + len(layer.rows)] = layer.rows
    return vocabulary, w_e


def _train_and_keep(training: LayerTraining) -> _KeptLayer:
    *_, last = train_layer(training)
    layer = _rounded(training, last)
    _keep(training, layer, last.step)
    return layer


def neighbour_purity(w: Float[Tensor, "word d_model"], words: tuple[str, ...], kinds: Mapping[str, str]) -> float:
    """The share of words with a kind whose nearest neighbour, by cosine, is of the same kind.

    Only words with a kind count, as neighbours too. If n of N words are of a kind, a random
    layer finds one of them for a share of about (n − 1) / (N − 1).

    Raises:
        ValueError: there is not one word per row, or fewer than two words have a kind.
    """
    _check_rows(w, words)
    chosen = [index for index, word in enumerate(words) if word in kinds]
    if len(chosen) < 2:
        raise ValueError(f"at least 2 of the words must have a kind, got {len(chosen)}")
    nearest = cosines(w[chosen], w[chosen]).fill_diagonal_(-torch.inf).argmax(dim=-1).tolist()
    found = [kinds[words[index]] for index in chosen]
    matches: list[bool] = [found[row] == found[neighbour] for row, neighbour in enumerate(nearest)]
    return sum(matches) / len(matches)


def nearest_neighbours(
    w: Float[Tensor, "word d_model"], words: tuple[str, ...], word: str, n: int
) -> tuple[tuple[str, float], ...]:
    """The n other words nearest to a word by cosine, with their cosines, the nearest first.

    Raises:
        ValueError: there is not one word per row, the word is not among them, or n is below 1.
    """
    _check_rows(w, words)
    if word not in words:
        raise ValueError(f"word must be one of the {len(words)} words, got {word!r}")
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n}")
    place = words.index(word)
    similarities = cosines(w[place : place + 1], w)[0]
    order = [i for i in similarities.argsort(descending=True, stable=True).tolist() if i != place]
    return tuple((words[i], float(similarities[i])) for i in order[:n])


def _check_rows(w: Tensor, words: tuple[str, ...]) -> None:
    if len(w) != len(words):
        raise ValueError(f"w must have one row per word, got {len(w)} rows and {len(words)} words")
