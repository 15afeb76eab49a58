"""The weights of every head of every layer at a glance: one picture for all of them."""

from collections.abc import Sequence

import plotly.graph_objects as go
import torch
from jaxtyping import Float, UInt8
from torch import Tensor
from torch.nn.functional import pad

from attn_core.figures.cells import still_layout
from attn_core.figures.plain import Piece, figure, image
from attn_core.figures.tiles import frame_of_tile, name_tiles, png, starts, tile_targets
from attn_core.palette import NEUTRAL, SCORES

_ROW_HEIGHT, _MAX_HEIGHT = 66, 420
_NAMES = 24  # pixels above the tiles
_NAME_SIZE = 12
_MARGIN = 0.04  # of a tile, for the frame
_GAP = 0.05  # of a tile
_EDGE = 96  # pixels; smaller matrices are enlarged to about that many, for sharp cells on a large screen
_SHADES = 15  # with the gap's, 16 colours: four bits each
_GAP_OPACITY = 90  # of 255
_WHITE = (255.0, 255.0, 255.0, 255.0)


def glance(
    weights: Float[Tensor, "layer head query key"],
    layer: int,
    head: int,
    layer_names: Sequence[str],
    head_names: Sequence[str],
    hover: Sequence[Sequence[str]],
) -> go.Figure:
    """A tile per layer (row) and head (column): its rows are queries, its columns keys; the chosen head is framed.

    A cell is white at 0 and has the weights' colour at 1; between them it has as much of the colour as the *square
    root* of the weight, in 15 shades, so that faint weights show: 0.01 has a tenth of it. Names have few characters;
    under the pointer `hover`, one text a head, follows them. Traces: the picture, the click targets (their
    customdata is [layer, head]).

    One PNG holds all heads: Plotly would write out each weight as text, 20 times as long.
    """
    tiles = _enlarged(_shades(weights))
    height, width = tiles.shape[-2:]
    gaps = below, beside = _gap(height), _gap(width)
    tops, lefts = starts(len(tiles), below / height), starts(len(tiles[0]), beside / width)
    layout = _layout(lefts, tops)
    name_tiles(layout, tops, layer_names, lefts, head_names)
    layout["shapes"] = [frame_of_tile(lefts, tops, layer, head)]
    steps = {"x0": 0.5 / width, "dx": 1 / width, "y0": 0.5 / height, "dy": 1 / height}
    picture = image(source=_picture(_together(tiles, *gaps)), **steps, zsmooth="fast", hoverinfo="skip")
    said = [
        [f"{row} · {column}: {text}" for column, text in zip(head_names, texts, strict=True)]
        for row, texts in zip(layer_names, hover, strict=True)
    ]
    return figure([picture, tile_targets(lefts, tops, said)], layout)


def _layout(lefts: Sequence[float], tops: Sequence[float]) -> Piece:
    """As wide as there is room for: on a phone tiles are higher than wide."""
    layout = still_layout(
        height=min(_MAX_HEIGHT, _ROW_HEIGHT * len(tops) + _NAMES),
        x_range=(-_MARGIN, lefts[-1] + 1 + _MARGIN),
        y_range=(-_MARGIN, tops[-1] + 1 + _MARGIN),
    )
    layout["xaxis"]["tickfont"] = layout["yaxis"]["tickfont"] = {"size": _NAME_SIZE}
    layout["yaxis"]["scaleanchor"] = False  # a picture's pixels would else be squares
    return layout


def _shades(weights: Float[Tensor, "*head query key"]) -> UInt8[Tensor, "*head query key"]:
    """From 1 for the weight 0 to 15 for the weight 1, evenly by the square root; 0 is left for gaps."""
    return (weights.sqrt() * (_SHADES - 1)).round().to(torch.uint8) + 1


def _enlarged(cells: UInt8[Tensor, "*head query key"]) -> UInt8[Tensor, "*head height width"]:
    """Each cell as a rectangle of equal pixels, where cells are few."""
    for axis in (-2, -1):
        cells = cells.repeat_interleave(max(1, _EDGE // cells.shape[axis]), axis)
    return cells


def _gap(edge: int) -> int:
    return max(1, round(_GAP * edge))


def _together(
    tiles: UInt8[Tensor, "layer head height width"], below: int, beside: int
) -> UInt8[Tensor, "all_height all_width"]:
    """All tiles in one picture, 0 between them."""
    spaced = pad(tiles, (0, beside, 0, below)).transpose(1, 2)
    return spaced.flatten(0, 1).flatten(1, 2)[:-below, :-beside]


def _picture(colours: UInt8[Tensor, "height width"]) -> str:
    """As PNG; 0 is the gap's colour, clear enough for both themes, then the shades from white on."""
    from PIL import Image, ImageColor

    share = torch.linspace(0, 1, _SHADES).unsqueeze(1)
    shades = torch.lerp(torch.tensor(_WHITE), torch.tensor(ImageColor.getcolor(SCORES, "RGBA")).float(), share)
    palette = [*ImageColor.getrgb(NEUTRAL), _GAP_OPACITY, *shades.flatten().round().int().tolist()]
    drawn = Image.fromarray(colours.contiguous().numpy())
    drawn.putpalette(palette, "RGBA")
    return png(drawn)
