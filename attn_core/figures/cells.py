"""Matrices as cells with numbers: the one way every page draws them."""

import functools
import html
import unicodedata
from collections.abc import Callable, Sequence
from itertools import pairwise

import regex
import torch
from torch import Tensor

from attn_core.figures.plain import Piece, heatmap, packed, scatter
from attn_core.figures.targets import nearest_targets
from attn_core.palette import CELL_COLORS, DARKEST_PIXEL, EDITED, NEUTRAL
from attn_core.stages import Matrix

NUMBERS_UP_TO = 12
CLICKED_CELLS = 2304  # 48 × 48
_NAMED_CELLS = 1024
_GAPS_UP_TO = 64
_LABEL_LENGTH = 9
_TEXT_SIZE = 15
_LONE_COLUMN_TEXT = 11  # Plotly shrinks numbers by the distance between columns; here there is none
_WHITE = "#FFFFFF"
BLACK = "#000000"  # of numbers, on every colour that a cell can have; Plotly's own choice is dark grey or white

Hover = Callable[[int, int], str]


@functools.lru_cache(maxsize=4096)
def label(token: str) -> str:
    """A token as a label: shortened where long, and safe from Plotly's reading of HTML."""
    characters = regex.findall(r"\X", token)
    short = token if len(characters) <= _LABEL_LENGTH else "".join(characters[: _LABEL_LENGTH - 1]) + "…"
    return html.escape(short, quote=False)


def label_width(token: str) -> int:
    """About how many pixels the label takes: a full-width character as many as the text's size, others fewer."""
    characters = regex.findall(r"\X", html.unescape(label(token)))
    return sum(_TEXT_SIZE + 1 if unicodedata.east_asian_width(c[0]) in "FW" else 11 for c in characters)


def has_numbers(matrix: Matrix) -> bool:
    """Whether the matrix is small enough for a number in each cell."""
    return max(matrix.values.shape) <= NUMBERS_UP_TO


def takes_two_clicks(matrix: Matrix) -> bool:
    """Whether there are so many cells that a click finds a row or a column, and the next one the cell."""
    return matrix.values.numel() > CLICKED_CELLS


def tick_size(cell_height: float) -> int:
    """The size of labels beside cells of this height in pixels."""
    return max(7, min(_TEXT_SIZE, int(0.8 * cell_height)))


def diverging(role: str) -> list[list[float | str]]:
    """Grey for negative, white at 0, the role's own colour for positive."""
    return [[0.0, NEUTRAL], [0.5, _WHITE], [1.0, CELL_COLORS[role]]]


def sequential(role: str, *, numbers: bool = False) -> list[list[float | str]]:
    """White at the low end, the role's own colour at the high end; pixels from black (grey under numbers) to white."""
    if role == "pixels":
        return [[0.0, DARKEST_PIXEL if numbers else BLACK], [1.0, _WHITE]]
    return [[0.0, _WHITE], [1.0, CELL_COLORS[role]]]


def cells(
    values: Tensor,
    role: str,
    *,
    x_edges: Sequence[float],
    y_edges: Sequence[float],
    numbers: Sequence[Sequence[str]] | None = None,
    opacity: float = 1.0,
    hover: list[list[str]] | None = None,
    unit_range: bool = False,
) -> Piece:
    """A matrix as coloured cells, centred on 0, or fixed to 0 … 1 for weights.

    Edges are in figure units; ±∞ has the colour of the end of the scale, a missing number (NaN) stays empty.
    """
    finite = values[torch.isfinite(values)]
    largest = (float(finite.abs().max()) if finite.numel() else 0.0) or 1.0
    gap = 2 if numbers else 1 if max(values.shape) <= _GAPS_UP_TO else 0
    return heatmap(
        z=_colours(values.clamp(-largest, largest)),
        x=list(x_edges),
        y=list(y_edges),
        zmin=0.0 if unit_range else -largest,
        zmax=1.0 if unit_range else largest,
        colorscale=sequential(role, numbers=numbers is not None) if unit_range else diverging(role),
        showscale=False,
        text=numbers,
        texttemplate="%{text}" if numbers else None,
        textfont={"color": BLACK} | ({"size": _LONE_COLUMN_TEXT} if values.shape[1] == 1 else {}),
        hovertext=hover,
        hoverinfo="text" if hover else "skip",
        opacity=opacity,
        xgap=gap,
        ygap=gap,
    )


def _colours(values: Tensor) -> list[list[float]] | Piece:
    """The numbers as Plotly takes them; very many as bytes, of a precision that no screen's colours reach."""
    return values.tolist() if values.numel() <= _NAMED_CELLS else packed(values.float().numpy())


