"""Taking a lesson along: every way out of the dashboard carries the same numbers, and no text becomes code."""

import ast
import contextlib
import csv
import dataclasses
import io
import os
import subprocess
import sys
import tokenize as python_tokens
import zipfile

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from attn_core import Lesson, LessonTrace, Vocabulary, attend, run_lesson
from attn_core.edits import EDITED_MATRICES, Edit, edited
from attn_core.export import _COMMENTS, MATRICES, arrays, to_csv, to_npz, to_script
from tests.attn_core.test_lesson import ARRAYS, OWN_CORPUS, STEPS, values_of

HOSTILE_TEXT = """''' \"\"\" \\ \\' # ${tokens} $x {y} %s \\N{DIGIT ONE} ]) ; = + - @ ＝ <script> ` 'a' "b" \\"""
TEXTS = (
    "私は学生です",
    "the cat the dog isn't",
    "猫は本を読む。cats read",
    "👩‍👩‍👧 🇯🇵 é ä क्षि",
    "שלום عربي abc",
    HOSTILE_TEXT,
)

inside = st.builds(
    Edit,
    st.sampled_from(EDITED_MATRICES),
    st.integers(0, 3),
    st.integers(0, 3),
    st.sampled_from([0.5, -0.0, 1 / 3, -1000.0, 5e-324]) | st.floats(-3, 3),
)


# The fields of any lesson with at least one token; every field there is, a later one too, is drawn.
texts = st.sampled_from(TEXTS) | st.text(max_size=20) | values_of("text")
last_words = st.sampled_from([" a", "学校", " =", "🙂"])
fields = st.fixed_dictionaries(
    {name: values_of(name) for name in Lesson.names()}
    | {
        "text": st.builds(str.__add__, texts, last_words),
        "edits": st.builds(tuple.__add__, values_of("edits"), st.lists(inside, max_size=4).map(tuple)),
        "training_steps": st.sampled_from([0, 0, 0, 2]),
        "corpus": st.sampled_from(["", OWN_CORPUS]),
    }
)


def expected(trace: LessonTrace) -> dict[str, np.ndarray]:
    """The matrices, read from the trace without the code under test."""
    own = {name: getattr(trace, name) for name in ARRAYS}
    steps = {name: getattr(trace.attention, name) for name in STEPS}
    return {name: values.numpy() for name, values in (own | steps).items()}


def assert_same(found: dict, trace: LessonTrace) -> None:
    """Every matrix, equal to the last bit, the sign of zero included."""
    for name, values in expected(trace).items():
        theirs = np.asarray(found[name])
        assert theirs.dtype == np.float64
        assert theirs.shape == values.shape
        assert theirs.tobytes() == values.tobytes(), name


def run(script: str) -> tuple[dict, str]:
    """The script's dict `lesson`, and what the script printed."""
    names, printed = {}, io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(script, "lesson.py", "exec"), names)
    return names["lesson"], printed.getvalue()


def printed_matrices(output: str) -> dict[str, np.ndarray]:
    """The matrices in what a script printed, after the lines of tokens and IDs."""
    _, *blocks = output.strip().split("\n\n")
    return {b.split(":")[0]: np.array([line.split() for line in b.split("\n")[1:]], dtype=float) for b in blocks}


def assert_printed(output: str, trace: LessonTrace) -> None:
    """Every matrix, in order, to four decimals, with no minus before a zero."""
    found, values = printed_matrices(output), expected(trace)
    assert list(found) == list(values)
    for name in values:
        assert found[name].shape == values[name].shape
        assert np.allclose(found[name], values[name], rtol=1e-15, atol=0.5001e-4), name
    assert "-0.0000" not in output


# The same numbers everywhere.


def check_script(trace: LessonTrace) -> None:
    script = to_script(trace)
    found, output = run(script)
    assert found["tokens"] == list(trace.tokens)
    assert found["vocabulary"] == list(trace.vocabulary.words)
    assert found["ids"] == list(trace.ids)
    assert_same(found, trace)
    assert_printed(output, trace)
    trained = trace.lesson.training_steps > 0
    assert script.count("torch.tensor(") == trained  # everything else is drawn from the seed


def check_npz(trace: LessonTrace) -> None:
    with np.load(io.BytesIO(to_npz(trace)), allow_pickle=False) as file:
        assert set(file.files) == {"tokens", "vocabulary", "ids", *ARRAYS, *STEPS}
        assert file["tokens"].tolist() == list(trace.tokens)
        assert file["vocabulary"].tolist() == list(trace.vocabulary.words)
        assert file["ids"].tolist() == list(trace.ids)
        assert file["ids"].dtype == np.int64
        assert_same(file, trace)


