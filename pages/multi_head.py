"""Several heads: the same sentence looked at in several ways, joined and mixed; and two sentences instead of one."""

import streamlit as st

from attn_core import MultiHeadSelfAttention
from attn_core.comparison import compare_heads
from attn_core.explain import explain
from attn_core.figures.falk import falk
from attn_core.formulas import MULTI_HEAD
from attn_core.reference import torch_module
from attn_core.shares import head_shares
from attn_core.stages import heads_weights, stage
from pages.shared import heads
from pages.shared.lecture import closing, opening, terms_table, worked
from pages.shared.lesson import current_trace
from pages.shared.picker import cell_chart, cell_lists, place_list
from pages.shared.shell import alone, require_shell
from pages.shared.text import _, plain, prose


def side_by_side() -> None:
    """The heads side by side; joined and mixed; each head's share."""
    trace = current_trace()
    row, column = trace.lesson.query, trace.lesson.column
    product, query = stage(trace, "y"), trace.tokens[trace.lesson.query]
    explanation, compared = explain(trace, "y", row, column), compare_heads(trace, row)

    st.subheader(_("The heads side by side"), anchor=False)
    picture, numbers = st.columns([3, 2], gap="large")
    with picture:
        heads.show_weights(trace)
        st.caption(prose("multi_head", "reading"))
        heads.show_distances(trace, compared)
    with numbers:
        cell_lists(trace, heads_weights(trace)[trace.head])
        heads.show_comparison(trace, compared)

    st.subheader(_("Joined, and mixed by $W_O$"), anchor=False)
    st.markdown(prose("multi_head", "joined"))
    picture, numbers = st.columns([3, 2], gap="large")
    with picture:
        value = product.result.texts[row][column]
        alt = _(
            "The joined heads times W_O: y of {query}, column {column}, is {value}.",
            query=query,
            column=column,
            value=value,
        )
        cell_chart(falk(product, row, column), "joined_product", alt, fields=("query", "column"))
    with numbers:
        place_list("column", _("column"), product.result.columns)
        st.markdown(_("The output of all heads for **{query}**, column {column}:", query=plain(query), column=column))
        worked(explanation)
    terms_table(explanation)

    st.subheader(_("Each head's share of the output"), anchor=False)
    st.markdown(prose("multi_head", "shares"))
    shared = head_shares(trace, row)
    picture, numbers = st.columns(2, gap="large")
    with picture:
        heads.show_shares(trace, shared)
    with numbers:
        heads.show_share_numbers(trace, shared)


require_shell()
trace = current_trace()
opening("multi_head", MULTI_HEAD)
heads.controls(trace)
alone(side_by_side)

st.subheader(_("The same as PyTorch's own?"), anchor=False)
heads.show_check(trace)

st.subheader(_("Two sentences: cross-attention"), anchor=False)
heads.show_cross(trace)
closing("multi_head", MultiHeadSelfAttention, compare_heads, head_shares, torch_module)
