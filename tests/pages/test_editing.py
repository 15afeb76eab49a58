"""Editing numbers: which matrices, their rows and columns, and what a typed number becomes."""

import numpy as np
import pytest

from attn_core import Lesson, run_lesson
from attn_core.edits import Edit
from attn_core.links import Ignored
from pages.shared import editing
from tests.pages.reading import address, warnings


@pytest.fixture
def open_editor(open_page):
    """`open_editor("W_O", lang="en")`: a page with the editor open at the matrix."""

    def open_editor(matrix: str, **query: str):
        page = open_page("similarity", **query)
        page.session_state["edit_popover"] = True
        return page.run().button_group(key="edited_matrix").set_value(matrix).run()

    return open_editor


def table(page):
    """The editor's table: its rows' names, its columns' names, its numbers."""
    [shown] = [frame.value for frame in page.dataframe if str(frame.value.index[0]).startswith("0: ")]
    return list(shown.index), list(shown.columns), shown.to_numpy()


def numbered(names) -> list[str]:
    return [f"{place}: {name}" for place, name in enumerate(names)]


@pytest.mark.parametrize("positions", ["none", "sinusoidal", "learned"])
def test_position_vectors_can_be_edited_where_there_are_any(open_editor, positions):
    page = open_editor("x", lang="en", positions=positions)
    options = ["W_E", "W_Q", "W_K", "W_V", "W_O", "x"]
    assert page.button_group(key="edited_matrix").options == options + (["p"] if positions != "none" else [])


def test_w_o(open_editor):
    rows, columns, numbers = table(open_editor("W_O", lang="en", d_model="3", n_heads="3"))
    assert (rows, columns) == (numbered(["o0", "o1", "o2"]), numbered(["y0", "y1", "y2"]))
    assert np.array_equal(numbers, run_lesson(Lesson(lang="en", d_model=3)).w_o.numpy())


@pytest.mark.parametrize(
    ("second_text", "padding", "places"),
    [
        ("", "0", ["the", "cat", "sat", "down"]),
        ("", "1", ["the", "cat", "sat", "down", "[PAD]"]),
        ("I run", "1", ["the", "cat", "sat", "down"]),
        ("I am a dog you", "0", ["I", "am", "a", "dog", "you"]),
    ],
)
def test_p_has_the_places_of_the_longer_sentence(open_editor, second_text, padding, places):
    page = open_editor("p", lang="en", positions="learned", second_text=second_text, padding=padding, seed="4")
    rows, columns, numbers = table(page)
    assert (rows, columns) == (numbered(places), numbered(["x0", "x1", "x2", "x3"]))
    longest = run_lesson(Lesson(lang="en", text=" ".join(["a"] * len(places)), positions="learned", seed=4))
    assert np.array_equal(numbers, longest.asking.p.numpy())


def test_the_editor_of_p_closes_with_the_positions(open_editor):
    page = open_editor("p", lang="en", positions="learned")
    page.session_state["_records"][Lesson] = Lesson(lang="en")
    page = page.run()
    assert not page.exception
    assert page.button_group(key="edited_matrix").value == "W_Q"


@pytest.fixture
def typed(monkeypatch):
    """`typed("p", 2, "1: x1", 0.5)`: what the number typed into that cell changes, or what is refused."""

    def typed(name, row, column, value):
        changes: list[object] = []
        state = {"table": {"edited_rows": {row: {column: value}}}}
        monkeypatch.setattr(editing.st, "session_state", state)
        monkeypatch.setattr(editing, "current", lambda _: Lesson(edits=(Edit("W_Q", 0, 0, 1.0),)))
        monkeypatch.setattr(editing, "change", lambda _, **values: changes.append(values["edits"]))
        monkeypatch.setattr(editing, "refuse", lambda _, name, value: changes.append((name, value)))
        editing._take("table", name)
        return changes[0]

    return typed


@pytest.mark.parametrize("name", ["W_O", "p"])
def test_a_typed_number_is_an_edit(typed, name):
    assert typed(name, 2, "1: x1", 0.5) == (Edit("W_Q", 0, 0, 1.0), Edit(name, 2, 1, 0.5))
    assert typed(name, 0, "3: y3", None) == ("edits", f"{name}[0,3]=None")


def test_an_edit_moves_the_numbers(open_page):
    page = open_page("similarity", lang="en", positions="learned", edits="p[2,1]=0.5 W_O[0,0]=1")
    assert warnings(page) == []
    assert address(page)["edits"] == "p[2,1]=0.5 W_O[0,0]=1"
    assert page.session_state["_records"][Lesson].edits == (Edit("p", 2, 1, 0.5), Edit("W_O", 0, 0, 1.0))
    assert page.session_state["_records"][Lesson].ignored == ()


@pytest.mark.parametrize("edit", ["p[0,0]=1", "x[4,0]=1", "W_O[0,4]=1"])
def test_an_edit_that_changes_nothing_is_reported(open_page, edit):
    page = open_page("similarity", lang="en", edits=edit)
    assert warnings(page) == [f"This lesson has no such cell, and these edits change nothing: `{edit}`"]
    assert page.session_state["_records"][Lesson].ignored == ()


def test_an_edit_that_cannot_be_read_is_left_out(open_page):
    page = open_page("similarity", lang="en", edits="P[0,0]=1")
    [ignored] = page.session_state["_records"][Lesson].ignored
    assert ignored == Ignored("edits", "P[0,0]=1", ignored.allowed)