def read_csv(text: str) -> tuple[list[str], list[str], np.ndarray]:
    """Row labels, column labels and numbers; the reader itself tells text from numbers by the quotes."""
    header, *rows = csv.reader(io.StringIO(text, newline=""), quoting=csv.QUOTE_NONNUMERIC)
    numbers = [row[1:] for row in rows]
    assert all(isinstance(value, float) for row in numbers for value in row)
    labels = [[label.removeprefix("'") for label in found] for found in ([row[0] for row in rows], header[1:])]
    return labels[0], labels[1], np.array(numbers)


def check_csv(trace: LessonTrace) -> None:
    read = {name: read_csv(to_csv(trace, name)) for name in MATRICES}
    assert_same({name: numbers for name, (_, _, numbers) in read.items()}, trace)
    tokens, words = list(trace.tokens), list(trace.vocabulary.words)
    size = range(trace.lesson.d_model)
    assert read["one_hot"][:2] == (tokens, words)
    assert read["w_e"][:2] == (words, [f"x{i}" for i in size])
    assert read["w_k"][:2] == ([f"x{i}" for i in size], [f"k{i}" for i in size])
    assert read["q"][:2] == (tokens, [f"q{i}" for i in size])
    assert read["weights"][:2] == (tokens, tokens)
    assert read["output"][:2] == (tokens, [f"v{i}" for i in size])


@settings(max_examples=200)
@given(fields)
@example({})
@example({"lang": "en"})
@example({"text": HOSTILE_TEXT, "segmentation": "characters", "d_model": 16, "seed": 999_999})
def test_every_way_out_has_the_same_numbers(values):
    lesson = Lesson(**values)  # all ways in one test: drawing and running a lesson takes longest
    trace = run_lesson(lesson)
    check_script(trace)
    check_npz(trace)
    check_csv(trace)
    assert_same(arrays(run_lesson(Lesson.from_query(lesson.to_query()))), trace)


@pytest.mark.parametrize(
    ("lesson", "encoding"),
    [
        (Lesson(text="私は 👩‍👩‍👧 です", edits=(Edit("W_Q", 0, 1, 0.5),)), "ascii"),
        (Lesson(lang="en", text=HOSTILE_TEXT), "utf-8"),
    ],
    ids=["a console that knows ASCII only", "a hostile text"],
)
def test_the_script_runs_by_itself(lesson, encoding, tmp_path):
    trace = run_lesson(lesson)
    (tmp_path / "lesson.py").write_text(to_script(trace), "utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    command = [sys.executable, "-W", "error", "lesson.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, encoding=encoding)
    assert (done.returncode, done.stderr) == (0, "")
    shown = ascii if encoding == "ascii" else str
    assert done.stdout.startswith(f"tokens: {shown(list(trace.tokens))}\nids: [")
    assert_printed(done.stdout, trace)
    assert [path.name for path in tmp_path.iterdir()] == ["lesson.py"]


# What the script looks like.


def test_edits_are_assignments_in_order():
    edits = (
        Edit("W_Q", 0, 1, 0.5),
        Edit("x", 1, 2, -0.0),
        Edit("W_Q", 0, 1, -1 / 3),
        Edit("W_E", 99, 0, 7.0),  # outside
    )
    script = to_script(run_lesson(Lesson(lang="en", edits=edits)))
    assert "W_Q[0, 1] = 0.5  # edited\nW_Q[0, 1] = -0.3333333333333333  # edited\nW_K = " in script
    assert "x = one_hot @ W_E\nx[1, 2] = -0.0  # edited\n" in script
    assert script.count("# edited") == 3


def with_layers(trace: LessonTrace, **layers: torch.Tensor) -> LessonTrace:
    """The trace with other layers, as training leaves them, and everything that follows from them."""
    trace = dataclasses.replace(trace, **layers)
    x = edited("x", trace.one_hot @ trace.w_e, trace.lesson.edits)
    q, k, v = x @ trace.w_q, x @ trace.w_k, x @ trace.w_v
    return dataclasses.replace(trace, x=x, q=q, k=k, v=v, attention=attend(q, k, v, scale=trace.lesson.divisor))


