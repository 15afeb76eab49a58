"""Falk's arrangement, read back."""

import dataclasses
import itertools
import math
import re

import plotly.graph_objects as go
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attn_core import Lesson, run_lesson
from attn_core.figures.cells import centres
from attn_core.figures.falk import falk
from attn_core.palette import CELL_COLORS, EDITED, EMBEDDING, KEY, NEUTRAL, QUERY, SCORES, VALUE
from attn_core.stages import STEPS, stage
from tests.attn_core.figures.samples import assert_stays_still, product, shape_of


def annotations(figure: go.Figure) -> list[str]:
    return [note.text for note in figure.layout.annotations]


def test_the_three_matrices() -> None:
    left, right, result, _ = falk(product(), 1, 2).data
    assert [list(row) for row in left.z] == [[1, 2, 3], [4, 5, 6]]
    assert [list(row) for row in right.z] == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]
    assert [list(row) for row in result.z] == [[38, 44, 50, 56], [83, 98, 113, 128]]
    assert [list(row) for row in result.text] == [["38", "44", "50", "56"], ["83", "98", "113", "128"]]
    assert (left.zmax, right.zmax, result.zmax) == (6, 12, 128)
    assert (left.zmin, right.zmin, result.zmin) == (-6, -12, -128)
    assert [trace.colorscale[-1][1] for trace in (left, right, result)] == [QUERY, CELL_COLORS["key"], SCORES]


def test_left_stands_bottom_left_right_top_right_result_bottom_right() -> None:
    left, right, result, _ = falk(product(), 0, 0).data
    assert tuple(result.x) == tuple(right.x)
    assert tuple(result.y) == tuple(left.y)
    assert left.x[-1] < right.x[0]
    assert right.y[-1] < left.y[0]  # rows run downwards
    assert [len(axis) for axis in (left.x, left.y, right.x, right.y)] == [4, 3, 5, 4]
    for edges in (left.y, right.y):
        assert [b - a for a, b in itertools.pairwise(edges)] == pytest.approx([1.0] * (len(edges) - 1))


@pytest.mark.parametrize(("row", "column"), [(0, 0), (1, 2), (1, 3)])
def test_row_and_column_run_into_the_cell(row: int, column: int) -> None:
    figure = falk(product(), row, column)
    left, right, result, _ = figure.data
    x, y = right.x[column : column + 2], left.y[row : row + 2]
    assert [shape_of(shape) for shape in figure.layout.shapes] == [
        (left.x[0], left.x[-1], *y, QUERY, 3),
        (*x, right.y[0], right.y[-1], KEY, 3),
        (*result.x[column : column + 2], *result.y[row : row + 2], SCORES, 5),
    ]


@pytest.mark.parametrize(
    ("step", "colors"),
    [
        ("x", [NEUTRAL, NEUTRAL, EMBEDDING]),
        ("q", [EMBEDDING, NEUTRAL, QUERY]),
        ("k", [EMBEDDING, NEUTRAL, KEY]),
        ("v", [EMBEDDING, NEUTRAL, VALUE]),
        ("scores", [QUERY, KEY, SCORES]),
        ("output", [SCORES, VALUE, VALUE]),
    ],
)
def test_every_stage_in_the_colours_of_its_roles(step: str, colors: list[str]) -> None:
    figure = falk(stage(run_lesson(Lesson()), step), 2, 0)
    assert [shape.line.color for shape in figure.layout.shapes] == colors
    assert [note.font.color for note in figure.layout.annotations[-3:]] == colors
    unit = [(trace.zmin, trace.zmax) == (0.0, 1.0) for trace in figure.data[:3]]
    assert unit == [step in ("x", "output"), False, False]


@settings(max_examples=10)
@given(
    st.sampled_from(["the the cat", "私は学生です", "word", "<b>x</b> $a$"]),
    st.integers(2, 5),
    st.sampled_from(STEPS),
    st.data(),
)
def test_any_lesson(text: str, d_model: int, step: str, data: st.DataObject) -> None:
    shown = stage(run_lesson(Lesson(text=text, d_model=d_model)), step)
    n_rows, n_columns = shown.result.values.shape
    row, column = data.draw(st.integers(0, n_rows - 1)), data.draw(st.integers(0, n_columns - 1))
    figure = falk(shown, row, column)
    assert_stays_still(figure)
    for trace, matrix in zip(figure.data, (shown.left, shown.right, shown.result), strict=False):
        assert torch.equal(torch.tensor(trace.z, dtype=torch.float64), matrix.values)
    assert [tuple(cell) for cell in figure.data[3].customdata] == [
        (i, j) for i in range(n_rows) for j in range(n_columns)
    ]
    cell = figure.layout.shapes[2]
    place = row * n_columns + column
    assert cell.x0 < figure.data[3].x[place] < cell.x1
    assert cell.y0 < figure.data[3].y[place] < cell.y1
    assert "<b>x" not in "".join(figure.layout.yaxis.ticktext)


