import streamlit as st

from pages.shared.shell import require_shell

require_shell()
st.write("scaling")
