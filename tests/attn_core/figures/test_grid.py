"""One matrix with its labels, read back."""

import dataclasses
import math

import pytest
import torch

from attn_core.figures.grid import grid, on_one_scale
from attn_core.palette import EDITED, EMBEDDING, NEUTRAL, QUERY, SCORES
from tests.attn_core.figures.samples import assert_stays_still, counting, matrix, shape_of


def test_of_many_rows_and_columns_only_the_chosen_ones_are_named() -> None:
    values = [[0.0] * 33 for _ in range(33)]
    names = tuple(f"n{place}" for place in range(33))
    shown = matrix(values, rows=names, columns=names)
    totals = shown.values.sum(dim=-1, keepdim=True)
    figure = grid(shown, 4, 7, totals=totals)
    assert (list(figure.layout.xaxis.ticktext), figure.layout.xaxis.tickvals[0]) == (["n7", "Σ"], 7.5)
    assert (list(figure.layout.yaxis.ticktext), list(figure.layout.yaxis.tickvals)) == (["n4"], [4.5])
    assert list(grid(shown).layout.xaxis.ticktext) == []
    fewer = matrix([[0.0] * 32], rows=("r",), columns=names[:32])
    assert len(grid(fewer, totals=fewer.values.sum(dim=-1, keepdim=True)).layout.xaxis.ticktext) == 33


def test_the_matrix() -> None:
    figure = grid(matrix(counting(2, 3)))
    drawn, targets = figure.data
    assert [list(row) for row in drawn.z] == [[1, 2, 3], [4, 5, 6]]
    assert [list(row) for row in drawn.text] == [["1", "2", "3"], ["4", "5", "6"]]
    assert (tuple(drawn.x), tuple(drawn.y)) == ((0, 1, 2, 3), (0, 1, 2))
    assert (drawn.zmin, drawn.zmax, drawn.colorscale[-1][1]) == (-6, 6, SCORES)
    assert [list(cell) for cell in targets.customdata] == [[i, j] for i in range(2) for j in range(3)]
    assert list(targets.x) == [0.5, 1.5, 2.5] * 2
    assert list(targets.y) == [0.5] * 3 + [1.5] * 3
    assert list(targets.hovertext)[:2] == ["r0 · c0: 1", "r0 · c1: 2"]
    assert figure.layout.shapes == ()
    assert_stays_still(figure)


def test_a_click_gives_the_column_s_number_in_the_whole() -> None:
    figure = grid(dataclasses.replace(matrix(counting(2, 3)), first_column=6))
    assert [list(cell) for cell in figure.data[1].customdata] == [[i, j] for i in range(2) for j in (6, 7, 8)]


def test_labels_and_name() -> None:
    layout = grid(matrix(counting(2, 3), symbol="e^z")).layout
    assert (list(layout.xaxis.ticktext), list(layout.xaxis.tickvals)) == (["c0", "c1", "c2"], [0.5, 1.5, 2.5])
    assert (list(layout.yaxis.ticktext), list(layout.yaxis.tickvals)) == (["r0", "r1"], [0.5, 1.5])
    [name] = layout.annotations
    assert (name.text, name.font.color) == ("<b>e<sup>z</sup></b>  2 × 3", SCORES)
    assert name.y > 2
    assert tuple(layout.xaxis.range) == (0, 3)
    assert tuple(layout.yaxis.range) == (2.9, 0)


def test_the_chosen_row_and_cell() -> None:
    drawn = matrix(counting(2, 3))
    assert [shape_of(shape) for shape in grid(drawn, 1).layout.shapes] == [(0, 3, 1, 2, QUERY, 3)]
    assert [shape_of(shape) for shape in grid(drawn, 0, 2).layout.shapes] == [
        (0, 3, 0, 1, QUERY, 3),
        (2, 3, 0, 1, SCORES, 5),
    ]


def test_the_chosen_row_of_another_matrix_is_outlined_in_its_own_colour() -> None:
    figure = grid(matrix(counting(2, 3), role="embedding"), 1)
    assert [shape_of(shape) for shape in figure.layout.shapes] == [(0, 3, 1, 2, EMBEDDING, 3)]


def test_edited_cells_have_a_dotted_frame() -> None:
    edited = dataclasses.replace(matrix(counting(2, 3)), edited=((1, 2), (5, 0), (0, 7)))  # two lie outside
    [frame] = grid(edited).layout.shapes
    assert shape_of(frame) == (2, 3, 1, 2, EDITED, 4)
    assert frame.line.dash == "dot"


