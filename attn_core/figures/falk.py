"""Falk's arrangement of a matrix product: the one picture that every stage of a lesson has.

The left factor stands bottom left, the right factor top right, the result bottom right: the
chosen row and the chosen column run straight into the chosen cell.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from attn_core.figures.cells import (
    cells,
    centres,
    click_targets,
    edit_marks,
    has_numbers,
    hover_of,
    hover_texts,
    label,
    label_width,
    outline,
    still_layout,
    strikes,
    tick_size,
)
from attn_core.figures.plain import Piece, annotation, figure
from attn_core.figures.symbols import html_symbol
from attn_core.palette import NEUTRAL, ROLE_COLORS
from attn_core.stages import Matrix, Parts, Stage

_GAP = 0.35
_PADDING = 1.2
_CELL_HEIGHT = 42
_MAX_HEIGHT = 540
_NARROW_PICTURE = 450  # pixels, between a phone's and a projector's
_LABELS_UP_TO = 20
_INNER_CELLS = 12
_WITHOUT_NUMBERS = 3.2
_NAMED_PARTS = 4
_CROWDED = 32  # rows or columns; with more there is room for the chosen ones' labels only
_NAME_HEIGHT = 26  # pixels under the result
_LOW_QUADRANT = 3  # rows


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
    return max(2, *(len(text) for row in matrix.texts for text in row)) + _PADDING


def falk(product: Stage, row: int, column: int) -> go.Figure:
    """The product with the row, the column and the cell they meet in outlined.

    Traces: left factor, right factor, result, click targets over the result (their customdata is
    [row, column]), strokes through hidden cells. In a matrix of more than NUMBERS_UP_TO rows or columns the
    numbers give way to colour. Parts of the summed index stand apart, the chosen one in a dotted frame.
    """
    grid = _Grid.of(product)
    layout = _layout(product, grid, row, column)
    layout["shapes"] = [*_partitions(product, grid), *_marks(product, grid), *_outlines(product, grid, row, column)]
    layout["annotations"] = [
        *_inner_labels(product, grid, row, column),
        *_names(product, grid),
        *_part_names(product, grid),
    ]
    return figure(
        [
            _block(product.left, grid.left_x, grid.bottom_y),
            _block(product.right, grid.right_x, grid.top_y),
            _block(product.result, grid.right_x, grid.bottom_y, hover=False),  # the click targets have it
            _targets(product.result, grid, (row, column)),
            *strikes(product.left, grid.left_x, grid.bottom_y),
            *strikes(product.result, grid.right_x, grid.bottom_y),
        ],
        layout,
    )


def _targets(result: Matrix, grid: _Grid, chosen: tuple[int, int]) -> Piece:
    return click_targets(grid.right_x, grid.bottom_y, hover_of(result), result.first_column, chosen)


def _block(matrix: Matrix, x_edges: tuple[float, ...], y_edges: tuple[float, ...], *, hover: bool = True) -> Piece:
    return cells(
        matrix.values,
        matrix.role,
        x_edges=x_edges,
        y_edges=y_edges,
        numbers=matrix.texts if has_numbers(matrix) else None,
        hover=hover_texts(matrix) if hover else None,
        unit_range=matrix.unit_range,
    )


def _marks(product: Stage, grid: _Grid) -> list[Piece]:
    return [
        *edit_marks(product.left, grid.left_x, grid.bottom_y),
        *edit_marks(product.right, grid.right_x, grid.top_y),
        *edit_marks(product.result, grid.right_x, grid.bottom_y),
    ]


def _outlines(product: Stage, grid: _Grid, row: int, column: int) -> list[Piece]:
    x0, x1 = grid.right_x[column], grid.right_x[column + 1]
    y0, y1 = grid.bottom_y[row], grid.bottom_y[row + 1]
    return [
        outline(grid.left_x[0], grid.left_x[-1], y0, y1, ROLE_COLORS[product.left.role]),
        outline(x0, x1, grid.top_y[0], grid.top_y[-1], ROLE_COLORS[product.right.role]),
        outline(x0, x1, y0, y1, ROLE_COLORS[product.result.role], width=5),
    ]


def _inner_labels(product: Stage, grid: _Grid, row: int, column: int) -> list[Piece]:
    """Names of the summed index, over the left factor and beside the right one; of many, the largest term's only."""
    labels = [label(name) for name in product.left.columns]
    room = _NARROW_PICTURE * (grid.left_x[1] - grid.left_x[0]) / grid.right_x[-1]
    angle = -90 if max(label_width(name) for name in product.left.columns) > room else 0
    many = len(labels) > _LABELS_UP_TO
    height = _height(grid) * (1.0 if many else grid.top_y[1] - grid.top_y[0]) / (grid.bottom_y[-1] + 1.6)
    font = {"size": tick_size(height)}
    terms = product.left.values[row] * product.right.values[:, column]
    shown = [int(terms.nan_to_num().abs().argmax())] if many else range(len(labels))
    xs, ys = centres(grid.left_x), centres(grid.top_y)
    above = [
        annotation(labels[i], xs[i], grid.bottom_y[0], yanchor="bottom", textangle=angle, font=font) for i in shown
    ]
    beside = [
        annotation(label(product.right.rows[i]), grid.right_x[-1], ys[i], xanchor="left", font=font) for i in shown
    ]
    return [*above, *beside]


