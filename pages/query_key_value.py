"""Query, key, value: the same embedding through three fully connected layers."""

import streamlit as st

from attn_core import run_lesson
from attn_core.explain import explain
from attn_core.figures.cells import texts
from attn_core.figures.falk import falk
from attn_core.figures.grid import grid
from attn_core.formulas import PROJECTIONS
from attn_core.stages import stage
from pages.shared.lecture import closing, opening, terms_table, worked
from pages.shared.lesson import current_trace
from pages.shared.link import current, tied
from pages.shared.picker import cell_chart, cell_lists, row_in_words
from pages.shared.settings import LAYERS, LayerSettings
from pages.shared.shell import require_shell
from pages.shared.text import _, plain, prose

require_shell()
trace = current_trace()
row, column = trace.lesson.query, trace.lesson.column
layer = current(LayerSettings).layer
product = stage(trace, layer)
explanation = explain(trace, layer, row, column)
token, fields = trace.tokens[row], ("query", "column")

opening("query_key_value", PROJECTIONS)
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
        value=texts(product.result.values)[row][column],
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

st.subheader(_("The same embeddings, three results"), anchor=False)
for step, place in zip(LAYERS, st.columns(3), strict=True):
    with place:
        matrix = stage(trace, step).result
        alt = _(
            "All {layer} vectors; the row of {token}: {numbers}",
            layer=names[step],
            token=token,
            numbers=row_in_words(matrix, row),
        )
        cell_chart(grid(matrix, row, column), f"layer_{step}", alt, fields=fields)
closing("query_key_value", run_lesson)
