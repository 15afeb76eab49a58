"""The values on a plane, their convex hull, and the output inside it."""

from collections.abc import Sequence

import plotly.graph_objects as go

from attn_core.figures.cells import label
from attn_core.figures.plain import figure, scatter
from attn_core.mixing import Mixture
from attn_core.palette import NEUTRAL, SCORES, VALUE


def hull(mixture: Mixture, tokens: Sequence[str]) -> go.Figure:
    """Traces: hull, values (as large as their weight), output before and after weight was moved."""
    corners = mixture.points[[*mixture.corners, *mixture.corners[:1]]]
    moved = [mixture.before.tolist(), mixture.after.tolist()]
    reach = 1.3 * (float(mixture.points.abs().max()) or 1.0)
    axis = {"range": [-reach, reach], "fixedrange": True, "zeroline": True, "automargin": True}
    return figure(
        [
            scatter(
                x=corners[:, 0].tolist(),
                y=corners[:, 1].tolist(),
                mode="lines",
                fill="toself",
                fillcolor="rgba(0,158,115,0.12)",
                line={"color": VALUE, "width": 1},
                hoverinfo="skip",
            ),
            scatter(
                x=mixture.points[:, 0].tolist(),
                y=mixture.points[:, 1].tolist(),
                mode="markers+text",
                text=[label(token) for token in tokens],
                textposition="top center",
                cliponaxis=False,
                marker={"color": VALUE, "size": [8 + 30 * weight for weight in mixture.weights.tolist()]},
                hovertext=[f"{label(t)}: {w:.4f}" for t, w in zip(tokens, mixture.weights.tolist(), strict=True)],
                hoverinfo="text",
            ),
            scatter(
                x=[point[0] for point in moved],
                y=[point[1] for point in moved],
                mode="lines+markers",
                line={"color": SCORES, "width": 2, "dash": "dot"},
                marker={
                    "symbol": ["diamond-open", "diamond"],
                    "size": 15,
                    "color": [NEUTRAL, SCORES],
                },
                hoverinfo="skip",
            ),
        ],
        {
            "height": 400,
            "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
            "xaxis": axis,
            "yaxis": axis,
            "showlegend": False,
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "dragmode": False,
        },
    )
