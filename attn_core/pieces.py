"""A text as the tokenizer of a pretrained model cuts it, each piece under a name that can be read."""

import functools
import itertools
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import regex

from attn_core.limits import MAX_PIECES

# How a name shows what cannot be seen: a space, a line break, and what has no sign of its own.
SPACE, LINE_BREAK = "·", "↵"
_HIDDEN = regex.compile(r"[\p{Cc}\p{Cs}\p{Z}\p{DI}\uFFF9-\uFFFB\u2800\uFFFD]")
_JOINERS = "\u200c\u200d"
_CIRCLE = "◌"  # carries a mark that has no letter in its piece

# A character has at most four bytes: one that is cut ends within so many pieces after the last that is kept.
_FURTHER_BYTES = 3

_WORD_PIECE = "##"
_SENTENCE_PIECE = "▁"
_SINGLE_BYTE = regex.compile(r"<0x([0-9A-F]{2})>")


@dataclass(frozen=True)
class Pieces:
    """A text as a model's tokenizer cuts it, or a picture's patches, which are pieces without words.

    Attributes:
        ids: what the model reads.
        names: what is shown for each piece; see `cut`.
        special: True for what the tokenizer adds around the text, such as [CLS]; a piece of the text never is.
        words: which word of the text a piece belongs to, counted from 0; None for special tokens and patches.
        left_out: how many pieces of the text were beyond the limit and are not here.
    """

    ids: tuple[int, ...]
    names: tuple[str, ...]
    special: tuple[bool, ...]
    words: tuple[int | None, ...]
    left_out: int

    @property
    def has_words(self) -> bool:
        """False for a picture, and where there is nothing but special tokens."""
        return any(word is not None for word in self.words)


@dataclass(frozen=True)
class _Piece:
    """A piece before it is named: the bytes of the text it stands for, after the tokenizer's mark, or its full name."""

    content: bytes = b""
    mark: str = ""
    name: str = ""


def cut(tokenizer: Any, text: str) -> Pieces:
    """Cuts a text as the model does, and names the pieces.

    At most MAX_PIECES are kept, or as many as the tokenizer says its model reads; the special tokens stay at the
    ends and the last pieces of the text go. Characters that no tokenizer reads (NUL and lone surrogates) are
    dropped first.

    Names put end to end are the text as the tokenizer reads it: after its own normalisation, which may change
    capitals, accents and widths, put a space before, or drop blanks and control characters. In them
    - a space is "·", a line break "↵"; other characters without a sign of their own are ‹U+200D›; a mark without
      its letter stands on "◌";
    - "##" before a piece says that it continues a word;
    - a character cut inside its bytes is named with the part: 🙂‹1–3/4› has its first three bytes of four;
    - "[UNK]", or what the tokenizer calls it, stands for what the vocabulary does not have;
    - a special token typed in the text is “[SEP]”, in quotation marks: the model reads it as the real one.

    Words are those of the tokenizer, and a space begins one. Where a tokenizer knows no words (Japanese cut by
    bytes, say), a word reaches from space to space.

    Args:
        tokenizer: a tokenizer of transformers, fast or not.
        text: any text; empty ones give special tokens only, or nothing at all.
    """
    encoded = tokenizer(_readable(text), return_special_tokens_mask=True, verbose=False)
    limit = min(MAX_PIECES, tokenizer.model_max_length)
    near = _kept(encoded["special_tokens_mask"], limit + _FURTHER_BYTES)
    ids = tuple(encoded["input_ids"][place] for place in near)
    special = tuple(bool(encoded["special_tokens_mask"][place]) for place in near)
    pieces = _pieces(tokenizer, ids, special)
    names, words = _names(pieces), _words(pieces, special, encoded.word_ids() if tokenizer.is_fast else None)
    kept = _kept(special, limit)
    return Pieces(
        ids=tuple(ids[place] for place in kept),
        names=tuple(names[place] for place in kept),
        special=tuple(special[place] for place in kept),
        words=tuple(words[place] for place in kept),
        left_out=len(encoded["input_ids"]) - len(kept),
    )


def _readable(text: str) -> str:
    """MeCab stops at a NUL and would lose the rest; a lone surrogate is no text to any tokenizer."""
    return "".join(c for c in text if c != "\0" and unicodedata.category(c) != "Cs")


def _kept(special: Sequence[int], limit: int) -> list[int]:
    """The places that stay: the special tokens at both ends, and between them as much as the limit allows."""
    places = range(len(special))
    first = next((place for place in places if not special[place]), len(special))
    last = next((place for place in reversed(places) if not special[place]), first - 1)
    room = max(0, limit - first - len(places[last + 1 :]))
    return [*places[:first], *places[first : last + 1][:room], *places[last + 1 :]]


# What the pieces stand for.


def _pieces(tokenizer: Any, ids: tuple[int, ...], special: tuple[bool, ...]) -> list[_Piece]:
    """Each piece as bytes of the text; those that are no text have a name."""
    added, reserved = tokenizer.added_tokens_decoder, _reserved(tokenizer)
    is_byte_level = "ByteLevel" in _decoder(tokenizer)
    pieces = []
    for number, token, is_special in zip(ids, tokenizer.convert_ids_to_tokens(list(ids)), special, strict=True):
        if is_special:
            pieces.append(_Piece(name=visible(token)))
        elif number in reserved:
            pieces.append(_Piece(name=f"“{visible(token)}”"))
        elif number in added:
            pieces.append(_Piece(token.encode()))
        else:
            pieces.append(_byte_level(token) if is_byte_level else _plain(token))
    return pieces


