"""Sentences to learn embeddings from: a small grammar for each language, or a reader's own text."""

import functools
import itertools
import math
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import regex
import torch
from jaxtyping import Float
from torch import Tensor

from attn_core.limits import MAX_CORPUS_CHARACTERS, MAX_CORPUS_WORDS
from attn_core.tokens import tokenize

Sentence = tuple[str, ...]

N_SENTENCES = 400
WINDOW = 2

_GRAMMAR_SEED = 0
_SENTENCE_ENDS = regex.compile(r"[。.!?！？．\n\r]+")


@dataclass(frozen=True)
class Grammar:
    """Words by the part they can play, the kind each part belongs to, and the patterns of a sentence.

    A pattern's word that names a part stands for any word of that part; all others stand for themselves.
    """

    parts: dict[str, tuple[str, ...]]
    kind_of: dict[str, str]
    patterns: tuple[Sentence, ...]

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of each word that has one; function words have none."""
        return {word: self.kind_of[part] for part, words in self.parts.items() for word in words}

    @property
    def words(self) -> tuple[str, ...]:
        """Every word once: those of a kind side by side, function words last."""
        function_words = (word for pattern in self.patterns for word in pattern if word not in self.parts)
        return tuple(dict.fromkeys([*self.kinds, *function_words]))


_KIND_OF = {
    "animal": "animal",
    "food": "food",
    "person": "person",
    "place": "place",
    "eats": "action",
    "gets": "action",
    "moves": "action",
    "goes": "action",
    "talks": "action",
}


def _grammar(parts: dict[str, str], patterns: str) -> Grammar:
    return Grammar(
        parts={part: tuple(words.split()) for part, words in parts.items()},
        kind_of=_KIND_OF,
        patterns=tuple(tuple(line.split()) for line in patterns.strip().splitlines()),
    )


_GRAMMARS = {
    "ja": _grammar(
        {
            "animal": "猫 犬 鳥 馬 牛 熊 猿 兎",
            "food": "魚 肉 卵 米 パン りんご 野菜",
            "person": "私 学生 先生 子供 母 父 友達 医者",
            "place": "学校 公園 家 森",
            "eats": "食べる",
            "gets": "食べる 買う 作る",
            "moves": "走る 寝る 遊ぶ 歩く",
            "goes": "行く 帰る",
            "talks": "話す",
        },
        """
        animal が food を eats
        animal が food を eats
        person は food を gets
        person は food を gets
        person が food と food を gets
        animal が place で moves
        animal が place を moves
        animal と animal が moves
        person の animal が moves
        person は place に goes
        person は place で talks
        私 は person です
        person の person は person です
        person は person と talks
        """,
    ),
    "en": _grammar(
        {
            "animal": "cat dog bird horse cow bear monkey rabbit",
            "food": "fish meat bread rice fruit soup cheese",
            "person": "student teacher child mother father friend doctor",
            "place": "school park house forest",
            "eats": "ate",
            "gets": "ate bought cooked",
            "moves": "sat ran slept played",
            "goes": "went walked",
            "talks": "talked",
        },
        """
        the animal eats food
        the animal eats the food
        the person gets food
        the person gets the food
        a person gets food and food
        the animal moves in the place
        the animal and the animal moves
        the animal moves down
        a person and his animal moves
        the person goes to the place
        the person is a person
        the person talks to a person
        """,
    ),
}

CORPUS_LANGUAGES = tuple(_GRAMMARS)
KINDS: dict[str, str] = {word: kind for grammar in _GRAMMARS.values() for word, kind in grammar.kinds.items()}


@dataclass(frozen=True)
class Corpus:
    """Sentences, and the words that embeddings are learned for."""

    words: tuple[str, ...]
    sentences: tuple[Sentence, ...]

    def counts(self) -> Float[Tensor, "word context"]:
        """How often each word has each other word within WINDOW places."""
        return cooccurrences(self.sentences, self.words)


def read_corpus(text: str, language: str) -> Corpus:
    """The reader's text as a corpus; the built-in corpus of the language where the text is empty.

    Raises:
        ValueError: there is no built-in corpus in the language, or the text has too few words.
    """
    return own_corpus(text) if text else built_in_corpus(language)


@functools.cache
def built_in_corpus(language: str) -> Corpus:
    """400 sentences about animals, food, people, places and what they do, in "ja" or "en".

    Nobody wrote these sentences: a small grammar makes them. It takes its patterns in turn and
    draws each word of a pattern from a fixed seed, so the corpus is always the same.

    Raises:
        ValueError: there is no built-in corpus in the language.
    """
    grammar, generator = _grammar_of(language), torch.Generator().manual_seed(_GRAMMAR_SEED)
    patterns = (grammar.patterns[i % len(grammar.patterns)] for i in range(N_SENTENCES))
    return Corpus(grammar.words, tuple(_sentence(pattern, grammar, generator) for pattern in patterns))


@functools.cache
def every_sentence(language: str) -> Mapping[Sentence, float]:
    """All sentences that the grammar behind the built-in corpus can make, each with its probability.

    Every pattern is equally likely, and within it every word of a part.

    Raises:
        ValueError: there is no built-in corpus in the language.
    """
    grammar = _grammar_of(language)
    probabilities: dict[Sentence, float] = {}
    for pattern in grammar.patterns:
        choices = [grammar.parts.get(word, (word,)) for word in pattern]
        probability = 1 / len(grammar.patterns) / math.prod(map(len, choices))
        for sentence in itertools.product(*choices):
            probabilities[sentence] = probabilities.get(sentence, 0.0) + probability
    return probabilities


def _grammar_of(language: str) -> Grammar:
    if language not in _GRAMMARS:
        raise ValueError(f"language must be one of {', '.join(CORPUS_LANGUAGES)}, got {language!r}")
    return _GRAMMARS[language]


def _sentence(pattern: Sentence, grammar: Grammar, generator: torch.Generator) -> Sentence:
    choices = (grammar.parts.get(word, (word,)) for word in pattern)
    return tuple(words[int(torch.randint(len(words), (1,), generator=generator))] for words in choices)


def own_corpus(text: str) -> Corpus:
    """A reader's text, cut into sentences at 。 . ! ? and line breaks, and into words as a lesson's text is.

    Punctuation is left out. Of the text the first 20,000 characters count, of a sentence the first
    500, of the words the 60 most frequent ones, the more frequent first; among equals, the earlier.

    Raises:
        ValueError: no sentence holds two different words.
    """
    pieces = _SENTENCE_ENDS.split(text[:MAX_CORPUS_CHARACTERS])
    sentences = [tuple(token for token in tokenize(piece) if not _is_punctuation(token)) for piece in pieces]
    frequencies = Counter(word for sentence in sentences for word in sentence)
    words = tuple(word for word, _ in frequencies.most_common(MAX_CORPUS_WORDS))
    most = max(len(set(sentence) & set(words)) for sentence in sentences)
    if most < 2:
        raise ValueError(f"a sentence of the corpus must hold at least 2 different words, got at most {most}")
    return Corpus(words, tuple(sentence for sentence in sentences if sentence))


def _is_punctuation(token: str) -> bool:
    return all(unicodedata.category(character).startswith("P") for character in token)


def cooccurrences(
    sentences: tuple[Sentence, ...], words: tuple[str, ...], window: int = WINDOW
) -> Float[Tensor, "word context"]:
    """How often each word (row) has each word (column) as its context: at most `window` places away.

    A word that is not in the list keeps its place in the sentence but is not counted.
    """
    ids = {word: index for index, word in enumerate(words)}
    pairs = Counter(
        (ids[word], ids[context])
        for sentence in sentences
        for place, word in enumerate(sentence)
        for context in sentence[max(0, place - window) : place] + sentence[place + 1 : place + 1 + window]
        if word in ids and context in ids
    )
    counts = torch.zeros(len(words), len(words), dtype=torch.float64)
    for (word_id, context_id), count in pairs.items():
        counts[word_id, context_id] = count
    return counts
