"""Curves over one axis: lines, and the layout they share."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from attn_core.figures.plain import Piece, figure, scatter
from attn_core.palette import NEUTRAL

_GRID = "rgba(138,138,138,0.25)"
_HEIGHT = 340


@dataclass(frozen=True)
class Curve:
    """One line: where it goes and how it looks; with marks, a dot at every point."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    color: str
    marks: bool = False
    dash: str = "solid"


def curves(
    lines: Sequence[Curve],
    *,
    x: str,
    y: str,
    x_end: float,
    y_range: tuple[float, float],
    levels: Sequence[tuple[str, float]] = (),
) -> go.Figure:
    """Lines from 0 to x_end, and named levels as dashed lines across.

    Traces: the lines, then the levels.
    """
    dashes = ("dash", "dot", "dashdot")
    traces = [
        line(one.x, one.y, one.name, one.color, dash=one.dash, mode="lines+markers" if one.marks else "lines")
        for one in lines
    ]
    traces += [
        line([0, x_end], [level, level], name, NEUTRAL, dash=dash)
        for (name, level), dash in zip(levels, dashes, strict=False)
    ]
    layout = curve_layout(_HEIGHT, x, y)
    layout["xaxis"]["range"], layout["yaxis"]["range"] = [0, x_end], list(y_range)
    return figure(traces, layout)


def line(x: Sequence[float], y: Sequence[float], name: str, color: str, **options: Any) -> Piece:
    """A line of one colour."""
    dash, mode = options.pop("dash", "solid"), options.pop("mode", "lines")
    return scatter(
        x=list(x), y=list(y), name=name, mode=mode, line={"color": color, "width": 2, "dash": dash}, **options
    )


def curve_layout(height: int, x_title: str, y_title: str) -> Piece:
    """Two titled axes that neither zoom nor drag, the legend above them."""
    axis = {"fixedrange": True, "gridcolor": _GRID, "zeroline": False, "automargin": True}
    return {
        "height": height,
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "xaxis": {**axis, "title": {"text": x_title, "standoff": 12}},
        "yaxis": {**axis, "title": {"text": y_title, "standoff": 12}},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "dragmode": False,
        "hovermode": "closest",
        "legend": {
            "orientation": "h",
            "x": 0,
            "xanchor": "left",
            "y": 1.02,
            "yanchor": "bottom",
            "traceorder": "normal",
        },
    }
