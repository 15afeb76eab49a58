"""The script of a lesson: it prints the numbers on the screen, a student can read it, and no text becomes code."""

import ast
import dataclasses
import io
import os
import subprocess
import sys
import tokenize as python_tokens

import pytest
import torch

from attn_core import Lesson, LessonTrace, run_lesson
from attn_core.edits import Edit, edited
from attn_core.masks import HiddenKeys
from attn_core.script import _BLOCKS, _COMMENTS, to_script
from tests.attn_core.ways_out import HOSTILE_TEXT, assert_printed, assert_same, renamed, run

EVERYTHING = {"second_text": "I run", "n_heads": 2, "mask": "causal"}


# Alone, in a fresh interpreter.


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
    w_e = layers.pop("w_e", trace.w_e)
    x = edited("x", trace.one_hot @ w_e, trace.lesson.edits)
    sequence = dataclasses.replace(trace.asking, x=x, inputs=x + trace.asking.p)
    kept = ("features", "entries_symbol", "edits", "lesson", "n_cut", "ids", "vocabulary", "unused_edits")
    return LessonTrace.run(
        sequence,
        sequence,
        dataclasses.replace(trace.layers, **layers),
        mask=trace.mask,
        n_heads=trace.n_heads,
        head=trace.head,
        scale=trace.scale,
        w_e=w_e,
        **{name: getattr(trace, name) for name in kept},
    )


@pytest.mark.parametrize("symbol", ["W_E", "W_Q", "W_K", "W_V", "W_O"])
def test_trained_layers_are_written_out(symbol):
    trace = run_lesson(Lesson(d_model=3, seed=5, edits=(Edit(symbol, 1, 1, 0.25), Edit("x", 0, 0, 2.0))))
    layer = symbol.lower()
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


LINES = {
    "causal": "mask = torch.ones(len(q), len(k), dtype=torch.bool).tril()",
    "padding": "mask = torch.ones(len(q), len(k), dtype=torch.bool)\nmask[:, -2:] = False",
    "drawn": "mask = torch.tensor([\n    [True, False, False, True, True, True],\n    [True, True, ",
}


@pytest.mark.parametrize("lang", ["ja", "en"])
@pytest.mark.parametrize("mask", LINES)
def test_masks(lang, mask):
    trace = run_lesson(Lesson(lang=lang, mask=mask, padding=2, hidden=(HiddenKeys(0, (1, 2)),)))
    script = to_script(trace)
    found, output = run(script)
    assert_same(found, trace)
    assert_printed(output, trace)
    assert f"# {_COMMENTS[lang][f'{mask}_comment']}\n{LINES[mask]}" in script
    assert "masked = scaled.masked_fill(~mask, -math.inf)" in script


KINDS = {
    "learned": "positions = tenths(32, 4, 10, seed=4000006)",
    "sinusoidal": "positions = torch.where(torch.arange(d_model) % 2 == 0, angles.sin(), angles.cos())",
}


@pytest.mark.parametrize("kind", KINDS)
def test_positions(kind):
    edits = (Edit("p", 3, 0, 0.5), Edit("p", 32, 0, 9.0))  # the second lies outside
    trace = run_lesson(Lesson(positions=kind, seed=3, edits=edits))
    script = to_script(trace)
    assert_same(run(script)[0], trace)
    assert f"{KINDS[kind]}\npositions[3, 0] = 0.5  # " in script
    assert "p = positions[: len(ids)]\ninputs = x + p\n" in script
    assert "q = inputs @ W_Q\nk = inputs @ W_K\nv = inputs @ W_V\n" in script
    assert script.count("positions[") == 2
    assert ("angles.sin()" in script) == (kind == "sinusoidal")


def test_keys_and_values_come_from_the_second_sentence():
    plain, placed = (to_script(run_lesson(Lesson(second_text="猫", positions=kind))) for kind in ("none", "learned"))
    assert "q = x @ W_Q\nk = second_x @ W_K\nv = second_x @ W_V\n" in plain
    assert "q = inputs @ W_Q\nk = second_inputs @ W_K\nv = second_inputs @ W_V\n" in placed


@pytest.mark.parametrize(("scale", "divisor"), [("sqrt_d_k", "math.sqrt(d_k)"), ("none", "1.0"), ("d_k", "float(d_k)")])
def test_heads(scale, divisor):
    script = to_script(run_lesson(Lesson(n_heads=2, scale=scale)))
    assert "n_heads = 2\nd_k = d_model // n_heads\nheads = {}\nfor head in range(n_heads):\n    columns = " in script
    assert "\n    scores = q[:, columns] @ k[:, columns].T\n" in script
    assert f"\n    scaled = scores / {divisor}\n" in script
    assert "\ny = joined @ W_O\n" in script


def test_what_a_lesson_does_not_have_is_not_in_its_script():
    script = to_script(run_lesson(Lesson(lang="en")))
    for word in ("head", "mask =", "position", "second", "inputs", "joined"):
        assert word not in script, word
    assert len(script) < len(to_script(run_lesson(Lesson(lang="en", **EVERYTHING, positions="sinusoidal"))))


def test_every_line_is_short_and_every_block_stands_apart():
    for positions in KINDS:
        script = to_script(run_lesson(Lesson(**EVERYTHING, positions=positions, padding=3)))
        assert [line for line in script.split("\n") if len(line) > 120] == []
        assert "\n\n\n\n" not in script
        assert script.endswith("\n")
        assert not script.endswith("\n\n")


def test_every_comment_is_used():
    used = "".join(_BLOCKS.values())
    chosen = {"edited", "unmasked_comment", "cross_projections_comment", "positions_projections_comment"}
    assert {name for name in _COMMENTS["en"] if f"${name}" not in used} == chosen


def test_comments_speak_the_lesson_s_language():
    assert _COMMENTS["ja"].keys() == _COMMENTS["en"].keys()
    assert to_script(run_lesson(Lesson(lang="en"))).isascii()
    for mask in ("causal", "padding", "drawn"):
        lessons = [
            Lesson(lang=lang, **EVERYTHING | {"mask": mask}, positions=kind, padding=1, hidden=(HiddenKeys(0, (1,)),))
            for lang in ("en", "ja")
            for kind in KINDS
        ]
        english, japanese = (
            [to_script(run_lesson(lesson)) for lesson in lessons if lesson.lang == lang] for lang in ("en", "ja")
        )
        assert all(script.isascii() for script in english)
        for script in japanese:
            assert len(comments(script)) > 15
            assert [comment for comment in comments(script) if comment.isascii()] == []


def test_the_script_imports_torch_and_math_only():
    tree = ast.parse(to_script(run_lesson(Lesson())))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [ast.unparse(node) for node in imports] == ["import math", "import torch"]


# No text becomes code.


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
