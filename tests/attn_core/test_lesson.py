"""The numeric thread: one lesson, one trace, the same numbers from its link alone."""

import dataclasses
import math
from urllib.parse import parse_qs, urlencode

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch.testing import assert_close

from attn_core import Lesson, run_lesson, tokenize
from attn_core.edits import EDITED_MATRICES, LARGEST_VALUE, Edit, EditList
from attn_core.embeddings import trained_layer
from attn_core.lesson import MAX_TOKENS
from attn_core.links import AnyText, OneOf, Real, Whole, YesNo
from tests.independent import lesson_from_link, tenths, tokens_from_link

edits = st.builds(
    Edit,
    st.sampled_from(EDITED_MATRICES),
    st.integers(0, 20),
    st.integers(0, 20),
    st.floats(-LARGEST_VALUE, LARGEST_VALUE),
)


def values_of(name: str) -> st.SearchStrategy:
    """Everything a field of a lesson may hold."""
    match Lesson.allowed(name):
        case Whole(low, high):
            return st.integers(low, high)
        case Real(low, high):
            return st.floats(low, high)
        case OneOf(options):
            return st.sampled_from(options)
        case YesNo():
            return st.booleans()
        case EditList():
            return st.lists(edits, max_size=5).map(tuple)
        case AnyText():
            return st.text(st.characters(exclude_categories=()), max_size=40)
    raise AssertionError(f"no strategy for {name}: {Lesson.allowed(name)}")


fields = st.fixed_dictionaries({}, optional={name: values_of(name) for name in Lesson.names()})

# Any text may be a link's corpus, but not any text can be trained on, and a few steps are training enough.
OWN_CORPUS = "a b c d e f. g h i j k l. m n o p q r. a c e g i k. 猫が魚を食べる。"
trainable = st.fixed_dictionaries(
    {"training_steps": st.sampled_from([0, 0, 0, 2]), "corpus": st.sampled_from(["", OWN_CORPUS])}
)


# Lesson ↔ link.


@given(fields)
@example({"text": ""})
@example({"lang": "en", "text": "私は学生です"})
@example({"lang": "ja", "text": "the cat sat down"})
@example({"text": "a&b=c#d?e+f %20\n\x00"})
def test_a_link_is_the_lesson(values):
    lesson = Lesson(**values)
    again = Lesson.from_query(lesson.to_query())
    assert again == lesson
    assert hash(again) == hash(lesson)
    assert again.ignored == ()


@given(fields)
def test_a_link_survives_a_browser_s_address_bar(values):
    text = values.get("text", "").encode("utf-8", "ignore").decode()  # lone surrogates cannot be sent
    lesson = Lesson(**values | {"text": text})
    sent = parse_qs(urlencode(lesson.to_query()), keep_blank_values=True)
    assert Lesson.from_query({name: found[-1] for name, found in sent.items()}) == lesson


@given(st.dictionaries(st.sampled_from(Lesson.names()) | st.text(max_size=6), st.text(max_size=40), max_size=12))
def test_no_link_raises_and_what_was_ignored_is_reported(query):
    lesson = Lesson.from_query(query)
    ignored = {ignored.name for ignored in lesson.ignored}
    for name in Lesson.names():
        if name not in query:
            assert name not in ignored
        elif name in ignored:
            assert getattr(lesson, name) == getattr(lesson.defaults(), name)
        else:
            assert getattr(lesson, name) == Lesson.allowed(name).read(query[name])


@pytest.mark.parametrize("value", ["", "x", "-1", "1e9", "999999999999", "٣", "NaN", "null", "\x00", "<script>", "4.5"])
@pytest.mark.parametrize("name", [name for name in Lesson.names() if name not in ("text", "edits", "corpus")])
def test_nonsense_in_any_parameter(name, value):
    lesson = Lesson.from_query({name: value, "text": "one two"})
    assert [ignored.name for ignored in lesson.ignored] == [name]
    assert lesson == Lesson(text="one two")


def test_the_default_lesson_s_link():
    assert Lesson().to_query() == {"lang": "ja"}
    assert Lesson(lang="en").to_query() == {"lang": "en"}
    assert Lesson(lang="en", seed=7, text="x").to_query() == {"lang": "en", "seed": "7", "text": "x"}


def test_default_fields():
    assert (
        dataclasses.asdict(Lesson()).items()
        >= {
            "lang": "ja",
            "text": "私は学生です",
            "segmentation": "words",
            "d_model": 4,
            "seed": 0,
            "scale": "sqrt_d_k",
        }.items()
    )
    assert Lesson(lang="en").text == "the cat sat down"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"lang": "fr"}, r"^lang must be ja, en, got 'fr'$"),
        ({"d_model": 1}, r"^d_model must be 2 … 16, got 1$"),
        ({"d_model": 17}, r"^d_model must be 2 … 16, got 17$"),
        ({"seed": -1}, r"^seed must be 0 … 999999, got -1$"),
        ({"scale": "x"}, r"^scale must be sqrt_d_k, none, d_k, got 'x'$"),
    ],
    ids=str,
)
def test_a_lesson_refuses_what_it_cannot_run(fields, message):
    with pytest.raises(ValueError, match=message):
        Lesson(**fields)


