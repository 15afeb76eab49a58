"""What each value adds to an output, column by column."""

from collections.abc import Sequence

import plotly.graph_objects as go

from attn_core.figures.cells import label
from attn_core.mixing import Mixture
from attn_core.palette import VALUE

_LIGHTEST, _DARKEST = 0.25, 1.0


def contributions(mixture: Mixture, tokens: Sequence[str]) -> go.Figure:
    """Stacked bars, one trace per token from light to dark; a diamond marks the output they add up to."""
    columns = list(range(mixture.output.shape[0]))
    shades = [_LIGHTEST + (_DARKEST - _LIGHTEST) * i / max(1, len(tokens) - 1) for i in range(len(tokens))]
    bars = [
        go.Bar(
            x=columns,
            y=mixture.contributions[index].tolist(),
            name=f"{index}: {label(token)}",
            marker={"color": VALUE, "opacity": shades[index], "line": {"width": 1, "color": VALUE}},
            text=[label(token)] * len(columns),
            textposition="inside",
            insidetextanchor="middle",
            constraintext="both",
            hovertemplate="%{fullData.name}: %{y:.4f}<extra></extra>",
        )
        for index, token in enumerate(tokens)
    ]
    total = go.Scatter(
        x=columns,
        y=mixture.output.tolist(),
        mode="markers",
        name="o",
        marker={"symbol": "diamond", "size": 12, "color": VALUE, "line": {"width": 2, "color": "#FFFFFF"}},
        hovertemplate="o: %{y:.4f}<extra></extra>",
    )
    return go.Figure(
        [*bars, total],
        go.Layout(
            barmode="relative",
            height=400,
            margin={"l": 8, "r": 8, "t": 8, "b": 8},
            xaxis={"tickvals": columns, "ticktext": [f"v{i}" for i in columns], "fixedrange": True},
            yaxis={"fixedrange": True, "automargin": True, "range": _range(mixture), "zeroline": True},
            showlegend=False,
            paper_bgcolor="rgba(0,0,0,0)",
            plot_bgcolor="rgba(0,0,0,0)",
            dragmode=False,
        ),
    )


def _range(mixture: Mixture) -> list[float]:
    """Wide enough for all weight on any one value, so that nothing jumps while weight is moved."""
    reach = 1.1 * (float(mixture.values.abs().max()) or 1.0)
    return [-reach, reach]
