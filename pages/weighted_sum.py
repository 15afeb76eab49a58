"""Weighted sum: every output is a mixture of all values."""

import streamlit as st

from attn_core import attend
from attn_core.explain import explain
from attn_core.figures.falk import falk
from attn_core.formulas import WEIGHTED_SUM
from attn_core.mixing import MixingSettings, mixture, move_weight
from attn_core.stages import stage
from pages.shared.lecture import closing, opening, terms_table, worked
from pages.shared.lesson import current_trace
from pages.shared.link import current
from pages.shared.mixing_view import show_mixture
from pages.shared.picker import cell_chart, cell_lists
from pages.shared.shell import alone, require_shell
from pages.shared.text import _, plain, prose


def one_mixture() -> None:
    """The product, one of its cells worked out, and weight moved by hand."""
    trace = current_trace()
    product, fields = stage(trace, "output"), ("query", "column")
    row, column = trace.lesson.query, trace.column_of_head(trace.lesson.column)
    explanation = explain(trace, "output", row, column)
    query, number = trace.tokens[row], product.result.first_column + column

    picture, numbers = st.columns([3, 2], gap="large")
    with picture:
        alt = _(
            "Weights times V: output of {query}, column {column}: {value}.",
            query=query,
            column=number,
            value=product.result.texts[row][column],
        )
        cell_chart(falk(product, row, column), "sum_product", alt, fields=fields)
    with numbers:
        cell_lists(trace, product.result, fields=fields, labels=("query", _("column")))
        st.markdown(
            _(
                "The output of **{query}**, column {column}, takes something from every value:",
                query=plain(query),
                column=number,
            )
        )
        worked(explanation)
    terms_table(explanation)

    st.subheader(_("Move weight and see the output move"), anchor=False)
    st.markdown(prose("weighted_sum", "moving"))
    show_mixture(trace, mixture(trace, current(MixingSettings)))


require_shell()
opening("weighted_sum", WEIGHTED_SUM)
alone(one_mixture)
closing("weighted_sum", attend, mixture, move_weight)