def _names(product: Stage, grid: _Grid) -> list[Piece]:
    """The matrices' names with their shapes, in the free quadrant and under the result.

    Where the quadrant is low and nothing else stands under the left factor, its name does.
    """

    if max(product.result.values.shape) > _CROWDED:
        return [_equation(product, grid)]

    def name(matrix: Matrix, x: float, y: float, xanchor: str, yanchor: str) -> Piece:
        text = f"<b>{html_symbol(matrix.symbol)}</b>  {matrix.shape}"
        font = {"color": ROLE_COLORS[matrix.role], "size": 17}
        return annotation(text, x, y, xanchor=xanchor, yanchor=yanchor, font=font)

    middle, under = (grid.left_x[0] + grid.left_x[-1]) / 2, grid.bottom_y[-1] + 0.1
    low = grid.top_y[-1] < _LOW_QUADRANT and product.parts is None
    return [
        name(product.left, middle, under if low else grid.top_y[-1] / 2, "center", "top" if low else "middle"),
        name(product.right, grid.right_x[0] - _GAP, grid.top_y[0] + 0.5, "right", "middle"),
        name(product.result, (grid.right_x[0] + grid.right_x[-1]) / 2, under, "center", "top"),
    ]


def _equation(product: Stage, grid: _Grid) -> Piece:
    """All three names in one line under the picture, where no quadrant has room for one."""
    result, left, right = (
        f'<span style="color:{ROLE_COLORS[m.role]}"><b>{html_symbol(m.symbol)}</b> {m.shape}</span>'
        for m in (product.result, product.left, product.right)
    )
    middle = (grid.left_x[0] + grid.right_x[-1]) / 2
    text = f"{result} = {left} · {right}"
    return annotation(text, middle, grid.bottom_y[-1] + 0.1, yanchor="top", font={"size": 15})


def _part_places(parts: Parts, size: int) -> list[tuple[int, int]]:
    """Where each part of a summed index of this size starts and ends."""
    each = size // len(parts.names)
    return [(part * each, (part + 1) * each) for part in range(len(parts.names))]


def _partitions(product: Stage, grid: _Grid) -> Iterator[Piece]:
    """A line after each part but the last, and a dotted frame around the chosen one, in both factors."""
    if product.parts is None:
        return
    left_y, right_x = (grid.bottom_y[0], grid.bottom_y[-1]), (grid.right_x[0], grid.right_x[-1])
    places = _part_places(product.parts, len(product.left.columns))
    for _, end in places[:-1]:
        x, y = grid.left_x[end], grid.top_y[end]
        yield outline(x, x, *left_y, NEUTRAL, width=2)
        yield outline(*right_x, y, y, NEUTRAL, width=2)
    start, end = places[product.parts.chosen]
    color = ROLE_COLORS[product.left.role]
    yield outline(grid.left_x[start], grid.left_x[end], *left_y, color, dotted=True)
    yield outline(*right_x, grid.top_y[start], grid.top_y[end], color, dotted=True)


def _part_names(product: Stage, grid: _Grid) -> Iterator[Piece]:
    """Each part's name under its columns; of many, the chosen one's only."""
    if product.parts is None:
        return
    names, chosen = product.parts.names, product.parts.chosen
    for part, (start, end) in enumerate(_part_places(product.parts, len(product.left.columns))):
        if len(names) <= _NAMED_PARTS or part == chosen:
            yield annotation(
                f"<b>{html_symbol(names[part])}</b>",
                (grid.left_x[start] + grid.left_x[end]) / 2,
                grid.bottom_y[-1] + 0.1,
                yanchor="top",
                font={"color": ROLE_COLORS[product.left.role], "size": 15},
            )


def _height(grid: _Grid) -> int:
    return min(_MAX_HEIGHT, int(_CELL_HEIGHT * (grid.bottom_y[-1] + 1.6)))


def _layout(product: Stage, grid: _Grid, row: int, column: int) -> Piece:
    height = _height(grid)
    rows, columns = _labelled(product.result.rows, row), _labelled(product.result.columns, column)
    x_middles, y_middles = centres(grid.right_x), centres(grid.bottom_y)
    room = max(0.8, _NAME_HEIGHT * grid.bottom_y[-1] / height)
    layout = still_layout(
        height=height,
        x_range=(grid.left_x[0], grid.right_x[-1]),
        y_range=(grid.top_y[0] - 0.05, grid.bottom_y[-1] + room),
    )
    layout["margin"]["r"] = 14 + max(label_width(name) for name in product.right.rows)
    layout["xaxis"] |= {
        "tickvals": [x_middles[place] for place in columns],
        "ticktext": [label(product.result.columns[place]) for place in columns],
        "automargin": True,
    }
    layout["yaxis"] |= {
        "tickfont": {"size": tick_size(height / (1 if len(rows) == 1 else grid.bottom_y[-1] + 1.6))},
        "tickvals": [y_middles[place] for place in rows],
        "ticktext": [label(product.result.rows[place]) for place in rows],
        "automargin": True,
    }
    return layout


def _labelled(names: Sequence[str], chosen: int) -> Sequence[int]:
    """Whose labels are written: everyone's, or the chosen one's only."""
    return range(len(names)) if len(names) <= _CROWDED else [chosen]
