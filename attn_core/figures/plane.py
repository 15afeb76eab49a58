"""Words as points on a plane."""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go
from jaxtyping import Float
from torch import Tensor

from attn_core.figures.cells import label
from attn_core.figures.plain import figure, scatter
from attn_core.palette import EMBEDDING, KIND_COLORS, NEUTRAL, QUERY


def plane(
    words: Sequence[str],
    points: Float[Tensor, "word 2"],
    *,
    in_text: Sequence[int],
    chosen: int,
    axes: tuple[str, str],
    kinds: Mapping[str, str] | None = None,
) -> go.Figure:
    """Every word at its place, one scale for both axes; the chosen one is ringed.

    With kinds each kind has a colour of its own, else the text's words are coloured.
    """
    colors = _kind_colors(words, kinds) if kinds else _text_colors(words, in_text)
    drawn = scatter(
        x=points[:, 0].tolist(),
        y=points[:, 1].tolist(),
        mode="markers+text",
        text=[label(word) for word in words],
        textposition="top center",
        cliponaxis=False,
        hoverinfo="skip",
        marker={
            "size": 13,
            "color": colors,
            "line": {"color": QUERY, "width": [3 if index == chosen else 0 for index in range(len(words))]},
        },
    )
    reach = 1.25 * (float(points.abs().max()) or 1.0)
    axis = {"range": [-reach, reach], "fixedrange": True, "zeroline": True}
    layout = {
        "height": 420,
        "margin": {"l": 0, "r": 0, "t": 8, "b": 8},
        "xaxis": {**axis, "title": {"text": axes[0]}},
        "yaxis": {**axis, "title": {"text": axes[1]}},
        "showlegend": False,
        "dragmode": False,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
    }
    return figure([drawn], layout)


def _text_colors(words: Sequence[str], in_text: Sequence[int]) -> list[str]:
    return [EMBEDDING if index in in_text else NEUTRAL for index in range(len(words))]


def _kind_colors(words: Sequence[str], kinds: Mapping[str, str]) -> list[str]:
    """Colours that play no other part; grey for words without a kind."""
    colors = dict(zip(dict.fromkeys(kinds.values()), KIND_COLORS, strict=False))
    return [colors[kinds[word]] if word in kinds else NEUTRAL for word in words]
