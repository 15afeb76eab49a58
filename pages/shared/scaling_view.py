"""The charts of the √d_k experiment in the session's language."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from attn_core.figures.scaling import (
    HistogramLabels,
    PanelLabels,
    VarianceLabels,
    histogram,
    jacobian_norm,
    largest_weight,
    mean_entropy,
    variance,
    variance_ratio,
)
from attn_core.scaling import Measurement, ScalingSettings, density_curves, variance_theory
from pages.shared.picker import chart
from pages.shared.text import _


def show_variance(settings: ScalingSettings, done: Sequence[Measurement]) -> None:
    """Measured variances beside theory, before and after the divisor."""
    expected, last = variance_theory(settings), done[-1]
    figure = variance(
        expected.d_ks,
        theory=expected.variance,
        low=expected.low,
        high=expected.high,
        scaled_theory=expected.scaled,
        measured=[m.variance for m in done],
        scaled=[m.scaled_variance for m in done],
        labels=_variance_labels(_("variance of q·k")),
    )
    alt = _(
        "Variance of q·k over dₖ: {low:.3g} at {first}, {high:.4g} at {last}; {scaled:.3g} there after the divisor.",
        low=done[0].variance,
        first=done[0].d_k,
        high=last.variance,
        last=last.d_k,
        scaled=last.scaled_variance,
    )
    chart(figure, "scaling_variance", alt)


def show_ratio(settings: ScalingSettings, done: Sequence[Measurement]) -> None:
    """The same measurements as multiples of theory, where the sampling band can be seen."""
    expected = variance_theory(settings)
    figure = variance_ratio(
        expected.d_ks,
        theory=expected.variance,
        low=expected.low,
        high=expected.high,
        measured=[m.variance for m in done],
        labels=_variance_labels(_("measured / theory")),
    )
    inside = sum(m.band[0] <= m.variance <= m.band[1] for m in done)
    alt = _("{inside} of {n} measured variances lie inside the 95 % band.", inside=inside, n=len(done))
    chart(figure, "scaling_ratio", alt)
    st.caption(alt)


def show_histogram(settings: ScalingSettings, shown: Measurement) -> None:
    """The distribution of q·k at one d_k."""
    curves = density_curves(settings, shown.d_k)
    labels = HistogramLabels(
        "q·k", _("density"), _("measured"), _("exact density"), _("normal, same mean and variance")
    )
    figure = histogram(shown.edges, shown.heights, x=curves.x, normal=curves.normal, exact=curves.exact, labels=labels)
    alt = _(
        "Histogram of q·k at dₖ = {d_k}: mean {mean:.3g}, variance {variance:.4g}.",
        d_k=shown.d_k,
        mean=shown.mean,
        variance=shown.variance,
    )
    chart(figure, "scaling_histogram", alt)
    st.caption(alt)


def show_softmax(settings: ScalingSettings, done: Sequence[Measurement]) -> None:
    """Largest weight, entropy and Jacobian of softmax rows, without and with the divisor."""
    d_ks, last = [m.d_k for m in done], done[-1]
    panels = (
        ("largest_weight", _("largest weight"), largest_weight, {}),
        ("entropy", _("entropy (nats)"), mean_entropy, {"n_keys": settings.n_keys}),
        ("jacobian_norm", _("norm of the Jacobian"), jacobian_norm, {}),
    )
    for (name, title, draw, options), place in zip(panels, st.columns(3), strict=True):
        unscaled, scaled = ([getattr(figures, name) for figures in side] for side in _sides(done))
        labels = PanelLabels("dₖ", title, _("without divisor"), _("with divisor"))
        alt = _(
            "{title} at dₖ = {d_k}: {unscaled:.3g} without, {scaled:.3g} with the divisor.",
            title=title,
            d_k=last.d_k,
            unscaled=unscaled[-1],
            scaled=scaled[-1],
        )
        with place:
            chart(draw(d_ks, unscaled, scaled, labels=labels, **options), f"scaling_{name}", alt)
            st.caption(alt)


def show_table(done: Sequence[Measurement]) -> None:
    """Every measured number, folded."""
    with st.expander(_("All measured numbers"), icon=":material/table_rows:"):
        rows = [
            {
                "dₖ": m.d_k,
                _("samples"): m.n_done,
                _("mean"): m.mean,
                _("variance"): m.variance,
                _("theory"): m.theory.variance,
                _("95 % from"): m.band[0],
                _("95 % to"): m.band[1],
                _("after the divisor"): m.scaled_variance,
                _("largest weight"): m.unscaled.largest_weight,
                _("largest weight, scaled"): m.scaled.largest_weight,
            }
            for m in done
        ]
        st.dataframe(pd.DataFrame(rows), hide_index=True)


def _sides(done: Sequence[Measurement]) -> tuple[list, list]:
    return [m.unscaled for m in done], [m.scaled for m in done]


def _variance_labels(y: str) -> VarianceLabels:
    return VarianceLabels("dₖ", y, _("measured"), _("theory"), _("95 % of samples"), _("after the divisor"))
