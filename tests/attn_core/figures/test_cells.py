"""Matrices as cells, read back."""

import base64
import math

import numpy as np
import plotly.graph_objects as go
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from attn_core.figures.cells import (
    cells,
    centres,
    click_targets,
    diverging,
    hover_texts,
    label,
    label_width,
    outline,
    sequential,
    still_layout,
    strikes,
    takes_two_clicks,
)
from attn_core.figures.plain import Piece, figure
from attn_core.numbers import texts
from attn_core.palette import CELL_COLORS, DARKEST_PIXEL, NEUTRAL, QUERY, VALUE
from attn_core.stages import Matrix
from tests.attn_core.figures.samples import assert_stays_still, matrix


def read(trace: Piece) -> go.Heatmap | go.Scatter:
    """The trace as a figure has it."""
    return figure([trace], {}).data[0]


def heatmap(values: list[list[float]], **options: object) -> go.Heatmap:
    edges = [float(i) for i in range(len(values[0]) + 1)], [float(i) for i in range(len(values) + 1)]
    tensor = torch.tensor(values, dtype=torch.float64)
    drawn = {"role": "query", "numbers": texts(tensor)} | options
    return read(cells(tensor, x_edges=edges[0], y_edges=edges[1], **drawn))


def test_numbers_of_a_lone_column_are_small_from_the_start() -> None:
    assert heatmap([[1.0], [2.0]]).textfont.size == 11
    assert heatmap([[1.0, 2.0]]).textfont.size is None


# Labels.


@pytest.mark.parametrize(
    ("token", "text"),
    [
        ("学生", "学生"),
        ("123456789", "123456789"),
        ("1234567890", "12345678…"),
        ("<b>x</b>", "&lt;b&gt;x&lt;/b&gt;"),
        ("<script>alert", "&lt;script&gt;…"),
        ("a&amp;b", "a&amp;amp;b"),
        ('"q"', '"q"'),
        ("👨‍👩‍👧" * 9, "👨‍👩‍👧" * 9),
        ("👨‍👩‍👧" * 10, "👨‍👩‍👧" * 8 + "…"),
        ("e\u0301" * 10, "e\u0301" * 8 + "…"),
        ("", ""),
    ],
)
def test_label(token: str, text: str) -> None:
    assert label(token) == text


@given(st.text(max_size=20))
def test_no_label_is_read_as_html(token: str) -> None:
    assert "<" not in label(token)
    assert ">" not in label(token)


@pytest.mark.parametrize(
    ("token", "width"),
    [("cat", 33), ("学生", 32), ("<<<", 33), ("👨‍👩‍👧", 16), ("1234567890", 99), ("学" * 20, 8 * 16 + 11), ("", 0)],
)
def test_label_width_counts_what_is_seen(token: str, width: int) -> None:
    assert label_width(token) == width


# Colours.


def test_scales() -> None:
    assert diverging("query") == [[0.0, NEUTRAL], [0.5, "#FFFFFF"], [1.0, QUERY]]
    assert sequential("value") == [[0.0, "#FFFFFF"], [1.0, VALUE]]


def test_numbers_are_centred_on_0() -> None:
    drawn = heatmap([[1.5, -4.0], [0.0, 2.25]])
    assert [list(row) for row in drawn.z] == [[1.5, -4.0], [0.0, 2.25]]
    assert (drawn.zmin, drawn.zmax) == (-4.0, 4.0)
    assert [tuple(stop) for stop in drawn.colorscale] == [(0.0, NEUTRAL), (0.5, "#FFFFFF"), (1.0, QUERY)]
    assert drawn.showscale is False


@pytest.mark.parametrize("values", [[[0.1, 0.2]], [[0.0, 0.0]], [[1.0, 0.0]]])
def test_weights_are_fixed_to_0_and_1(values: list[list[float]]) -> None:
    drawn = heatmap(values, role="key", unit_range=True)
    assert (drawn.zmin, drawn.zmax) == (0.0, 1.0)
    assert [tuple(stop) for stop in drawn.colorscale] == [(0.0, "#FFFFFF"), (1.0, CELL_COLORS["key"])]


