"""One row of attention weights as bars."""

from collections.abc import Sequence

import plotly.graph_objects as go
from jaxtyping import Float
from torch import Tensor

from attn_core.figures.cells import label, still_layout, tick_size
from attn_core.figures.plain import bar, figure, scatter
from attn_core.numbers import written
from attn_core.palette import NEUTRAL, SCORES


def weight_bars(
    tokens: Sequence[str], weights: Float[Tensor, " key"], chosen: int, reference: Float[Tensor, " key"]
) -> go.Figure:
    """A bar per key, from 0 to 1; the chosen key's bar is full, a line marks each reference weight."""
    places = list(range(len(tokens)))
    height = min(420, 34 * len(tokens) + 46)
    layout = still_layout(height=height, x_range=(0.0, 1.14), y_range=(-0.6, len(tokens) - 0.4))
    layout["xaxis"] |= {"tickvals": [0, 0.25, 0.5, 0.75, 1], "showgrid": True}
    layout["yaxis"] |= {
        "tickfont": {"size": tick_size(height / (len(tokens) + 1))},
        "tickvals": places,
        "ticktext": [label(token) for token in tokens],
        "automargin": True,
    }
    return figure(
        [
            bar(
                x=weights.tolist(),
                y=places,
                orientation="h",
                marker={"color": SCORES, "opacity": [1.0 if i == chosen else 0.55 for i in places]},
                text=[written(value, 4) for value in weights.tolist()],
                textposition="outside",
                cliponaxis=False,
                hoverinfo="skip",
            ),
            scatter(
                x=reference.tolist(),
                y=places,
                mode="markers",
                marker={"symbol": "line-ns", "size": 20, "line": {"width": 3, "color": NEUTRAL}},
                hoverinfo="skip",
            ),
        ],
        layout,
    )
