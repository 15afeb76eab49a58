"""One matrix with its labels, and one chosen cell."""

from collections.abc import Iterator, Sequence

import plotly.graph_objects as go
from jaxtyping import Float
from torch import Tensor

from attn_core.figures.cells import (
    cells,
    click_targets,
    edit_marks,
    has_numbers,
    hover_of,
    label,
    outline,
    still_layout,
    strikes,
    tick_size,
)
from attn_core.figures.plain import Piece, annotation, figure
from attn_core.figures.symbols import html_symbol
from attn_core.numbers import texts
from attn_core.palette import QUERY, ROLE_COLORS
from attn_core.stages import Matrix

_TOTALS_SHARE = 0.18  # of the matrix, where that is more than a column
_NARROW = 240  # pixels for the cells of a picture that shares its row with two others
_LARGEST_NUMBERS = 15
_WIDTH_TO_SIZE = 0.65  # of a character
_ROW_HEIGHT = 40
_MAX_HEIGHT = 420
_NAME_HEIGHT = 26  # pixels under the matrix
_CROWDED = 32  # rows or columns; with more there is room for the chosen one's label only


def grid(
    matrix: Matrix,
    row: int | None = None,
    column: int | None = None,
    *,
    totals: Float[Tensor, "row 1"] | None = None,
) -> go.Figure:
    """The matrix as cells; the chosen row of scores is outlined in the query's colour, else all in its own.

    `totals` stands apart at the right as a column Σ. Traces: matrix, click targets over it (their
    customdata is [row, column]), strokes through hidden cells if
    there are any, totals.
    """
    n_rows, n_columns = matrix.values.shape
    x_edges = tuple(float(i) for i in range(n_columns + 1))
    y_edges = tuple(float(i) for i in range(n_rows + 1))
    numbers = matrix.texts if has_numbers(matrix) else None
    height = min(_MAX_HEIGHT, int(_ROW_HEIGHT * (n_rows + 1.9)))
    right = n_columns + (0.0 if totals is None else 0.3 + max(1.0, _TOTALS_SHARE * n_columns))
    traces = [
        cells(
            matrix.values, matrix.role, x_edges=x_edges, y_edges=y_edges, numbers=numbers, unit_range=matrix.unit_range
        ),
        click_targets(x_edges, y_edges, hover_of(matrix), matrix.first_column, (row or 0, column or 0)),
        *strikes(matrix, x_edges, y_edges),
    ]
    names = [label(name) for name in matrix.columns]
    centres = [i + 0.5 for i in range(n_columns)]
    if totals is not None:
        edges = (n_columns + 0.3, right)
        sums = cells(totals, "one_hot", x_edges=edges, y_edges=y_edges, numbers=numbers and texts(totals))
        size = _size_alone(totals, (edges[1] - edges[0]) / right)
        traces.append(sums | {"textfont": sums["textfont"] | {"size": size}})
        names, centres = [*names, "Σ"], [*centres, sum(edges) / 2]
    room = max(0.9, _NAME_HEIGHT * n_rows / (height - 2 * _NAME_HEIGHT))
    layout = still_layout(height=height, x_range=(0, right), y_range=(0, n_rows + room))
    sums_place = range(n_columns, len(names))
    columns, rows = [*_labelled(n_columns, column), *sums_place], _labelled(n_rows, row)
    layout["xaxis"] |= {
        "tickfont": {"size": tick_size(_NARROW / max(1, len(columns)))},
        "tickvals": [centres[place] for place in columns],
        "ticktext": [names[place] for place in columns],
        "automargin": True,
    }
    layout["yaxis"] |= {
        "tickfont": {"size": tick_size(height / (len(rows) + 1.9))},
        "tickvals": [place + 0.5 for place in rows],
        "ticktext": [label(matrix.rows[place]) for place in rows],
        "automargin": True,
    }
    layout["annotations"] = [_name(matrix)]
    layout["shapes"] = [*edit_marks(matrix, x_edges, y_edges), *_outlines(matrix, row, column, right)]
    return figure(traces, layout)


def _labelled(count: int, chosen: int | None) -> Sequence[int]:
    """Whose labels are written: everyone's, or the chosen one's only."""
    return range(count) if count <= _CROWDED else [chosen] if chosen is not None else []


def on_one_scale(matrices: Sequence[Matrix]) -> tuple[go.Figure, ...]:
    """Each matrix as a grid of its own, all with the colours of the largest entry among them."""
    largest = max(float(matrix.values.abs().max()) for matrix in matrices) or 1.0
    figures = tuple(grid(matrix) for matrix in matrices)
    for drawn in figures:
        drawn.to_dict()["data"][0] |= {"zmin": -largest, "zmax": largest}
    return figures


def _size_alone(column: Float[Tensor, "row 1"], share: float) -> int:
    """The size of numbers that fit their share of a narrow picture: Plotly shrinks only columns side by side."""
    longest = max(len(text) for (text,) in texts(column))
    return max(1, min(_LARGEST_NUMBERS, int(_NARROW * share / longest / _WIDTH_TO_SIZE)))


def _name(matrix: Matrix) -> Piece:
    rows, columns = matrix.values.shape
    text = f"<b>{html_symbol(matrix.symbol)}</b>  {matrix.shape}"
    font = {"color": ROLE_COLORS[matrix.role], "size": 16}
    return annotation(text, columns / 2, rows + 0.1, yanchor="top", font=font)


def _outlines(matrix: Matrix, row: int | None, column: int | None, right: float) -> Iterator[Piece]:
    """Frames around the chosen row and the chosen cell."""
    if row is None:
        return
    yield outline(0, right, row, row + 1, QUERY if matrix.role in ("scores", "weights") else ROLE_COLORS[matrix.role])
    if column is not None:
        yield outline(column, column + 1, row, row + 1, ROLE_COLORS[matrix.role], width=5)
