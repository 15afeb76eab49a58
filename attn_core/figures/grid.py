"""One matrix with its labels, and one chosen cell."""

from collections.abc import Iterator

import plotly.graph_objects as go
from jaxtyping import Float
from torch import Tensor

from attn_core.figures.cells import (
    cells,
    click_targets,
    edit_marks,
    has_numbers,
    hover_texts,
    label,
    outline,
    still_layout,
    tick_size,
)
from attn_core.figures.symbols import html_symbol
from attn_core.palette import QUERY, ROLE_COLORS
from attn_core.stages import Matrix

_ROW_HEIGHT = 40
_MAX_HEIGHT = 420


def grid(
    matrix: Matrix,
    row: int | None = None,
    column: int | None = None,
    *,
    totals: Float[Tensor, "row 1"] | None = None,
) -> go.Figure:
    """The matrix as cells; the chosen row of scores is outlined in the query's colour, else all in its own.

    `totals` stands apart at the right as a column Σ. Traces: matrix, click targets over it (their
    customdata is [row, column]), totals.
    """
    n_rows, n_columns = matrix.values.shape
    x_edges = tuple(float(i) for i in range(n_columns + 1))
    y_edges = tuple(float(i) for i in range(n_rows + 1))
    numbers = has_numbers(matrix)
    height = min(_MAX_HEIGHT, int(_ROW_HEIGHT * (n_rows + 1.9)))
    hover = hover_texts(matrix)
    right = n_columns + (0.0 if totals is None else 1.3)
    figure = go.Figure(
        data=[
            cells(
                matrix.values,
                matrix.role,
                x_edges=x_edges,
                y_edges=y_edges,
                numbers=numbers,
                hover=hover,
                unit_range=matrix.unit_range,
            ),
            click_targets(x_edges, y_edges, hover),
        ],
        layout=still_layout(height=height, x_range=(0, right), y_range=(0, n_rows + 0.9)),
    )
    names = [label(name) for name in matrix.columns]
    centres = [i + 0.5 for i in range(n_columns)]
    if totals is not None:
        edges = (n_columns + 0.3, n_columns + 1.3)
        figure.add_trace(cells(totals, "one_hot", x_edges=edges, y_edges=y_edges, numbers=numbers))
        names, centres = [*names, "Σ"], [*centres, n_columns + 0.8]
    figure.update_xaxes(tickvals=centres, ticktext=names, automargin=True)
    figure.update_yaxes(
        tickfont={"size": tick_size(height / (n_rows + 1.9))},
        tickvals=[i + 0.5 for i in range(n_rows)],
        ticktext=[label(name) for name in matrix.rows],
        automargin=True,
    )
    figure.layout.annotations = [_name(matrix)]
    figure.layout.shapes = [*edit_marks(matrix, x_edges, y_edges), *_outlines(matrix, row, column, right)]
    return figure


def _name(matrix: Matrix) -> go.layout.Annotation:
    rows, columns = matrix.values.shape
    return go.layout.Annotation(
        text=f"<b>{html_symbol(matrix.symbol)}</b>  {matrix.shape}",
        x=columns / 2,
        y=rows + 0.1,
        yanchor="top",
        showarrow=False,
        font={"color": ROLE_COLORS[matrix.role], "size": 16},
    )


def _outlines(matrix: Matrix, row: int | None, column: int | None, right: float) -> Iterator[go.layout.Shape]:
    """Frames around the chosen row and the chosen cell."""
    if row is None:
        return
    yield outline(0, right, row, row + 1, QUERY if matrix.role == "scores" else ROLE_COLORS[matrix.role])
    if column is not None:
        yield outline(column, column + 1, row, row + 1, ROLE_COLORS[matrix.role], width=5)