@pytest.mark.parametrize(("scale", "divisor"), [("sqrt_d_k", 3.0), ("none", 1.0), ("d_k", 9.0)])
def test_divisor(scale, divisor):
    lesson = Lesson(d_model=9, scale=scale)
    assert lesson.divisor == divisor
    attention = run_lesson(lesson).attention
    assert_close(attention.scaled * divisor, attention.scores)


# The trace.

ARRAYS = ("one_hot", "w_e", "x", "w_q", "w_k", "w_v", "q", "k", "v")
STEPS = ("scores", "scaled", "masked", "weights", "output")


def arrays(lesson: Lesson) -> dict[str, torch.Tensor]:
    trace = run_lesson(lesson)
    return {name: getattr(trace, name) for name in ARRAYS} | {step: getattr(trace.attention, step) for step in STEPS}


@pytest.mark.parametrize("lang", ["ja", "en"])
def test_each_array_follows_from_the_one_before(lang):
    trace = run_lesson(Lesson(lang=lang, d_model=3, seed=5))
    n, size = len(trace.tokens), 3
    for row in range(n):
        chosen = trace.ids[row]
        assert trace.vocabulary.words[chosen] == trace.tokens[row]
        assert trace.one_hot[row].tolist() == [float(place == chosen) for place in range(len(trace.vocabulary))]
        assert torch.equal(trace.x[row], trace.w_e[chosen])
        for w, result in ((trace.w_q, trace.q), (trace.w_k, trace.k), (trace.w_v, trace.v)):
            expected = [sum(trace.x[row, i].item() * w[i, j].item() for i in range(size)) for j in range(size)]
            assert_close(result[row], torch.tensor(expected, dtype=torch.float64))
        for column in range(n):
            terms = [trace.q[row, i].item() * trace.k[column, i].item() for i in range(size)]
            assert trace.attention.scores[row, column].item() == pytest.approx(sum(terms))
        weights = trace.attention.weights[row].tolist()
        expected = [sum(weights[i] * trace.v[i, j].item() for i in range(n)) for j in range(size)]
        assert_close(trace.output[row], torch.tensor(expected, dtype=torch.float64))


@pytest.mark.parametrize("lesson", [Lesson(), Lesson(lang="en"), Lesson(d_model=16, seed=999_999)], ids=str)
def test_what_is_printed_is_the_value(lesson):
    for name, places in {"w_e": 1, "x": 1, "w_q": 1, "w_k": 1, "w_v": 1, "q": 2, "k": 2, "v": 2, "scores": 4}.items():
        values = arrays(lesson)[name]
        assert values.dtype == torch.float64
        assert_close(values, values.round(decimals=places), rtol=0, atol=1e-12, msg=name)


def test_the_four_layers_differ():
    trace = run_lesson(Lesson())
    layers = [trace.w_e[:4], trace.w_q, trace.w_k, trace.w_v]
    assert not any(torch.equal(a, b) for i, a in enumerate(layers) for b in layers[:i])


@pytest.mark.parametrize("seed", [0, 1, 3_999_999, 2**32 - 1])
@pytest.mark.parametrize(("rows", "columns", "bound"), [(11, 4, 17), (4, 4, 9), (16, 16, 1)])
def test_numpy_draws_what_torch_draws(rows, columns, bound, seed):
    generator = torch.Generator().manual_seed(seed)
    theirs = torch.randint(-bound, bound + 1, (rows, columns), generator=generator).double() / 10
    assert np.array_equal(tenths(rows, columns, bound, seed), theirs.numpy())


LESSONS = [
    Lesson(),
    Lesson(lang="en"),
    Lesson(seed=1),
    Lesson(lang="en", seed=999_999, d_model=16, scale="none"),
    Lesson(d_model=2, scale="d_k"),
    Lesson(d_model=7, seed=12),
    Lesson(lang="ja", text="the cat saw the zebra"),
    Lesson(lang="en", text="私は学生です", d_model=12),
    Lesson(lang="en", text="word"),
]


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: urlencode(lesson.to_query()))
def test_the_same_numbers_from_the_link_alone(lesson):
    url = "http://localhost:8501/similarity?" + urlencode(lesson.to_query())
    expected = lesson_from_link(url)
    assert tokens_from_link(url) == run_lesson(lesson).tokens
    assert run_lesson(lesson).ids == tuple(expected.pop("ids"))
    ours = arrays(lesson)
    for name, values in expected.items():
        assert_close(ours[name], torch.from_numpy(values), rtol=1e-12, atol=1e-13, msg=name)


