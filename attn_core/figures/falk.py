"""Falk's arrangement of a matrix product: the one picture that every stage of a lesson has.

The left factor stands bottom left, the right factor top right, the result bottom right: the
chosen row and the chosen column run straight into the chosen cell.
"""

from dataclasses import dataclass

import plotly.graph_objects as go

from attn_core.figures.cells import (
    cells,
    centres,
    click_targets,
    edit_marks,
    has_numbers,
    hover_texts,
    label,
    label_width,
    outline,
    still_layout,
    texts,
    tick_size,
)
from attn_core.figures.symbols import html_symbol
from attn_core.palette import ROLE_COLORS
from attn_core.stages import Matrix, Stage

_GAP = 0.35
_PADDING = 1.2
_CELL_HEIGHT = 42
_MAX_HEIGHT = 540
_NARROW_PICTURE = 450  # pixels, between a phone's and a projector's
_LABELS_UP_TO = 20
_INNER_CELLS = 12
_WITHOUT_NUMBERS = 3.2


@dataclass(frozen=True)
class _Grid:
    """The edges of the cells: columns are as wide as their longest number, rows are 1 high."""

    left_x: tuple[float, ...]
    right_x: tuple[float, ...]
    top_y: tuple[float, ...]
    bottom_y: tuple[float, ...]

    @classmethod
    def of(cls, product: Stage) -> "_Grid":
        left = _width(product.left)
        right = max(_width(product.right), _width(product.result))
        n_inner = len(product.left.columns)
        thin = min(1.0, _INNER_CELLS / n_inner)  # many summed terms share the room of a few
        left_x = _edges(0.0, left * thin, n_inner)
        top_y = _edges(0.0, thin, n_inner)
        return cls(
            left_x,
            _edges(left_x[-1] + _GAP * left, right, len(product.right.columns)),
            top_y,
            _edges(top_y[-1] + _GAP, 1.0, len(product.left.rows)),
        )


def _edges(start: float, size: float, count: int) -> tuple[float, ...]:
    return tuple(start + size * index for index in range(count + 1))


def _width(matrix: Matrix) -> float:
    """The length of the longest number in characters, with some room; less where no number is shown."""
    if not has_numbers(matrix):
        return _WITHOUT_NUMBERS
    return max(2, *(len(text) for row in texts(matrix.values) for text in row)) + _PADDING


def falk(product: Stage, row: int, column: int) -> go.Figure:
    """The product with the row, the column and the cell they meet in outlined.

    Traces: left factor, right factor, result, click targets over the result (their customdata is
    [row, column]). In a matrix of more than NUMBERS_UP_TO rows or columns the numbers give way to colour.
    """
    grid = _Grid.of(product)
    hover = hover_texts(product.result)
    figure = go.Figure(
        data=[
            _block(product.left, grid.left_x, grid.bottom_y),
            _block(product.right, grid.right_x, grid.top_y),
            _block(product.result, grid.right_x, grid.bottom_y),
            click_targets(grid.right_x, grid.bottom_y, hover),
        ],
        layout=_layout(product, grid),
    )
    figure.update_layout(
        shapes=[*_marks(product, grid), *_outlines(product, grid, row, column)],
        annotations=[*_inner_labels(product, grid, row, column), *_names(product, grid)],
    )
    return figure


def _block(matrix: Matrix, x_edges: tuple[float, ...], y_edges: tuple[float, ...]) -> go.Heatmap:
    return cells(
        matrix.values,
        matrix.role,
        x_edges=x_edges,
        y_edges=y_edges,
        numbers=has_numbers(matrix),
        hover=hover_texts(matrix),
        unit_range=matrix.unit_range,
    )


def _marks(product: Stage, grid: _Grid) -> list[go.layout.Shape]:
    return [
        *edit_marks(product.left, grid.left_x, grid.bottom_y),
        *edit_marks(product.right, grid.right_x, grid.top_y),
        *edit_marks(product.result, grid.right_x, grid.bottom_y),
    ]