def strikes(matrix: Matrix, x_edges: Sequence[float], y_edges: Sequence[float]) -> list[Piece]:
    """A stroke through every cell that a mask hides; where it made −∞ of the number, that says so by itself.

    Of very many cells none is large enough to show its stroke.
    """
    if matrix.hidden is None or matrix.hidden.numel() > CLICKED_CELLS:
        return []
    cells = (matrix.hidden & ~torch.isneginf(matrix.values)).nonzero().tolist()
    xs = [x for _, column in cells for x in (x_edges[column], x_edges[column + 1], None)]
    ys = [y for row, _ in cells for y in (y_edges[row + 1], y_edges[row], None)]
    line = {"color": NEUTRAL, "width": 1.5}
    return [scatter(x=xs, y=ys, mode="lines", line=line, hoverinfo="skip", showlegend=False)]


def centres(edges: Sequence[float]) -> list[float]:
    """The middle of each cell."""
    return [(a + b) / 2 for a, b in pairwise(edges)]


def hover_of(matrix: Matrix) -> Hover:
    """What the pointer says of a cell: its row, its column and its number."""
    numbers, rows, columns = matrix.texts, [*map(label, matrix.rows)], [*map(label, matrix.columns)]
    return lambda row, column: f"{rows[row]} · {columns[column]}: {numbers[row][column]}"


def hover_texts(matrix: Matrix) -> list[list[str]] | None:
    """The same for every cell; of very many, nothing."""
    if matrix.values.numel() > _NAMED_CELLS:
        return None
    hover = hover_of(matrix)
    return [[hover(row, column) for column in range(len(matrix.columns))] for row in range(len(matrix.rows))]


def outline(x0: float, x1: float, y0: float, y1: float, color: str, width: int = 3, *, dotted: bool = False) -> Piece:
    """A frame around cells."""
    line = {"color": color, "width": width} | ({"dash": "dot"} if dotted else {})
    return {"type": "rect", "x0": x0, "x1": x1, "y0": y0, "y1": y1, "line": line, "layer": "above"}


def edit_marks(matrix: Matrix, x_edges: Sequence[float], y_edges: Sequence[float]) -> list[Piece]:
    """Dotted frames around the cells whose number was put in by hand."""
    inside = [(r, c) for r, c in matrix.edited if r < len(y_edges) - 1 and c < len(x_edges) - 1]
    places = [(x_edges[c], x_edges[c + 1], y_edges[r], y_edges[r + 1]) for r, c in inside]
    return [outline(*place, EDITED, width=4, dotted=True) for place in places]


def click_targets(
    x_edges: Sequence[float],
    y_edges: Sequence[float],
    hover: Hover,
    first_column: int = 0,
    chosen: tuple[int, int] = (0, 0),
) -> Piece:
    """Invisible points over the cells of a result: a click on one gives its row and its column's number.

    Plotly reports no click on a heatmap's cell; a point's customdata says which cell was meant. Thousands of points
    would stall the browser: of more than CLICKED_CELLS, only those in the chosen row and the chosen column are there.
    A click elsewhere finds the nearest, in the clicked row or the clicked column; a second click then finds the cell.
    """
    xs, ys = centres(x_edges), centres(y_edges)
    every = len(xs) * len(ys) <= CLICKED_CELLS
    places = [
        (row, column)
        for row in range(len(ys))
        for column in range(len(xs))
        if every or row == chosen[0] or column == chosen[1]
    ]
    return nearest_targets(
        [xs[column] for _, column in places],
        [ys[row] for row, _ in places],
        [(row, first_column + column) for row, column in places],
        [hover(row, column) for row, column in places],
    )


def still_layout(*, height: int, x_range: tuple[float, float], y_range: tuple[float, float]) -> Piece:
    """A layout that neither zooms nor drags, with bare axes over the given ranges (rows run downwards)."""
    bare = {"tickfont": {"size": _TEXT_SIZE}, "showgrid": False, "zeroline": False, "fixedrange": True, "ticks": ""}
    return {
        "height": height,
        "font": {"size": _TEXT_SIZE},  # also the largest size of numbers in cells; they shrink to fit
        "margin": {"l": 0, "r": 0, "t": 4, "b": 4},
        "xaxis": {**bare, "range": list(x_range), "side": "top"},
        "yaxis": {**bare, "range": [y_range[1], y_range[0]]},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "dragmode": False,
        "clickmode": "event+select",
        "hovermode": "closest",
        "hoverdistance": -1,
        "showlegend": False,
    }
