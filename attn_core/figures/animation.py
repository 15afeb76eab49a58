"""A matrix of weights over the steps of a training, played in the browser without the server."""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from attn_core.figures.cells import cells, centres, label, outline, still_layout, strikes, tick_size
from attn_core.figures.plain import Piece, figure, heatmap
from attn_core.numbers import texts
from attn_core.palette import KEY
from attn_core.stages import Matrix

_ROW_HEIGHT = 40
_MAX_HEIGHT = 400
_CONTROLS = 110  # pixels under the picture for the buttons and the slider
_DECIMALS = 2
_FRAME = 160  # milliseconds
# Readable on light and dark pages, and under the pointer, where Plotly paints buttons almost white.
_BUTTON, _BUTTON_TEXT = "#E4DFF3", "#1D1B26"


@dataclass(frozen=True)
class AnimationLabels:
    """Texts of the buttons."""

    play: str
    pause: str


def weights_picture(matrix: Matrix, marked: Sequence[tuple[int, int]]) -> go.Figure:
    """One matrix of weights, rounded to two decimals; marked cells are framed in the colour of keys.

    Traces: the cells, then strokes through hidden ones.
    """
    return figure(*_picture(matrix, marked))


def _picture(matrix: Matrix, marked: Sequence[tuple[int, int]]) -> tuple[list[Piece], Piece]:
    """Its traces and its layout."""
    n_rows, n_columns = matrix.values.shape
    x_edges, y_edges = ([float(i) for i in range(n + 1)] for n in (n_columns, n_rows))
    height = min(_MAX_HEIGHT, int(_ROW_HEIGHT * (n_rows + 1)))
    rounded = matrix.values.round(decimals=_DECIMALS)
    drawn = cells(rounded, matrix.role, x_edges=x_edges, y_edges=y_edges, numbers=texts(rounded), unit_range=True)
    layout = still_layout(height=height, x_range=(0, n_columns), y_range=(0, n_rows))
    ticks = {"tickfont": {"size": tick_size(height / (n_rows + 1))}, "automargin": True}
    layout["xaxis"] |= {**ticks, "tickvals": centres(x_edges), "ticktext": [label(name) for name in matrix.columns]}
    layout["yaxis"] |= {**ticks, "tickvals": centres(y_edges), "ticktext": [label(name) for name in matrix.rows]}
    layout["shapes"] = [outline(c, c + 1, r, r + 1, KEY) for r, c in marked]
    return [drawn, *strikes(matrix, x_edges, y_edges)], layout


def animation(
    matrices: Sequence[Matrix],
    captions: Sequence[str],
    shown: int,
    *,
    marked: Sequence[tuple[int, int]],
    labels: AnimationLabels,
) -> go.Figure:
    """The picture of one matrix, with a slider and buttons that show all of them one after the other.

    Frames replace the first trace's numbers. Nothing moves by itself.

    Args:
        matrices: the same rows and columns at every step.
        captions: what is said of each.
        shown: which one is there at first.
        marked: rows and columns of cells to frame.
        labels: translated texts.
    """
    traces, layout = _picture(matrices[shown], marked)
    layout |= {"sliders": [_slider(captions, shown)], "updatemenus": [_buttons(labels)]}
    layout["height"] += _CONTROLS
    layout["margin"]["b"] = _CONTROLS
    frames = [{"name": str(n), "data": [_numbers(matrix)], "traces": [0]} for n, matrix in enumerate(matrices)]
    return figure(traces, layout, frames)


def _numbers(matrix: Matrix) -> Piece:
    """What differs from frame to frame."""
    rounded = matrix.values.round(decimals=_DECIMALS)
    return heatmap(z=rounded.tolist(), text=texts(rounded))


def _slider(captions: Sequence[str], shown: int) -> Piece:
    """One stop a frame; its caption stands above it, not under each stop."""
    return {
        "active": shown,
        "steps": [
            {"label": caption, "method": "animate", "args": [[str(place)], _timing(0)]}
            for place, caption in enumerate(captions)
        ],
        "currentvalue": {"xanchor": "left", "font": {"size": 15}},
        "font": {"size": 1},
        "ticklen": 0,
        "minorticklen": 0,
        "x": 0,
        "len": 1,
        "pad": {"t": 45, "b": 0, "l": 0, "r": 0},
        "y": 0,
    }


def _buttons(labels: AnimationLabels) -> Piece:
    steps = [[None, {**_timing(_FRAME), "fromcurrent": True}], [[None], _timing(0)]]
    return {
        "type": "buttons",
        "direction": "left",
        "showactive": False,
        "buttons": [
            {"label": text, "method": "animate", "args": args}
            for text, args in zip((labels.play, labels.pause), steps, strict=True)
        ],
        "bgcolor": _BUTTON,
        "font": {"color": _BUTTON_TEXT, "size": 15},
        "x": 0,
        "xanchor": "left",
        "y": 0,
        "yanchor": "top",
        "pad": {"t": 8},
    }


def _timing(duration: int) -> Piece:
    """No motion between frames; a matrix has to be drawn anew at each."""
    return {
        "mode": "immediate",
        "frame": {"duration": duration, "redraw": True},
        "transition": {"duration": 0},
    }
