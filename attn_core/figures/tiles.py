"""Every head of every layer as a tile, 1 × 1 in figure units: layers are rows, heads are columns."""

import base64
import html
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from attn_core.figures.cells import outline
from attn_core.figures.plain import Piece
from attn_core.figures.targets import nearest_targets
from attn_core.palette import SCORES

if TYPE_CHECKING:
    from PIL import Image


def starts(n_tiles: int, gap: float) -> list[float]:
    """Where each tile begins."""
    return [place * (1 + gap) for place in range(n_tiles)]


def name_tiles(
    layout: Piece, tops: Sequence[float], layer_names: Sequence[str], lefts: Sequence[float], names: Sequence[str]
) -> None:
    """Layers' names at the left, reading upwards, heads' names above."""
    shown = {"visible": True, "automargin": True}
    layout["xaxis"] |= {**shown, "tickvals": [x + 0.5 for x in lefts], "ticktext": list(names)}
    layout["yaxis"] |= {**shown, "tickvals": [y + 0.5 for y in tops], "ticktext": list(layer_names), "tickangle": -90}


def frame_of_tile(lefts: Sequence[float], tops: Sequence[float], layer: int, head: int) -> Piece:
    """The chosen head's frame."""
    return outline(lefts[head], lefts[head] + 1, tops[layer], tops[layer] + 1, SCORES, width=4)


def tile_targets(lefts: Sequence[float], tops: Sequence[float], hover: Sequence[Sequence[str]]) -> Piece:
    """A click target in each tile; its customdata is [layer, head]."""
    places = [(layer, head) for layer in range(len(tops)) for head in range(len(lefts))]
    return nearest_targets(
        [lefts[head] + 0.5 for _, head in places],
        [tops[layer] + 0.5 for layer, _ in places],
        places,
        [html.escape(hover[layer][head], quote=False) for layer, head in places],
    )


def png(image: "Image.Image") -> str:
    """The picture as an address that holds it."""
    target = io.BytesIO()
    image.save(target, "PNG")
    return "data:image/png;base64," + base64.b64encode(target.getvalue()).decode()
