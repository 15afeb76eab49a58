"""Attention Explorer: the front door."""

import streamlit as st

from pages.shared.controls import lecture_bar, lesson_bar
from pages.shared.shell import RECORDS, freeze_heavy_imports, navigation, page_turner, run_page

freeze_heavy_imports()
opened = navigation()
lesson_bar(*RECORDS)
body, foot = st.container(), st.container()
with foot:
    page_turner(opened)
    lecture_bar(opened.name)
with body:
    run_page()
