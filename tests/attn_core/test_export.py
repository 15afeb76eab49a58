"""Taking a lesson along: every way out of the dashboard carries the same numbers, and no text becomes a formula."""

import csv
import io
import zipfile

import numpy as np
import pytest
from hypothesis import example, given, settings

from attn_core import Lesson, LessonTrace, run_lesson
from attn_core.edits import Edit
from attn_core.export import arrays, matrix_names, to_csv, to_npz
from attn_core.masks import HiddenKeys
from attn_core.script import to_script
from tests.attn_core.test_lesson import lesson_of
from tests.attn_core.ways_out import (
    HOSTILE_TEXT,
    assert_printed,
    assert_same,
    expected,
    fields,
    read_csv,
    renamed,
    run,
)

# Four queries, two heads of two columns, three keys of another sentence, the last of them padding.
WHOLE = Lesson(
    lang="en",
    second_text="I run",
    padding=1,
    mask="padding",
    n_heads=2,
    positions="learned",
    edits=(Edit("p", 1, 0, 0.25), Edit("W_O", 0, 3, -2.0)),
)


# The same numbers everywhere.


def labels(trace: LessonTrace) -> dict[str, list]:
    """Tokens, words and IDs, as every way out must hold them."""
    found = {"tokens": trace.tokens, "vocabulary": trace.vocabulary.words, "ids": trace.ids}
    if trace.is_cross:
        words = trace.vocabulary.words
        found |= {"second_tokens": trace.key_tokens, "second_ids": [words.index(token) for token in trace.key_tokens]}
    return {name: list(values) for name, values in found.items()}


def check_script(trace: LessonTrace) -> None:
    script = to_script(trace)
    found, output = run(script)
    assert found.keys() == labels(trace).keys() | expected(trace).keys()
    assert {name: found[name] for name in labels(trace)} == labels(trace)
    assert_same(found, trace)
    assert_printed(output, trace)
    written_out = [trace.lesson.training_steps > 0, trace.lesson.mask == "drawn" and not trace.mask.all()]
    assert script.count("torch.tensor(") == sum(written_out)  # everything else is drawn from the seed


def check_npz(trace: LessonTrace) -> None:
    with np.load(io.BytesIO(to_npz(trace)), allow_pickle=False) as file:
        assert file.files == [*labels(trace), *expected(trace)]
        assert {name: file[name].tolist() for name in labels(trace)} == labels(trace)
        assert file["ids"].dtype == np.int64
        assert "mask" not in file or file["mask"].dtype == np.bool_
        assert_same(file, trace)


def check_csv(trace: LessonTrace, names: list[str]) -> None:
    read = {name: read_csv(to_csv(trace, name)) for name in names}
    assert_same({name: numbers for name, (_, _, numbers) in read.items()}, trace, names)
    tokens, keys, words = list(trace.tokens), list(trace.key_tokens), list(trace.vocabulary.words)
    x, q, k, v, o, y = ([f"{letter}{place}" for place in range(trace.lesson.d_model)] for letter in "xqkvoy")
    sides = {"one_hot": (tokens, words), "w_e": (words, x), "w_k": (x, k), "w_o": (o, y)}
    sides |= {"x": (tokens, x), "p": (tokens, x), "inputs": (tokens, x), "second_x": (keys, x), "mask": (tokens, keys)}
    sides |= {"q": (tokens, q), "k": (keys, k), "v": (keys, v), "joined": (tokens, o), "y": (tokens, y)}
    sides |= {"weights": (tokens, keys), "output": (tokens, v), "masked_1": (tokens, keys)}
    sides |= {f"output_{head}": (tokens, v[head * trace.d_k : (head + 1) * trace.d_k]) for head in range(trace.n_heads)}
    for name, found in read.items():
        assert found[:2] == sides.get(name, found[:2]), name


@settings(max_examples=200)
@given(fields)
@example({})
@example({"lang": "en"})
@example({"text": HOSTILE_TEXT, "segmentation": "characters", "d_model": 16, "seed": 999_999})
@example({"text": "a b c", "second_text": HOSTILE_TEXT, "positions": "sinusoidal", "n_heads": 2, "mask": "causal"})
@example({"mask": "drawn", "hidden": {0: {1, 2}}, "positions": "learned", "d_model": 6, "n_heads": 6})
def test_every_way_out_has_the_same_numbers(values):
    lesson = lesson_of(values)  # all ways in one test: drawing and running a lesson takes longest
    trace = run_lesson(lesson)
    check_script(trace)
    check_npz(trace)
    names = list(matrix_names(trace))
    assert names == list(expected(trace))
    check_csv(trace, names[lesson.seed % 5 :: 5])  # a fifth of them: the shape checker makes tables slow
    assert_same(arrays(run_lesson(Lesson.from_query(lesson.to_query()))), trace)


# No text becomes a formula.