@pytest.mark.parametrize(("layer", "symbol"), [("w_e", "W_E"), ("w_q", "W_Q"), ("w_k", "W_K"), ("w_v", "W_V")])
def test_trained_layers_are_written_out(layer, symbol):
    trace = run_lesson(Lesson(d_model=3, seed=5, edits=(Edit(symbol, 1, 1, 0.25), Edit("x", 0, 0, 2.0))))
    size = getattr(trace, layer).shape
    trained = torch.randn(size, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    trace = with_layers(trace, **{layer: edited(symbol, trained, trace.lesson.edits)})
    script = to_script(trace)
    assert_same(run(script)[0], trace)
    assert script.count("torch.tensor(") == 1
    assert f"{symbol} = torch.tensor([\n" in script
    assert f"{symbol}[1, 1] = 0.25" in script


def test_one_changed_number_is_noticed():
    trace = run_lesson(Lesson())
    w_e = trace.w_e.clone()
    w_e[-1, -1] += 1e-15  # a word that no token uses
    trace = with_layers(trace, w_e=w_e)
    assert_same(run(to_script(trace))[0], trace)


@pytest.mark.parametrize("lang", ["ja", "en"])
def test_a_mask_is_written_out(lang):
    trace = run_lesson(Lesson(lang=lang))
    causal = torch.ones(4, 4, dtype=torch.bool).tril()
    attention = attend(trace.q, trace.k, trace.v, mask=causal, scale=trace.lesson.divisor)
    trace = dataclasses.replace(trace, attention=attention)
    script = to_script(trace)
    found, output = run(script)
    assert_same(found, trace)
    assert_printed(output, trace)
    assert (
        f"# {_COMMENTS[lang]['masked_comment']}\nmay_attend = torch.tensor([\n    [True, False, False, False],\n"
        in script
    )
    assert_same({name: read_csv(to_csv(trace, name))[2] for name in MATRICES}, trace)


def test_comments_speak_the_lesson_s_language():
    assert _COMMENTS["ja"].keys() == _COMMENTS["en"].keys()
    assert to_script(run_lesson(Lesson(lang="en"))).isascii()
    japanese = comments(to_script(run_lesson(Lesson(lang="ja"))))
    assert len(japanese) > 10
    assert [comment for comment in japanese if comment.isascii()] == []


def test_the_script_imports_torch_and_math_only():
    tree = ast.parse(to_script(run_lesson(Lesson())))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [ast.unparse(node) for node in imports] == ["import math", "import torch"]


# No text becomes code.


def renamed(trace: LessonTrace, token: str) -> LessonTrace:
    """The trace with the token at the place of its second token, in the vocabulary too."""
    tokens, words = list(trace.tokens), list(trace.vocabulary.words)
    tokens[1], words[trace.ids[1]] = token, token
    return dataclasses.replace(trace, tokens=tuple(tokens), vocabulary=Vocabulary(tuple(words)))


def comments(script: str) -> list[str]:
    read = python_tokens.generate_tokens(io.StringIO(script).readline)
    return [token.string for token in read if token.type == python_tokens.COMMENT]


def skeleton(script: str) -> str:
    """The script's syntax tree with every text emptied."""
    tree = ast.parse(script)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return ast.dump(tree)


HOSTILE_TOKENS = [
    "'",
    '"',
    "'''",
    '"""',
    "\\",
    "\\'",
    "'\"\\",
    "\n",
    "\r\nraise SystemExit",
    "#",
    "']; raise SystemExit; ['",
    '"""\nraise SystemExit\n"""',
    "$tokens",
    "${ids}",
    "$",
    "{values}",
    "%s",
    "\\N{DIGIT ONE}",
    "\\x41",
    "\x00",
    "\x0c",
    "\x1b[31m",
    "\x85",
    "\u2028",
    "\u202e",
    "\ufeff",
    "\ud800",
    "＇",
    "",
]


@pytest.mark.parametrize("token", HOSTILE_TOKENS, ids=ascii)
def test_a_hostile_token_stays_text(token):
    trace = run_lesson(Lesson(lang="en"))
    hostile, harmless = to_script(renamed(trace, token)), to_script(renamed(trace, "word"))
    assert skeleton(hostile) == skeleton(harmless)
    assert comments(hostile) == comments(harmless)
    found, output = run(hostile.encode("utf-8").decode("utf-8"))
    assert found["tokens"][1] == token
    assert found["vocabulary"][2] == token
    assert_same(found, trace)
    assert output.splitlines()[1:] == run(harmless)[1].splitlines()[1:]


def test_the_check_above_can_fail():
    script = to_script(run_lesson(Lesson(lang="en")))
    assert skeleton(script.replace("'cat'", "'ca', 't'")) != skeleton(script)
    assert comments(script.replace("'cat',", "'cat', # x\n")) != comments(script)


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


def test_the_names_are_the_trace_s():
    assert MATRICES == ARRAYS + STEPS
    assert list(arrays(run_lesson(Lesson()))) == ["tokens", "vocabulary", "ids", *ARRAYS, *STEPS]


def test_arrays_are_copies():
    trace = run_lesson(Lesson())
    arrays(trace)["x"][:] = 99
    assert_same(arrays(run_lesson(Lesson())), trace)


def test_no_matrix_of_that_name():
    with pytest.raises(ValueError, match=r"^name must be one of one_hot, w_e, .*, output, got 'ids'$"):
        to_csv(run_lesson(Lesson()), "ids")


def test_the_same_lesson_gives_the_same_bytes():
    first, second = to_npz(run_lesson(Lesson())), to_npz(run_lesson(Lesson()))
    assert first == second
    assert first != to_npz(run_lesson(Lesson(seed=1)))
    with zipfile.ZipFile(io.BytesIO(first)) as file:
        assert {entry.date_time for entry in file.infolist()} == {(1980, 1, 1, 0, 0, 0)}
