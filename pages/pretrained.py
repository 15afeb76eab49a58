"""A real, pretrained model: all its heads at a glance, one in full, and one weight worked out."""

import streamlit as st

from attn_core import attend
from attn_core.formulas import ATTENTION
from attn_core.head_measures import measure_heads, rollout
from attn_core.pretrained import attention_calls
from attn_core.reading import read_text, see_picture
from pages.shared import pretrained_view as view
from pages.shared.lecture import closing, opening
from pages.shared.pretrained_choice import current_readings, model_controls, other_text
from pages.shared.pretrained_table import show_patterns, show_presets, show_table
from pages.shared.pretrained_take import show_downloads
from pages.shared.shell import alone, require_shell
from pages.shared.text import _, prose


def heads() -> None:
    """All heads, one of them, and one of its weights worked out."""
    readings = current_readings()
    if not readings:
        return
    reading = readings[0]
    shown = view.current_shown(reading)
    st.subheader(_("All heads at a glance"), anchor=False)
    picture, numbers = st.columns([3, 2], gap="large")
    with picture:
        view.show_glance(reading, shown)
        st.caption(prose("pretrained", "glance_picture" if reading.picture else "glance"))
    with numbers:
        view.choose_head(reading)
        show_patterns(reading)

    st.subheader(_("One head in full"), anchor=False)
    view.token_controls(reading, shown)
    view.show_head(reading, shown)

    st.subheader(_("One weight worked out"), anchor=False)
    st.markdown(prose("pretrained", "worked"))
    view.show_cell(reading)

    st.subheader(_("Heads side by side"), anchor=False)
    view.show_pins(reading, shown)

    if not reading.picture:
        st.subheader(_("The same head on another text"), anchor=False)
        other_text()
        view.show_beside(readings)

    st.subheader(_("Through the layers: rollout"), anchor=False)
    st.markdown(prose("pretrained", "rollout"))
    view.show_rollout(reading)

    st.subheader(_("Take it along"), anchor=False)
    show_downloads(reading)


require_shell()
opening("pretrained", ATTENTION)
model_controls()
readings = current_readings()
if readings:
    view.show_facts(readings[0])
    alone(heads)
    st.subheader(_("What lecturers look for, measured"), anchor=False)
    show_presets()
    st.subheader(_("Every head in numbers"), anchor=False)
    show_table(readings[0])
closing("pretrained", attention_calls, attend, read_text, see_picture, measure_heads, rollout)
