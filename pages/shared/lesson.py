"""The trace of the session's lesson, and what of its text could not be used."""

import dataclasses

import streamlit as st

from attn_core import Lesson, LessonTrace, run_lesson, tokenize
from attn_core.attention import BlindQueryError
from attn_core.limits import MAX_CHARACTERS, MAX_TOKENS
from attn_core.masking import mask_matrix
from attn_core.masks import blind_queries, make_mask
from attn_core.stages import Matrix
from pages.shared.layer import train
from pages.shared.link import change, current
from pages.shared.text import _, plain

_NAMED_EDITS = 8


def current_trace() -> LessonTrace:
    """The numbers of the session's lesson; a text without tokens gives way to the default text, a corpus
    that cannot be trained on to the untrained layer, a mask under which a query sees nothing to none."""
    lesson = current(Lesson)
    before, trace = st.session_state.get("_trace", (None, None))
    if before is not lesson:
        other_cell = before is not None and before == lesson.with_cell_of(before)
        trace = trace.with_cell_of(lesson) if other_cell else _trace(lesson)
        st.session_state["_trace"] = lesson, trace
    return trace


def _trace(lesson: Lesson) -> LessonTrace:
    if not tokenize(lesson.text, lesson.segmentation):
        lesson = dataclasses.replace(lesson, text=lesson.defaults().text)
    try:
        if lesson.training_steps and train(lesson, on_stop=lambda steps: change(Lesson, training_steps=steps or 0)):
            st.rerun()  # without the place of the bar
        return run_lesson(lesson)
    except BlindQueryError:
        return _trace(dataclasses.replace(lesson, mask="none"))
    except ValueError:  # the corpus cannot be trained on
        return _trace(dataclasses.replace(lesson, training_steps=0))


def wanted_mask() -> Matrix:
    """The mask that the lesson asks for, even if a query sees nothing under it."""
    lesson, trace = current(Lesson), current_trace()
    shape = len(trace.tokens), len(trace.key_tokens)
    return mask_matrix(trace, make_mask(lesson.mask, *shape, n_padding=lesson.padding, hidden=lesson.hidden))


def warn_about_text() -> None:
    """Says so where the text is empty, too long, or has more tokens than can be worked by hand."""
    lesson, trace = current(Lesson), current_trace()
    if trace.lesson.text != lesson.text:
        st.warning(_("The text holds no word. The default sentence is shown; type at least one word."))
    if max(len(lesson.text), len(lesson.second_text)) > MAX_CHARACTERS:
        st.warning(_("The text has more than {limit} characters; the first {limit} are used.", limit=MAX_CHARACTERS))
    if trace.n_cut:
        st.warning(_("The last {n} tokens are left out: a sentence may have {limit}.", n=trace.n_cut, limit=MAX_TOKENS))


def warn_about_mask() -> None:
    """Says so where the mask leaves a query nothing to see."""
    lesson, trace = current(Lesson), current_trace()
    if trace.lesson.mask == lesson.mask:
        return
    blind = ", ".join(f"{row}: {trace.tokens[row]}" for row in blind_queries(~wanted_mask().hidden))
    st.warning(
        _(
            "Query {queries} may see no key: softmax over nothing has no answer. "
            "The mask is left out until every query sees at least one key.",
            queries=plain(blind),
        )
    )


def warn_about_corpus() -> None:
    """Says so where the reader's own sentences cannot be trained on."""
    if current_trace().lesson.training_steps != current(Lesson).training_steps:
        st.warning(_("The sentences to train on hold too few words for this d_model; the layer is untrained."))


def warn_about_edits() -> None:
    """Says so where an edit names a cell that the lesson does not have."""
    unused = current_trace().unused_edits
    if unused:
        names = ", ".join(f"`{edit}`" for edit in unused[:_NAMED_EDITS]) + (", …" if unused[_NAMED_EDITS:] else "")
        st.warning(_("This lesson has no such cell, and these edits change nothing: {names}", names=names))
