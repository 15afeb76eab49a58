"""Masks and positions: what a query may see, and where each token stands."""

import streamlit as st

from attn_core.formulas import MASKING, ORDER, POSITIONS
from attn_core.permutation import OrderSettings, permutation_experiment, token_order
from pages.shared import masking, ordering, positioning
from pages.shared.lecture import closing, opening
from pages.shared.lesson import current_trace
from pages.shared.link import current, tied
from pages.shared.settings import PARTS, MaskSettings
from pages.shared.shell import alone, require_shell
from pages.shared.text import _, prose


def masks() -> None:
    """The mask, and what it does to one row of scores."""
    trace = current_trace()
    drawing, effect = st.columns([3, 2], gap="large")
    with drawing:
        masking.show_mask(trace)
    with effect:
        masking.show_effect(trace)
    st.subheader(_("From scores to weights"), anchor=False)
    masking.show_steps(trace)
    masking.show_without(trace)
    st.subheader(_("−∞, and finite numbers in its place"), anchor=False)
    st.markdown(prose("masks_positions", "fills"))
    masking.show_fills(trace)
    st.subheader(_("A query that may see nothing"), anchor=False)
    st.markdown(prose("masks_positions", "blind"))
    masking.show_blind(trace)


def positions() -> None:
    """What is added to each embedding, and what inner products then know of distance."""
    trace = current_trace()
    positioning.show_sum(trace)
    entry, account = st.columns(2, gap="large")
    with entry:
        positioning.show_entry(trace)
    with account:
        st.markdown(prose("masks_positions", f"positions_{trace.lesson.positions}"))
    waves, products = st.columns(2, gap="large")
    with waves:
        st.subheader(_("Every position is a column"), anchor=False)
        positioning.show_waves(trace)
    with products:
        st.subheader(_("Inner products over the distance"), anchor=False)
        positioning.show_products(trace)


def order() -> None:
    """The same tokens in another order, with and without positions."""
    trace = current_trace()
    experiment = permutation_experiment(trace, token_order(trace, current(OrderSettings)))
    ordering.show_outputs(trace, experiment)
    difference, variants = st.columns(2, gap="large")
    with difference:
        ordering.show_difference(trace, experiment)
    with variants:
        st.markdown(prose("masks_positions", "variants"))
        ordering.show_variants(trace, experiment)


require_shell()
part = current(MaskSettings).part
view = {"masks": masking, "positions": positioning, "order": ordering}[part]
opening("masks_positions", {"masks": MASKING, "positions": POSITIONS, "order": ORDER}[part])
with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
    names = {"masks": _("Masks"), "positions": _("Positions"), "order": _("Order")}
    st.segmented_control(_("Show"), PARTS, format_func=names.get, required=True, **tied(MaskSettings, "part"))
    view.controls()
alone({"masks": masks, "positions": positions, "order": order}[part])
closing("masks_positions", *view.SOURCES)
