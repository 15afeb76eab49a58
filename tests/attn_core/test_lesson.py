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

from attn_core import Lesson, LessonTrace, run_lesson, tokenize
from attn_core.attention import BlindQueryError
from attn_core.edits import EDITED_MATRICES, Edit, EditList
from attn_core.embeddings import LayerTraining, trained_layer
from attn_core.lesson import head_counts, layer_training
from attn_core.limits import LARGEST_EDIT, MAX_SIZE, MAX_TOKENS
from attn_core.links import CutText, Ignored, OneOf, Whole
from attn_core.masks import PADDING, HiddenKeys, HiddenList
from tests.independent import lesson_from_link, sentences_from_link, tenths

edits = st.builds(
    Edit,
    st.sampled_from(EDITED_MATRICES),
    st.integers(0, 20),
    st.integers(0, 20),
    st.floats(-LARGEST_EDIT, LARGEST_EDIT),
)

hidden = st.dictionaries(st.integers(0, 40), st.sets(st.integers(0, 99), min_size=1, max_size=6), max_size=4)


def values_of(name: str) -> st.SearchStrategy:
    """Everything a field of a lesson may hold, as `lesson_of` takes it."""
    match Lesson.allowed(name):
        case Whole(low, high):
            return st.integers(low, high)
        case OneOf(options):
            return st.sampled_from(options)
        case EditList():
            return st.lists(edits, max_size=5).map(tuple)
        case HiddenList():
            return hidden
        case CutText():
            return st.text(st.characters(exclude_categories=()), max_size=40)
    raise AssertionError(f"no strategy for {name}: {Lesson.allowed(name)}")


fields = st.fixed_dictionaries({}, optional={name: values_of(name) for name in Lesson.names()})


def lesson_of(values: dict) -> Lesson:
    """The lesson with these fields; of n_heads, what it has in common with d_model, which it must divide.

    To be called inside of the tests: beartype looks at a random entry of a tuple, which a strategy must not.
    """
    made = dict(values)
    if "hidden" in values:
        made["hidden"] = tuple(
            HiddenKeys(query, tuple(sorted(keys))) for query, keys in sorted(values["hidden"].items())
        )
    if "n_heads" in values:
        made["n_heads"] = math.gcd(values["n_heads"], values.get("d_model", 4))
    return Lesson(**made)


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
    lesson = lesson_of(values)
    again = Lesson.from_query(lesson.to_query())
    assert again == lesson
    assert hash(again) == hash(lesson)
    assert again.ignored == ()


@given(fields)
def test_a_link_survives_a_browser_s_address_bar(values):
    texts = {
        name: values.get(name, "").encode("utf-8", "ignore").decode() for name in ("text", "second_text", "corpus")
    }
    lesson = lesson_of(values | texts)  # lone surrogates cannot be sent
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
@pytest.mark.parametrize("name", [n for n in Lesson.names() if not isinstance(Lesson.allowed(n), CutText | EditList)])
def test_nonsense_in_any_parameter(name, value):
    lesson = Lesson.from_query({name: value, "text": "one two"})
    unread = [] if (name, value) == ("hidden", "") else [name]
    assert [ignored.name for ignored in lesson.ignored] == unread
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
            "second_text": "",
            "segmentation": "words",
            "d_model": 4,
            "n_heads": 1,
            "head": 0,
            "seed": 0,
            "scale": "sqrt_d_k",
            "mask": "none",
            "padding": 0,
            "hidden": (),
            "positions": "none",
        }.items()
    )
    assert Lesson(lang="en").text == "the cat sat down"


