"""The whole computation of the lesson as one strip, and the lecture plan."""

import streamlit as st

from attn_core import run_lesson
from attn_core.figures.cells import texts
from attn_core.figures.grid import grid
from attn_core.figures.strip import strip
from attn_core.formulas import ATTENTION
from attn_core.stages import thread
from pages.shared.lecture import closing, opening
from pages.shared.lesson import current_trace
from pages.shared.link import current
from pages.shared.picker import block_clicked, chart, step_buttons
from pages.shared.plan import STAGE_PAGES, show_plan
from pages.shared.prepared import show_presets
from pages.shared.settings import OverviewSettings
from pages.shared.shell import go_to, page_link, require_shell
from pages.shared.text import _, prose

require_shell()
trace = current_trace()
matrices = thread(trace)
stage = current(OverviewSettings).stage

opening("overview", ATTENTION)
alt = _(
    "The lesson's nine matrices in order, lit up to stage {stage}, {shape} numbers: {name}",
    stage=stage + 1,
    shape=matrices[stage].shape,
    name=prose("overview", f"stage_{stage}").split("**")[1],
)
clicked = block_clicked(strip(matrices, stage), "overview_strip", alt)
if clicked is not None:
    go_to(STAGE_PAGES[clicked])
explanation, numbers = st.columns(2, gap="large")
with explanation:
    step_buttons(OverviewSettings, "stage", range(len(matrices)), stage)
    st.markdown(prose("overview", f"stage_{stage}"))
    page_link(STAGE_PAGES[stage])
with numbers:
    matrix = matrices[stage]
    alt = _(
        "Stage {stage}, {shape} numbers; the row of {token}: {numbers}",
        stage=stage + 1,
        shape=matrix.shape,
        token=trace.tokens[trace.lesson.query],
        numbers=", ".join(texts(matrix.values)[trace.lesson.query]),
    )
    chart(grid(matrix, trace.lesson.query), "overview_matrix", alt)

st.subheader(_("Lecture plan (90 minutes)"), anchor=False)
show_plan()
st.subheader(_("Prepared lessons"), anchor=False)
show_presets()
closing("overview", run_lesson)
