"""Similarity: all inner products of queries with keys from one matrix product."""

import streamlit as st

from attn_core import attend
from attn_core.explain import explain, explain_cosine, explain_scaled
from attn_core.figures.falk import falk
from attn_core.formulas import SIMILARITY
from attn_core.geometry import cosines
from attn_core.stages import VIEWS, similarity_view
from pages.shared.lecture import closing, lines, opening, terms_table, worked
from pages.shared.lesson import current_trace
from pages.shared.link import current, tied
from pages.shared.picker import cell_chart, cell_lists
from pages.shared.settings import SimilaritySettings
from pages.shared.shell import alone, require_shell
from pages.shared.text import _, plain


def one_score() -> None:
    """The product, and one of its cells worked out."""
    trace = current_trace()
    row, column = trace.lesson.query, trace.lesson.key
    view = current(SimilaritySettings).view
    product = similarity_view(trace, view)
    explanation = explain(trace, "scores", row, column)

    picture, numbers = st.columns([3, 2], gap="large")
    with picture:
        names = {"scores": _("Scores Q Kᵀ"), "scaled": _("Scaled"), "masked": _("Masked"), "cosine": _("Cosine")}
        st.segmented_control(
            _("Show"),
            VIEWS,
            format_func=names.get,
            required=True,
            label_visibility="collapsed",
            **tied(SimilaritySettings, "view"),
        )
        alt = _(
            "Matrix product Q Kᵀ, shown: {view}. Query {query} and key {key} meet in {value}.",
            view=names[view],
            query=trace.tokens[row],
            key=trace.key_tokens[column],
            value=product.result.texts[row][column],
        )
        cell_chart(falk(product, row, column), "similarity_product", alt)
    with numbers:
        cell_lists(trace, product.result)
        query, key = plain(trace.tokens[row]), plain(trace.key_tokens[column])
        st.markdown(_("How similar are the query of **{query}** and the key of **{key}**?", query=query, key=key))
        worked(explanation)
        st.markdown(_("Then it is divided:"))
        lines(explain_scaled(trace, row, column))
        st.markdown(_("For comparison, the cosine looks at the angle alone:"))
        lines(explain_cosine(trace, row, column))
    terms_table(explanation)


require_shell()
opening("similarity", SIMILARITY)
alone(one_score)
closing("similarity", attend, cosines)
