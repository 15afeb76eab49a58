"""The whole computation of the lesson as one strip, and the lecture plan."""

import streamlit as st

from attn_core import run_lesson
from attn_core.figures.grid import grid
from attn_core.figures.strip import strip
from attn_core.formulas import ATTENTION
from attn_core.stages import last_step, thread
from pages.shared.lecture import closing, opening
from pages.shared.lesson import current_trace
from pages.shared.link import current
from pages.shared.picker import block_clicked, chart, row_field, step_buttons
from pages.shared.plan import STEP_PAGES, show_plan
from pages.shared.prepared import show_presets
from pages.shared.settings import OverviewSettings
from pages.shared.shell import alone, go_to, page_link, require_shell
from pages.shared.text import _, prose


def steps() -> None:
    """The strip, and the step up to which it is lit."""
    trace = current_trace()
    matrices = thread(trace)
    step = last_step(matrices, current(OverviewSettings).stage)
    matrix = matrices[step]
    row = getattr(trace.lesson, row_field(trace, step))

    alt = _(
        "The lesson's {n} matrices in order, lit up to {name}, {shape} numbers",
        n=len(matrices),
        shape=matrix.shape,
        name=prose("overview", f"stage_{step}").split("**")[1],
    )
    clicked = block_clicked(strip(matrices, step), "overview_strip", alt)
    if clicked is not None:
        go_to(STEP_PAGES[list(matrices)[clicked]])
    explanation, numbers = st.columns(2, gap="large")
    with explanation:
        step_buttons(OverviewSettings, "stage", list(matrices), step)
        st.markdown(prose("overview", f"stage_{step}"))
        page_link(STEP_PAGES[step])
    with numbers:
        alt = _(
            "{name}, {shape} numbers; the row of {token}: {numbers}",
            name=prose("overview", f"stage_{step}").split("**")[1],
            shape=matrix.shape,
            token=matrix.rows[row],
            numbers=", ".join(matrix.texts[row]),
        )
        chart(grid(matrix, row), "overview_matrix", alt)


require_shell()
opening("overview", ATTENTION)
alone(steps)
st.subheader(_("Lecture plan (90 minutes)"), anchor=False)
show_plan()
show_presets()
closing("overview", run_lesson)
