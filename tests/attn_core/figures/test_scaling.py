"""The pictures of the √d_k experiment, read back."""

import math
import subprocess
import sys

import plotly.graph_objects as go
import pytest

from attn_core.figures import scaling
from attn_core.palette import NEUTRAL, SCORES

HISTOGRAM = scaling.HistogramLabels("q·k", "density", "measured", "exact", "normal")
VARIANCE = scaling.VarianceLabels("d_k", "variance", "measured", "theory", "95 %", "divided")
PANEL = scaling.PanelLabels("d_k", "largest weight", "as they are", "divided")

D_KS = (1, 2, 4, 8)
THEORY = (1.0, 2.0, 4.0, 8.0)
LOW, HIGH = (0.5, 1.0, 3.0, 7.0), (1.5, 3.0, 5.0, 9.0)


def histogram(exact: tuple[float, ...] | None = (0.1, 0.6, 0.1)) -> go.Figure:
    return scaling.histogram(
        (-2.0, -1.0, 0.0, 1.0, 2.0),
        (0.0, 0.3, 0.45, 0.1),
        x=(-2.0, 0.0, 2.0),
        normal=(0.1, 0.4, 0.1),
        exact=exact,
        labels=HISTOGRAM,
    )


def variance(n_measured: int = 4, *, low: tuple[float, ...] = LOW) -> go.Figure:
    return scaling.variance(
        D_KS,
        theory=THEORY,
        low=low,
        high=HIGH,
        scaled_theory=(1.0, 1.0, 1.0, 1.0),
        measured=(1.1, 2.2, 3.9, 8.1)[:n_measured],
        scaled=(1.1, 1.1, 0.975, 1.0125)[:n_measured],
        labels=VARIANCE,
    )


def ratio(n_measured: int = 4) -> go.Figure:
    measured = (1.1, 2.2, 3.9, 8.1)[:n_measured]
    return scaling.variance_ratio(D_KS, theory=THEORY, low=LOW, high=HIGH, measured=measured, labels=VARIANCE)


def panels(n_measured: int = 4) -> list[go.Figure]:
    unscaled, scaled = (0.2, 0.3, 0.4, 0.45)[:n_measured], (0.2, 0.21, 0.2, 0.19)[:n_measured]
    return [
        scaling.largest_weight(D_KS, unscaled, scaled, labels=PANEL),
        scaling.mean_entropy(D_KS, unscaled, scaled, n_keys=10, labels=PANEL),
        scaling.jacobian_norm(D_KS, unscaled, scaled, labels=PANEL),
    ]


def test_histogram_read_back() -> None:
    bars, normal, exact = histogram().data
    assert (list(bars.x), list(bars.y), bars.width) == ([-1.5, -0.5, 0.5, 1.5], [0.0, 0.3, 0.45, 0.1], 1.0)
    assert (list(normal.x), list(normal.y), normal.line.color) == ([-2.0, 0.0, 2.0], [0.1, 0.4, 0.1], NEUTRAL)
    assert (list(exact.y), exact.line.color, bars.marker.color) == ([0.1, 0.6, 0.1], SCORES, SCORES)
    assert [trace.name for trace in histogram().data] == ["measured", "normal", "exact"]


def test_histogram_without_an_exact_density() -> None:
    assert [trace.name for trace in histogram(exact=None).data] == ["measured", "normal"]


def test_histogram_ranges_hold_everything_in_coarse_steps() -> None:
    assert tuple(histogram().layout.xaxis.range) == (-2.0, 2.0)
    assert tuple(histogram().layout.yaxis.range) == (0, pytest.approx(0.7))  # 1.05 · 0.6, up to a multiple of 0.1
    assert tuple(histogram(exact=None).layout.yaxis.range) == (0, pytest.approx(0.5))


def test_variance_read_back() -> None:
    low, high, theory, measured, scaled_theory, scaled = variance().data
    assert (list(low.y), list(high.y), high.fill) == (list(LOW), list(HIGH), "tonexty")
    assert (list(theory.x), list(theory.y)) == (list(D_KS), list(THEORY))
    assert (list(measured.y), measured.mode, measured.marker.color) == ([1.1, 2.2, 3.9, 8.1], "markers", NEUTRAL)
    assert (list(scaled_theory.y), scaled_theory.showlegend) == ([1.0] * 4, False)
    assert (list(scaled.y), scaled.marker.color) == ([1.1, 1.1, 0.975, 1.0125], SCORES)
    assert [trace.name for trace in variance().data if trace.showlegend is None] == [
        "95 %",
        "theory",
        "measured",
        "divided",
    ]