def test_zeros_are_white() -> None:
    drawn = heatmap([[0.0, 0.0]])
    assert (drawn.zmin, drawn.zmax) == (-1.0, 1.0)


@pytest.mark.parametrize(
    ("values", "largest", "printed"),
    [
        ([[math.nan, 2.0]], 2.0, ["NaN", "2"]),
        ([[math.inf, -3.5]], 3.5, ["∞", "\u22123.5"]),
        ([[-math.inf, math.nan]], 1.0, ["\u2212∞", "NaN"]),
        ([[1e300, 1.0]], 1e300, ["1.0000·10³⁰⁰", "1.0000"]),
    ],
)
def test_what_is_no_finite_number_is_text(values: list[list[float]], largest: float, printed: list[str]) -> None:
    drawn = heatmap(values)
    assert (drawn.zmin, drawn.zmax) == (-largest, largest)
    assert [list(row) for row in drawn.text] == [printed]
    for value, shown in zip(values[0], drawn.z[0], strict=True):  # ±∞ at the end of the scale, NaN empty
        assert math.isnan(shown) if math.isnan(value) else shown == max(-largest, min(value, largest))


# Numbers.


def test_numbers_have_the_decimals_of_the_matrix() -> None:
    drawn = heatmap([[1.0, -0.25]])
    assert [list(row) for row in drawn.text] == [["1.00", "\u22120.25"]]
    assert drawn.texttemplate == "%{text}"
    assert (drawn.xgap, drawn.ygap) == (2, 2)


def test_without_numbers() -> None:
    drawn = heatmap([[1.0, -0.25]], numbers=None, opacity=0.5)
    assert (drawn.text, drawn.texttemplate, drawn.opacity) == (None, None, 0.5)
    assert (drawn.xgap, drawn.ygap) == (1, 1)


def test_texts_at_given_decimals() -> None:
    values = torch.tensor([[1 / 3, 2.0], [-0.0, -1 / 3]], dtype=torch.float64)
    assert texts(values) == [["0.3333", "2.0000"], ["0.0000", "\u22120.3333"]]
    assert texts(values, 1) == [["0.3", "2.0"], ["0.0", "\u22120.3"]]


def test_hover() -> None:
    assert heatmap([[1.0]]).hoverinfo == "skip"
    drawn = heatmap([[1.0]], hover=[["a · b: 1"]])
    assert (drawn.hoverinfo, drawn.hovertext[0][0]) == ("text", "a · b: 1")
    table = hover_texts(matrix([[0.5, 2.0]], rows=("<b>",), columns=("x", "x")))
    assert table == [["&lt;b&gt; · x: 0.5", "&lt;b&gt; · x: 2.0"]]


# What lies around them.


def test_centres() -> None:
    assert centres([0.0, 1.0, 3.0]) == [0.5, 2.0]


def test_outline() -> None:
    frame = figure([], {"shapes": [outline(1, 2, 3, 5, QUERY)]}).layout.shapes[0]
    assert (frame.type, frame.x0, frame.x1, frame.y0, frame.y1) == ("rect", 1, 2, 3, 5)
    assert (frame.line.color, frame.line.width, frame.layer) == (QUERY, 3, "above")


def test_click_targets_lie_in_the_middle_of_their_cells() -> None:
    hover = [["a", "b", "c"], ["d", "e", "f"]]
    edges = [0.0, 2.0, 4.0, 6.0], [10.0, 11.0, 12.0]
    targets = read(click_targets(*edges, lambda row, column: hover[row][column]))
    assert [list(cell) for cell in targets.customdata] == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    assert list(targets.x) == [1.0, 3.0, 5.0] * 2
    assert list(targets.y) == [10.5] * 3 + [11.5] * 3
    assert list(targets.hovertext) == list("abcdef")
    assert (targets.mode, targets.marker.opacity, targets.showlegend) == ("markers", 0, False)
    assert (targets.selected.marker.opacity, targets.unselected.marker.opacity) == (0, 0)