@pytest.mark.parametrize("d_model", range(2, MAX_SIZE + 1))
def test_heads_divide_d_model(d_model):
    possible = [n for n in range(1, d_model + 1) if d_model / n == d_model // n]
    assert list(head_counts(d_model)) == possible
    for n_heads in range(1, MAX_SIZE + 1):
        query = {"d_model": str(d_model), "n_heads": str(n_heads), "seed": "3"}
        if n_heads in possible:
            assert Lesson.from_query(query) == Lesson(d_model=d_model, n_heads=n_heads, seed=3)
            continue
        with pytest.raises(ValueError, match=rf"^n_heads must divide d_model, got {n_heads} and {d_model}$"):
            Lesson(d_model=d_model, n_heads=n_heads)
        lesson = Lesson.from_query(query)
        assert lesson == Lesson(d_model=d_model, seed=3)
        allowed = f"{', '.join(map(str, possible))} (d_model = {d_model})"
        assert lesson.ignored == (Ignored("n_heads", str(n_heads), allowed),)


def test_heads_that_do_not_fit_are_reported_beside_what_else_is_wrong():
    lesson = Lesson.from_query({"d_model": "6", "n_heads": "4", "seed": "x"})
    assert [ignored.name for ignored in lesson.ignored] == ["seed", "n_heads"]


@pytest.mark.parametrize(("size", "n_heads"), [(8, 4), (6, 3), (7, 1), (2, 2), (9, 3), (16, 4)])
def test_another_size_keeps_as_many_heads_as_divide_it(size, n_heads):
    resized = Lesson(d_model=12, n_heads=4, seed=3).resized(size)
    assert resized == Lesson(d_model=size, n_heads=n_heads, seed=3)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"lang": "fr"}, r"^lang must be ja, en, got 'fr'$"),
        ({"d_model": 1}, r"^d_model must be 2 … 16, got 1$"),
        ({"d_model": 17}, r"^d_model must be 2 … 16, got 17$"),
        ({"seed": -1}, r"^seed must be 0 … 999999, got -1$"),
        ({"scale": "x"}, r"^scale must be sqrt_d_k, none, d_k, got 'x'$"),
        ({"mask": "x"}, r"^mask must be none, causal, padding, drawn, got 'x'$"),
        ({"padding": 5}, r"^padding must be 0 … 4, got 5$"),
        ({"positions": "x"}, r"^positions must be none, sinusoidal, learned, got 'x'$"),
        ({"n_heads": 17}, r"^n_heads must be 1 … 16, got 17$"),
        ({"n_heads": 3}, r"^n_heads must divide d_model, got 3 and 4$"),
        ({"hidden": (HiddenKeys(2, (0,)), HiddenKeys(1, (0,)))}, r"^hidden must be 0:1-3,5 2:0, got "),
    ],
    ids=str,
)
def test_a_lesson_refuses_what_it_cannot_run(fields, message):
    with pytest.raises(ValueError, match=message):
        Lesson(**fields)


@pytest.mark.parametrize(("scale", "divisor"), [("sqrt_d_k", 3.0), ("none", 1.0), ("d_k", 9.0)])
def test_divisor(scale, divisor):
    trace = run_lesson(Lesson(d_model=9, scale=scale))
    assert trace.divisor == divisor
    assert_close(trace.attention.scaled * divisor, trace.attention.scores)


# The trace.

ARRAYS = ("w_e", "w_q", "w_k", "w_v", "q", "k", "v", "mask", "joined", "w_o", "y")
SEQUENCE = ("x", "p", "inputs")
STEPS = ("scores", "scaled", "masked", "weights", "output")


def arrays(lesson: Lesson) -> dict[str, torch.Tensor]:
    return arrays_of(run_lesson(lesson))


def arrays_of(trace: LessonTrace) -> dict[str, torch.Tensor]:
    """Every matrix of the lesson, the steps those of the chosen head."""
    found = {name: getattr(trace, name) for name in ARRAYS} | {step: getattr(trace.attention, step) for step in STEPS}
    found |= {"one_hot": trace.asking.entries} | {name: getattr(trace.asking, name) for name in SEQUENCE}
    if trace.is_cross:
        second = trace.answering
        found |= {"second_one_hot": second.entries} | {f"second_{name}": getattr(second, name) for name in SEQUENCE}
    return found


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


def test_the_layers_differ():
    trace = run_lesson(Lesson(positions="learned"))
    layers = [trace.w_e[:4], trace.asking.p, trace.w_q, trace.w_k, trace.w_v, trace.w_o]
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
    Lesson(mask="causal", positions="sinusoidal"),
    Lesson(mask="padding", padding=3, positions="learned", seed=8),
    Lesson(padding=1),
    Lesson(mask="drawn", hidden=(HiddenKeys(0, (1, 2, 3)), HiddenKeys(3, (0, 40)), HiddenKeys(50, (1,)))),
    *(Lesson(lang="en", n_heads=2, head=head, seed=7) for head in (0, 1)),
    *(Lesson(d_model=6, n_heads=6, head=head, mask="causal") for head in (0, 5, 9)),
    Lesson(lang="en", second_text="a dog I am not", seed=2),
    Lesson(second_text="the cat the", positions="learned", d_model=5, mask="causal", scale="d_k"),
    Lesson(
        lang="en",
        text="you read a book",
        second_text="I run",
        padding=2,
        mask="padding",
        d_model=9,
        n_heads=3,
        head=2,
        positions="sinusoidal",
        seed=31,
    ),
]


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: urlencode(lesson.to_query()))
def test_the_same_numbers_from_the_link_alone(lesson):
    url = "http://localhost:8501/similarity?" + urlencode(lesson.to_query())
    expected, trace = lesson_from_link(url), run_lesson(lesson)
    sentences = sentences_from_link(url)
    assert (sentences[0], sentences[-1], len(sentences)) == (trace.tokens, trace.key_tokens, 1 + trace.is_cross)
    assert trace.ids == tuple(expected.pop("ids"))
    assert trace.vocabulary.encode(trace.key_tokens) == tuple(expected.pop("second_ids", trace.ids))
    ours = arrays(lesson)
    assert ours.keys() == expected.keys()
    for name, values in expected.items():
        assert_close(ours[name], torch.from_numpy(values), rtol=1e-12, atol=1e-12, msg=name)


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


