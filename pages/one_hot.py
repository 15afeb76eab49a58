"""One-hot and embedding: a product with a one-hot vector selects one row of W_E."""

import streamlit as st

from attn_core import Vocabulary, one_hot, run_lesson
from attn_core.embeddings import train_embeddings
from attn_core.explain import explain
from attn_core.figures.falk import falk
from attn_core.figures.grid import grid
from attn_core.formulas import EMBEDDING_LAYER
from attn_core.stages import pairwise, stage
from pages.shared.lecture import closing, opening, worked
from pages.shared.lesson import current_trace
from pages.shared.picker import cell_chart, cell_lists, chart, row_in_words
from pages.shared.shell import alone, require_shell
from pages.shared.text import _, plain, prose
from pages.shared.training import show_layers, training_controls
from pages.shared.vocabulary_view import show_vocabulary


def one_row() -> None:
    """The product that selects a row of W_E, one cell of it, and where its word lies among the others."""
    trace = current_trace()
    row, column = trace.lesson.query, trace.lesson.column
    product = stage(trace, "x")
    explanation = explain(trace, "x", row, column)
    token = trace.tokens[row]

    picture, numbers = st.columns([3, 2], gap="large")
    with picture:
        alt = _(
            "One-hot times W_E: row {id} of W_E becomes the embedding of {token}; column {column} is {value}.",
            id=trace.ids[row],
            token=token,
            column=column,
            value=product.result.texts[row][column],
        )
        cell_chart(falk(product, row, column), "one_hot_product", alt, fields=("query", "column"))
    with numbers:
        cell_lists(trace, product.result, fields=("query", "column"), labels=(_("token"), _("column")))
        st.markdown(
            _("**{token}** has ID {id}: only the term at place {id} is left.", token=plain(token), id=trace.ids[row])
        )
        worked(explanation)
        show_vocabulary(trace)

    st.subheader(_("What the embedding adds: distances that differ"), anchor=False)
    st.markdown(prose("one_hot", "distances"))
    for name, (values, letter) in {"one_hot": (trace.one_hot, "one-hot"), "embedding": (trace.x, "X")}.items():
        for measure, place in zip(("distance", "cosine"), st.columns(2), strict=True):
            between = pairwise(values, trace.tokens, measure, letter)
            with place:
                titles = {
                    "distance": _("Distances between {what}", what=letter),
                    "cosine": _("Cosines between {what}", what=letter),
                }
                st.markdown(f"**{titles[measure]}**")
                alt = f"{titles[measure]} ({trace.tokens[0]}: {row_in_words(between, 0)})"
                chart(grid(between), f"{name}_{measure}", alt)

    st.subheader(_("Where the words lie, before and after training"), anchor=False)
    training_controls(trace)
    show_layers(trace)


require_shell()
opening("one_hot", EMBEDDING_LAYER)
alone(one_row)
closing("one_hot", Vocabulary, one_hot, run_lesson, train_embeddings)
