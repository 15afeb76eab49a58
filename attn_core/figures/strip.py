"""The whole lesson at a glance: a block per matrix, in two rows, with arrows between them."""

from collections.abc import Iterator, Mapping, Sequence

import plotly.graph_objects as go

from attn_core.figures.cells import cells, outline, still_layout
from attn_core.figures.plain import Piece, annotation, figure
from attn_core.figures.symbols import html_symbol
from attn_core.figures.targets import nearest_targets
from attn_core.palette import NEUTRAL, ROLE_COLORS
from attn_core.stages import Matrix

_SECOND_ROW = "scores"  # the first row ends with the values
_STEP_X, _STEP_Y = 1.3, 1.75
_UNLIT = 0.12
_BESIDE = ("second", "k", "v")  # side by side with the block before, not after it


def strip(matrices: Mapping[str, Matrix], stage: str) -> go.Figure:
    """Blocks up to `stage` are lit, the current one is framed.

    Traces: one per matrix, then the click targets, whose customdata is [index].
    """
    names, corners = list(matrices), _corners(list(matrices))
    current = names.index(stage)
    x, y = corners[current]
    frame = outline(x - 0.05, x + 1.05, y - 0.04, y + 1.04, ROLE_COLORS[matrices[stage].role], width=4)
    blocks = zip(matrices.values(), corners, strict=True)
    right = max(x for x, _ in corners) + 1.15
    layout = still_layout(height=380, x_range=(-0.2, right), y_range=(-0.36, 3.1))
    layout["annotations"] = [*_titles(list(matrices.values()), corners), *_arrows(names, corners)]
    layout["shapes"] = [*(outline(x, x + 1, y, y + 1, NEUTRAL, width=1) for x, y in corners), frame]
    layout["xaxis"]["showticklabels"] = layout["yaxis"]["showticklabels"] = False
    return figure(
        [*(_block(m, x, y, lit=i <= current) for i, (m, (x, y)) in enumerate(blocks)), _targets(corners)], layout
    )


def _corners(names: Sequence[str]) -> list[tuple[float, float]]:
    """Top left corners: the way to query, key and value in the first row, the rest in the second."""
    first = names.index(_SECOND_ROW)
    return [(_STEP_X * (i if i < first else i - first), 0.0 if i < first else _STEP_Y) for i in range(len(names))]


def _titles(matrices: Sequence[Matrix], corners: Sequence[tuple[float, float]]) -> Iterator[Piece]:
    """The name over each block and the shape under it."""
    for matrix, (x, y) in zip(matrices, corners, strict=True):
        yield _title(matrix, x, y)
        yield annotation(matrix.shape, x + 0.5, y + 1.03, yanchor="top")


def _arrows(names: Sequence[str], corners: Sequence[tuple[float, float]]) -> Iterator[Piece]:
    """From each block to the next in its row; X and X_2, and Q, K and V, stand side by side."""
    for name, (x, y) in zip(names, corners, strict=True):
        if x and name not in _BESIDE:
            yield annotation("→", x - 0.15, y + 0.5, font={"size": 20})


def _block(matrix: Matrix, x: float, y: float, *, lit: bool) -> Piece:
    rows, columns = matrix.values.shape
    return cells(
        matrix.values,
        matrix.role,
        x_edges=[x + i / columns for i in range(columns + 1)],
        y_edges=[y + i / rows for i in range(rows + 1)],
        opacity=1.0 if lit else _UNLIT,
        unit_range=matrix.unit_range,
    )


def _title(matrix: Matrix, x: float, y: float) -> Piece:
    color = ROLE_COLORS[matrix.role]
    text = f"<b>{html_symbol(matrix.symbol)}</b>"
    return annotation(text, x + 0.5, y - 0.06, yanchor="bottom", font={"size": 17, "color": color})


def _targets(corners: Sequence[tuple[float, float]]) -> Piece:
    return nearest_targets(
        [x + 0.5 for x, _ in corners], [y + 0.5 for _, y in corners], [(index,) for index in range(len(corners))]
    )
