"""Matrices as cells, read back."""

import math

import plotly.graph_objects as go
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

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
    texts,
)
from attn_core.palette import KEY, NEUTRAL, QUERY
from tests.attn_core.figures.samples import assert_stays_still, matrix


def heatmap(values: list[list[float]], **options: object) -> go.Heatmap:
    edges = [float(i) for i in range(len(values[0]) + 1)], [float(i) for i in range(len(values) + 1)]
    tensor = torch.tensor(values, dtype=torch.float64)
    return cells(tensor, options.pop("role", "query"), x_edges=edges[0], y_edges=edges[1], **options)


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
    assert sequential("key") == [[0.0, "#FFFFFF"], [1.0, KEY]]


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
    assert [tuple(stop) for stop in drawn.colorscale] == [(0.0, "#FFFFFF"), (1.0, KEY)]


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


# Numbers.


def test_numbers_have_the_decimals_of_the_matrix() -> None:
    drawn = heatmap([[1.0, -0.25]])
    assert [list(row) for row in drawn.text] == [["1.00", "\u22120.25"]]
    assert drawn.texttemplate == "%{text}"
    assert (drawn.xgap, drawn.ygap) == (2, 2)


def test_without_numbers() -> None:
    drawn = heatmap([[1.0, -0.25]], numbers=False, opacity=0.5)
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
    frame = outline(1, 2, 3, 5, QUERY)
    assert (frame.type, frame.x0, frame.x1, frame.y0, frame.y1) == ("rect", 1, 2, 3, 5)
    assert (frame.line.color, frame.line.width, frame.layer) == (QUERY, 3, "above")


def test_click_targets_lie_in_the_middle_of_their_cells() -> None:
    hover = [["a", "b", "c"], ["d", "e", "f"]]
    targets = click_targets([0.0, 2.0, 4.0, 6.0], [10.0, 11.0, 12.0], hover)
    assert [list(cell) for cell in targets.customdata] == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    assert list(targets.x) == [1.0, 3.0, 5.0] * 2
    assert list(targets.y) == [10.5] * 3 + [11.5] * 3
    assert list(targets.hovertext) == list("abcdef")
    assert (targets.mode, targets.marker.opacity, targets.showlegend) == ("markers", 0, False)
    assert (targets.selected.marker.opacity, targets.unselected.marker.opacity) == (0, 0)


def test_still_layout() -> None:
    layout = still_layout(height=123, x_range=(0, 5), y_range=(0, 3))
    assert (layout.height, tuple(layout.xaxis.range), tuple(layout.yaxis.range)) == (123, (0, 5), (3, 0))
    assert (layout.xaxis.side, layout.clickmode) == ("top", "event+select")
    assert layout.paper_bgcolor == layout.plot_bgcolor == "rgba(0,0,0,0)"
    assert_stays_still(go.Figure(heatmap([[math.nan, math.inf]]), layout))
