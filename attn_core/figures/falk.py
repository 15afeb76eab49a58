"""Falk's arrangement of a matrix product: the one picture that every stage of a lesson has.

The left factor stands bottom left, the right factor top right, the result bottom right: the
chosen row and the chosen column run straight into the chosen cell.
"""

from dataclasses import dataclass

import plotly.graph_objects as go

from attn_core.figures.cells import NUMBERS_UP_TO, cells, click_targets, label, outline, still_layout, texts
from attn_core.palette import ROLE_COLORS
from attn_core.stages import Matrix, Stage

_GAP = 0.35
_CELL_HEIGHT = 42
_MAX_HEIGHT = 620
_CHARACTERS_PER_UNIT = 4.6


@dataclass(frozen=True)
class _Grid:
    """Where the three matrices lie, in units of one cell of the left factor."""

    left_x: tuple[float, ...]
    right_x: tuple[float, ...]
    top_y: tuple[float, ...]
    bottom_y: tuple[float, ...]

    @classmethod
    def of(cls, product: Stage) -> "_Grid":
        n_left, n_right = len(product.left.columns), len(product.right.columns)
        n_top, n_bottom = len(product.right.rows), len(product.left.rows)
        wide = _column_width(product)
        start_x, start_y = n_left + _GAP, n_top + _GAP
        return cls(
            tuple(float(i) for i in range(n_left + 1)),
            tuple(start_x + wide * i for i in range(n_right + 1)),
            tuple(float(i) for i in range(n_top + 1)),
            tuple(start_y + i for i in range(n_bottom + 1)),
        )


def falk(product: Stage, row: int, column: int) -> go.Figure:
    """The product with the row, the column and the cell they meet in outlined.

    Traces: left factor, right factor, result, click targets over the result (their customdata is
    [row, column]). Past NUMBERS_UP_TO rows or columns the numbers give way to colour.
    """
    grid = _Grid.of(product)
    numbers = max(*product.left.values.shape, *product.right.values.shape) <= NUMBERS_UP_TO
    hover = _hover(product.result)
    figure = go.Figure(
        data=[
            _block(product.left, grid.left_x, grid.bottom_y, numbers),
            _block(product.right, grid.right_x, grid.top_y, numbers),
            _block(product.result, grid.right_x, grid.bottom_y, numbers),
            click_targets(grid.right_x, grid.bottom_y, hover),
        ],
        layout=_layout(product, grid),
    )
    figure.update_layout(
        shapes=_outlines(product, grid, row, column),
        annotations=[*_inner_labels(product, grid, row, column), *_names(product, grid)],
    )
    return figure


def _column_width(product: Stage) -> float:
    """Columns of the right side are wide enough for the longest number under them."""
    longest = max(len(text) for text_row in texts(product.result.values) for text in text_row)
    narrow = max(len(text) for text_row in texts(product.left.values) for text in text_row)
    return max(1.0, longest / max(narrow, _CHARACTERS_PER_UNIT))


def _block(matrix: Matrix, x_edges: tuple[float, ...], y_edges: tuple[float, ...], numbers: bool) -> go.Heatmap:
    return cells(
        matrix.values,
        matrix.role,
        x_edges=x_edges,
        y_edges=y_edges,
        numbers=numbers,
        hover=_hover(matrix),
        unit_range=matrix.symbol == "A" or matrix.role == "one_hot",
    )


def _hover(matrix: Matrix) -> list[list[str]]:
    numbers = texts(matrix.values)
    return [
        [f"{label(row)} · {label(column)}: {numbers[i][j]}" for j, column in enumerate(matrix.columns)]
        for i, row in enumerate(matrix.rows)
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
    """Names of the summed index: over the left factor and beside the right one."""
    del row, column
    above = [
        go.layout.Annotation(text=label(name), x=i + 0.5, y=grid.bottom_y[0], yanchor="bottom", showarrow=False)
        for i, name in enumerate(product.left.columns)
    ]
    beside = [
        go.layout.Annotation(text=label(name), x=grid.right_x[-1], y=i + 0.5, xanchor="left", showarrow=False)
        for i, name in enumerate(product.right.rows)
    ]
    return [*above, *beside]


def _names(product: Stage, grid: _Grid) -> list[go.layout.Annotation]:
    """The matrices' names with their shapes, in the free quadrant and under the result."""

    def name(matrix: Matrix, x: float, y: float, xanchor: str, yanchor: str) -> go.layout.Annotation:
        text = f"<b>{_html(matrix.symbol)}</b>  {matrix.shape}"
        color = ROLE_COLORS[matrix.role]
        return go.layout.Annotation(
            text=text, x=x, y=y, xanchor=xanchor, yanchor=yanchor, showarrow=False, font={"color": color, "size": 17}
        )

    middle = (grid.left_x[0] + grid.left_x[-1]) / 2
    return [
        name(product.left, middle, grid.bottom_y[0] - 0.55, "center", "bottom"),
        name(product.right, grid.right_x[0] - 0.2, grid.top_y[0] + 0.5, "right", "middle"),
        name(product.result, (grid.right_x[0] + grid.right_x[-1]) / 2, grid.bottom_y[-1] + 0.1, "center", "top"),
    ]


def _html(symbol: str) -> str:
    """The few LaTeX symbols of the stages as Plotly's HTML."""
    plain = symbol
    for latex, html in ((r"\text{one-hot}", "one-hot"), (r"^{\top}", "<sup>T</sup>"), (r"\sqrt{d_k}", "√d<sub>k</sub>"), (r"\cos", "cos")):
        plain = plain.replace(latex, html)
    return plain.replace("_", "<sub>", 1) + "</sub>" if "_" in plain else plain


def _layout(product: Stage, grid: _Grid) -> go.Layout:
    height = min(_MAX_HEIGHT, int(_CELL_HEIGHT * (grid.bottom_y[-1] + 1.6)))
    layout = still_layout(
        height=height,
        x_range=(grid.left_x[0], grid.right_x[-1] + 0.9),
        y_range=(grid.top_y[0] - 0.05, grid.bottom_y[-1] + 0.8),
    )
    layout.xaxis.update(
        tickvals=[(a + b) / 2 for a, b in zip(grid.right_x, grid.right_x[1:], strict=False)],
        ticktext=[label(name) for name in product.result.columns],
    )
    layout.yaxis.update(
        tickvals=[(a + b) / 2 for a, b in zip(grid.bottom_y, grid.bottom_y[1:], strict=False)],
        ticktext=[label(name) for name in product.result.rows],
        automargin=True,
    )
    layout.xaxis.automargin = True
    return layout
