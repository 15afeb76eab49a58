"""Edits: one number changed by hand, and everything downstream follows."""

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attn_core import Lesson, run_lesson
from attn_core.edits import EDITED_MATRICES, Edit, edited
from attn_core.limits import LARGEST_EDIT

edits = st.builds(
    Edit,
    st.sampled_from(EDITED_MATRICES),
    st.integers(0, 999),
    st.integers(0, 999),
    st.floats(-LARGEST_EDIT, LARGEST_EDIT),
)


@given(edits)
def test_an_edit_is_what_it_is_written_as(edit):
    assert Edit.parse(str(edit)) == edit


def test_edits_read_like_the_matrix_they_change():
    assert str(Edit("W_Q", 0, 1, 0.5)) == "W_Q[0,1]=0.5"
    assert str(Edit("x", 2, 3, -2.0)) == "x[2,3]=-2"
    assert Edit.parse("W_V[10,0]=1e-3") == Edit("W_V", 10, 0, 0.001)


@pytest.mark.parametrize(
    "text",
    [
        "W_Q[0,1]=nan", "W_Q[0,1]=inf", "W_Q[0,1]=-inf", "W_Q[0,1]=x", "W_Q[0,1]=", "W_Q[0]=1", "W_X[0,0]=1",
        "q[0,0]=1", "W_Q[-1,0]=1", "W_Q[0,1]=1001", "W_Q[0,1]=1e400", "W_Q[0,1]=0x10", "W_Q[٣,0]=1", "W_Q[0,1]=1_0",
        "W_Q[0,1]=1..2", "W_Q[1000,0]=1", "", "W_Q[0,1]=0.5;", "w_q[0,1]=1",
    ],
)  # fmt: skip
def test_what_is_no_edit_is_refused(text):
    with pytest.raises(ValueError, match=r"."):
        Edit.parse(text)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("W_Q", 0, 0, float("nan")), "value must be between -1000 and 1000, got nan"),
        (("W_Q", -1, 0, 1.0), "row and column must be between 0 and 999, got -1 and 0"),
    ],
)
def test_errors_name_what_is_wrong(arguments, message):
    with pytest.raises(ValueError, match=message):
        Edit(*arguments)


def test_a_link_keeps_the_edits_it_can_read_and_names_the_others():
    lesson = Lesson.from_query({"edits": "W_Q[0,1]=0.5 x[0,0]=nan W_V[1,1]=2 hello"})
    assert lesson.edits == (Edit("W_Q", 0, 1, 0.5), Edit("W_V", 1, 1, 2.0))
    assert [(entry.name, entry.value) for entry in lesson.ignored] == [("edits", "x[0,0]=nan"), ("edits", "hello")]


def test_a_later_edit_of_the_same_cell_wins_and_the_matrix_given_stays():
    values = torch.zeros(2, 3, dtype=torch.float64)
    changed = edited("x", values, (Edit("x", 1, 2, 1.0), Edit("W_Q", 0, 0, 9.0), Edit("x", 1, 2, -4.0)))
    assert changed.tolist() == [[0, 0, 0], [0, 0, -4.0]]
    assert values.tolist() == [[0, 0, 0], [0, 0, 0]]


def test_edits_outside_their_matrix_are_reported():
    outside = Edit("W_Q", 4, 0, 1.0)
    trace = run_lesson(Lesson(edits=(outside, Edit("W_Q", 3, 3, 1.0))))
    assert trace.unused_edits == (outside,)
    assert trace.w_q[3, 3] == 1.0


@pytest.mark.parametrize(
    ("lesson", "edit", "is_used"),
    [
        (Lesson(), "p[0,0]=1", False),
        (Lesson(positions="learned"), "p[3,3]=1", True),
        (Lesson(positions="sinusoidal"), "p[4,0]=1", False),
        (Lesson(positions="learned", padding=1), "p[4,0]=1", True),
        (Lesson(positions="learned", second_text="猫 犬 本 猫 犬"), "p[4,0]=1", True),
        (Lesson(second_text="猫 犬 本 猫 犬"), "x[4,0]=1", False),
        (Lesson(), "W_O[3,3]=1", True),
        (Lesson(), "W_O[0,4]=1", False),
    ],
    ids=str,
)
def test_which_edits_are_of_use(lesson, edit, is_used):
    edits = (Edit.parse(edit),)
    plain, trace = run_lesson(lesson), run_lesson(dataclasses.replace(lesson, edits=edits))
    assert trace.unused_edits == (() if is_used else edits)
    assert torch.equal(trace.y, plain.y) != is_used


@pytest.mark.parametrize("matrix", EDITED_MATRICES)
def test_everything_downstream_follows_and_nothing_else(matrix):
    """Recomputed in NumPy from the plain lesson's matrices with the one number put in."""
    lesson = Lesson(positions="learned")
    plain, trace = run_lesson(lesson), run_lesson(dataclasses.replace(lesson, edits=(Edit(matrix, 2, 1, 3.5),)))
    given_numbers = {
        "W_E": plain.w_e.numpy().copy(), "W_Q": plain.w_q.numpy().copy(), "W_K": plain.w_k.numpy().copy(),
        "W_V": plain.w_v.numpy().copy(), "W_O": plain.w_o.numpy().copy(), "p": plain.asking.p.numpy().copy(),
    }  # fmt: skip
    if matrix != "x":
        given_numbers[matrix][2, 1] = 3.5
    x = given_numbers["W_E"][list(plain.ids)]
    if matrix == "x":
        x[2, 1] = 3.5
    q, k, v = ((x + given_numbers["p"]) @ given_numbers[name] for name in ("W_Q", "W_K", "W_V"))
    scaled = q @ k.T / 2
    weights = np.exp(scaled) / np.exp(scaled).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(trace.attention.scores.numpy(), q @ k.T, atol=1e-12)
    np.testing.assert_allclose(trace.output.numpy(), weights @ v, atol=1e-12)
    np.testing.assert_allclose(trace.y.numpy(), weights @ v @ given_numbers["W_O"], atol=1e-12)
    for name in ("w_e", "w_q", "w_k", "w_v", "w_o"):
        changed = int((getattr(plain, name) != getattr(trace, name)).sum())
        assert changed == (1 if name == matrix.lower() else 0)
    assert int((plain.asking.p != trace.asking.p).sum()) == (1 if matrix == "p" else 0)