def test_edited_cells_have_a_dotted_frame_under_the_outlines() -> None:
    shown = product()
    left = dataclasses.replace(shown.left, edited=((1, 2),))
    right = dataclasses.replace(shown.right, edited=((0, 3),))
    figure = falk(dataclasses.replace(shown, left=left, right=right), 0, 0)
    of_left, of_right, *outlines = figure.layout.shapes
    at = figure.data
    assert shape_of(of_left) == (*at[0].x[2:4], *at[0].y[1:3], EDITED, 4)
    assert shape_of(of_right) == (*at[1].x[3:5], *at[1].y[0:2], EDITED, 4)
    assert {of_left.line.dash, of_right.line.dash} == {"dot"}
    assert [shape.line.color for shape in outlines] == [QUERY, KEY, SCORES]


def test_a_click_gives_the_column_s_number_in_the_whole() -> None:
    shown = product()
    moved = dataclasses.replace(shown, result=dataclasses.replace(shown.result, first_column=4))
    assert [list(cell) for cell in falk(moved, 0, 0).data[3].customdata] == [
        [i, j] for i in range(2) for j in (4, 5, 6, 7)
    ]


def test_click_targets_lie_over_the_result() -> None:
    figure = falk(product(), 0, 0)
    *_, result, targets = figure.data
    assert [list(cell) for cell in targets.customdata] == [[i, j] for i in range(2) for j in range(4)]
    assert list(targets.x) == centres(result.x) * 2
    assert list(targets.y) == [y for y in centres(result.y) for _ in range(4)]
    assert targets.hovertext[6] == "r1 · c2: 113"


def test_labels_stand_at_their_rows_and_columns() -> None:
    figure = falk(product(), 0, 0)
    left, right, result, _ = figure.data
    layout = figure.layout
    assert (list(layout.xaxis.ticktext), list(layout.xaxis.tickvals)) == (["c0", "c1", "c2", "c3"], centres(result.x))
    assert (list(layout.yaxis.ticktext), list(layout.yaxis.tickvals)) == (["r0", "r1"], centres(result.y))
    above, beside = layout.annotations[:3], layout.annotations[3:6]
    assert [(note.text, note.x, note.y) for note in above] == [
        (f"c{i}", x, left.y[0]) for i, x in enumerate(centres(left.x))
    ]
    assert [(note.text, note.x, note.y) for note in beside] == [
        (f"c{i}", right.x[-1], y) for i, y in enumerate(centres(right.y))
    ]


def test_names_with_shapes() -> None:
    assert annotations(falk(product(), 0, 0))[-3:] == [
        "<b>Q</b>  2 × 3",
        "<b>K<sup>T</sup></b>  3 × 4",
        "<b>S</b>  2 × 4",
    ]
    assert annotations(falk(stage(run_lesson(Lesson()), "x"), 0, 0))[-3:] == [
        "<b>one-hot</b>  4 × 10",
        "<b>W<sub>E</sub></b>  10 × 4",
        "<b>X</b>  4 × 4",
    ]


def test_the_picture_holds_everything() -> None:
    figure = falk(product(), 0, 0)
    left, right, result, _ = figure.data
    assert tuple(figure.layout.xaxis.range) == (left.x[0], right.x[-1])
    low, high = figure.layout.yaxis.range[1], figure.layout.yaxis.range[0]
    assert low <= right.y[0]
    assert high > result.y[-1]
    assert_stays_still(figure)


def test_long_labels_stand_upright() -> None:
    def angles(shown_step: str) -> set[float]:
        figure = falk(stage(run_lesson(Lesson(lang="en")), shown_step), 0, 0)
        n_inner = len(figure.data[0].z[0])
        return {note.textangle for note in figure.layout.annotations[:n_inner]}

    assert angles("x") == {-90}
    assert angles("q") == {0}


def test_the_margin_is_as_wide_as_what_is_seen_in_it() -> None:
    def margin(*names: str) -> int:
        shown = product(inner=len(names))
        left = dataclasses.replace(shown.left, columns=names)
        right = dataclasses.replace(shown.right, rows=names)
        return falk(dataclasses.replace(shown, left=left, right=right), 0, 0).layout.margin.r

    assert margin("x0", "x1") == 14 + 22
    assert margin("アルゴリズムの本だ", "x") == 14 + 9 * 16  # a full-width character is as wide as its size
    assert margin("<<<<<<<<<", "x") == 14 + 9 * 11  # not the length of &lt;&lt;…
    assert margin("👨‍👩‍👧‍👦" * 3, "x") == 14 + 3 * 16  # not the number of code points


