"""Query, key, value: the same embedding through three fully connected layers."""

import streamlit as st

from attn_core import run_lesson
from attn_core.explain import explain
from attn_core.figures.falk import falk
from attn_core.figures.grid import grid
from attn_core.formulas import projections
from attn_core.stages import stage
from pages.shared.lecture import closing, opening, terms_table, worked
from pages.shared.lesson import current_trace
from pages.shared.link import current, tied
from pages.shared.picker import cell_chart, cell_lists, row_field, row_in_words
from pages.shared.settings import LAYERS, LayerSettings
from pages.shared.shell import alone, require_shell
from pages.shared.text import _, plain, prose


def three_layers() -> None:
    """One of the layers worked out, and the three side by side."""
    trace = current_trace()
    layer = current(LayerSettings).layer
    fields = (row_field(trace, layer), "column")
    row, column = (getattr(trace.lesson, field) for field in fields)
    product = stage(trace, layer)
    explanation = explain(trace, layer, row, column)
    token = product.result.rows[row]

    if trace.is_cross:
        st.markdown(prose("query_key_value", "crossed"))
    picture, numbers = st.columns([3, 2], gap="large")
    with picture:
        names = {"q": "query", "k": "key", "v": "value"}
        st.segmented_control(
            _("Show"),
            LAYERS,
            format_func=names.get,
            required=True,
            label_visibility="collapsed",
            **tied(LayerSettings, "layer"),
        )
        alt = _(
            "Embeddings times W gives the {layer} of each token; for {token}, column {column}: {value}.",
            layer=names[layer],
            token=token,
            column=column,
            value=product.result.texts[row][column],
        )
        cell_chart(falk(product, row, column), "layer_product", alt, fields=fields)
    with numbers:
        cell_lists(trace, product.result, fields=fields, labels=(_("token"), _("column")))
        st.markdown(
            _("The {layer} of **{token}**, column {column}:", layer=names[layer], token=plain(token), column=column)
        )
        worked(explanation)
        st.markdown(prose("query_key_value", layer))
    terms_table(explanation)

    same = _("The same embeddings, three results")
    crossed = _("Queries from one sentence, keys and values from the other")
    st.subheader(crossed if trace.is_cross else same, anchor=False)
    for step, place in zip(LAYERS, st.columns(3), strict=True):
        with place:
            matrix, chosen = stage(trace, step).result, row_field(trace, step)
            place_in = getattr(trace.lesson, chosen)
            alt = _(
                "All {layer} vectors; the row of {token}: {numbers}",
                layer=names[step],
                token=matrix.rows[place_in],
                numbers=row_in_words(matrix, place_in),
            )
            cell_chart(grid(matrix, place_in, column), f"layer_{step}", alt, fields=(chosen, "column"))


require_shell()
trace = current_trace()
opening("query_key_value", projections(crossed=trace.is_cross, positions=trace.has_positions))
alone(three_layers)
closing("query_key_value", run_lesson)
