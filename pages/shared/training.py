"""Training the embedding layer: its corpus, its progress, and what became of the words."""

import dataclasses

import pandas as pd
import streamlit as st

from attn_core import Lesson, LessonTrace, run_lesson
from attn_core.corpus import KINDS
from attn_core.embeddings import DEFAULT_STEPS
from attn_core.figures.plane import plane
from attn_core.learned import LayerReport, layer_reports
from attn_core.limits import MAX_EMBEDDING_STEPS
from pages.shared.layer import train
from pages.shared.link import change, current, refuse, tied
from pages.shared.picker import chart
from pages.shared.text import _, plain, prose

_WANTED = "_wanted_training_steps"
_LONGEST_CORPUS = 800  # characters: in Japanese each takes nine of the link's


def training_controls(trace: LessonTrace) -> None:
    """Corpus, number of steps, and the buttons that train the layer, stop, and forget."""
    st.markdown(prose("one_hot", "training"))
    with st.expander(_("Train on sentences of your own"), icon=":material/edit_note:"):
        st.text_area(
            _("One sentence per line; empty means the built-in sentences"),
            max_chars=_LONGEST_CORPUS,
            **tied(Lesson, "corpus"),
        )
    steps = st.slider(
        _("Training steps"),
        10,
        MAX_EMBEDDING_STEPS,
        DEFAULT_STEPS,
        step=10,
        key="wanted_steps",
        persist_state="session",
    )
    with st.container(horizontal=True):
        st.button(
            _("Train"), icon=":material/model_training:", type="primary", key="train", on_click=_want, args=(steps,)
        )
        st.button(
            _("Forget"),
            icon=":material/restart_alt:",
            key="forget",
            disabled=not current(Lesson).training_steps,
            on_click=change,
            args=(Lesson,),
            kwargs={"training_steps": 0},
        )
    if _WANTED in st.session_state:
        _train(dataclasses.replace(trace.lesson, training_steps=st.session_state[_WANTED]))


def _train(wanted: Lesson) -> None:
    """Trains to the end, or to the step at which it is stopped; the link then holds the number of steps."""
    try:
        run_lesson(dataclasses.replace(wanted, training_steps=1))  # too few words are told before any work
        train(wanted, on_stop=_take)
        _take(wanted.training_steps)
    except ValueError:
        _take(None)
        words = _("sentences with two different words each, and more words in all than d_model")
        refuse(Lesson, "corpus", wanted.corpus[:40], words)
    st.rerun()


def _want(steps: int) -> None:
    st.session_state[_WANTED] = steps


def _take(steps: int | None) -> None:
    del st.session_state[_WANTED]
    if steps is not None:
        change(Lesson, training_steps=steps)


def show_layers(trace: LessonTrace) -> None:
    """Maps before and after, how well kinds separate, and the chosen token's neighbours."""
    before, after = layer_reports(trace)
    trained = trace.lesson.training_steps > 0
    token = trace.tokens[trace.lesson.query]
    titles = (_("as the seed made it"), _("after {n} steps", n=trace.lesson.training_steps))
    for report, title, name, place in zip((before, after), titles, ("before", "after"), st.columns(2), strict=True):
        with place:
            if trained:
                st.markdown(f"**{title}**")
            if trained or name == "after":  # untrained: the lesson's own layer, with its edits
                _map(trace, report, name)
    if trained:
        near = pd.DataFrame(
            {
                _("nearest to {token} before", token=token): [word for word, _cosine in before.neighbours],
                _("nearest to {token} after", token=token): [word for word, _cosine in after.neighbours],
                _("cosine"): [cosine for _word, cosine in after.neighbours],
            }
        )
        st.dataframe(near, hide_index=True)
    st.markdown(prose("one_hot", "map_trained" if trained else "map"))


def _map(trace: LessonTrace, report: LayerReport, name: str) -> None:
    axis = _("principal axis {n}: {share:.0%} of the variance")
    axes = tuple(axis.format(n=n, share=float(share)) for n, share in enumerate(report.shares, 1))
    figure = plane(
        report.words,
        report.plane,
        in_text=trace.ids,
        chosen=trace.ids[trace.lesson.query],
        axes=axes,
        kinds=KINDS if report.purity is not None else None,
    )
    nearest, cosine = report.neighbours[0]
    alt = _(
        "Map of all {n} words by their embeddings; the text's words are coloured. "
        "Nearest to {token} is {nearest} (cosine {cosine:.2f})",
        n=len(report.words),
        token=trace.tokens[trace.lesson.query],
        nearest=nearest,
        cosine=cosine,
    )
    if report.purity is not None:
        alt = _(
            "Map of all {n} words, coloured by kind; {purity:.0%} have a nearest neighbour of their own kind",
            n=len(report.words),
            purity=report.purity,
        )
    chart(figure, f"one_hot_map_{name}", alt)
    st.caption(plain(alt))