def _outlines(product: Stage, grid: _Grid, row: int, column: int) -> list[go.layout.Shape]:
    x0, x1 = grid.right_x[column], grid.right_x[column + 1]
    y0, y1 = grid.bottom_y[row], grid.bottom_y[row + 1]
    return [
        outline(grid.left_x[0], grid.left_x[-1], y0, y1, ROLE_COLORS[product.left.role]),
        outline(x0, x1, grid.top_y[0], grid.top_y[-1], ROLE_COLORS[product.right.role]),
        outline(x0, x1, y0, y1, ROLE_COLORS[product.result.role], width=5),
    ]


def _inner_labels(product: Stage, grid: _Grid, row: int, column: int) -> list[go.layout.Annotation]:
    """Names of the summed index, over the left factor and beside the right one; of many, the largest term's only."""
    labels = [label(name) for name in product.left.columns]
    room = _NARROW_PICTURE * (grid.left_x[1] - grid.left_x[0]) / grid.right_x[-1]
    angle = -90 if max(label_width(name) for name in product.left.columns) > room else 0
    size = tick_size(_height(grid) * (grid.top_y[1] - grid.top_y[0]) / (grid.bottom_y[-1] + 1.6))
    terms = product.left.values[row] * product.right.values[:, column]
    shown = range(len(labels)) if len(labels) <= _LABELS_UP_TO else [int(terms.nan_to_num().abs().argmax())]
    xs, ys = centres(grid.left_x), centres(grid.top_y)
    above = [
        go.layout.Annotation(
            text=labels[i],
            x=xs[i],
            y=grid.bottom_y[0],
            yanchor="bottom",
            textangle=angle,
            showarrow=False,
            font_size=size,
        )
        for i in shown
    ]
    beside = [
        go.layout.Annotation(
            text=label(product.right.rows[i]),
            x=grid.right_x[-1],
            y=ys[i],
            xanchor="left",
            showarrow=False,
            font_size=size,
        )
        for i in shown
    ]
    return [*above, *beside]


def _names(product: Stage, grid: _Grid) -> list[go.layout.Annotation]:
    """The matrices' names with their shapes, in the free quadrant and under the result."""

    def name(matrix: Matrix, x: float, y: float, xanchor: str, yanchor: str) -> go.layout.Annotation:
        text = f"<b>{html_symbol(matrix.symbol)}</b>  {matrix.shape}"
        color = ROLE_COLORS[matrix.role]
        return go.layout.Annotation(
            text=text, x=x, y=y, xanchor=xanchor, yanchor=yanchor, showarrow=False, font={"color": color, "size": 17}
        )

    middle = (grid.left_x[0] + grid.left_x[-1]) / 2
    return [
        name(product.left, middle, grid.top_y[-1] / 2, "center", "middle"),
        name(product.right, grid.right_x[0] - _GAP, grid.top_y[0] + 0.5, "right", "middle"),
        name(product.result, (grid.right_x[0] + grid.right_x[-1]) / 2, grid.bottom_y[-1] + 0.1, "center", "top"),
    ]


def _height(grid: _Grid) -> int:
    return min(_MAX_HEIGHT, int(_CELL_HEIGHT * (grid.bottom_y[-1] + 1.6)))


def _layout(product: Stage, grid: _Grid) -> go.Layout:
    height = _height(grid)
    layout = still_layout(
        height=height,
        x_range=(grid.left_x[0], grid.right_x[-1]),
        y_range=(grid.top_y[0] - 0.05, grid.bottom_y[-1] + 0.8),
    )
    layout.margin.r = 14 + max(label_width(name) for name in product.right.rows)
    layout.xaxis.update(
        tickvals=centres(grid.right_x),
        ticktext=[label(name) for name in product.result.columns],
    )
    layout.yaxis.update(
        tickfont={"size": tick_size(height / (grid.bottom_y[-1] + 1.6))},
        tickvals=centres(grid.bottom_y),
        ticktext=[label(name) for name in product.result.rows],
        automargin=True,
    )
    layout.xaxis.automargin = True
    return layout
