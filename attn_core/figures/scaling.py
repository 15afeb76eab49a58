"""The pictures of the √d_k experiment: a histogram, and curves over d_k.

Ranges come from theory, not from what has been measured so far, so a picture does not jump while
the experiment runs. The colour of the text is left to the theme.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from attn_core.figures.curves import curve_layout, line
from attn_core.figures.plain import Piece, bar, figure, scatter
from attn_core.palette import NEUTRAL, SCORES

_HEIGHT = 380
_PANEL_HEIGHT = 300
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
    marker = {"color": SCORES, "opacity": 0.45, "line": {"width": 0}}
    bars = bar(x=centres, y=list(heights), width=edges[1] - edges[0], name=labels.measured, marker=marker)
    traces = [bars, line(x, normal, labels.normal, NEUTRAL, dash="dash")]
    if exact is not None:
        traces.append(line(x, exact, labels.exact, SCORES))
    layout = curve_layout(_HEIGHT, labels.x, labels.y) | {"bargap": 0}
    layout["xaxis"]["range"] = [edges[0], edges[-1]]
    layout["yaxis"]["range"] = [0, _top(max(normal), [*heights, *(exact or ())])]
    return figure(traces, layout)


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
    layout = _layout_over(d_ks, _HEIGHT, labels)
    ends = [math.log10(bottom), math.log10(top)]
    layout["yaxis"] |= {"type": "log", "range": ends, "exponentformat": "power", "dtick": 1}
    return figure(
        [
            *_band(d_ks, [max(bottom, value) for value in low], high, labels.band),
            line(d_ks, theory, labels.theory, NEUTRAL),
            _points(d_ks, measured, labels.measured, NEUTRAL),
            line(d_ks, scaled_theory, "", SCORES, dash="dot", showlegend=False),
            _points(d_ks, scaled, labels.scaled, SCORES),
        ],
        layout,
    )


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
    layout = _layout_over(d_ks, _PANEL_HEIGHT, labels)
    layout["yaxis"]["range"] = [1 - reach, 1 + reach]
    return figure(
        [
            *_band(d_ks, lows, highs, labels.band),
            line(d_ks, [1.0] * len(d_ks), labels.theory, NEUTRAL),
            _points(d_ks, ratios, labels.measured, SCORES),
        ],
        layout,
    )


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
    layout = _layout_over(d_ks, _PANEL_HEIGHT, labels)
    layout["yaxis"]["range"] = [0, 1.05 * top]
    return figure(
        [
            _points(d_ks, unscaled, labels.unscaled, NEUTRAL, mode="lines+markers", symbol="square"),
            _points(d_ks, scaled, labels.scaled, SCORES, mode="lines+markers"),
        ],
        layout,
    )


def _points(
    d_ks: Sequence[int], y: Sequence[float], name: str, color: str, *, mode: str = "markers", symbol: str = "circle"
) -> Piece:
    return scatter(
        x=list(d_ks[: len(y)]),
        y=list(y),
        name=name,
        mode=mode,
        marker={"color": color, "size": 8, "symbol": symbol},
        line={"color": color, "width": 2},
    )


def _band(d_ks: Sequence[int], low: Sequence[float], high: Sequence[float], name: str) -> list[Piece]:
    """Two edges with the space between them filled."""
    edge = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    return [
        scatter(x=list(d_ks), y=list(low), showlegend=False, **edge),
        scatter(x=list(d_ks), y=list(high), name=name, fill="tonexty", fillcolor=_BAND, **edge),
    ]


def _top(peak: float, values: Sequence[float]) -> float:
    """Room for the highest value, in steps of a quarter of the normal curve's peak: no jump at every redraw."""
    return peak / 4 * math.ceil(1.05 * max(peak, *values) / (peak / 4))


def _layout_over(d_ks: Sequence[int], height: int, labels: VarianceLabels | PanelLabels) -> Piece:
    """d_k across in powers of two, all sizes in view."""
    layout = curve_layout(height, labels.x, labels.y)
    ticks = [tick for tick in _TICKS if tick <= max(d_ks)]
    layout["xaxis"] |= {
        "type": "log",
        "range": [math.log10(min(d_ks)) - 0.1, math.log10(max(d_ks)) + 0.1],
        "tickvals": ticks,
        "ticktext": [str(tick) for tick in ticks],
    }
    return layout