def test_the_independent_numbers_take_tokens_that_are_hard_to_cut():
    lesson = Lesson(text="猫は本を読む。", seed=3)
    tokens = tokenize(lesson.text)
    expected = lesson_from_link("/?" + urlencode(lesson.to_query()), tokens)
    assert_close(run_lesson(lesson).output, torch.from_numpy(expected["output"]))


@pytest.mark.parametrize("lesson", LESSONS[:4], ids=lambda lesson: urlencode(lesson.to_query()))
def test_two_runs_are_equal_to_the_last_bit(lesson):
    first, second = arrays(lesson), arrays(dataclasses.replace(lesson))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_another_seed_gives_other_numbers():
    first, second = arrays(Lesson()), arrays(Lesson(seed=1))
    assert torch.equal(first["one_hot"], second["one_hot"])
    assert not any(torch.equal(first[name], second[name]) for name in ("w_e", "w_q", "w_k", "w_v"))


def test_another_text_keeps_the_layers():
    first, second = arrays(Lesson()), arrays(Lesson(text="猫"))
    assert all(torch.equal(first[name], second[name]) for name in ("w_q", "w_k", "w_v"))


def test_a_repeated_word_has_one_id_and_one_row():
    trace = run_lesson(Lesson(lang="en", text="the cat the"))
    assert trace.ids[0] == trace.ids[2] != trace.ids[1]
    assert torch.equal(trace.attention.output[0], trace.attention.output[2])


def test_the_choice_of_a_cell_changes_no_number():
    first, second = arrays(Lesson()), arrays(Lesson(query=1, key=3, column=2))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_the_chosen_cell_is_moved_inside():
    trace = run_lesson(Lesson(lang="en", text="one two", query=31, key=31, column=15))
    assert (trace.lesson.query, trace.lesson.key, trace.lesson.column) == (1, 1, 3)
    untouched = Lesson(query=1, key=3, column=2)
    assert run_lesson(untouched).lesson == untouched


@pytest.mark.parametrize("n_words", [MAX_TOKENS - 1, MAX_TOKENS, MAX_TOKENS + 5])
def test_tokens_past_the_limit_are_cut_and_counted(n_words):
    trace = run_lesson(Lesson(lang="en", text="go " * n_words))
    assert len(trace.tokens) == min(n_words, MAX_TOKENS)
    assert trace.n_cut == max(0, n_words - MAX_TOKENS)


def test_ten_thousand_characters():
    trace = run_lesson(Lesson(text="私は学生です。" * 1429))
    assert len(trace.tokens) == MAX_TOKENS
    assert trace.n_cut > 0


@pytest.mark.parametrize("text", ["", "  \n", "\u200d", "\x00\x07"], ids=ascii)
def test_a_text_without_tokens(text):
    with pytest.raises(ValueError, match=r"^the text must hold at least one token, got "):
        run_lesson(Lesson(text=text))


@given(fields, trainable)
def test_any_lesson_with_a_token_runs(values, training):
    lesson = Lesson(**values | training | {"text": values.get("text", "") + " a"})
    trace = run_lesson(lesson)
    n, size = len(trace.tokens), lesson.d_model
    assert trace.x.shape == trace.q.shape == trace.k.shape == trace.v.shape == trace.output.shape == (n, size)
    assert_close(trace.attention.weights.sum(dim=-1), torch.ones(n, dtype=torch.float64))
    assert torch.isfinite(trace.output).all()


def test_a_trained_layer_is_the_lesson_s():
    lesson = Lesson(training_steps=5)
    trace = run_lesson(lesson)
    vocabulary, w_e = trained_layer(trace.tokens, corpus="", language="ja", d_model=4, seed=0, steps=5)
    assert trace.vocabulary == vocabulary
    assert torch.equal(trace.w_e, w_e)
    assert torch.equal(trace.w_q, run_lesson(Lesson()).w_q)
    assert_close(trace.w_e * 100, (trace.w_e * 100).round())


def test_a_corpus_that_cannot_be_trained_on():
    with pytest.raises(ValueError, match="corpus"):
        run_lesson(Lesson(training_steps=5, corpus="猫"))


def test_entries_of_the_layers_stay_within_their_bounds():
    for size in (2, 4, 9, 16):
        trace = run_lesson(Lesson(d_model=size, seed=3))
        assert trace.w_e.abs().max() <= 1.7
        bound = max(1, round(10 * math.sqrt(3 / size))) / 10
        assert max(w.abs().max() for w in (trace.w_q, trace.w_k, trace.w_v)) <= bound
