"""What each part adds to a vector, column by column."""

from collections.abc import Sequence

import plotly.graph_objects as go
from jaxtyping import Float
from torch import Tensor

from attn_core.figures.cells import label
from attn_core.figures.plain import bar, figure, scatter
from attn_core.mixing import Mixture
from attn_core.palette import EMBEDDING, VALUE
from attn_core.shares import HeadShares

_LIGHTEST, _DARKEST = 0.25, 1.0
_OTHERS = (0.2, 0.4)  # in turn, so that neighbours can be told apart
_NAMED_PARTS = 4


def contributions(mixture: Mixture, tokens: Sequence[str]) -> go.Figure:
    """What each value adds to an output; wide enough for all weight on any one value, so that nothing jumps."""
    reach = 1.1 * (float(mixture.values.abs().max()) or 1.0)
    return stacked(
        mixture.contributions,
        mixture.output,
        names=[f"{index}: {label(token)}" for index, token in enumerate(tokens)],
        parts=[label(token) for token in tokens],
        total="o",
        columns=[f"v{column}" for column in mixture.columns],
        colors=[_lighter(VALUE, shade) for shade in _shades(len(tokens))],
        edge=VALUE,
        reach=reach,
    )


def head_contributions(shared: HeadShares, heads: Sequence[str], chosen: int) -> go.Figure:
    """What each head adds to the output; the chosen head has the full colour, and of many the names are left out."""
    shades = [1.0 if head == chosen else _OTHERS[head % 2] for head in range(len(heads))]
    return stacked(
        shared.shares,
        shared.total,
        names=heads,
        parts=heads if len(heads) <= _NAMED_PARTS else [""] * len(heads),
        total="y",
        columns=[f"y{column}" for column in range(len(shared.total))],
        colors=[_lighter(EMBEDDING, shade) for shade in shades],
        edge=EMBEDDING,
        reach=1.1 * max(shared.reach, 0.01),
    )


def stacked(
    shares: Float[Tensor, "part column"],
    sums: Float[Tensor, " column"],
    *,
    names: Sequence[str],
    parts: Sequence[str],
    total: str,
    columns: Sequence[str],
    colors: Sequence[str],
    edge: str,
    reach: float,
) -> go.Figure:
    """Stacked bars, one trace per part; a diamond marks the sum they add up to.

    `names` are those under the pointer, `parts` the shorter ones inside the bars, both as Plotly's text; the
    vertical axis runs from −reach to reach.
    """
    places = list(range(len(columns)))
    bars = [
        bar(
            x=places,
            y=shares[index].tolist(),
            name=names[index],
            marker={"color": colors[index], "line": {"width": 1, "color": edge}},
            text=[part] * len(places),
            textposition="inside",
            insidetextanchor="middle",
            constraintext="both",
            hovertemplate="%{fullData.name}: %{y:.4f}<extra></extra>",
        )
        for index, part in enumerate(parts)
    ]
    sum_marks = scatter(
        x=places,
        y=sums.tolist(),
        mode="markers",
        name=total,
        marker={"symbol": "diamond", "size": 12, "color": edge, "line": {"width": 2, "color": "#FFFFFF"}},
        hovertemplate=f"{total}: %{{y:.4f}}<extra></extra>",
    )
    layout = {
        "barmode": "relative",
        "height": 400,
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "xaxis": {"tickvals": places, "ticktext": list(columns), "fixedrange": True},
        "yaxis": {"fixedrange": True, "automargin": True, "range": [-reach, reach], "zeroline": True},
        "showlegend": False,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "dragmode": False,
    }
    return figure([*bars, sum_marks], layout)


def _shades(count: int) -> list[float]:
    """From light to full."""
    return [_LIGHTEST + (_DARKEST - _LIGHTEST) * index / max(1, count - 1) for index in range(count)]


def _lighter(color: str, shade: float) -> str:
    """The colour mixed with white; not see-through, so that it is the same on a dark page."""
    parts = [int(color[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(255 - (255 - part) * shade):02X}" for part in parts)
