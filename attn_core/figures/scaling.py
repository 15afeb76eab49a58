"""The pictures of the √d_k experiment: a histogram, and curves over d_k.

Ranges come from theory, not from what has been measured so far, so a picture does not jump while
the experiment runs. The colour of the text is left to the theme.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from attn_core.palette import NEUTRAL, SCORES

_HEIGHT = 380
_PANEL_HEIGHT = 300
_GRID = "rgba(138,138,138,0.25)"
_BAND = "rgba(138,138,138,0.30)"
_TICKS = (1, 4, 16, 64, 256, 1024, 4096)
_LARGEST_JACOBIAN_NORM = 0.5


@dataclass(frozen=True)
class HistogramLabels:
    """Texts of the histogram."""

    x: str
    y: str
    measured: str
    exact: str
    normal: str


@dataclass(frozen=True)
class VarianceLabels:
    """Texts of the two pictures of the variance."""

    x: str
    y: str
    measured: str
    theory: str
    band: str
    scaled: str


@dataclass(frozen=True)
class PanelLabels:
    """Texts of a picture of one softmax figure."""

    x: str
    y: str
    unscaled: str
    scaled: str


def histogram(
    edges: Sequence[float],
    heights: Sequence[float],
    *,
    x: Sequence[float],
    normal: Sequence[float],
    exact: Sequence[float] | None,
    labels: HistogramLabels,
) -> go.Figure:
    """The measured inner products as bars of density, with the exact density and the normal one.

    Traces: bars, normal curve, exact curve (left out where exact is None).

    Args:
        edges: edges of the bars.
        heights: density of each bar.
        x: where the curves are known.
        normal: density of the normal law with the expected mean and variance.
        exact: exact density, if known.
        labels: translated texts.
    """
    centres = [(low + high) / 2 for low, high in itertools.pairwise(edges)]
    bars = go.Bar(x=centres, y=list(heights), width=edges[1] - edges[0], name=labels.measured)
    bars.marker = {"color": SCORES, "opacity": 0.45, "line": {"width": 0}}
    traces = [bars, _line(x, normal, labels.normal, NEUTRAL, dash="dash")]
    if exact is not None:
        traces.append(_line(x, exact, labels.exact, SCORES))
    figure = go.Figure(traces, _layout(_HEIGHT, labels.x, labels.y))
    figure.update_xaxes(range=[edges[0], edges[-1]])
    figure.update_yaxes(range=[0, _top(max(normal), [*heights, *(exact or ())])])
    return figure.update_layout(bargap=0)


def variance(
    d_ks: Sequence[int],
    *,
    theory: Sequence[float],
    low: Sequence[float],
    high: Sequence[float],
    scaled_theory: Sequence[float],
    measured: Sequence[float],
    scaled: Sequence[float],
    labels: VarianceLabels,
) -> go.Figure:
    """The variance of q·k over d_k, both axes logarithmic, before and after the divisor.

    Traces: band (its lower and its upper edge), theory, measured points, theory after the divisor,
    points after the divisor. The measured values may be fewer than d_ks while the experiment runs.

    Args:
        d_ks: all sizes of the experiment.
        theory: expected variance at each.
        low: lower edge of the 95 % band; 0 is drawn at the bottom.
        high: its upper edge.
        scaled_theory: expected variance after the divisor.
        measured: variance measured so far, in the order of d_ks.
        scaled: the same after the divisor.
        labels: translated texts.
    """
    bottom = min(*theory, *scaled_theory, 1.0) / 3
    top = max(*theory, *scaled_theory, 1.0) * 3
    figure = go.Figure(
        [
            *_band(d_ks, [max(bottom, value) for value in low], high, labels.band),
            _line(d_ks, theory, labels.theory, NEUTRAL),
            _points(d_ks, measured, labels.measured, NEUTRAL),
            _line(d_ks, scaled_theory, "", SCORES, dash="dot", showlegend=False),
            _points(d_ks, scaled, labels.scaled, SCORES),
        ],
        _layout(_HEIGHT, labels.x, labels.y),
    )
    figure.update_xaxes(_d_k_axis(d_ks))
    return figure.update_yaxes(type="log", range=[math.log10(bottom), math.log10(top)], exponentformat="power", dtick=1)


def variance_ratio(
    d_ks: Sequence[int],
    *,
    theory: Sequence[float],
    low: Sequence[float],
    high: Sequence[float],
    measured: Sequence[float],
    labels: VarianceLabels,
) -> go.Figure:
    """The measured variance as a multiple of the expected one, with the 95 % band.

    On axes over several powers of ten a band of a few per cent is thinner than a line; here it is seen.
    Traces: band (its lower and its upper edge), the line at 1, measured points.
    """
    lows, highs, ratios = (
        [value / expected for value, expected in zip(values, theory, strict=False)] for values in (low, high, measured)
    )
    reach = 2 * (max(highs) - 1)
    figure = go.Figure(
        [
            *_band(d_ks, lows, highs, labels.band),
            _line(d_ks, [1.0] * len(d_ks), labels.theory, NEUTRAL),
            _points(d_ks, ratios, labels.measured, SCORES),
        ],
        _layout(_PANEL_HEIGHT, labels.x, labels.y),
    )
    figure.update_xaxes(_d_k_axis(d_ks))
    return figure.update_yaxes(range=[1 - reach, 1 + reach])


def largest_weight(
    d_ks: Sequence[int], unscaled: Sequence[float], scaled: Sequence[float], *, labels: PanelLabels
) -> go.Figure:
    """The mean of each row's largest weight over d_k, on an axis from 0 to 1."""
    return _panel(d_ks, unscaled, scaled, labels, top=1.0)


