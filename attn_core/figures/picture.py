"""A picture, the patches it is cut into, and the attention of one of them laid over it."""

import math
from collections.abc import Iterator, Sequence

import plotly.graph_objects as go
import torch
from jaxtyping import Float
from torch import Tensor

from attn_core.figures.cells import cells, centres, click_targets, outline, still_layout
from attn_core.figures.plain import Piece, figure, heatmap, image, scatter
from attn_core.figures.tiles import frame_of_tile, name_tiles, png, starts, tile_targets
from attn_core.images import CHANNELS, to_image
from attn_core.numbers import texts, written
from attn_core.palette import KEY, NEUTRAL, QUERY

_SIZE = 420
_WITH_SCALE = 50
_NUMBERS_UP_TO = 4  # patches side by side
_DECIMALS = 4
_OVERLAY = [[0.0, "rgba(122,91,199,0)"], [1.0, "rgba(122,91,199,0.85)"]]
_DIMMED = 0.6  # under weights, so that white pixels do not outshine them
_HALO = {"size": 14, "color": "white", "shadow": "0 0 3px black, 0 0 3px black, 0 0 2px black"}

_PATCH_CELL, _PATCH_MAX, _PATCH_NUMBERS_UP_TO = 80, 440, 8
_SQUARE_UP_TO = 13  # rows of pixels; smaller squares have no room for a number


def patch_picture(
    pixels: Float[Tensor, "row column channel"],
    per_edge: int,
    chosen: int | None,
    names: Sequence[str],
    *,
    key: int | None = None,
    weights: Float[Tensor, " patch"] | None = None,
) -> go.Figure:
    """The picture under the grid of its patches, the chosen one (if any) outlined in the query's colour.

    With `weights`, those of a query to each patch, they lie over it, from clear at 0 to full colour at the
    largest; the patch `key` is outlined in the key's colour. Traces: picture, grid, overlay, its numbers,
    click targets (their customdata is [row, column]).
    """
    edges = [edge / per_edge for edge in range(per_edge + 1)]
    hover = (
        list(names) if weights is None else [f"{name}: {written(w, _DECIMALS)}" for name, w in _each(names, weights)]
    )
    traces = [_image(pixels if weights is None else _DIMMED * pixels, 1 / len(pixels)), _lines(edges)]
    if weights is not None:
        traces += [
            _overlay(weights.reshape(per_edge, per_edge), edges, edges, scale=True),
            _weight_texts(weights, edges),
        ]
    traces.append(click_targets(edges, edges, lambda row, column: hover[row * per_edge + column]))
    layout = _square_layout(_SIZE if weights is None else _SIZE + _WITH_SCALE)
    marks = {} if key is None else {key: KEY}
    marks |= {} if chosen is None else {chosen: QUERY}  # over its own key
    layout["shapes"] = [_frame(patch, per_edge, color) for patch, color in marks.items()]
    return figure(traces, layout)


def _each(names: Sequence[str], weights: Tensor) -> Iterator[tuple[str, float]]:
    return zip(names, weights.tolist(), strict=True)


def _image(pixels: Float[Tensor, "row column channel"], step: float) -> Piece:
    """The picture with its top left corner at (0, 0); a pixel's edge is `step`, a fourth channel is opacity.

    As PNG: Plotly looks at each single number of a list, and every number then travels as text.
    """
    return image(source=png(to_image(pixels)), x0=step / 2, dx=step, y0=step / 2, dy=step, hoverinfo="skip")


def _lines(edges: Sequence[float]) -> Piece:
    """The borders of the patches, as one line with gaps."""
    xs, ys = [], []
    for edge in edges:
        xs += [edge, edge, None, 0, 1, None]
        ys += [0, 1, None, edge, edge, None]
    return scatter(x=xs, y=ys, mode="lines", line={"color": NEUTRAL, "width": 1.5}, hoverinfo="skip")


def _overlay(
    weights: Float[Tensor, "row column"], x_edges: Sequence[float], y_edges: Sequence[float], *, scale: bool
) -> Piece:
    """Weights from clear at 0 to full colour at the largest; where there is none (NaN), nothing."""
    full = float(weights.nan_to_num().max())
    bar = {"orientation": "h", "thickness": 12, "y": -0.02, "yanchor": "top", "len": 0.6, "outlinewidth": 0}
    return heatmap(
        z=[[None if math.isnan(weight) else weight for weight in row] for row in weights.tolist()],
        x=list(x_edges),
        y=list(y_edges),
        zmin=0.0,
        zmax=full,
        colorscale=_OVERLAY,
        showscale=scale,
        colorbar=bar | {"tickvals": [0, full], "ticktext": ["0", written(full, _DECIMALS)]} if scale else None,
        hoverinfo="skip",
    )


def _weight_texts(weights: Float[Tensor, " patch"], edges: Sequence[float]) -> Piece:
    """Each weight in the middle of its patch; where there are many, none."""
    middles = centres(edges)
    shown = weights.tolist() if len(middles) <= _NUMBERS_UP_TO else []
    places = [(x, y) for y in middles for x in middles][: len(shown)]
    return scatter(
        x=[x for x, _ in places],
        y=[y for _, y in places],
        text=[written(weight, _DECIMALS) for weight in shown],
        mode="text",
        textfont=_HALO,
        hoverinfo="skip",
    )


