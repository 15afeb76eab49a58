"""Position vectors side by side, and their inner products over the distance between them."""

from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from attn_core.figures.grid import grid
from attn_core.figures.plain import Piece, figure, scatter
from attn_core.palette import NEUTRAL, SCORES
from attn_core.position_study import Curve, PositionProducts
from attn_core.stages import Matrix

_EVERY = 4  # so many positions from one label to the next


def waves(matrix: Matrix, row: int, position: int) -> go.Figure:
    """A column per position, as `grid` draws it, with room for the labels on a phone."""
    places = range(0, len(matrix.columns), _EVERY)
    return grid(matrix, row, position).update_xaxes(
        tickvals=[place + 0.5 for place in places], ticktext=[matrix.columns[place] for place in places]
    )


@dataclass(frozen=True)
class DistanceLabels:
    """Texts of the picture."""

    x: str
    y: str


def products_over_distance(measured: PositionProducts, closed_form: Curve | None, labels: DistanceLabels) -> go.Figure:
    """A point for every pair of positions, and the closed form as a line where there is one.

    Traces: points, line (left out where closed_form is None).
    """
    traces = [_trace(measured, mode="markers", marker={"color": SCORES, "size": 6, "opacity": 0.6})]
    if closed_form is not None:
        traces.append(_trace(closed_form, mode="lines", line={"color": NEUTRAL, "width": 2}))
    ends = [-1, int(measured.distances.max()) + 1]
    layout = {
        "height": 340,
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "xaxis": {"title": {"text": labels.x}, "fixedrange": True, "range": ends},
        "yaxis": {"title": {"text": labels.y}, "fixedrange": True, "zeroline": True, "automargin": True},
        "showlegend": False,
        "dragmode": False,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
    }
    return figure(traces, layout)


def _trace(found: PositionProducts | Curve, **options: Any) -> Piece:
    x, y = found.distances.tolist(), found.products.tolist()
    return scatter(x=x, y=y, hovertemplate="%{x}: %{y:.4f}<extra></extra>", **options)