def mean_entropy(
    d_ks: Sequence[int], unscaled: Sequence[float], scaled: Sequence[float], *, n_keys: int, labels: PanelLabels
) -> go.Figure:
    """The mean entropy of the rows over d_k, on an axis from 0 to its maximum ln(n_keys)."""
    return _panel(d_ks, unscaled, scaled, labels, top=math.log(n_keys))


def jacobian_norm(
    d_ks: Sequence[int], unscaled: Sequence[float], scaled: Sequence[float], *, labels: PanelLabels
) -> go.Figure:
    """The mean norm of the softmax Jacobian over d_k, on an axis from 0 to its bound 1/2."""
    return _panel(d_ks, unscaled, scaled, labels, top=_LARGEST_JACOBIAN_NORM)


def _panel(
    d_ks: Sequence[int], unscaled: Sequence[float], scaled: Sequence[float], labels: PanelLabels, *, top: float
) -> go.Figure:
    """Unscaled beside scaled; the values may be fewer than d_ks while the experiment runs."""
    figure = go.Figure(
        [
            _points(d_ks, unscaled, labels.unscaled, NEUTRAL, mode="lines+markers", symbol="square"),
            _points(d_ks, scaled, labels.scaled, SCORES, mode="lines+markers"),
        ],
        _layout(_PANEL_HEIGHT, labels.x, labels.y),
    )
    figure.update_xaxes(_d_k_axis(d_ks))
    return figure.update_yaxes(range=[0, 1.05 * top])


def _line(x: Sequence[float], y: Sequence[float], name: str, color: str, **options: Any) -> go.Scatter:
    dash = options.pop("dash", "solid")
    return go.Scatter(
        x=list(x), y=list(y), name=name, mode="lines", line={"color": color, "width": 2, "dash": dash}, **options
    )


def _points(
    d_ks: Sequence[int], y: Sequence[float], name: str, color: str, *, mode: str = "markers", symbol: str = "circle"
) -> go.Scatter:
    return go.Scatter(
        x=list(d_ks[: len(y)]),
        y=list(y),
        name=name,
        mode=mode,
        marker={"color": color, "size": 8, "symbol": symbol},
        line={"color": color, "width": 2},
    )


def _band(d_ks: Sequence[int], low: Sequence[float], high: Sequence[float], name: str) -> list[go.Scatter]:
    """Two edges with the space between them filled."""
    edge = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    return [
        go.Scatter(x=list(d_ks), y=list(low), showlegend=False, **edge),
        go.Scatter(x=list(d_ks), y=list(high), name=name, fill="tonexty", fillcolor=_BAND, **edge),
    ]


def _top(peak: float, values: Sequence[float]) -> float:
    """Room for the highest value, in steps of a quarter of the normal curve's peak: no jump at every redraw."""
    return peak / 4 * math.ceil(1.05 * max(peak, *values) / (peak / 4))


def _d_k_axis(d_ks: Sequence[int]) -> dict[str, Any]:
    """d_k in powers of two, all sizes in view."""
    ticks = [tick for tick in _TICKS if tick <= max(d_ks)]
    return {
        "type": "log",
        "range": [math.log10(min(d_ks)) - 0.1, math.log10(max(d_ks)) + 0.1],
        "tickvals": ticks,
        "ticktext": [str(tick) for tick in ticks],
    }


def _layout(height: int, x_title: str, y_title: str) -> go.Layout:
    axis = {"fixedrange": True, "gridcolor": _GRID, "zeroline": False, "automargin": True}
    return go.Layout(
        height=height,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        xaxis={**axis, "title": {"text": x_title, "standoff": 12}},
        yaxis={**axis, "title": {"text": y_title, "standoff": 12}},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        dragmode=False,
        hovermode="closest",
        legend={"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom", "traceorder": "normal"},
    )
