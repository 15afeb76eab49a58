"""Tasks that need attention, each with a known right answer."""

import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attn_core.language import END, START, language
from attn_core.problems import NOTHING, Problems, equal_shares

TASKS = ("copy", "reverse", "recall", "induction", "next_word_ja", "next_word_en")
LENGTH = 8
N_PAIRS = {"recall": 4, "induction": 3}
N_UNSEEN = 1000

_LETTERS, _DIGITS = tuple("abcdef"), tuple("123456")
_N = len(_LETTERS)
_UNSEEN_SEED = 0

Draw = Callable[[int, torch.Generator], Problems]


@dataclass(frozen=True)
class Task:
    """What is to be learned.

    Attributes:
        tokens: names of the input's token IDs.
        answers: names of the answers' IDs.
        causal: whether a place sees only itself and what came before.
        unseen: problems that training never meets.
        draw: problems to train on, from a generator; none of them has the sequence of an unseen one.
    """

    tokens: tuple[str, ...]
    answers: tuple[str, ...]
    causal: bool
    unseen: Problems
    draw: Draw

    @property
    def length(self) -> int:
        """Places in a sequence."""
        return self.unseen.inputs.shape[1]

    @property
    def mask(self) -> Bool[Tensor, "query key"] | None:
        """What each place may see; None where it may see all."""
        return torch.ones(self.length, self.length, dtype=torch.bool).tril() if self.causal else None


@functools.cache
def task(name: str) -> Task:
    """One of TASKS.

    copy: one letter stands in brackets; every place has to name it.
    reverse: every place has to name the letter that is as far from the other end.
    recall: key-value pairs ("a3"), each one token, then their keys in another order ("a?"), each of which has to
        name its value.
    induction: the same with key and value as two tokens, one after the other, and each place sees only itself and
        what came before. It takes two layers: a value finds the key before it, then a key finds the value that has
        found the same key.
    next_word_ja, next_word_en: the next word of the built-in corpus's language, seeing only the words before.

    Raises:
        ValueError: there is no such task.

    Source: recall as one layer can do it is the associative recall of Ba et al. 2016 (arXiv 1610.06258), section
    4.1, with each pair joined to one token; induction is Olsson et al. 2022 (arXiv 2209.11895).
    """
    if name not in TASKS:
        raise ValueError(f"task must be one of {', '.join(TASKS)}, got {name!r}")
    if name.startswith("next_word"):
        return _next_word(name.removeprefix("next_word_"))
    tokens, answers, draw = {
        "copy": ((*_LETTERS, *(f"[{letter}]" for letter in _LETTERS)), _LETTERS, _copy),
        "reverse": (_LETTERS, _LETTERS, _reverse),
        "recall": ((*(k + v for k in _LETTERS for v in _DIGITS), *(f"{k}?" for k in _LETTERS)), _DIGITS, _recall),
        "induction": ((*_LETTERS, *_DIGITS), _DIGITS, _induction),
    }[name]
    unseen = draw(N_UNSEEN, torch.Generator().manual_seed(_UNSEEN_SEED))
    return Task(tokens, answers, name == "induction", unseen, _without(unseen, draw, len(tokens)))


def n_layers_needed(name: str) -> int:
    """Layers of the known solution; 0 where none is known."""
    return len(task(name).unseen.sources)


@functools.cache
def best_without_matching(name: str) -> float | None:
    """How often who knows only which values occur, and names the most frequent one, is right; None without pairs."""
    if name not in N_PAIRS:
        return None
    every = list(itertools.product(_DIGITS, repeat=N_PAIRS[name]))
    most_frequent = sum(max(values.count(value) for value in values) for values in every)
    return most_frequent / N_PAIRS[name] / len(every)


def _without(unseen: Problems, draw: Draw, n_tokens: int) -> Draw:
    """Draws as before, and leaves out every sequence that is among the unseen ones."""
    digits = n_tokens ** torch.arange(unseen.inputs.shape[1])  # a sequence as one number: comparing is fast
    numbers = (unseen.inputs * digits).sum(dim=-1)

    def drawn_without(n: int, generator: torch.Generator) -> Problems:
        drawn = draw(n, generator)
        same = torch.isin((drawn.inputs * digits).sum(dim=-1), numbers)
        return drawn.take(torch.nonzero(~same)[:, 0])

    return drawn_without


def _copy(n: int, generator: torch.Generator) -> Problems:
    letters, mark = _letters(n, generator), torch.randint(LENGTH, (n, 1), generator=generator)
    inputs = letters + _N * (torch.arange(LENGTH) == mark)
    return _problems(inputs, letters.gather(1, mark).expand(-1, LENGTH), mark.expand(-1, LENGTH))


def _reverse(n: int, generator: torch.Generator) -> Problems:
    letters = _letters(n, generator)
    return _problems(letters, letters.flip(-1), torch.arange(LENGTH).flip(-1).expand(n, -1))


def _recall(n: int, generator: torch.Generator) -> Problems:
    keys, values, order = _pairs(n, N_PAIRS["recall"], generator)
    asked_keys, asked_values = keys.gather(1, order), values.gather(1, order)
    nothing = torch.full_like(order, NOTHING)
    inputs = torch.cat([_N * keys + values, _N * _N + asked_keys], dim=1)
    return _problems(inputs, torch.cat([nothing, asked_values], dim=1), torch.cat([nothing, order], dim=1))


def _induction(n: int, generator: torch.Generator) -> Problems:
    keys, values, order = _pairs(n, N_PAIRS["induction"], generator)
    told = torch.stack([keys, _N + values], dim=-1).flatten(1)
    nothing = torch.full_like(told, NOTHING)
    inputs = torch.cat([told, keys.gather(1, order)], dim=1)
    answers = torch.cat([nothing, values.gather(1, order)], dim=1)
    first, second = torch.full_like(inputs, NOTHING), torch.cat([nothing, 2 * order + 1], dim=1)
    of_values = torch.arange(1, told.shape[1], 2)
    first[:, of_values] = of_values - 1
    return _problems(inputs, answers, first, second)


def _letters(n: int, generator: torch.Generator) -> Int[Tensor, "sequence token"]:
    return torch.randint(_N, (n, LENGTH), generator=generator)


def _pairs(
    n: int, n_pairs: int, generator: torch.Generator
) -> tuple[Int[Tensor, "sequence pair"], Int[Tensor, "sequence pair"], Int[Tensor, "sequence pair"]]:
    """Keys, all different; any values; the order in which they are asked for."""
    keys = torch.rand(n, _N, generator=generator).argsort(dim=-1)[:, :n_pairs]
    values = torch.randint(len(_DIGITS), (n, n_pairs), generator=generator)
    return keys, values, torch.rand(n, n_pairs, generator=generator).argsort(dim=-1)


def _problems(inputs: Tensor, answers: Tensor, *sources: Tensor) -> Problems:
    return Problems(inputs, answers, torch.stack(sources), equal_shares(len(inputs)))


def _next_word(lang: str) -> Task:
    known = language(lang)
    seen = known.sentences.take(known.seen)

    def draw(n: int, generator: torch.Generator) -> Problems:
        drawn = seen.take(torch.multinomial(seen.shares, n, replacement=True, generator=generator))
        return Problems(drawn.inputs, drawn.answers, drawn.sources, equal_shares(n))

    return Task((*known.words, START), (*known.words, END), True, known.sentences.take(known.unseen), draw)
