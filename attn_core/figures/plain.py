"""The pieces of a figure as plain dictionaries: the one place that knows how a Plotly figure is made of them.

Plotly's own classes look every name and every number up and copy it several times, which takes ten times as long as
all the rest. Here a piece is a dictionary of Plotly's names, and a name that Plotly does not know goes unnoticed:
the tests of figures have Plotly check each one that they draw.
"""

import base64
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

Piece = dict[str, Any]


class Figure(go.Figure):  # type: ignore[misc]
    """A figure that is sent as the pieces it is made of; Plotly's own objects are built when somebody reads them.

    They are for reading only: what is changed in them is not sent.
    """

    def __init__(self, pieces: Piece) -> None:
        self.__dict__["_pieces"] = pieces

    def to_dict(self) -> Piece:
        """What is sent: the pieces themselves, not copies."""
        return self.__dict__["_pieces"]  # type: ignore[no-any-return]

    @functools.cached_property
    def _read(self) -> go.Figure:
        return go.Figure(self.to_dict(), _validate=False)

    data = property(lambda self: self._read.data)
    layout = property(lambda self: self._read.layout)
    frames = property(lambda self: self._read.frames)


def figure(traces: Sequence[Piece], layout: Piece, frames: Sequence[Piece] = ()) -> Figure:
    """The figure made of these pieces, unchecked, to show or to read back.

    The colours and fonts of the page come with the page: Plotly's own template would be a third of what is sent.
    """
    return Figure({"data": list(traces), "layout": {"template": {"layout": {}}, **layout}, "frames": list(frames)})


def packed(numbers: NDArray[np.float32]) -> Piece:
    """Very many numbers as Plotly reads them fastest: their bytes."""
    shape = ", ".join(map(str, numbers.shape))
    return {"dtype": "f4", "shape": shape, "bdata": base64.b64encode(numbers.tobytes()).decode()}


def heatmap(**options: Any) -> Piece:
    """Cells, a colour each."""
    return _piece(type="heatmap", **options)


def scatter(**options: Any) -> Piece:
    """Points, lines and texts."""
    return _piece(type="scatter", **options)


def bar(**options: Any) -> Piece:
    """Bars."""
    return _piece(type="bar", **options)


def image(**options: Any) -> Piece:
    """A picture of pixels."""
    return _piece(type="image", **options)


def annotation(text: str, x: float, y: float, **options: Any) -> Piece:
    """A text at a place, without an arrow."""
    return _piece(text=text, x=x, y=y, showarrow=False, **options)


def _piece(**options: Any) -> Piece:
    """What is given; None stands for what is left to Plotly."""
    return {name: value for name, value in options.items() if value is not None}