FORMULAS = [
    "=1+1",
    "+1",
    "-1",
    "@x",
    "=",
    "-",
    "\t=1",
    "\t1",
    "\r1",
    "\n1",
    "\x00=1",
    " =1",
    "\u200b=1",
    "\ufeff@x",
    "＝1",
    "＋1",
    "－1",
    "＠x",
    "﹦1",
    "=\u0338",
    '=HYPERLINK("https://example.org","x")',
    "=cmd|' /C calc'!A0",
    "@SUM(1;2)",
]


@pytest.mark.parametrize("token", FORMULAS, ids=ascii)
def test_no_label_is_read_as_a_formula(token):
    trace = renamed(run_lesson(Lesson(lang="en")), token)
    text = to_csv(trace, "weights")
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    assert header[2] == rows[1][0] == f"'{token}"
    assert all(cell == repr(float(cell)) for row in rows for cell in row[1:])
    assert f',"\'{token.replace(chr(34), chr(34) * 2)}",' in text  # quoted: no separator inside starts a new cell
    assert read_csv(text)[0] == list(trace.tokens)


@pytest.mark.parametrize("token", ["'", "'=1", "''", "＇x"], ids=ascii)
def test_an_apostrophe_of_the_token_s_own_is_kept(token):
    trace = renamed(run_lesson(Lesson(lang="en")), token)
    assert read_csv(to_csv(trace, "w_e"))[0] == list(trace.vocabulary.words)


@pytest.mark.parametrize(
    "token", ["猫", "a=b", "x-1", "1", "a'b", "。", 'a"b', "a,b", "👩‍👩‍👧", "[UNK]", ""], ids=ascii
)
def test_other_labels_stay_as_they_are(token):
    header, *_ = csv.reader(io.StringIO(to_csv(renamed(run_lesson(Lesson(lang="en")), token), "weights"), newline=""))
    assert header == ["weights", "the", token, "sat", "down"]


def test_negative_numbers_stay_numbers():
    text = to_csv(run_lesson(Lesson(edits=(Edit("W_Q", 0, 0, -0.1), Edit("W_Q", 0, 1, 1 / 3)))), "w_q")
    assert text.split("\r\n")[1].startswith('"x0",-0.1,0.3333333333333333,')


# Form.


ONE_HEAD = ["one_hot", "w_e", "x", "w_q", "w_k", "w_v", "q", "k", "v"]
ONE_HEAD += ["scores", "scaled", "masked", "weights", "output", "w_o", "y"]


def test_the_names_of_one_head():
    trace = run_lesson(Lesson())
    assert list(matrix_names(trace)) == ONE_HEAD
    assert list(arrays(trace)) == ["tokens", "vocabulary", "ids", *ONE_HEAD]


def test_the_names_of_all_there_is():
    trace = run_lesson(WHOLE)
    steps = [f"{step}_{head}" for head in (0, 1) for step in ("scores", "scaled", "masked", "weights", "output")]
    sequences = ["x", "p", "inputs", "second_one_hot", "second_x", "second_p", "second_inputs"]
    layers = ["w_q", "w_k", "w_v", "q", "k", "v"]
    names = ["one_hot", "w_e", *sequences, *layers, "mask", *steps, "joined", "w_o", "y"]
    assert list(matrix_names(trace)) == names
    assert list(arrays(trace)) == ["tokens", "vocabulary", "ids", "second_tokens", "second_ids", *names]


def test_every_table_of_all_there_is():
    trace = run_lesson(WHOLE)
    check_csv(trace, list(matrix_names(trace)))


def test_a_mask_that_hides_nothing_is_none():
    lesson = Lesson(mask="drawn", hidden=(HiddenKeys(0, (9,)),))
    assert list(matrix_names(run_lesson(lesson))) == ONE_HEAD


def test_the_mask_as_a_table():
    assert to_csv(run_lesson(WHOLE), "mask").splitlines() == [
        '"mask","I","run","[PAD]"',
        *(f'"{token}",1,1,0' for token in ("the", "cat", "sat", "down")),
    ]


def test_arrays_are_copies():
    trace = run_lesson(Lesson())
    arrays(trace)["x"][:] = 99
    assert_same(arrays(run_lesson(Lesson())), trace)


def test_no_matrix_of_that_name():
    with pytest.raises(ValueError, match=r"^name must be one of one_hot, w_e, .*, output, w_o, y, got 'ids'$"):
        to_csv(run_lesson(Lesson()), "ids")


def test_the_same_lesson_gives_the_same_bytes():
    first, second = to_npz(run_lesson(Lesson())), to_npz(run_lesson(Lesson()))
    assert first == second
    assert first != to_npz(run_lesson(Lesson(seed=1)))
    with zipfile.ZipFile(io.BytesIO(first)) as file:
        assert {entry.date_time for entry in file.infolist()} == {(1980, 1, 1, 0, 0, 0)}
