"""Running a training: its controls, its progress, and stopping it."""

from collections.abc import Hashable

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attn_core.learning import LearningProgress, LearningSettings, train, untrained
from attn_core.limits import MAX_LEARNING_STEPS
from attn_core.tasks import TASKS
from pages.shared import gate
from pages.shared.controls import limits, scale
from pages.shared.link import change, current, tied
from pages.shared.text import _

_STOPPED = "_stopped_learning"
_STEPS = (10, 50, 100, 200, 400, 800, 1200, MAX_LEARNING_STEPS)
_RATES = (0.0001, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3)


def learning_controls() -> None:
    """What is learned, by how large a model, for how long."""
    tasks = {
        "copy": _("Copy the marked letter"),
        "reverse": _("Reverse the sequence"),
        "recall": _("Match the key"),
        "induction": _("Match the key in two steps"),
        "next_word_ja": _("Next word (Japanese)"),
        "next_word_en": _("Next word (English)"),
    }
    places = st.columns([6, 3, 5, 5, 3], gap="medium")
    with places[0]:
        st.selectbox(_("Task"), TASKS, format_func=tasks.get, **tied(LearningSettings, "task"))
    with places[1]:
        st.segmented_control(_("Layers of attention"), (1, 2), required=True, **tied(LearningSettings, "model_layers"))
    with places[2]:
        scale(_("Training steps"), LearningSettings, "learning_steps", _STEPS)
    with places[3]:
        scale(_("Learning rate"), LearningSettings, "learning_rate", _RATES)
    with places[4]:
        seed = limits(LearningSettings, "learning_seed") | tied(LearningSettings, "learning_seed")
        st.number_input(_("Seed of the training"), **seed)


def learned_so_far() -> LearningProgress:
    """What a run with the current settings has reached; the model as it starts, where none was asked for.

    The link says whether one was, so that it shows the same on a server that has not made the run yet.
    """
    settings = current(LearningSettings).of_run
    if not current(LearningSettings).trained:
        return untrained(settings)
    stopped: LearningProgress | None = st.session_state.get(_STOPPED)
    if stopped is not None and stopped.settings == settings:
        return stopped
    return gate.latest(_key()) or untrained(settings)


def go_on_learning(place: DeltaGenerator, shown: LearningProgress) -> None:
    """Trains when asked to, until done or stopped, with a bar in this place; then the page runs again to show it."""
    if shown.finished:
        return
    key, settings, found = _key(), current(LearningSettings).of_run, None
    with place:
        if current(LearningSettings).trained:
            found = gate.run(key, lambda: train(settings), _in_words, by_itself=True, on_stop=_keep)
        if found is None:
            label = _("Go on") if shown.step else _("Train")
            icon = ":material/model_training:"
            st.button(label, icon=icon, type="primary", key="train", on_click=_want, args=(key,))
    if found is not None:
        st.rerun()


def _key() -> tuple[Hashable, ...]:
    """What is only shown changes no number."""
    return "learning", current(LearningSettings).of_run


def _want(key: Hashable) -> None:
    """Asks for the run, and to be shown its end."""
    change(LearningSettings, shown_step=LearningSettings().shown_step, trained=True)
    gate.want(key)


def _keep(reached: LearningProgress | None) -> None:
    """A run that is stopped is the run of so many steps: the link then holds their number."""
    if reached is None or not reached.step:
        change(LearningSettings, trained=False)
        return
    st.session_state[_STOPPED] = reached.as_asked()
    change(LearningSettings, learning_steps=reached.step)


def _in_words(progress: LearningProgress) -> tuple[float, str]:
    steps = progress.settings.learning_steps
    text = _(
        "step {step} of {steps}: loss {loss:.3f}, {accuracy:.1%} of the unseen answers right",
        step=progress.step,
        steps=steps,
        loss=progress.latest.loss,
        accuracy=progress.latest.accuracy,
    )
    return progress.step / steps, text