@pytest.mark.parametrize("cell", [(1, 2, 3), (0, 0, 0), (MAX_TOKENS - 1, MAX_TOKENS - 1, MAX_SIZE - 1)])
def test_another_cell_can_be_chosen_without_computing_again(cell):
    lesson = Lesson(lang="en", n_heads=2, second_text="I am", edits=(Edit("W_Q", 0, 0, 0.5), Edit("x", 20, 0, 1.0)))
    other = dataclasses.replace(lesson, query=cell[0], key=cell[1], column=cell[2])
    moved, anew = run_lesson(lesson).with_cell_of(other), run_lesson(other)
    assert moved.lesson == anew.lesson
    assert other.with_cell_of(lesson) == lesson
    assert (moved.unused_edits, moved.n_cut, moved.ids) == (anew.unused_edits, anew.n_cut, anew.ids)
    assert_close(arrays_of(moved), arrays_of(anew), rtol=0, atol=0)


def test_the_choice_of_a_head_changes_only_which_head_is_shown():
    first, second = (run_lesson(Lesson(d_model=6, n_heads=3, head=head)) for head in (0, 2))
    assert torch.equal(first.y, second.y)
    assert torch.equal(first.heads[2].output, second.output)
    assert not torch.equal(first.output, second.output)
    assert torch.equal(first.with_head(2).output, second.output)


def test_the_chosen_cell_is_moved_inside():
    trace = run_lesson(Lesson(lang="en", text="one two", query=31, key=31, column=15, n_heads=2, head=15))
    chosen = trace.lesson
    assert (chosen.query, chosen.key, chosen.column, chosen.head, trace.head) == (1, 1, 3, 1, 1)
    other = run_lesson(Lesson(lang="en", text="one two", second_text="a b c", query=31, key=31)).lesson
    assert (other.query, other.key) == (1, 2)
    untouched = Lesson(query=1, key=3, column=2)
    assert run_lesson(untouched).lesson == untouched


@pytest.mark.parametrize("n_words", [MAX_TOKENS - 1, MAX_TOKENS, MAX_TOKENS + 5])
def test_tokens_past_the_limit_are_cut_and_counted(n_words):
    trace = run_lesson(Lesson(lang="en", text="go " * n_words))
    assert len(trace.tokens) == min(n_words, MAX_TOKENS)
    assert trace.n_cut == max(0, n_words - MAX_TOKENS)


def test_padding_takes_its_place_among_the_tokens():
    trace = run_lesson(Lesson(lang="en", text="go " * (MAX_TOKENS - 1), padding=3))
    assert trace.tokens == ("go",) * (MAX_TOKENS - 3) + (PADDING,) * 3
    assert trace.n_cut == 2


def test_a_second_sentence_has_a_limit_of_its_own():
    trace = run_lesson(Lesson(lang="en", text="go " * (MAX_TOKENS + 1), second_text="I " * (MAX_TOKENS + 2), padding=1))
    assert trace.tokens == ("go",) * MAX_TOKENS
    assert trace.key_tokens == (*["I"] * (MAX_TOKENS - 1), PADDING)
    assert trace.n_cut == 1 + 3


def test_padding_stands_behind_the_keys():
    alone = run_lesson(Lesson(lang="en", text="a dog", padding=2))
    assert alone.tokens == alone.key_tokens == ("a", "dog", PADDING, PADDING)
    assert not alone.is_cross
    both = run_lesson(Lesson(lang="en", text="a dog", second_text="I run", padding=1))
    assert (both.tokens, both.key_tokens) == (("a", "dog"), ("I", "run", PADDING))
    assert both.is_cross


