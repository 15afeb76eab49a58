"""Matrices as cells with numbers: the one way every page draws them."""

import html
import unicodedata
from collections.abc import Sequence
from itertools import pairwise

import plotly.graph_objects as go
import regex
import torch
from torch import Tensor

from attn_core.numbers import decimals_for, written
from attn_core.palette import EDITED, NEUTRAL, ROLE_COLORS
from attn_core.stages import Matrix

NUMBERS_UP_TO = 12
_LABEL_LENGTH = 9
_TEXT_SIZE = 15
_WHITE = "#FFFFFF"


def label(token: str) -> str:
    """A token as a label: shortened where long, and safe from Plotly's reading of HTML."""
    characters = regex.findall(r"\X", token)
    short = token if len(characters) <= _LABEL_LENGTH else "".join(characters[: _LABEL_LENGTH - 1]) + "…"
    return html.escape(short, quote=False)


def label_width(token: str) -> int:
    """About how many pixels the label takes: a full-width character as many as the text's size, others fewer."""
    characters = regex.findall(r"\X", html.unescape(label(token)))
    return sum(_TEXT_SIZE + 1 if unicodedata.east_asian_width(c[0]) in "FW" else 11 for c in characters)


def has_numbers(matrix: Matrix) -> bool:
    """Whether the matrix is small enough for a number in each cell."""
    return max(matrix.values.shape) <= NUMBERS_UP_TO


def tick_size(cell_height: float) -> int:
    """The size of labels beside cells of this height in pixels."""
    return max(7, min(_TEXT_SIZE, int(0.8 * cell_height)))


def diverging(role: str) -> list[list[float | str]]:
    """Grey for negative, white at 0, the role's own colour for positive."""
    return [[0.0, NEUTRAL], [0.5, _WHITE], [1.0, ROLE_COLORS[role]]]


def sequential(role: str) -> list[list[float | str]]:
    """White at the low end, the role's own colour at the high end."""
    return [[0.0, _WHITE], [1.0, ROLE_COLORS[role]]]


def texts(values: Tensor, decimals: int | None = None) -> list[list[str]]:
    """Every number as it is printed."""
    places = decimals_for(values) if decimals is None else decimals
    return [[written(value, places) for value in row] for row in values.tolist()]


def cells(
    values: Tensor,
    role: str,
    *,
    x_edges: Sequence[float],
    y_edges: Sequence[float],
    numbers: bool = True,
    opacity: float = 1.0,
    hover: list[list[str]] | None = None,
    unit_range: bool = False,
) -> go.Heatmap:
    """A matrix as coloured cells, centred on 0, or fixed to 0 … 1 for weights.

    Edges are in figure units; a missing number (NaN) stays empty.
    """
    finite = values[torch.isfinite(values)]
    largest = (float(finite.abs().max()) if finite.numel() else 0.0) or 1.0
    return go.Heatmap(
        z=values.tolist(),
        x=list(x_edges),
        y=list(y_edges),
        zmin=0.0 if unit_range else -largest,
        zmax=1.0 if unit_range else largest,
        colorscale=sequential(role) if unit_range else diverging(role),
        showscale=False,
        text=texts(values) if numbers else None,
        texttemplate="%{text}" if numbers else None,
        hovertext=hover,
        hoverinfo="text" if hover else "skip",
        opacity=opacity,
        xgap=2 if numbers else 1,
        ygap=2 if numbers else 1,
    )


def centres(edges: Sequence[float]) -> list[float]:
    """The middle of each cell."""
    return [(a + b) / 2 for a, b in pairwise(edges)]


def hover_texts(matrix: Matrix) -> list[list[str]]:
    """Row, column and number of every cell."""
    numbers = texts(matrix.values)
    return [
        [f"{label(row)} · {label(column)}: {numbers[i][j]}" for j, column in enumerate(matrix.columns)]
        for i, row in enumerate(matrix.rows)
    ]


def outline(x0: float, x1: float, y0: float, y1: float, color: str, width: int = 3) -> go.layout.Shape:
    """A frame around cells."""
    return go.layout.Shape(
        type="rect", x0=x0, x1=x1, y0=y0, y1=y1, line={"color": color, "width": width}, layer="above"
    )


def edit_marks(matrix: Matrix, x_edges: Sequence[float], y_edges: Sequence[float]) -> list[go.layout.Shape]:
    """Dotted frames around the cells whose number was put in by hand."""
    inside = [(r, c) for r, c in matrix.edited if r < len(y_edges) - 1 and c < len(x_edges) - 1]
    marks = [outline(x_edges[c], x_edges[c + 1], y_edges[r], y_edges[r + 1], EDITED, width=4) for r, c in inside]
    return [mark.update(line_dash="dot") for mark in marks]


def click_targets(x_edges: Sequence[float], y_edges: Sequence[float], hover: list[list[str]]) -> go.Scatter:
    """Invisible points over the cells of a result: a click on one gives its row and column.

    Plotly reports no click on a heatmap's cell; a point's customdata says which cell was meant.
    """
    xs, ys = centres(x_edges), centres(y_edges)
    places = [(row, column) for row in range(len(ys)) for column in range(len(xs))]
    return go.Scatter(
        x=[xs[column] for _, column in places],
        y=[ys[row] for row, _ in places],
        customdata=[[row, column] for row, column in places],
        mode="markers",
        marker={"symbol": "square", "size": 30, "opacity": 0},
        hovertext=[hover[row][column] for row, column in places],
        hoverinfo="text",
        showlegend=False,
        selected={"marker": {"opacity": 0}},
        unselected={"marker": {"opacity": 0}},
    )


def still_layout(*, height: int, x_range: tuple[float, float], y_range: tuple[float, float]) -> go.Layout:
    """A layout that neither zooms nor drags, with bare axes over the given ranges (rows run downwards)."""
    bare = {"tickfont": {"size": _TEXT_SIZE}, "showgrid": False, "zeroline": False, "fixedrange": True, "ticks": ""}
    return go.Layout(
        height=height,
        font={"size": _TEXT_SIZE},  # also the largest size of numbers in cells; they shrink to fit
        margin={"l": 0, "r": 0, "t": 4, "b": 4},
        xaxis={**bare, "range": list(x_range), "side": "top"},
        yaxis={**bare, "range": [y_range[1], y_range[0]]},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        dragmode=False,
        clickmode="event+select",
        hovermode="closest",
        hoverdistance=-1,
        showlegend=False,
    )
