"""Why √d_k: measure how the variance of q·k grows, and what that does to softmax."""

import streamlit as st

from attn_core.draws import dot_products_, draw_blocks, row_products
from attn_core.formulas import VARIANCE
from attn_core.measurement import Running, softmax_jacobian
from attn_core.scaling import ScalingSettings, variance_experiment
from pages.shared.experiment import experiment_controls, go_on_measuring, measured_so_far
from pages.shared.lecture import closing, opening
from pages.shared.link import current
from pages.shared.picker import step_buttons
from pages.shared.scaling_view import show_histogram, show_ratio, show_softmax, show_table, show_variance
from pages.shared.shell import alone, require_shell
from pages.shared.text import _, prose


def experiment() -> None:
    """The controls, and what has been measured so far."""
    experiment_controls()
    running = st.container()
    measurements = measured_so_far()
    settings, done = current(ScalingSettings), list(measurements.values())

    if done:
        shown = measurements.get(settings.histogram_d_k, done[-1])
        over, shape = st.columns(2, gap="large")
        with over:
            st.subheader(_("The variance over dₖ"), anchor=False)
            show_variance(settings, done)
        with shape:
            st.subheader(_("The distribution at dₖ = {d_k}", d_k=shown.d_k), anchor=False)
            show_histogram(settings, shown)
            step_buttons(ScalingSettings, "shown_d_k", list(measurements), shown.d_k)

        st.subheader(_("Measured against theory"), anchor=False)
        reading, picture = st.columns(2, gap="large")
        with reading:
            st.markdown(prose("scaling", f"entries_{settings.entries}"))
            st.markdown(prose("scaling", f"divisor_{settings.divisor}"))
        with picture:
            show_ratio(settings, done)

        st.subheader(_("What it does to softmax"), anchor=False)
        st.markdown(prose("scaling", "softmax"))
        show_softmax(settings, done)
        show_table(done)
    go_on_measuring(running, measurements)


require_shell()
opening("scaling", VARIANCE)
alone(experiment)
closing("scaling", variance_experiment, draw_blocks, dot_products_, row_products, Running, softmax_jacobian)
