"""The whole lesson at a glance: a block per matrix, in two rows, with arrows between them."""

from collections.abc import Iterator, Sequence

import plotly.graph_objects as go

from attn_core.figures.cells import cells, outline, still_layout
from attn_core.figures.symbols import html_symbol
from attn_core.palette import NEUTRAL, ROLE_COLORS
from attn_core.stages import Matrix

_PER_ROW = 5
_STEP_X, _STEP_Y = 1.3, 1.75
_UNLIT = 0.12


def strip(matrices: Sequence[Matrix], stage: int) -> go.Figure:
    """Blocks up to `stage` are lit, the current one is framed.

    Traces: one per matrix, then the click targets, whose customdata is [index].
    """
    corners = [(_STEP_X * (i % _PER_ROW), _STEP_Y * (i // _PER_ROW)) for i in range(len(matrices))]
    x, y = corners[stage]
    frame = outline(x - 0.05, x + 1.05, y - 0.04, y + 1.04, ROLE_COLORS[matrices[stage].role], width=4)
    figure = go.Figure(
        [
            *(_block(m, x, y, lit=i <= stage) for i, (m, (x, y)) in enumerate(zip(matrices, corners, strict=True))),
            _targets(corners),
        ],
        still_layout(height=380, x_range=(-0.1, 6.35), y_range=(-0.36, 3.1)),
    )
    # Assigned at once: Plotly copies the whole list each time one is added.
    figure.layout.annotations = [*_titles(matrices, corners), *_arrows(corners)]
    figure.layout.shapes = [*(outline(x, x + 1, y, y + 1, NEUTRAL, width=1) for x, y in corners), frame]
    figure.layout.xaxis.showticklabels = figure.layout.yaxis.showticklabels = False
    return figure


def _titles(matrices: Sequence[Matrix], corners: Sequence[tuple[float, float]]) -> Iterator[go.layout.Annotation]:
    """The name over each block and the shape under it."""
    for matrix, (x, y) in zip(matrices, corners, strict=True):
        yield _title(matrix, x, y)
        yield go.layout.Annotation(text=matrix.shape, x=x + 0.5, y=y + 1.03, yanchor="top", showarrow=False)


def _arrows(corners: Sequence[tuple[float, float]]) -> Iterator[go.layout.Annotation]:
    """From each block to the next in its row; Q, K and V stand side by side."""
    for index, (x, y) in enumerate(corners):
        if index % _PER_ROW and index not in (3, 4):
            yield go.layout.Annotation(text="→", x=x - 0.15, y=y + 0.5, showarrow=False, font={"size": 20})


def _block(matrix: Matrix, x: float, y: float, *, lit: bool) -> go.Heatmap:
    rows, columns = matrix.values.shape
    return cells(
        matrix.values,
        matrix.role,
        x_edges=[x + i / columns for i in range(columns + 1)],
        y_edges=[y + i / rows for i in range(rows + 1)],
        numbers=False,
        opacity=1.0 if lit else _UNLIT,
        unit_range=matrix.unit_range,
    )


def _title(matrix: Matrix, x: float, y: float) -> go.layout.Annotation:
    color = ROLE_COLORS[matrix.role]
    text = f"<b>{html_symbol(matrix.symbol)}</b>"
    return go.layout.Annotation(
        text=text, x=x + 0.5, y=y - 0.06, yanchor="bottom", showarrow=False, font={"size": 17, "color": color}
    )


def _targets(corners: Sequence[tuple[float, float]]) -> go.Scatter:
    return go.Scatter(
        x=[x + 0.5 for x, _ in corners],
        y=[y + 0.5 for _, y in corners],
        customdata=[[index] for index in range(len(corners))],
        mode="markers",
        marker={"symbol": "square", "size": 60, "opacity": 0, "color": NEUTRAL},
        selected={"marker": {"opacity": 0}},
        unselected={"marker": {"opacity": 0}},
        hoverinfo="none",
        showlegend=False,
    )