def _reserved(tokenizer: Any) -> set[int]:
    """The special tokens but for the unknown piece, which stands for text, unless it is another special token too."""
    flagged = {number for number, token in tokenizer.added_tokens_decoder.items() if token.special}
    roles = (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.cls_token_id, tokenizer.sep_token_id)
    return {*flagged, *tokenizer.all_special_ids} - ({tokenizer.unk_token_id} - {*roles})


def _decoder(tokenizer: Any) -> str:
    """How a fast tokenizer makes text of pieces, as the JSON it is stored in; empty for the others."""
    decoder = tokenizer.backend_tokenizer.decoder if tokenizer.is_fast else None
    return "" if decoder is None else decoder.__getstate__().decode()


def _byte_level(token: str) -> _Piece:
    """A piece of a byte-level vocabulary; one with other characters stands for itself, as the decoders have it."""
    values = [_alphabet().get(character) for character in token]
    return _Piece(token.encode() if None in values else bytes(value for value in values if value is not None))


@functools.cache
def _alphabet() -> dict[str, int]:
    """The byte that each character of a byte-level token stands for: bytes without a sign of their own got 256 and up.

    Source: Radford et al. 2019, the encoder published with GPT-2.
    """
    signs = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in signs]
    return {chr(byte): byte for byte in signs} | {chr(256 + place): byte for place, byte in enumerate(others)}


def _plain(token: str) -> _Piece:
    """A piece of a WordPiece or SentencePiece vocabulary; the latter may have single bytes, such as <0xF0>."""
    if byte := _SINGLE_BYTE.fullmatch(token):
        return _Piece(bytes.fromhex(byte[1]))
    mark = _WORD_PIECE if token.startswith(_WORD_PIECE) else ""
    return _Piece(token.removeprefix(mark).replace(_SENTENCE_PIECE, " ").encode(), mark)


def _words(pieces: list[_Piece], special: tuple[bool, ...], numbers: list[int | None] | None) -> tuple[int | None, ...]:
    """The word of each piece; `numbers` are a fast tokenizer's own, which may count several words as one."""
    marks_spaces = any(piece.content.startswith(b" ") for piece in pieces)
    words: list[int | None] = []
    word, before = -1, None
    for place, piece in enumerate(pieces):
        if special[place]:
            words.append(None)
            continue
        continues = numbers[place] == before if numbers else piece.mark or (marks_spaces and not piece.name)
        if word < 0 or not continues or piece.content[:1].isspace():
            word += 1
        words.append(word)
        before = numbers[place] if numbers else None
    return tuple(words)


# What they are called.


def _names(pieces: list[_Piece]) -> list[str]:
    """The name of each piece; bytes that follow each other are read together, for a character may span pieces."""
    names: list[str] = []
    for is_named, group in itertools.groupby(pieces, key=lambda piece: bool(piece.name)):
        run = list(group)
        if is_named:
            names += [piece.name for piece in run]
        else:
            places = _byte_places(b"".join(piece.content for piece in run))
            names += [piece.mark + _shown(itertools.islice(places, len(piece.content))) for piece in run]
    return names


@dataclass(frozen=True)
class _BytePlace:
    """Where a byte stands: in which character of the text, and in which of the character's bytes."""

    index: int
    character: str
    offset: int
    size: int


def _byte_places(content: bytes) -> Iterator[_BytePlace]:
    """Every byte's place; one that is part of no character counts as a (hidden) character."""
    for index, character in enumerate(content.decode(errors="surrogateescape")):
        size = len(character.encode(errors="surrogateescape"))
        yield from (_BytePlace(index, character, offset, size) for offset in range(size))


def _shown(places: Iterable[_BytePlace]) -> str:
    """The characters these bytes make up, and of those that are cut, the part."""
    shown, whole = "", ""
    for _, group in itertools.groupby(places, key=lambda place: place.index):
        present = list(group)
        first, last = present[0], present[-1]
        if last.offset - first.offset + 1 == first.size:
            whole += first.character
        else:
            part = "–".join(dict.fromkeys([str(1 + first.offset), str(1 + last.offset)]))
            shown += f"{visible(whole)}{visible(first.character)}‹{part}/{first.size}›"
            whole = ""
    return shown + visible(whole)


def visible(text: str) -> str:
    """The text with a sign for every character that has none: "·" for a space, "↵", ‹U+200D›, "◌" under a mark.

    A joiner between two characters and a sign's variant are left as they are.
    """
    return "".join(_visible_cluster(cluster) for cluster in regex.findall(r"\X", text))


def _visible_cluster(cluster: str) -> str:
    """What a reader sees as one character."""
    if _HIDDEN.match(cluster):
        return "".join(_sign(character) for character in cluster)
    stem = cluster.rstrip(_JOINERS)
    return _sign(stem[0]) + stem[1:] + "".join(_sign(joiner) for joiner in cluster[len(stem) :])


def _sign(character: str) -> str:
    if character in " \n":
        return SPACE if character == " " else LINE_BREAK
    if _HIDDEN.match(character):
        return f"‹U+{ord(character):04X}›"
    return _CIRCLE + character if unicodedata.category(character).startswith("M") else character
