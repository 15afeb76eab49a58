"""The demonstration of the module in the session's language: its controls, its code, what was measured on it."""

import streamlit as st

from attn_core.demonstration import (
    LINES,
    Demonstration,
    DemonstrationSettings,
    expected_spread,
    scale_sweep,
    shown_matrix,
    weight_deviations,
)
from attn_core.figures.grid import grid
from attn_core.listing import code_line, stepped_source
from pages.shared.controls import limits
from pages.shared.lecture import text_table
from pages.shared.link import tied
from pages.shared.picker import chart, step_buttons
from pages.shared.text import _, prose


def demonstration_controls() -> None:
    """The sizes of the run and where its random numbers start."""
    names = {
        "batch": _("Batch: sequences"),
        "seq_len": _("seq_len: tokens"),
        "size": _("d_model of the module"),
        "module_seed": _("Seed of the module"),
    }
    with st.container(horizontal=True, gap="small"):
        for field, name in names.items():
            st.number_input(
                name, width=190, **limits(DemonstrationSettings, field), **tied(DemonstrationSettings, field)
            )


def show_code(run: Demonstration) -> None:
    """The source of forward with the current line marked."""
    st.code(stepped_source(run), language="python", wrap_lines=True)
    st.caption(_("▶ marks the current line; after # stands the shape that a line has made."))
    step_buttons(DemonstrationSettings, "shown_line", range(len(LINES)), run.settings.shown_line)


def show_line(run: Demonstration) -> None:
    """What the current line made: its shape, its meaning, its first values."""
    name = LINES[run.settings.shown_line]
    values, matrix = run.at(name), shown_matrix(run, name)
    shape = tuple(values.shape)
    st.markdown(f"`{code_line(run.settings.shown_line)}`")
    st.markdown(_("Shape **{shape}**", shape=shape))
    st.markdown(prose("self_attention_code", f"line_{name}"))
    alt = _(
        "The values that this line made, shape {shape}; the first is {first:.4f}.", shape=shape, first=values[0, 0, 0]
    )
    chart(grid(matrix), "demonstration_values", alt)
    rows, columns = matrix.values.shape
    st.caption(
        _(
            "First sequence of {batch}: {rows} of {all_rows} rows, {columns} of {all_columns} columns, to 4 decimals.",
            batch=shape[0],
            rows=rows,
            all_rows=shape[1],
            columns=columns,
            all_columns=shape[2],
        )
    )


def show_check(run: Demonstration) -> None:
    """The largest difference from torch's own function."""
    st.markdown(
        _(
            "Largest difference of any output from `F.scaled_dot_product_attention`: **{difference:.2g}**. "
            "Both compute in float32 (about 7 digits) and may add in another order.",
            difference=run.largest_difference,
        )
    )


def show_weights(run: Demonstration) -> None:
    """Smallest and largest weight beside 1 / seq_len, with the slider that changes them, and two pictures."""
    smallest, largest = run.weight_range
    st.slider(
        _("Multiply the input by"),
        step=0.5,
        **limits(DemonstrationSettings, "input_scale"),
        **tied(DemonstrationSettings, "input_scale"),
    )
    with st.container(horizontal=True, gap="medium"):
        st.metric(_("smallest weight"), f"{smallest:.4g}", width="content")
        st.metric(f"1 / seq_len = 1 / {run.settings.seq_len}", f"{run.equal_weight:.4g}", width="content")
        st.metric(_("largest weight"), f"{largest:.4g}", width="content")
    both, apart = st.columns(2, gap="large")
    with both:
        st.markdown(_("**The weights, coloured from 0 to 1**"))
        alt = _("Attention weights from {smallest:.4g} to {largest:.4g}.", smallest=smallest, largest=largest)
        chart(grid(shown_matrix(run, "weights")), "demonstration_weights", alt)
    with apart:
        st.markdown(_("**How far from equal, in percent of 1 / seq_len**"))
        deviations = weight_deviations(run)
        low, high = float(deviations.values.min()), float(deviations.values.max())
        alt = _("Weights lie {low:+.1f} % to {high:+.1f} % from 1 / seq_len.", low=low, high=high)
        chart(grid(deviations), "demonstration_deviations", alt)
        st.caption(alt)


def show_spread(run: Demonstration) -> None:
    """The measured spreads of the scores beside what fresh layers give on average."""
    measured, expected = run.spread, expected_spread(run.settings)
    rows = (
        (_("mean square"), measured.mean_square, expected.mean_square, "1/81"),
        (_("variance over all"), measured.over_all, expected.over_all, "1/185"),
        (_("variance within rows"), measured.within_rows, expected.within_rows, "1/324"),
    )
    names = (
        _("scores after √d"),
        _("this run"),
        _("mean over all seeds (approximation for large d)"),
        _("input × 1, large d and n"),
    )
    text_table(names, [(name, f"{seen:.4g}", f"{theory:.4g}", limit) for name, seen, theory, limit in rows])
    st.caption(_("One run is one draw of the layers: a factor of 2 between it and the mean is nothing unusual."))


def show_sweep(settings: DemonstrationSettings) -> None:
    """The same run with its input multiplied by several numbers."""
    names = (
        _("input ×"),
        _("variance within rows"),
        _("mean over all seeds (approximation for large d)"),
        _("smallest weight"),
        _("largest weight"),
    )
    rows = []
    for run in scale_sweep(settings):
        numbers = run.spread.within_rows, expected_spread(run.settings).within_rows, *run.weight_range
        rows.append((f"{run.settings.input_scale:g}", *(f"{number:.3g}" for number in numbers)))
    text_table(names, rows)
