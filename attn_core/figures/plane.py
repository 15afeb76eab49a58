"""Words as points on a plane."""

from collections.abc import Sequence

import plotly.graph_objects as go
from jaxtyping import Float
from torch import Tensor

from attn_core.figures.cells import label
from attn_core.palette import EMBEDDING, NEUTRAL, QUERY


def plane(
    words: Sequence[str],
    points: Float[Tensor, "word 2"],
    *,
    in_text: Sequence[int],
    chosen: int,
    axes: tuple[str, str],
) -> go.Figure:
    """Every word at its place, one scale for both axes; the text's words in colour, the chosen one ringed."""
    colored = set(in_text)
    figure = go.Figure(
        go.Scatter(
            x=points[:, 0].tolist(),
            y=points[:, 1].tolist(),
            mode="markers+text",
            text=[label(word) for word in words],
            textposition="top center",
            cliponaxis=False,
            hoverinfo="skip",
            marker={
                "size": 13,
                "color": [EMBEDDING if index in colored else NEUTRAL for index in range(len(words))],
                "line": {"color": QUERY, "width": [3 if index == chosen else 0 for index in range(len(words))]},
            },
        )
    )
    reach = 1.25 * (float(points.abs().max()) or 1.0)
    figure.update_layout(
        height=420, margin={"l": 0, "r": 0, "t": 8, "b": 8}, showlegend=False, dragmode=False,
        paper_bgcolor="rgba(0,0,0,0)", plot_bgcolor="rgba(0,0,0,0)",
    )  # fmt: skip
    figure.update_xaxes(title=axes[0], range=[-reach, reach], fixedrange=True, zeroline=True)
    figure.update_yaxes(title=axes[1], range=[-reach, reach], fixedrange=True, zeroline=True)
    return figure