def test_of_very_many_cells_the_chosen_row_and_column_can_be_clicked() -> None:
    edges = [float(edge) for edge in range(50)]
    every = read(click_targets(edges[:49], edges[:49], lambda *_: "", chosen=(2, 3)))
    assert len(every.customdata) == 48**2
    targets = read(click_targets(edges, edges[:49], "{} {}".format, first_column=7, chosen=(2, 3)))
    cells = {tuple(cell) for cell in targets.customdata}
    assert cells == {(2, 7 + column) for column in range(49)} | {(row, 7 + 3) for row in range(48)}
    assert len(targets.customdata) == len(cells)
    for (row, column), x, y, text in zip(targets.customdata, targets.x, targets.y, targets.hovertext, strict=True):
        assert (x, y, text) == (column - 7 + 0.5, row + 0.5, f"{row} {column - 7}")


@pytest.mark.parametrize(("n", "twice"), [(48, False), (49, True)])
def test_who_clicks_on_very_many_cells_is_told(n: int, twice: bool) -> None:
    names = tuple(map(str, range(n)))
    values = torch.zeros(n, n, dtype=torch.float64)
    assert takes_two_clicks(Matrix("A", "a", "weights", values, names, names)) is twice
    every = read(click_targets([*map(float, range(n + 1))], [*map(float, range(n + 1))], lambda *_: ""))
    assert (len(every.customdata) < n * n) is twice


@pytest.mark.parametrize(("n", "stroked"), [(48, True), (49, False)])
def test_strokes_that_no_one_could_see_are_not_sent(n: int, stroked: bool) -> None:
    names, edges = tuple(map(str, range(n))), [*map(float, range(n + 1))]
    values, hidden = torch.zeros(n, n, dtype=torch.float64), torch.ones(n, n).triu(1).bool()
    drawn = strikes(Matrix("A", "a", "weights", values, names, names, hidden=hidden), edges, edges)
    assert bool(drawn) is stroked


@pytest.mark.parametrize(("n", "named"), [(32, True), (33, False)])
def test_very_many_cells_are_sent_as_bytes_and_without_words(n: int, named: bool) -> None:
    values = torch.linspace(-1, 1, n * n, dtype=torch.float64).reshape(n, n)
    names = tuple(map(str, range(n)))
    assert (hover_texts(Matrix("S", "s", "scores", values, names, names)) is not None) is named
    drawn = heatmap(values.tolist(), numbers=None)
    assert isinstance(drawn.z, tuple) is named
    sent = drawn.z if named else np.frombuffer(base64.b64decode(drawn.z["bdata"]), "f4").reshape(n, n)
    assert_close(torch.tensor(sent, dtype=torch.float64), values, rtol=0, atol=0 if named else 1e-7)


def test_pixels_go_from_black_to_white() -> None:
    assert sequential("pixels") == [[0.0, "#000000"], [1.0, "#FFFFFF"]]
    assert sequential("pixels", numbers=True) == [[0.0, DARKEST_PIXEL], [1.0, "#FFFFFF"]]


@pytest.mark.parametrize(("columns", "gap"), [(64, 1), (65, 0)])
def test_cells_thinner_than_a_gap_have_none(columns: int, gap: int) -> None:
    drawn = heatmap([[0.5] * columns], numbers=None)
    assert (drawn.xgap, drawn.ygap) == (gap, gap)


def test_still_layout() -> None:
    layout = figure([], still_layout(height=123, x_range=(0, 5), y_range=(0, 3))).layout
    assert (layout.height, tuple(layout.xaxis.range), tuple(layout.yaxis.range)) == (123, (0, 5), (3, 0))
    assert (layout.xaxis.side, layout.clickmode) == ("top", "event+select")
    assert layout.paper_bgcolor == layout.plot_bgcolor == "rgba(0,0,0,0)"
    assert_stays_still(go.Figure(heatmap([[math.nan, math.inf]]), layout))
