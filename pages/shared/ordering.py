"""Order: the tokens change places, and the outputs are compared."""

import streamlit as st

from attn_core import LessonTrace
from attn_core.figures.grid import grid
from attn_core.numbers import compact
from attn_core.permutation import (
    ORDERS,
    OrderSettings,
    PermutationExperiment,
    order_variants,
    output_matrices,
    permutation_experiment,
    token_order,
    verdict,
)
from pages.shared.controls import limits
from pages.shared.lecture import text_table
from pages.shared.link import current, tied
from pages.shared.masking import mask_choice
from pages.shared.picker import cell_chart, chart, row_in_words
from pages.shared.positioning import position_choice
from pages.shared.text import _, plain, prose

SOURCES = (token_order, permutation_experiment, order_variants)
_FIELDS = ("query", "column")


def controls() -> None:
    """The new order; positions and mask, on which the outcome depends."""
    _order_choice()
    position_choice()
    mask_choice()


def _order_choice() -> None:
    names = {"reversed": _("Reversed"), "shuffled": _("Shuffled")}
    st.segmented_control(
        _("New order"), ORDERS, format_func=names.get, required=True, **tied(OrderSettings, "new_order")
    )
    if current(OrderSettings).new_order == "shuffled":
        st.number_input(
            _("Seed of the order"),
            width=140,
            **limits(OrderSettings, "shuffle_seed"),
            **tied(OrderSettings, "shuffle_seed"),
        )


def show_outputs(trace: LessonTrace, experiment: PermutationExperiment) -> None:
    """The outputs before, after, and after put back in the old order."""
    row = trace.lesson.query
    column = trace.column_of_head(trace.lesson.column)
    rows = (row, experiment.order.index(row), row)
    titles = (_("**1.** Before"), _("**2.** In the new order"), _("**3.** Rows put back"))
    keys = ("order_before", "order_after", "order_restored")
    for key, name, chosen, matrix, place in zip(
        keys, titles, rows, output_matrices(trace, experiment), st.columns(3), strict=True
    ):
        with place:
            st.markdown(name)
            alt = f"{name.replace('*', '')} ({matrix.rows[chosen]}: {row_in_words(matrix, chosen)})"
            if key == "order_after":  # a row of it is no place in the lesson's own order
                chart(grid(matrix, chosen, column), key, alt)
            else:
                cell_chart(grid(matrix, chosen, column), key, alt, fields=_FIELDS)


def show_difference(trace: LessonTrace, experiment: PermutationExperiment) -> None:
    """The new order in words, and the largest difference."""
    before, after = (plain(" · ".join(tokens)) for tokens in (trace.tokens, experiment.new_tokens))
    st.markdown(f"{before} → **{after}**")
    st.metric(_("Largest difference of any output from before"), compact(experiment.largest_difference, 2))
    st.caption(prose("masks_positions", verdict(trace, experiment)))


def show_variants(trace: LessonTrace, experiment: PermutationExperiment) -> None:
    """The largest difference under every kind of positions, with a mask and without."""
    masks = {"none": _("no mask"), "causal": _("causal mask"), "padding": _("padding mask"), "drawn": _("drawn mask")}
    positions = {"none": _("None"), "sinusoidal": _("Sinusoidal"), "learned": _("Learned")}
    found = {(v.positions, v.mask): v for v in order_variants(trace.lesson, experiment.order)}
    shown = list(dict.fromkeys(mask for kind, mask in found))
    text_table(
        (_("Positions"), *(masks[mask] for mask in shown)),
        [
            (name, *(compact(found[kind, mask].largest_difference, 2) for mask in shown))
            for kind, name in positions.items()
        ],
    )