def test_variance_axes_are_logarithmic_and_fixed_by_theory() -> None:
    layout = variance().layout
    assert (layout.xaxis.type, layout.yaxis.type) == ("log", "log")
    assert tuple(layout.xaxis.range) == pytest.approx((-0.1, math.log10(8) + 0.1))
    assert tuple(layout.yaxis.range) == pytest.approx((math.log10(1 / 3), math.log10(24)))
    assert list(layout.xaxis.ticktext) == ["1", "4"]


def test_a_band_that_reaches_zero_ends_at_the_bottom() -> None:
    figure = variance(low=(0.0, 1.0, 3.0, 7.0))
    assert math.log10(figure.data[0].y[0]) == pytest.approx(figure.layout.yaxis.range[0])


def test_ratio_read_back() -> None:
    low, high, theory, measured = ratio().data
    assert list(low.y) == [0.5, 0.5, 0.75, 0.875]
    assert list(high.y) == [1.5, 1.5, 1.25, 1.125]
    assert list(theory.y) == [1.0] * 4
    assert list(measured.y) == pytest.approx([1.1, 1.1, 0.975, 1.0125])
    assert tuple(ratio().layout.yaxis.range) == (0.0, 2.0)


def test_panels_read_back() -> None:
    for figure in panels():
        unscaled, scaled = figure.data
        assert (list(unscaled.x), list(unscaled.y)) == (list(D_KS), [0.2, 0.3, 0.4, 0.45])
        assert list(scaled.y) == [0.2, 0.21, 0.2, 0.19]
        assert (unscaled.line.color, scaled.line.color) == (NEUTRAL, SCORES)
        assert unscaled.marker.symbol != scaled.marker.symbol  # told apart without colour
        assert (unscaled.name, scaled.name) == ("as they are", "divided")
    tops = [figure.layout.yaxis.range[1] for figure in panels()]
    assert tops == pytest.approx([1.05, 1.05 * math.log(10), 0.525])


@pytest.mark.parametrize("n_measured", [0, 1, 3])
def test_nothing_jumps_while_the_experiment_runs(n_measured: int) -> None:
    for partial, full in zip(
        (variance(n_measured), ratio(n_measured), *panels(n_measured)), (variance(), ratio(), *panels()), strict=True
    ):
        assert partial.layout == full.layout
        assert len(partial.data) == len(full.data)
        assert {len(trace.x) - len(trace.y) for trace in partial.data} == {0}
        assert len(partial.data[-1].y) == n_measured


def test_one_size_alone_can_be_drawn() -> None:
    figure = scaling.largest_weight((1,), (0.3,), (0.3,), labels=PANEL)
    assert tuple(figure.layout.xaxis.range) == (-0.1, 0.1)
    assert list(figure.layout.xaxis.tickvals) == [1]


@pytest.mark.parametrize("figure", [histogram(), variance(), ratio(), *panels()])
def test_every_picture_stays_still_and_leaves_colours_of_text_to_the_theme(figure: go.Figure) -> None:
    layout = figure.layout
    assert (layout.xaxis.fixedrange, layout.yaxis.fixedrange, layout.dragmode) == (True, True, False)
    assert layout.paper_bgcolor == layout.plot_bgcolor == "rgba(0,0,0,0)"
    assert layout.font.color is None
    assert layout.legend.orientation == "h"
    assert layout.height <= 420
    assert layout.xaxis.title.text in ("q·k", "d_k")
    assert layout.yaxis.title.text in ("density", "variance", "largest weight")


def test_the_experiment_itself_loads_no_figures() -> None:
    loaded = "print([name for name in ('plotly', 'streamlit', 'scipy') if name in sys.modules])"
    code = f"import sys, attn_core.scaling; {loaded}; import attn_core.figures.scaling; {loaded}"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["[]", "['plotly']"]
