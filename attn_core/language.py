"""The language of the built-in corpus as a table of all its sentences, and what is known about it exactly."""

import functools
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attn_core.corpus import built_in_corpus, every_sentence
from attn_core.problems import NOTHING, Problems, average

START, END = "[BOS]", "[EOS]"
UNSEEN_SHARE = 0.2
_UNSEEN_SEED = 0


@dataclass(frozen=True)
class Language:
    """Every sentence with its probability.

    Attributes:
        words: names of the token IDs; the next ID is that of START in the input, of END among the answers.
        sentences: each begins with START, asks for each next word and for END, and is filled up with START.
        unseen: which rows are kept from training.
        seen: all others.
    """

    words: tuple[str, ...]
    sentences: Problems
    unseen: Int[Tensor, " unseen"]
    seen: Int[Tensor, " seen"]


@dataclass(frozen=True)
class Yardstick:
    """What a predictor that knows the language reaches on some sentences.

    Attributes:
        loss: mean of −ln of the probability it gave to the word that came.
        accuracy: how often its likeliest word came; of several equally likely ones each counts its share.
    """

    loss: float
    accuracy: float


@dataclass(frozen=True)
class Predictor:
    """A predictor's probabilities at every place of every sentence of a language.

    Attributes:
        sentences: the language's.
        of_next: of the word that comes next.
        hits: 1 where the word that comes is the likeliest, 1/n where it is one of n likeliest, else 0.
    """

    sentences: Problems
    of_next: Float[Tensor, "sentence place"]
    hits: Float[Tensor, "sentence place"]

    def on(self, rows: Int[Tensor, " row"]) -> Yardstick:
        """What it reaches on some of the sentences."""
        chosen = self.sentences.take(rows)
        loss, accuracy = average(-self.of_next[rows].log(), chosen), average(self.hits[rows], chosen)
        return Yardstick(float(loss), float(accuracy))


@functools.cache
def language(lang: str) -> Language:
    """The language of the built-in corpus in "ja" or "en", a fifth of its sentences kept from training.

    Raises:
        ValueError: there is no built-in corpus in the language.
    """
    words, probabilities = built_in_corpus(lang).words, every_sentence(lang)
    ids = {word: index for index, word in enumerate((*words, END))}
    places = range(1 + max(map(len, probabilities)))
    asked = [[*(ids[word] for word in sentence), ids[END]] for sentence in probabilities]
    answers = torch.tensor([[row[place] if place < len(row) else NOTHING for place in places] for row in asked])
    inputs = torch.full_like(answers, len(words))
    inputs[:, 1:] = torch.where(answers[:, 1:] == NOTHING, len(words), answers[:, :-1])
    shares = torch.tensor(list(probabilities.values()), dtype=torch.float64)
    sentences = Problems(inputs, answers, inputs.new_zeros(0, *inputs.shape), shares)
    order = torch.randperm(len(inputs), generator=torch.Generator().manual_seed(_UNSEEN_SEED))
    n_unseen = round(UNSEEN_SHARE * len(inputs))
    return Language(words, sentences, order[:n_unseen], order[n_unseen:])


@functools.cache
def grammar(lang: str) -> Predictor:
    """The language's own probabilities of a word after all words before it: what knowing the grammar gives.

    Its loss on all sentences is the language's conditional entropy.
    """
    sentences = language(lang).sentences
    n = len(language(lang).words) + 1
    context = torch.zeros_like(sentences.inputs)
    for place in range(1, context.shape[1]):
        context[:, place] = n * context[:, place - 1] + sentences.inputs[:, place] + 1
    return _predictor(sentences, context)


@functools.cache
def bigrams(lang: str) -> Predictor:
    """The language's own probabilities of a word after the one word before it."""
    sentences = language(lang).sentences
    return _predictor(sentences, sentences.inputs)


@functools.cache
def bigrams_in_place(lang: str) -> Predictor:
    """The same for each place in the sentence: the best from a word and its place, that is, without any attention."""
    sentences = language(lang).sentences
    return _predictor(sentences, sentences.inputs * sentences.inputs.shape[1] + torch.arange(sentences.inputs.shape[1]))


def _predictor(sentences: Problems, context: Int[Tensor, "sentence place"]) -> Predictor:
    """Exact probabilities given a number that stands for all that is known: shares of sentences, added up."""
    asked = sentences.answers != NOTHING
    shares = sentences.shares[:, None].expand_as(asked)[asked]
    contexts = torch.unique(context[asked], return_inverse=True)[1]
    pairs = torch.unique(torch.stack([contexts, sentences.answers[asked]]), dim=1, return_inverse=True)[1]
    of_next = _sums(pairs, shares)[pairs] / _sums(contexts, shares)[contexts]
    largest = torch.zeros_like(shares).scatter_reduce(0, contexts, of_next, "amax")[contexts]
    likeliest = (of_next >= largest * (1 - 1e-9)).to(torch.float64)
    ways = torch.zeros_like(shares).scatter(0, pairs, likeliest)  # one entry for each context with its answer
    ties = torch.zeros_like(shares).index_add(0, _contexts_of(pairs, contexts), ways)
    hits = likeliest / ties[contexts]
    blank = torch.ones(asked.shape, dtype=torch.float64)
    return Predictor(sentences, blank.masked_scatter(asked, of_next), blank.masked_scatter(asked, hits))


def _contexts_of(pairs: Int[Tensor, " item"], contexts: Int[Tensor, " item"]) -> Int[Tensor, " item"]:
    """The context of each pair, by the pair's number; numbers that no pair has stay at 0, where they add 0."""
    return torch.zeros_like(contexts).scatter(0, pairs, contexts)


def _sums(groups: Int[Tensor, " item"], shares: Float[Tensor, " item"]) -> Float[Tensor, " item"]:
    """The shares of each group, added up, by the group's number."""
    return torch.zeros_like(shares).index_add(0, groups, shares)
