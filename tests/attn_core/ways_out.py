"""Reading a lesson back from what is taken along, and what must be in it."""

import contextlib
import csv
import dataclasses
import io
from collections.abc import Iterable

import numpy as np
from hypothesis import strategies as st

from attn_core import Lesson, LessonTrace, Vocabulary
from attn_core.edits import EDITED_MATRICES, Edit
from tests.attn_core.test_lesson import OWN_CORPUS, STEPS, values_of

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

# The fields of any lesson with at least one token and no query that sees nothing; every field there is, a later one
# too, is drawn. To be made into a lesson by `lesson_of`.
texts = st.sampled_from(TEXTS) | st.text(max_size=20) | values_of("text")
last_words = st.sampled_from([" a", "学校", " =", "🙂"])
fields = st.fixed_dictionaries(
    {name: values_of(name) for name in Lesson.names()}
    | {
        "text": st.builds(str.__add__, texts, last_words),
        "second_text": st.sampled_from(["", "", ""]) | texts,
        "hidden": st.dictionaries(st.integers(0, 5), st.sets(st.integers(1, 6), min_size=1), max_size=5),
        "edits": st.builds(tuple.__add__, values_of("edits"), st.lists(inside, max_size=4).map(tuple)),
        "training_steps": st.sampled_from([0, 0, 0, 2]),
        "corpus": st.sampled_from(["", OWN_CORPUS]),
    }
)


def expected(trace: LessonTrace) -> dict[str, np.ndarray]:
    """The matrices in order, read from the trace without the code under test."""
    embedded = ("x", "p", "inputs") if trace.lesson.positions != "none" else ("x",)
    found = {"one_hot": trace.asking.entries, "w_e": trace.w_e}
    found |= {name: getattr(trace.asking, name) for name in embedded}
    if trace.answering is not trace.asking:
        found |= {"second_one_hot": trace.answering.entries}
        found |= {f"second_{name}": getattr(trace.answering, name) for name in embedded}
    found |= {name: getattr(trace, name) for name in ("w_q", "w_k", "w_v", "q", "k", "v")}
    if not trace.mask.all():
        found |= {"mask": trace.mask}
    if len(trace.heads) == 1:
        found |= {step: getattr(trace.heads[0], step) for step in STEPS}
    else:
        found |= {f"{step}_{place}": getattr(head, step) for place, head in enumerate(trace.heads) for step in STEPS}
        found |= {"joined": trace.joined}
    found |= {"w_o": trace.w_o, "y": trace.y}
    return {name: values.numpy() for name, values in found.items()}


def assert_same(found: dict, trace: LessonTrace, names: Iterable[str] | None = None) -> None:
    """These matrices or all of them, equal to the last bit, the sign of zero included."""
    matrices = expected(trace)
    for name in matrices if names is None else names:
        theirs, values = np.asarray(found[name]), matrices[name]
        assert theirs.shape == values.shape, name
        if name == "mask":
            assert np.array_equal(theirs, values)
            continue
        assert theirs.dtype == np.float64
        assert theirs.tobytes() == values.tobytes(), name


def run(script: str) -> tuple[dict, str]:
    """The script's dict `lesson`, and what the script printed."""
    names, printed = {}, io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(script, "lesson.py", "exec"), names)
    return names["lesson"], printed.getvalue()


def assert_printed(output: str, trace: LessonTrace) -> None:
    """Every matrix, in order, to four decimals, with no minus before a zero."""
    found, values = _printed_matrices(output), expected(trace)
    assert list(found) == list(values)
    for name in values:
        assert found[name].shape == values[name].shape
        assert np.allclose(found[name], values[name], rtol=1e-15, atol=0.5001e-4), name
    assert "-0.0000" not in output


def _printed_matrices(output: str) -> dict[str, np.ndarray]:
    """The matrices in what a script printed, after the lines of tokens and IDs."""
    _, *blocks = output.strip().split("\n\n")
    return {b.split(":")[0]: np.array([line.split() for line in b.split("\n")[1:]], dtype=float) for b in blocks}


def read_csv(text: str) -> tuple[list[str], list[str], np.ndarray]:
    """Row labels, column labels and numbers; the reader itself tells text from numbers by the quotes."""
    header, *rows = csv.reader(io.StringIO(text, newline=""), quoting=csv.QUOTE_NONNUMERIC)
    numbers = [row[1:] for row in rows]
    assert all(isinstance(value, float) for row in numbers for value in row)
    labels = [[label.removeprefix("'") for label in found] for found in ([row[0] for row in rows], header[1:])]
    return labels[0], labels[1], np.array(numbers)


def renamed(trace: LessonTrace, token: str) -> LessonTrace:
    """The trace with the token at the place of its second token, in the vocabulary too."""
    tokens, words = list(trace.tokens), list(trace.vocabulary.words)
    tokens[1], words[trace.ids[1]] = token, token
    sequence = dataclasses.replace(trace.asking, tokens=tuple(tokens))
    return dataclasses.replace(trace, asking=sequence, answering=sequence, vocabulary=Vocabulary(tuple(words)))