def test_repeated_tokens_keep_rows_of_their_own() -> None:
    figure = falk(stage(run_lesson(Lesson(lang="en", text="the the the")), "scores"), 2, 1)
    assert list(figure.layout.yaxis.ticktext) == list(figure.layout.xaxis.ticktext) == ["the"] * 3
    assert len(set(figure.layout.yaxis.tickvals)) == len(set(figure.layout.xaxis.tickvals)) == 3
    assert len(figure.data[2].z) == 3


def test_hostile_tokens() -> None:
    shown = product()
    result = dataclasses.replace(shown.result, rows=("<b>x</b>", "&"), columns=("<i>", "a", "b", "c"))
    left = dataclasses.replace(shown.left, columns=("<br>", "y", "z"))
    figure = falk(dataclasses.replace(shown, left=left, result=result), 0, 0)
    assert list(figure.layout.yaxis.ticktext) == ["&lt;b&gt;x&lt;/b&gt;", "&amp;"]
    assert figure.layout.xaxis.ticktext[0] == "&lt;i&gt;"
    assert annotations(figure)[0] == "&lt;br&gt;"
    assert figure.data[3].hovertext[0] == "&lt;b&gt;x&lt;/b&gt; · &lt;i&gt;: 38"


@pytest.mark.parametrize(
    ("sizes", "numbers"),
    [
        ((12, 12, 12), [True, True, True]),
        ((13, 2, 2), [False, True, False]),
        ((2, 13, 2), [False, False, True]),
        ((2, 2, 13), [True, False, False]),
    ],
)
def test_in_a_matrix_past_twelve_numbers_give_way_to_colour(sizes: tuple[int, int, int], numbers: list[bool]) -> None:
    figure = falk(product(*sizes), 1, 1)
    assert [trace.texttemplate for trace in figure.data[:3]] == ["%{text}" if shown else None for shown in numbers]
    assert [trace.text is not None for trace in figure.data[:3]] == numbers
    assert figure.layout.height <= 540
    assert len(figure.layout.shapes) == 3
    assert figure.data[3].hovertext[0].startswith("r0 · c0: ")


def test_numbers_that_are_none() -> None:
    shown = product()
    values = shown.result.values.clone()
    values[0, 0], values[1, 1] = math.nan, math.inf
    figure = falk(dataclasses.replace(shown, result=dataclasses.replace(shown.result, values=values)), 0, 0)
    assert figure.data[2].zmax == 128
    assert (figure.data[2].text[0][0], figure.data[2].text[1][1]) == ("NaN", "∞")
    assert figure.data[3].hovertext[0] == "r0 · c0: NaN"
    assert_stays_still(figure)


@pytest.mark.parametrize(("row", "column"), [(2, 0), (0, 4)])
def test_a_cell_outside(row: int, column: int) -> None:
    with pytest.raises(IndexError):
        falk(product(), row, column)


@pytest.mark.parametrize(("sizes", "crowded"), [((32, 4, 32), False), ((33, 4, 33), True), ((33, 4, 2), True)])
def test_a_crowded_picture_names_the_chosen_row_and_column_only(sizes: tuple[int, int, int], crowded: bool) -> None:
    figure = falk(product(*sizes), 5, 1)
    rows, columns = list(figure.layout.yaxis.ticktext), list(figure.layout.xaxis.ticktext)
    names = [note.text for note in figure.layout.annotations if "<b>" in note.text]
    assert rows == (["r5"] if crowded else [f"r{i}" for i in range(sizes[0])])
    assert columns == (["c1"] if sizes[2] > 32 else [f"c{i}" for i in range(sizes[2])])
    assert len(names) == (1 if crowded else 3)
    if crowded:
        assert re.sub(r"<[^>]+>", "", names[0]) == f"S 33 × {sizes[2]} = Q 33 × 4 · KT 4 × {sizes[2]}"
        assert list(figure.layout.yaxis.tickvals) == [figure.layout.shapes[2].y0 + 0.5]


@pytest.mark.parametrize("rows", [4, 16, 64])
def test_the_name_under_the_result_has_room(rows: int) -> None:
    figure = falk(product(rows, 4, 4), 0, 0)
    bottom, top = figure.layout.yaxis.range
    under = bottom - figure.layout.shapes[2].y0 - rows
    assert under * figure.layout.height / (bottom - top) > 20
