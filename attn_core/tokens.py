"""Text → tokens → IDs → one-hot vectors."""

import functools
import unicodedata
from dataclasses import dataclass
from typing import Any, Literal

import regex
import torch
from jaxtyping import Float
from torch import Tensor

from attn_core.limits import MAX_CHARACTERS

Segmentation = Literal["words", "characters"]
SEGMENTATIONS: tuple[Segmentation, ...] = ("words", "characters")

UNKNOWN = "[UNK]"

_JAPANESE = r"[\p{Han}\p{Hiragana}\p{Katakana}ー々]"
_LETTERS = rf"(?:(?!{_JAPANESE})[\p{{L}}\p{{M}}\p{{N}}])+"
_PIECES = regex.compile(
    rf"(?P<japanese>{_JAPANESE}+)"
    rf"|(?P<word>{_LETTERS}(?:['’\u200c\u200d-]{_LETTERS})*)"
    r"|(?P<other>(?=\S)\X)"
)
_REORDERING = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")

# The words a lesson's vocabulary starts with, before the words of the text itself.
_BUILT_IN = {
    "ja": "私 は 学生 です あなた の 先生 猫 犬 本 が を に と 読む 好き 走る 学校".split(),
    "en": "the cat sat down a dog I you am student teacher book is on to read run school".split(),
}


def clean_text(text: str) -> str:
    """The text composed (NFC), without characters that cannot be shown, and at most MAX_CHARACTERS long.

    Line breaks and tabs become spaces; control characters, lone surrogates and marks that
    reorder the display are dropped. Joiners inside emoji stay.
    """
    composed = unicodedata.normalize("NFC", text[: 4 * MAX_CHARACTERS])
    spaced = "".join(" " if character.isspace() else character for character in composed)
    shown = "".join(c for c in spaced if unicodedata.category(c) not in ("Cc", "Cs") and c not in _REORDERING)
    if len(shown) <= MAX_CHARACTERS:
        return shown
    ends = [found.end() for found in regex.finditer(r"\X", shown)]  # never cut inside what a reader sees as one
    return shown[: max((end for end in ends if end <= MAX_CHARACTERS), default=MAX_CHARACTERS)]


def tokenize(text: str, segmentation: Segmentation = "words") -> tuple[str, ...]:
    """Cuts the text into tokens.

    Words: runs of Japanese script are cut by a dictionary (fugashi with unidic-lite); elsewhere
    a token is a word, or a single mark. Characters: one token for what a reader sees as one
    character. The result depends on the text alone, not on the language of the screen.

    Raises:
        ValueError: unknown segmentation.
    """
    if segmentation not in SEGMENTATIONS:
        raise ValueError(f"segmentation must be one of {', '.join(SEGMENTATIONS)}, got {segmentation!r}")
    cleaned = clean_text(text)
    if segmentation == "characters":
        pieces = regex.findall(r"\X", cleaned)
    else:
        pieces = [token for match in _PIECES.finditer(cleaned) for token in _words(match)]
    return tuple(piece for piece in pieces if any(_is_visible(character) for character in piece))


def _words(match: regex.Match[str]) -> list[str]:
    if match.lastgroup == "japanese":
        return [str(word.surface) for word in _tagger()(match.group())]
    return [match.group()]


def _is_visible(character: str) -> bool:
    return not character.isspace() and unicodedata.category(character) not in ("Cf", "Cc", "Zs")


@functools.cache
def _tagger() -> Any:
    import fugashi  # loaded on first use: a text without Japanese never needs the dictionary

    return fugashi.Tagger()


def language_of(tokens: tuple[str, ...]) -> Literal["ja", "en"]:
    """The language whose built-in words go with the text: Japanese where any token is in Japanese script."""
    return "ja" if any(regex.search(_JAPANESE, token) for token in tokens) else "en"


@dataclass(frozen=True)
class Vocabulary:
    """The words a lesson knows; a word's ID is its place in the list.

    ID 0 is the word for everything unknown.
    """

    words: tuple[str, ...]

    @classmethod
    def for_tokens(cls, tokens: tuple[str, ...], d_model: int) -> "Vocabulary":
        """A small built-in list, long enough to be larger than d_model, then the text's own words."""
        built_in = _BUILT_IN[language_of(tokens)][: max(9, d_model)]
        return cls(tuple(dict.fromkeys([UNKNOWN, *built_in, *tokens])))

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, tokens: tuple[str, ...]) -> tuple[int, ...]:
        """The ID of each token; 0 for a token that is not in the list."""
        ids = {word: index for index, word in enumerate(self.words)}
        return tuple(ids.get(token, 0) for token in tokens)


def one_hot(ids: tuple[int, ...], size: int) -> Float[Tensor, "token vocabulary"]:
    """One row per ID, 1 at the ID's place and 0 elsewhere.

    Raises:
        ValueError: an ID is outside 0 … size − 1.
    """
    outside = [index for index in ids if not 0 <= index < size]
    if outside:
        raise ValueError(f"IDs must be between 0 and {size - 1}, got {outside[0]}")
    rows = torch.zeros(len(ids), size, dtype=torch.float64)
    rows[range(len(ids)), list(ids)] = 1.0
    return rows
