"""Training: W_Q, W_K and W_V learn a task that needs attention."""

import streamlit as st

from attn_core.formulas import LEARNING
from attn_core.learning import AttentionOnlyModel, loss_and_gradients, train
from attn_core.optimizer import Adam
from attn_core.problems import closeness
from attn_core.tasks import task
from pages.shared.learning_run import go_on_learning, learned_so_far, learning_controls
from pages.shared.learning_view import (
    example_controls,
    show_answers,
    show_attention,
    show_curves,
    show_figures,
    show_matrices,
    show_task,
)
from pages.shared.lecture import closing, opening
from pages.shared.shell import alone, require_shell
from pages.shared.text import _, prose


def learning() -> None:
    """The controls, and what has been learned so far."""
    learning_controls()
    show_task()
    running = st.container()
    learned = learned_so_far()

    st.subheader(_("What it attends to"), anchor=False)
    figures, choice = st.columns(2, gap="large", vertical_alignment="bottom")
    with figures:
        show_figures(learned)
    with choice:
        example_controls(learned)
    show_attention(learned)
    show_answers(learned)

    if learned.step:
        st.subheader(_("Loss and accuracy over the steps"), anchor=False)
        show_curves(learned)

        st.subheader(_("$W_Q$, $W_K$ and $W_V$ before and after"), anchor=False)
        st.markdown(prose("training", "matrices"))
        show_matrices(learned)
    go_on_learning(running, learned)


require_shell()
opening("training", LEARNING)
alone(learning)
closing("training", task, AttentionOnlyModel, loss_and_gradients, Adam, train, closeness)
