"""The trace of the session's lesson, and what of its text could not be used."""

import dataclasses

import streamlit as st

from attn_core import Lesson, LessonTrace, run_lesson, tokenize
from attn_core.tokens import MAX_CHARACTERS, MAX_TOKENS
from pages.shared.link import current
from pages.shared.text import _


def current_trace() -> LessonTrace:
    """The numbers of the session's lesson; a text without tokens gives way to the default text,
    a corpus that cannot be trained on to the untrained layer."""
    lesson = current(Lesson)
    kept = st.session_state.get("_trace")
    if kept is None or kept[0] != lesson:
        st.session_state["_trace"] = kept = lesson, _trace(lesson)
    trace: LessonTrace = kept[1]
    return trace


def _trace(lesson: Lesson) -> LessonTrace:
    if not tokenize(lesson.text, lesson.segmentation):
        lesson = dataclasses.replace(lesson, text=lesson.defaults().text)
    try:
        return run_lesson(lesson)
    except ValueError:  # the corpus cannot be trained on
        return run_lesson(dataclasses.replace(lesson, training_steps=0))


def warn_about_text() -> None:
    """Says so where the text is empty, too long, or has more tokens than can be worked by hand."""
    lesson, trace = current(Lesson), current_trace()
    if trace.lesson.text != lesson.text:
        st.warning(_("The text holds no word. The default sentence is shown; type at least one word."))
    if len(lesson.text) > MAX_CHARACTERS:
        st.warning(_("The text has more than {limit} characters; the first {limit} are used.", limit=MAX_CHARACTERS))
    if trace.n_cut:
        st.warning(
            _("The text has {n} tokens; the first {limit} are used.", n=MAX_TOKENS + trace.n_cut, limit=MAX_TOKENS)
        )


def warn_about_corpus() -> None:
    """Says so where the reader's own sentences cannot be trained on."""
    if current_trace().lesson.training_steps != current(Lesson).training_steps:
        st.warning(_("The sentences to train on hold too few words for this d_model; the layer is untrained."))


def warn_about_edits() -> None:
    """Says so where an edit names a cell that its matrix does not have."""
    unused = current_trace().unused_edits
    if unused:
        names = ", ".join(f"`{edit}`" for edit in unused)
        st.warning(_("These edits lie outside their matrix and change nothing: {names}", names=names))
