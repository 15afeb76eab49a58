"""One row of weights as bars, and what every row sums to."""

import pandas as pd
import streamlit as st

from attn_core import LessonTrace
from attn_core.figures.bars import weight_bars
from attn_core.softmax import SoftmaxTrace
from attn_core.stages import Matrix
from pages.shared.picker import chart, row_in_words
from pages.shared.text import _, plain


def show_bars(trace: LessonTrace, steps: SoftmaxTrace, weights: Matrix) -> None:
    """What one query attends to, beside the lesson's own weights."""
    row, column = trace.lesson.query, trace.lesson.key
    query = trace.tokens[row]
    st.markdown(_("What **{query}** attends to; the grey marks show the lesson's own weights.", query=plain(query)))
    alt = _("Bars of the attention weights of {query}: {numbers}", query=query, numbers=row_in_words(weights, row))
    chart(weight_bars(trace.key_tokens, steps.weights[row], column, trace.attention.weights[row]), "softmax_bars", alt)


def show_sums(trace: LessonTrace, steps: SoftmaxTrace) -> None:
    """Each row's sum, and how spread out its weights are."""
    summary = {
        "query": trace.tokens,
        _("sum of weights"): steps.weights.sum(-1),
        _("entropy (at most {most:.4f})", most=steps.largest_entropy): steps.entropy,
    }
    st.dataframe(pd.DataFrame(summary), hide_index=True)
