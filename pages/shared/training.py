"""Training the embedding layer: its corpus, its progress, and what became of the words."""

import dataclasses

import pandas as pd
import streamlit as st

from attn_core import Lesson, LessonTrace, run_lesson
from attn_core.corpus import KINDS
from attn_core.embeddings import DEFAULT_STEPS, MAX_STEPS
from attn_core.figures.plane import plane
from attn_core.learned import LayerReport, layer_reports, lesson_training
from pages.shared.link import change, current, refuse, tied
from pages.shared.picker import chart
from pages.shared.text import _, plain, prose

_WANTED, _STEP = "_training_wanted", "_training_step"
_REPORT_EVERY = 10
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
        _("Training steps"), 10, MAX_STEPS, DEFAULT_STEPS, step=10, key="wanted_steps", persist_state="session"
    )
    with st.container(horizontal=True):
        st.button(_("Train"), icon=":material/model_training:", type="primary", key="train", on_click=_want)
        st.button(
            _("Forget"),
            icon=":material/restart_alt:",
            key="forget",
            disabled=not current(Lesson).training_steps,
            on_click=change,
            args=(Lesson,),
            kwargs={"training_steps": 0},
        )
    if st.session_state.pop(_WANTED, False):
        _train(trace, steps)


def _train(trace: LessonTrace, steps: int) -> None:
    """Trains to the end, or to the step at which it is stopped; the link then holds the number of steps."""
    bar = st.progress(0.0)
    st.button(_("Stop"), icon=":material/stop:", key="stop_training", on_click=_stop)
    try:
        run_lesson(dataclasses.replace(trace.lesson, training_steps=1))
    except ValueError:
        wanted = _("sentences with two different words each, and more words in all than d_model")
        refuse(Lesson, "corpus", trace.lesson.corpus[:40], wanted)
        st.rerun()
    for progress in lesson_training(trace, steps):
        st.session_state[_STEP] = progress.step
        if progress.step % _REPORT_EVERY:
            continue
        text = _("step {step} of {steps}, loss {loss:.4f}", step=progress.step, steps=steps, loss=progress.loss)
        bar.progress(progress.step / progress.steps, text)
    change(Lesson, training_steps=steps)
    st.rerun()


def _want() -> None:
    st.session_state[_WANTED] = True


def _stop() -> None:
    change(Lesson, training_steps=max(1, st.session_state[_STEP]))


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
