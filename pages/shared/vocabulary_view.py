"""The vocabulary of the lesson: how large its embedding layer is, and which word has which ID."""

import pandas as pd
import streamlit as st

from attn_core import LessonTrace
from pages.shared.text import _, plain


def show_vocabulary(trace: LessonTrace) -> None:
    """The number of parameters, the tokens' IDs, and the ID of any word that a reader looks up."""
    st.markdown(
        _(
            "K = {n_words} words, M = {d_model} numbers each: {total} parameters.",
            n_words=len(trace.vocabulary),
            d_model=trace.lesson.d_model,
            total=trace.w_e.numel(),
        )
    )
    st.dataframe(pd.DataFrame(trace.id_table, columns=[_("token"), "ID"]), hide_index=True, height=180)
    word = st.text_input(_("Look up a word"), placeholder=_("any word"), key="lookup")
    if word:
        found = trace.vocabulary.encode((word,))[0]
        known = _("**{word}** has ID {id}.", word=plain(word), id=found)
        unknown = _(
            "**{word}** is not in the vocabulary: it gets ID 0, the word for everything unknown.", word=plain(word)
        )
        st.markdown(known if found else unknown)
