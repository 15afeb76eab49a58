"""Learned embeddings: a fully connected layer trained to predict a word's neighbours.

Skip-gram (Mikolov et al. 2013, arXiv 1301.3781, §3.2; the objective is arXiv 1310.4546,
equations 1 and 2). The vocabulary is small, so the softmax runs over all of it: negative
sampling, made for a million words, is not needed. The output layer has a bias, which the paper's
has not: it takes up how frequent a context word is, and leaves the embeddings to what differs.
"""

import functools
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attn_core.corpus import read_corpus
from attn_core.geometry import cosines
from attn_core.parameters import draws
from attn_core.tokens import UNKNOWN, Vocabulary

DEFAULT_STEPS = 200
MAX_STEPS = 1000

# Adam's usual constants (Kingma and Ba 2014, algorithm 1). The decay keeps entries near the size of
# 1 however long the training, and lets what is left of the random start fade.
LEARNING_RATE = 0.1
DECAY = 0.2
_FIRST, _SECOND, _EPSILON = 0.9, 0.999, 1e-8


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


class _Adam:
    """Adam with decoupled decay (Loshchilov and Hutter 2017, algorithm 2) for one tensor, changed in place.

    By hand, because torch.optim loads a compiler with its first step.
    """

    def __init__(self, parameter: Tensor, decay: float | Tensor = 0.0) -> None:
        self._parameter, self._decay, self._steps = parameter, decay, 0
        self._mean, self._square = torch.zeros_like(parameter), torch.zeros_like(parameter)

    def step(self, gradient: Tensor) -> None:
        self._steps += 1
        self._mean.lerp_(gradient, 1 - _FIRST)
        self._square.lerp_(gradient.square(), 1 - _SECOND)
        mean = self._mean / (1 - _FIRST**self._steps)
        size = (self._square / (1 - _SECOND**self._steps)).sqrt() + _EPSILON
        self._parameter.mul_(1 - LEARNING_RATE * self._decay).sub_(LEARNING_RATE * mean / size)


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
        steps: how many, 0 … MAX_STEPS.

    Raises:
        ValueError: steps or d_model out of range, or no pair.
    """
    _check(counts, d_model, steps)
    n_words = len(counts)
    w = start_rows(1 + n_words, d_model, seed)[1:].clone()  # row 0 belongs to the unknown word
    w_out, b_out = w.new_zeros(d_model, n_words), w.new_zeros(n_words)
    seen = (counts.sum(dim=-1, keepdim=True) > 0).to(w.dtype)
    layers = _Adam(w, DECAY * seen), _Adam(w_out, DECAY), _Adam(b_out)
    for step in range(steps + 1):
        before = w.clone()
        loss, gradients = skip_gram(counts, w, w_out, b_out)
        for layer, gradient in zip(layers, (gradients.w, gradients.w_out, gradients.b_out), strict=True):
            layer.step(gradient)
        yield EmbeddingProgress(step, steps, float(loss), before)


def _check(counts: Tensor, d_model: int, steps: int) -> None:
    if not 0 <= steps <= MAX_STEPS:
        raise ValueError(f"steps must be 0 … {MAX_STEPS}, got {steps}")
    if d_model < 1:
        raise ValueError(f"d_model must be at least 1, got {d_model}")
    if not counts.sum() > 0:
        raise ValueError(f"counts must hold at least one pair, got {len(counts)} words without any")


def trained_layer(
    tokens: tuple[str, ...], *, corpus: str, language: str, d_model: int, seed: int, steps: int
) -> tuple[Vocabulary, Float[Tensor, "vocabulary d_model"]]:
    """A lesson's vocabulary and its embedding layer W_E, trained on a corpus.

    The vocabulary is the unknown word, the corpus's words, then the words of the text itself that
    are not among them. Trained rows are rounded to 2 decimals, so that what is printed is the
    value; rows of words without training keep their random start, which has one.

    Args:
        tokens: the lesson's text, cut into tokens.
        corpus: sentences to train on; "" for the built-in ones of the language.
        language: "ja" or "en"; only the built-in corpus depends on it.
        d_model: size of an embedding.
        seed: of the random start.
        steps: how many, 0 … MAX_STEPS; 0 leaves the random start.

    Raises:
        ValueError: steps, d_model or language out of range, a corpus with too few words, or a
            vocabulary that is not larger than d_model.
    """
    with _one_at_a_time:  # a class that opens one link trains once
        corpus_words, trained = _trained_rows(corpus, language, d_model, seed, steps)
    vocabulary = Vocabulary(tuple(dict.fromkeys([UNKNOWN, *corpus_words, *tokens])))
    if len(vocabulary) <= d_model:
        raise ValueError(
            f"corpus and text together must hold at least {d_model} different words, got {len(vocabulary) - 1}"
        )
    w_e = start_rows(len(vocabulary), d_model, seed)
    w_e[1 : 1 + len(trained)] = trained
    return vocabulary, w_e


_one_at_a_time = threading.Lock()


@functools.lru_cache(maxsize=64)
def _trained_rows(corpus: str, language: str, d_model: int, seed: int, steps: int) -> tuple[tuple[str, ...], Tensor]:
    """The corpus's words and their trained rows; kept, because neither depends on the lesson's text."""
    read = read_corpus(corpus, language)
    *_, last = train_embeddings(read.counts(), d_model=d_model, seed=seed, steps=steps)
    return read.words, last.w.round(decimals=2) + 0.0  # + 0.0: no −0.00 on the screen


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
