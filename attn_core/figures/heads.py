"""The weights of all heads side by side: the same queries and keys, one block a head."""

import itertools
import math
from collections.abc import Iterator, Sequence

import plotly.graph_objects as go

from attn_core.figures.cells import (
    cells,
    centres,
    hover_of,
    label,
    outline,
    still_layout,
    strikes,
    tick_size,
)
from attn_core.figures.plain import Piece, annotation, figure
from attn_core.figures.symbols import html_symbol
from attn_core.figures.targets import nearest_targets
from attn_core.numbers import texts
from attn_core.palette import KEY, QUERY, SCORES
from attn_core.stages import Matrix

_BLOCKS_A_ROW = 4
_GAP_X, _GAP_Y = 0.08, 0.3  # a block is 1 × 1
_ROW_HEIGHT = 40
_MAX_HEIGHT = 540
_LABELS_UP_TO = 20
_NUMBERS_UP_TO = 10  # cells beside each other, on a phone as well
_DECIMALS = 2
_NAMED_CELLS = 4096
_GAPS_UP_TO = 40  # cells beside or above each other

Corner = tuple[float, float]


def heads_grid(matrices: Sequence[Matrix], head: int, row: int, column: int) -> go.Figure:
    """The query's row is outlined in every block, the chosen head is framed, and in it the chosen cell.

    Traces: one per head, then the click targets over all of them (their customdata is [head, row, column]),
    then strokes through hidden cells. Numbers have two decimals and give way to colour where there are many.
    """
    corners = _corners(len(matrices))
    n_rows, n_columns = matrices[0].values.shape
    right, bottom = max(x for x, _ in corners) + 1, max(y for _, y in corners) + 1
    lines = round(bottom) * n_rows  # rows of cells above each other
    height = min(_MAX_HEIGHT, int(_ROW_HEIGHT * (lines + 1.2 * bottom) + 30))
    layout = still_layout(height=height, x_range=(-0.01, right + 0.01), y_range=(-0.02, bottom + _GAP_Y))
    layout["annotations"] = [*_names(matrices, corners)]
    layout["shapes"] = [*_outlines(matrices[0], corners, head, row, column)]
    _label_axes(layout, matrices[0], corners, row, column)
    blocks = [_block(matrix, corner, len(corners)) for matrix, corner in zip(matrices, corners, strict=True)]
    strokes = [
        strikes(matrix, _edges(x, n_columns), _edges(y, n_rows))
        for matrix, (x, y) in zip(matrices, corners, strict=True)
    ]
    return figure([*blocks, _targets(matrices, corners), *itertools.chain(*strokes)], layout)


def _corners(count: int) -> list[Corner]:
    """Top left corners of the blocks, in rows of equal length but the last."""
    n_rows = math.ceil(count / _BLOCKS_A_ROW)
    a_row = math.ceil(count / n_rows)
    return [((1 + _GAP_X) * (i % a_row), (1 + _GAP_Y) * (i // a_row)) for i in range(count)]


def _edges(start: float, count: int) -> list[float]:
    return [start + index / count for index in range(count + 1)]


def _block(matrix: Matrix, corner: Corner, n_blocks: int) -> Piece:
    n_rows, n_columns = matrix.values.shape
    drawn = cells(
        matrix.values,
        matrix.role,
        x_edges=_edges(corner[0], n_columns),
        y_edges=_edges(corner[1], n_rows),
        unit_range=matrix.unit_range,
    )
    beside = n_columns * min(n_blocks, _BLOCKS_A_ROW)
    if beside <= _NUMBERS_UP_TO:
        drawn |= {"text": texts(matrix.values, _DECIMALS), "texttemplate": "%{text}"}
    if beside > _GAPS_UP_TO or n_rows * math.ceil(n_blocks / _BLOCKS_A_ROW) > _GAPS_UP_TO:
        drawn |= {"xgap": 0, "ygap": 0}
    return drawn


def _targets(matrices: Sequence[Matrix], corners: Sequence[Corner]) -> Piece:
    """One invisible point a cell; of very many, without words under the pointer."""
    n_rows, n_columns = matrices[0].values.shape
    places = [(h, i, j) for h in range(len(matrices)) for i in range(n_rows) for j in range(n_columns)]
    named = len(places) <= _NAMED_CELLS
    hover = [hover_of(matrix) for matrix in matrices] if named else []
    return nearest_targets(
        [round(corners[h][0] + (j + 0.5) / n_columns, 4) for h, _, j in places],
        [round(corners[h][1] + (i + 0.5) / n_rows, 4) for h, i, _ in places],
        places,
        [f"{html_symbol(matrices[h].symbol)} · {hover[h](i, j)}" for h, i, j in places] if named else None,
    )


def _names(matrices: Sequence[Matrix], corners: Sequence[Corner]) -> Iterator[Piece]:
    for matrix, (x, y) in zip(matrices, corners, strict=True):
        name = f"<b>{html_symbol(matrix.symbol)}</b>"
        yield annotation(name, x + 0.5, y + 1.02, yanchor="top", font={"size": 16, "color": SCORES})


def _outlines(matrix: Matrix, corners: Sequence[Corner], head: int, row: int, column: int) -> Iterator[Piece]:
    n_rows, n_columns = matrix.values.shape
    for x, y in corners:
        yield outline(x, x + 1, y + row / n_rows, y + (row + 1) / n_rows, QUERY, width=2)
    x, y = corners[head]
    yield outline(x, x + 1, y, y + 1, SCORES, width=4)
    yield outline(
        x + column / n_columns, x + (column + 1) / n_columns, y + row / n_rows, y + (row + 1) / n_rows, KEY, width=4
    )


def _label_axes(layout: Piece, matrix: Matrix, corners: Sequence[Corner], row: int, column: int) -> None:
    """Keys over the first row of blocks, queries beside each row of blocks; of many, the chosen ones only."""
    lefts, tops = sorted({x for x, _ in corners}), sorted({y for _, y in corners})
    for axis, names, starts, chosen in (
        (layout["xaxis"], matrix.columns, lefts, column),
        (layout["yaxis"], matrix.rows, tops, row),
    ):
        many = len(names) * len(starts) > _LABELS_UP_TO
        shown = [chosen] if many else range(len(names))
        middles = centres(_edges(0.0, len(names)))
        axis |= {
            "tickvals": [start + middles[place] for start in starts for place in shown],
            "ticktext": [label(names[place]) for _ in starts for place in shown],
            "automargin": True,
        }
    lines = len(matrix.rows) * len(tops)
    if lines <= _LABELS_UP_TO:
        layout["yaxis"]["tickfont"] = {"size": tick_size(layout["height"] / (lines + 2))}
