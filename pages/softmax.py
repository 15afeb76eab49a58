"""Softmax: a row of scaled scores becomes attention weights that sum to 1."""

import streamlit as st

from attn_core.explain import explain_weight
from attn_core.figures.grid import grid
from attn_core.formulas import SOFTMAX
from attn_core.numbers import texts
from attn_core.softmax import SoftmaxSettings, softmax_steps
from attn_core.stages import softmax_matrices
from pages.shared.controls import limits
from pages.shared.lecture import closing, lines, opening
from pages.shared.lesson import current_trace
from pages.shared.link import current, tied
from pages.shared.picker import cell_chart, cell_lists, row_in_words
from pages.shared.shell import alone, require_shell
from pages.shared.softmax_view import show_bars, show_sums
from pages.shared.text import _, plain, prose


def one_row() -> None:
    """Three steps from scores to weights, and one row of them."""
    trace = current_trace()
    settings = current(SoftmaxSettings)
    row, column = trace.lesson.query, trace.lesson.key
    steps = softmax_steps(trace.attention.masked, settings)
    logits, exponentials, weights = softmax_matrices(trace, steps)
    query, key, top = trace.tokens[row], trace.key_tokens[column], int(steps.weights[row].argmax())

    places = st.columns(3)
    with places[0]:
        st.markdown(_("**1.** What goes into softmax, z"))
        alt = _("What goes into softmax; the row of {query}: {numbers}", query=query, numbers=row_in_words(logits, row))
        cell_chart(grid(logits, row, column), "softmax_logits", alt)
    with places[1]:
        st.markdown(_("**2.** e to the power of each, and the row's sum Σ"))
        alt = _(
            "Exponentials with their row sums; the row of {query} sums to {total}",
            query=query,
            total=texts(steps.totals)[row][0],
        )
        cell_chart(grid(exponentials, row, column, totals=steps.totals), "softmax_exponentials", alt)
    with places[2]:
        st.markdown(_("**3.** Each divided by its row's sum: the weights"))
        alt = _(
            "Attention weights; the largest of {query} is {largest}, for {key}",
            query=query,
            largest=weights.texts[row][top],
            key=trace.key_tokens[top],
        )
        cell_chart(grid(weights, row, column), "softmax_weights", alt)

    picture, numbers = st.columns(2, gap="large")
    with picture:
        cell_lists(trace, weights)
        show_bars(trace, steps, weights)
        st.slider(
            _("Temperature: divides every score"),
            step=0.1,
            **limits(SoftmaxSettings, "temperature"),
            **tied(SoftmaxSettings, "temperature"),
        )
    with numbers:
        st.markdown(_("The weight of **{key}** for **{query}**:", key=plain(key), query=plain(query)))
        lines(explain_weight(steps, row, column))
        st.caption(_("Rounded to {n} decimals; computed with all digits.", n=4))
        show_sums(trace, steps)

    st.subheader(_("Why the maximum is subtracted first"), anchor=False)
    st.markdown(prose("softmax", "maximum"))
    st.slider(
        _("Added to every score"), step=10, **limits(SoftmaxSettings, "offset"), **tied(SoftmaxSettings, "offset")
    )
    st.toggle(_("Subtract each row's maximum"), **tied(SoftmaxSettings, "subtract_maximum"))


require_shell()
opening("softmax", SOFTMAX)
alone(one_row)
closing("softmax", softmax_steps)
