"""Text → tokens → IDs → one-hot, with the texts people really paste."""

import inspect
import unicodedata

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attn_core import Vocabulary, one_hot, tokenize
from attn_core.limits import MAX_CHARACTERS
from attn_core.tokens import UNKNOWN, clean_text

FAMILY = "👨\u200d👩\u200d👧\u200d👦"
FLAG = "🇯🇵"
ENGLAND = "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"

# Any character at all, lone surrogates included.
anything = st.text(st.characters(exclude_categories=()), max_size=80)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("私は学生です", ["私", "は", "学生", "です"]),
        ("がっこう", ["がっこう"]),
        ("か\u3099っこう", ["がっこう"]),  # decomposed, as file names on a Mac are
        ("the cat sat down", ["the", "cat", "sat", "down"]),
        ("It's well-known, isn’t it?", ["It's", "well-known", ",", "isn’t", "it", "?"]),
        ("cafe\u0301 naïve", ["café", "naïve"]),
        ("Wi-Fi接続 2024年", ["Wi-Fi", "接続", "2024", "年"]),
        ("猫cat犬", ["猫", "cat", "犬"]),
        ("「猫」。", ["「", "猫", "」", "。"]),
        ("שלום עולם", ["שלום", "עולם"]),
        ("مرحبا بالعالم", ["مرحبا", "بالعالم"]),
        ("می\u200cروم", ["می\u200cروم"]),  # Persian: the non-joiner belongs to the word
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
        (f"a{FAMILY}b", ["a", FAMILY, "b"]),
        (f"私{FAMILY}{FLAG}👍🏽です", ["私", FAMILY, FLAG, "👍🏽", "です"]),
        ("❤️ 1️⃣ " + ENGLAND, ["❤️", "1️⃣", ENGLAND]),
        ("the cat the cat", ["the", "cat", "the", "cat"]),
        ("$x^2$ \\alpha <b>", ["$", "x", "^", "2", "$", "\\", "alpha", "<", "b", ">"]),
        ("a\tb\nc\r\nd\u3000e\u00a0f", ["a", "b", "c", "d", "e", "f"]),
        ("a\x00b\x1b[31m", ["ab", "[", "31m"]),
        ("\u202eabc\u202c \u2066x\u2069", ["abc", "x"]),
        ("\ud800a\udfff", ["a"]),
        ("", []),
        (" \n\t\u3000", []),
        ("\u200b\u200d\ufeff\u00ad", []),
    ],
    ids=ascii,
)
def test_words(text, tokens):
    assert list(tokenize(text)) == tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("私は", ["私", "は"]),
        ("the cat", ["t", "h", "e", "c", "a", "t"]),
        (f"{FAMILY}{FLAG}a", [FAMILY, FLAG, "a"]),
        ("cafe\u0301", ["c", "a", "f", "é"]),
        ("", []),
    ],
    ids=ascii,
)
def test_characters(text, tokens):
    assert list(tokenize(text, "characters")) == tokens


def test_unknown_segmentation():
    with pytest.raises(ValueError, match=r"^segmentation must be one of words, characters, got 'bytes'$"):
        inspect.unwrap(tokenize)("a", "bytes")  # past the suite's type checker


@pytest.mark.parametrize("segmentation", ["words", "characters"])
def test_ten_thousand_characters_are_cut(segmentation):
    tokens = tokenize("猫cat " * 2000, segmentation)
    assert 0 < sum(map(len, tokens)) <= MAX_CHARACTERS


def test_the_cut_never_falls_inside_an_emoji():
    text = "a" * (MAX_CHARACTERS - 2) + FAMILY
    assert clean_text(text) == "a" * (MAX_CHARACTERS - 2)
    assert clean_text("a" * (MAX_CHARACTERS - len(FAMILY)) + FAMILY).endswith(FAMILY)


def test_one_endless_character_is_cut_all_the_same():
    assert len(clean_text("x" + "\u0335" * 10_000)) == MAX_CHARACTERS


@given(anything, st.sampled_from(["words", "characters"]))
def test_any_text_gives_tokens_that_can_be_seen(text, segmentation):
    tokens = tokenize(text, segmentation)
    assert tokens == tokenize(text, segmentation)
    for token in tokens:
        token.encode("utf-8")
        assert any(unicodedata.category(character) not in ("Cc", "Cf", "Zs") for character in token)
        assert not any(character.isspace() or unicodedata.category(character) == "Cc" for character in token)


@given(anything)
def test_no_letter_is_lost(text):
    letters = [character for character in clean_text(text) if character.isalnum()]
    assert [character for character in "".join(tokenize(text)) if character.isalnum()] == letters


# Vocabulary.


def test_the_vocabulary_starts_with_the_unknown_word_and_a_built_in_list():
    vocabulary = Vocabulary.for_tokens(("私", "は", "学生", "です"), 4)
    assert vocabulary.words[:5] == (UNKNOWN, "私", "は", "学生", "です")
    assert len(vocabulary) == 10


def test_the_text_s_own_words_come_after_the_built_in_list_each_once():
    vocabulary = Vocabulary.for_tokens(("a", "zebra", "the", "zebra", "quagga"), 4)
    assert len(vocabulary) == 12
    assert vocabulary.words[10:] == ("zebra", "quagga")
    assert vocabulary.encode(("zebra", "the", "zebra")) == (10, 1, 10)


@pytest.mark.parametrize("d_model", range(2, 17))
@pytest.mark.parametrize("tokens", [("猫",), ("cat",)])
def test_the_vocabulary_is_larger_than_d_model(tokens, d_model):
    assert len(Vocabulary.for_tokens(tokens, d_model)) > d_model


def test_unknown_words_share_id_0():
    vocabulary = Vocabulary(("[UNK]", "cat"))
    assert vocabulary.encode(("dog", "cat", "[UNK]", "")) == (0, 1, 0, 0)


@given(st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=20).map(tuple))
def test_ids_point_back_at_their_words(tokens):
    vocabulary = Vocabulary.for_tokens(tokens, 4)
    assert len(set(vocabulary.words)) == len(vocabulary)
    assert tuple(vocabulary.words[index] for index in vocabulary.encode(tokens)) == tokens


# One-hot.


def test_one_hot_by_hand():
    expected = [[0, 0, 1, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 1]]
    assert torch.equal(one_hot((2, 0, 4), 5), torch.tensor(expected, dtype=torch.float64))


@given(st.lists(st.integers(0, 8), max_size=12).map(tuple))
def test_one_hot_equals_torch_s(ids):
    theirs = torch.nn.functional.one_hot(torch.tensor(ids, dtype=torch.int64), 9).to(torch.float64)
    assert torch.equal(one_hot(ids, 9), theirs)


@pytest.mark.parametrize("index", [-1, 5])
def test_an_id_outside_the_vocabulary(index):
    with pytest.raises(ValueError, match=rf"^IDs must be between 0 and 4, got {index}$"):
        one_hot((0, index), 5)
