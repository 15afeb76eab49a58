"""The sentences that embeddings are learned from, and the counts taken from them."""

import inspect

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from attn_core.corpus import (
    CORPUS_LANGUAGES,
    KINDS,
    N_SENTENCES,
    WINDOW,
    Corpus,
    built_in_corpus,
    cooccurrences,
    own_corpus,
    read_corpus,
)
from attn_core.lesson import DEFAULT_TEXT, LANGUAGES
from attn_core.limits import MAX_CORPUS_CHARACTERS, MAX_CORPUS_WORDS
from attn_core.tokens import tokenize

JOINT = {"ja": "", "en": " "}
languages = pytest.mark.parametrize("language", CORPUS_LANGUAGES)


def test_counts_by_hand():
    # In "a b c b" a has b and c within two places, b and c are neighbours twice, the two b see each other.
    counts = cooccurrences((("a", "b", "c", "b"),), ("a", "b", "c"))
    assert counts.tolist() == [[0, 1, 1], [1, 2, 2], [1, 2, 0]]


def test_a_word_outside_the_list_keeps_its_place():
    counts = cooccurrences((("a", "x", "b", "c"),), ("a", "b", "c"))
    assert counts.tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]


@given(
    st.lists(st.lists(st.sampled_from("abcdx"), max_size=7).map(tuple), max_size=5).map(tuple),
    st.integers(1, 4),
)
def test_counts_equal_plain_loops(sentences, window):
    words = tuple("abcd")
    expected = torch.zeros(4, 4, dtype=torch.float64)
    for sentence in sentences:
        for i in range(len(sentence)):
            for j in range(len(sentence)):
                if i != j and abs(i - j) <= window and "x" not in (sentence[i], sentence[j]):
                    expected[words.index(sentence[i]), words.index(sentence[j])] += 1
    counts = cooccurrences(sentences, words, window)
    assert torch.equal(counts, expected)
    assert torch.equal(counts, counts.T)


# The built-in corpus.


def test_every_language_of_a_lesson_has_a_corpus():
    assert set(CORPUS_LANGUAGES) == set(LANGUAGES)


@languages
def test_the_tokenizer_cuts_each_sentence_into_the_corpus_s_words(language):
    for sentence in set(built_in_corpus(language).sentences):
        assert tokenize(JOINT[language].join(sentence)) == sentence


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("ja", "猫が魚を食べる"),
        ("ja", "私の母は先生です"),
        ("ja", "熊と兎が森で遊ぶ"),
        ("en", "the cat ate the fish"),
        ("en", "the doctor talked to a friend"),
        *DEFAULT_TEXT.items(),
    ],
)
def test_a_reader_s_sentence_uses_the_corpus_s_words(language, text):
    assert set(tokenize(text)) <= set(built_in_corpus(language).words)


@languages
def test_size_of_the_corpus(language):
    corpus = built_in_corpus(language)
    assert len(corpus.sentences) == N_SENTENCES
    assert 40 <= len(corpus.words) == len(set(corpus.words)) <= 50
    assert {word for sentence in corpus.sentences for word in sentence} == set(corpus.words)


@languages
def test_kinds(language):
    kinds = [KINDS[word] for word in built_in_corpus(language).words if word in KINDS]
    assert list(dict.fromkeys(kinds)) == ["animal", "food", "person", "place", "action"]
    assert kinds == sorted(kinds, key=["animal", "food", "person", "place", "action"].index)  # side by side
    assert all(kinds.count(kind) >= 4 for kind in kinds)


def test_kinds_of_some_words():
    words = {"猫": "animal", "りんご": "food", "先生": "person", "学校": "place", "食べる": "action", "cat": "animal"}
    assert words.items() <= KINDS.items()
    assert not {"は", "が", "です", "the", "a", "is"} & set(KINDS)


@languages
def test_function_words_come_last(language):
    words = built_in_corpus(language).words
    assert [word in KINDS for word in words] == sorted((word in KINDS for word in words), reverse=True)


@languages
def test_the_corpus_is_always_the_same(language):
    assert inspect.unwrap(built_in_corpus)(language) == built_in_corpus(language)


@languages
def test_its_counts(language):
    corpus = built_in_corpus(language)
    counts = corpus.counts()
    n_pairs = sum(min(WINDOW, n - 1 - i) for s in corpus.sentences for n in [len(s)] for i in range(n))
    assert counts.sum() == 2 * n_pairs
    assert (counts.sum(dim=-1) > 0).all()


# A reader's own text.


def test_an_own_text_by_hand():
    corpus = own_corpus("猫が寝る。犬が寝る！cat, dog?\n\n. bird. 犬")
    assert corpus.sentences == (
        ("猫", "が", "寝る"),
        ("犬", "が", "寝る"),
        ("cat", "dog"),
        ("bird",),
        ("犬",),
    )
    assert corpus.words == ("が", "寝る", "犬", "猫", "cat", "dog", "bird")


def test_an_empty_text_stands_for_the_built_in_corpus():
    assert read_corpus("", "ja") is built_in_corpus("ja")
    assert read_corpus("a b", "ja") == Corpus(("a", "b"), (("a", "b"),))


def test_the_most_frequent_words_are_kept():
    rare = " ".join(f"w{i}" for i in range(MAX_CORPUS_WORDS))
    corpus = own_corpus(f"{rare}. last last last")
    assert corpus.words == ("last", *(f"w{i}" for i in range(MAX_CORPUS_WORDS - 1)))


def test_a_long_text_is_cut():
    corpus = own_corpus("a b. " * (MAX_CORPUS_CHARACTERS // 5) + "c d.")
    assert corpus.words == ("a", "b")
    assert len(corpus.sentences) == MAX_CORPUS_CHARACTERS // 5


@pytest.mark.parametrize(
    ("text", "most"),
    [(" ", 0), ("。。。", 0), ("、 , !", 0), ("cat", 1), ("cat. dog. bird", 1), ("cat cat cat\ndog", 1)],
)
def test_too_few_words(text, most):
    message = rf"^a sentence of the corpus must hold at least 2 different words, got at most {most}$"
    with pytest.raises(ValueError, match=message):
        own_corpus(text)


def test_two_words_of_which_one_is_too_rare():
    frequent = ". ".join(f"w{i}. w{i}" for i in range(MAX_CORPUS_WORDS))
    with pytest.raises(ValueError, match=r"^a sentence of the corpus must hold .* got at most 1$"):
        own_corpus(f"{frequent}. a b")


def test_unknown_language():
    with pytest.raises(ValueError, match=r"^language must be one of ja, en, got 'fr'$"):
        read_corpus("", "fr")


@given(st.text(st.characters(exclude_categories=()), min_size=1, max_size=60))
def test_any_text_gives_words_or_a_clear_message(text):
    try:
        corpus = own_corpus(text)
    except ValueError as error:
        assert str(error).startswith("a sentence of the corpus must hold")  # noqa: PT017
    else:
        assert 2 <= len(corpus.words) == len(set(corpus.words)) <= MAX_CORPUS_WORDS
        assert_close(corpus.counts(), cooccurrences(corpus.sentences, corpus.words))
        assert corpus.counts().sum() > 0