@pytest.mark.parametrize("second_text", [" ", "\u200d\n"], ids=ascii)
def test_a_second_text_without_tokens_is_none(second_text):
    trace = run_lesson(Lesson(second_text=second_text))
    assert trace.answering is trace.asking


def test_both_sentences_share_one_vocabulary():
    trace = run_lesson(Lesson(lang="en", text="the zebra", second_text="a zebra ran", padding=1))
    assert trace.vocabulary.words[-3:] == ("zebra", "ran", PADDING)
    assert torch.equal(trace.asking.x[1], trace.answering.x[1])


def test_an_edited_embedding_is_one_of_the_asking_sentence():
    edits = (Edit("x", 1, 0, 9.0),)
    alone = run_lesson(Lesson(lang="en", text="a b", edits=edits, positions="learned"))
    assert alone.asking.inputs[1, 0] == 9.0 + alone.asking.p[1, 0]
    assert alone.answering is alone.asking
    both = run_lesson(Lesson(lang="en", text="a b", second_text="a b", edits=edits))
    assert both.x[1, 0] == 9.0
    assert torch.equal(both.answering.x, run_lesson(Lesson(lang="en", text="a b", second_text="a b")).x)


def test_ten_thousand_characters():
    trace = run_lesson(Lesson.from_query({"text": "私は学生です。" * 1429}))
    assert len(trace.tokens) == MAX_TOKENS
    assert trace.n_cut > 0


@pytest.mark.parametrize("text", ["", "  \n", "\u200d", "\x00\x07"], ids=ascii)
def test_a_text_without_tokens(text):
    with pytest.raises(ValueError, match=r"^the text must hold at least one token, got "):
        run_lesson(Lesson(text=text))


def blind_rows(lesson: Lesson) -> list[tuple[int]]:
    """The queries from which the drawn mask hides every key."""
    if lesson.mask != "drawn":
        return []
    trace = run_lesson(dataclasses.replace(lesson, mask="none"))
    keys, hidden = set(range(len(trace.key_tokens))), {part.query: part.keys for part in lesson.hidden}
    return [(row,) for row in range(len(trace.tokens)) if keys <= set(hidden.get(row, ()))]


@given(fields, trainable)
@example({"mask": "drawn", "hidden": {0: {0, 1}}, "padding": 1}, {})
@example({"mask": "drawn", "hidden": {0: {0}}}, {})
@example({"mask": "drawn", "hidden": {0: {0}}, "second_text": "x y"}, {})
def test_any_lesson_with_a_token_runs(values, training):
    lesson = lesson_of(values | training | {"text": values.get("text", "") + " a"})
    if blind := blind_rows(lesson):
        with pytest.raises(BlindQueryError) as refused:
            run_lesson(lesson)
        assert list(refused.value.rows) == blind
        return
    trace = run_lesson(lesson)
    n, m, size = len(trace.tokens), len(trace.key_tokens), lesson.d_model
    assert trace.x.shape == trace.q.shape == trace.joined.shape == trace.y.shape == (n, size)
    assert trace.k.shape == trace.v.shape == (m, size)
    assert len(trace.heads) == lesson.n_heads
    for head in trace.heads:
        assert head.weights.shape == (n, m)
        assert head.output.shape == (n, size // lesson.n_heads)
        assert_close(head.weights.sum(dim=-1), torch.ones(n, dtype=torch.float64))
    assert torch.isfinite(trace.y).all()


def test_a_trained_layer_is_the_lesson_s():
    lesson = Lesson(training_steps=5)
    trace = run_lesson(lesson)
    assert layer_training(lesson) == LayerTraining("", "ja", 4, 0, 5)
    vocabulary, w_e = trained_layer(trace.tokens, layer_training(lesson))
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
        assert max(w.abs().max() for w in (trace.w_q, trace.w_k, trace.w_v, trace.w_o)) <= bound


@pytest.mark.parametrize("name", ["hidden", "edits"])
def test_a_link_with_thousands_of_unreadable_parts_is_reported_in_a_few(name):
    ignored = Lesson.from_query({name: "x y " * 10_000}).ignored
    assert [entry.value for entry in ignored] == ["x", "y", "… (19998)"]


def test_positions_of_the_second_sentence_alone_count_as_positions():
    gone = (Edit("p", 0, 0, 0.0), Edit("p", 0, 1, 0.0))
    trace = run_lesson(Lesson(text="a", second_text="a b c", d_model=2, positions="sinusoidal", edits=gone))
    assert not trace.asking.p.any()
    assert trace.has_positions
