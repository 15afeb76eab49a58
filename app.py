"""Attention Explorer: the front door."""

import streamlit as st

from pages.shared.controls import lecture_bar, lesson_bar
from pages.shared.ink import style_sheet
from pages.shared.server import prepare_server
from pages.shared.shell import (
    RECORDS,
    come_back,
    navigation,
    page_body,
    page_turner,
    run_page,
    standing,
)
from pages.shared.turns import TURNS

prepare_server()
with TURNS.turn():
    opened = navigation()
    come_back()
    style_sheet()
    bar, body, foot = st.container(), page_body(), st.container()
    with bar, standing(opened):
        lesson_bar(*RECORDS)
    with foot:
        page_turner(opened)
        lecture_bar(opened.name)
    with body.container():
        run_page(opened)