def _frame(patch: int, per_edge: int, color: str, x: float = 0.0, y: float = 0.0, width: int = 5) -> Piece:
    row, column = divmod(patch, per_edge)
    x0, y0, size = x + column / per_edge, y + row / per_edge, 1 / per_edge
    return outline(x0, x0 + size, y0, y0 + size, color, width=width)


def _square_layout(height: int, right: float = 1.0, bottom: float = 1.0) -> Piece:
    """No axes, and as wide as high in figure units."""
    layout = still_layout(height=height, x_range=(-0.01, right + 0.01), y_range=(-0.01, bottom + 0.01))
    layout["xaxis"] |= {"visible": False, "constrain": "domain"}
    layout["yaxis"] |= {"visible": False, "constrain": "domain", "scaleanchor": "x"}
    return layout


def patch_numbers(numbers: Float[Tensor, " number"], patch_size: int, channels: int) -> go.Figure:
    """One patch pixel by pixel: grey from black 0 to white 1, one block for each channel under the other.

    Traces: one per channel. Of a large patch the numbers give way to colour.
    """
    rows, gap = channels * patch_size, 0.4
    height = min(_PATCH_MAX, int(_PATCH_CELL * (rows + gap * (channels - 1))))
    tops = [index * (patch_size + gap) for index in range(channels)]
    layout = still_layout(height=height, x_range=(0, patch_size), y_range=(0, rows + gap * (channels - 1)))
    layout["shapes"] = [outline(0, patch_size, top, top + patch_size, NEUTRAL, width=1) for top in tops]
    middles = [top + patch_size / 2 for top in tops]
    layout["yaxis"] |= {"tickvals": middles, "ticktext": list(CHANNELS[channels]), "automargin": True}
    layout["xaxis"]["visible"] = False
    if rows <= _SQUARE_UP_TO:
        layout["xaxis"]["constrain"] = layout["yaxis"]["constrain"] = "domain"
        layout["yaxis"]["scaleanchor"] = "x"
    blocks = numbers.reshape(patch_size, patch_size, channels).unbind(-1)
    return figure([_channel(block, top) for block, top in zip(blocks, tops, strict=True)], layout)


def _channel(block: Float[Tensor, "row column"], top: float) -> Piece:
    edges, shown = range(len(block) + 1), len(block) <= _PATCH_NUMBERS_UP_TO
    drawn = cells(
        block,
        "pixels",
        x_edges=edges,
        y_edges=[top + e for e in edges],
        numbers=texts(block, 2) if shown else None,
        unit_range=True,
    )
    return drawn | {"textfont": drawn["textfont"] | {"size": 13}} if shown else drawn


def heads_over_picture(
    pixels: Float[Tensor, "row column channel"],
    weights: Float[Tensor, "layer head patch"],
    per_edge: int,
    layer_names: Sequence[str],
    head_names: Sequence[str],
    *,
    layer: int,
    head: int,
    query: int | None,
) -> go.Figure:
    """The picture once per layer (a row) and head (a column), what one query gives to its patches laid over each.

    Full colour is the largest weight of them all. The chosen head is framed; a `query` that is a patch is
    outlined. Traces: all the pictures, all the weights, the click targets (customdata [layer, head]). One
    pixel lies between two pictures.
    """
    n_layers, n_heads, edge = len(layer_names), len(head_names), len(pixels)
    lefts, tops = (starts(n, 1 / edge) for n in (n_heads, n_layers))
    layout = _square_layout(_SIZE, lefts[-1] + 1, tops[-1] + 1)
    layout["shapes"] = [
        *(_frame(query, per_edge, QUERY, x, y, width=3) for y in tops for x in lefts if query is not None),
        frame_of_tile(lefts, tops, layer, head),
    ]
    name_tiles(layout, tops, layer_names, lefts, head_names)
    together = _together(weights.reshape(n_layers, n_heads, per_edge, per_edge))
    x_edges, y_edges = (
        [start + e / per_edge for start in starts for e in range(per_edge + 1)] for starts in (lefts, tops)
    )
    return figure(
        [
            _pictures(_DIMMED * pixels, n_layers, n_heads),
            _overlay(together, x_edges, y_edges, scale=False),
            tile_targets(lefts, tops, [[f"{row} · {column}" for column in head_names] for row in layer_names]),
        ],
        layout,
    )


def _pictures(pixels: Float[Tensor, "row column channel"], n_rows: int, n_columns: int) -> Piece:
    """The same picture many times, a clear pixel between two."""
    edge = len(pixels)
    tile = pixels.new_zeros(edge + 1, edge + 1, 4)
    tile[:-1, :-1, :3], tile[:-1, :-1, 3] = pixels, 1.0
    return _image(tile.tile(n_rows, n_columns, 1)[:-1, :-1], 1 / edge)


def _together(weights: Float[Tensor, "layer head row column"]) -> Float[Tensor, "rows columns"]:
    """All blocks in one matrix, NaN between two."""
    n_layers, n_heads, edge, _ = weights.shape
    padded = torch.full((n_layers, n_heads, edge + 1, edge + 1), torch.nan, dtype=weights.dtype)
    padded[..., :-1, :-1] = weights
    return padded.transpose(1, 2).reshape(n_layers * (edge + 1), n_heads * (edge + 1))[:-1, :-1]