def test_totals_stand_apart() -> None:
    totals = torch.tensor([[6.0], [15.0]], dtype=torch.float64)
    figure = grid(matrix(counting(2, 3)), 1, 0, totals=totals)
    drawn = figure.data[2]
    assert [list(row) for row in drawn.z] == [[6], [15]]
    assert [list(row) for row in drawn.text] == [["6"], ["15"]]
    assert tuple(drawn.x) == pytest.approx((3.3, 4.3))
    assert drawn.colorscale[-1][1] == NEUTRAL
    assert list(figure.layout.xaxis.ticktext) == ["c0", "c1", "c2", "Σ"]
    assert figure.layout.xaxis.tickvals[-1] == pytest.approx(3.8)
    assert tuple(figure.layout.xaxis.range) == pytest.approx((0, 4.3))
    row, cell = figure.layout.shapes
    assert (row.x0, row.x1) == (0, pytest.approx(4.3))
    assert (cell.x0, cell.x1) == (0, 1)
    assert len(figure.data[1].customdata) == 6


def test_weights_are_fixed_to_0_and_1() -> None:
    weights = grid(matrix([[0.5, 0.5]], symbol="A", role="weights")).data[0]
    assert (weights.zmin, weights.zmax) == (0.0, 1.0)
    one_hot = grid(matrix([[0.0, 1.0]], symbol=r"\text{one-hot}", role="one_hot")).data[0]
    assert (one_hot.zmin, one_hot.zmax) == (0.0, 1.0)
    scores = grid(matrix([[0.5, 0.25]])).data[0]
    assert (scores.zmin, scores.zmax) == (-0.5, 0.5)


@pytest.mark.parametrize(("rows", "columns", "numbers"), [(12, 12, True), (13, 2, False), (2, 13, False)])
def test_past_twelve_numbers_give_way_to_colour(rows: int, columns: int, numbers: bool) -> None:
    totals = torch.ones(rows, 1, dtype=torch.float64)
    figure = grid(matrix(counting(rows, columns)), 0, 0, totals=totals)
    assert [figure.data[i].text is not None for i in (0, 2)] == [numbers, numbers]
    assert figure.layout.height <= 420


def test_hostile_and_repeated_tokens() -> None:
    figure = grid(matrix(counting(3, 2), rows=("<b>x</b>", "a", "a"), columns=("<b>x</b>", "a")))
    assert list(figure.layout.yaxis.ticktext) == ["&lt;b&gt;x&lt;/b&gt;", "a", "a"]
    assert list(figure.layout.yaxis.tickvals) == [0.5, 1.5, 2.5]
    assert figure.layout.xaxis.ticktext[0] == "&lt;b&gt;x&lt;/b&gt;"


def test_numbers_that_are_none() -> None:
    totals = torch.tensor([[math.inf], [math.nan]], dtype=torch.float64)
    figure = grid(matrix([[math.inf, 1.0], [math.nan, 2.0]]), 0, 0, totals=totals)
    assert (figure.data[0].zmax, figure.data[2].zmax) == (2.0, 1.0)
    assert [list(row) for row in figure.data[0].text] == [["∞", "1"], ["NaN", "2"]]
    assert [list(row) for row in figure.data[2].text] == [["∞"], ["NaN"]]
    assert_stays_still(figure)


@pytest.mark.parametrize(
    ("n_keys", "total", "width", "size"),
    [(2, 0.25, 1.0, 15), (4, 0.3333, 1.0, 11), (6, 0.3333, 1.08, 9), (12, 0.3333, 2.16, 9), (4, 1e30, 1.0, 6)],
)
def test_totals_fit_a_narrow_picture(n_keys: int, total: float, width: float, size: int) -> None:
    """240 pixels for the cells: a number is 0.65 · size wide for each of its characters."""
    totals = torch.full((2, 1), total, dtype=torch.float64)
    figure = grid(matrix(counting(2, n_keys)), totals=totals)
    sums = figure.data[-1]
    assert sums.x[1] - sums.x[0] == pytest.approx(width)
    assert figure.layout.xaxis.range[1] == sums.x[1] == pytest.approx(n_keys + 0.3 + width)
    assert sums.textfont.size == size
    assert len(sums.text[0][0]) * 0.65 * size <= 240 * width / sums.x[1]


def test_matrices_on_one_scale() -> None:
    small, large = on_one_scale([matrix([[1.0, -0.5]], role="key"), matrix([[0.25, -4.0]], role="key")])
    sent = [one.to_dict()["data"][0] for one in (small, large)]
    assert [(cells["zmin"], cells["zmax"]) for cells in sent] == [(-4, 4), (-4, 4)]
    assert [list(row) for row in small.data[0].z] == [[1, -0.5]]
    (nothing,) = on_one_scale([matrix([[0.0, 0.0]], role="key")])
    assert (nothing.data[0].zmin, nothing.data[0].zmax) == (-1, 1)
