"""The module's own code, line by line, beside the shapes and values of one run."""

import streamlit as st

from attn_core import Lesson, SimpleSelfAttention
from attn_core.demonstration import DemonstrationSettings, parameter_count, run_demonstration
from attn_core.formulas import ATTENTION
from attn_core.listing import init_source, script
from pages.shared.demonstration_view import (
    demonstration_controls,
    show_check,
    show_code,
    show_line,
    show_spread,
    show_sweep,
    show_weights,
)
from pages.shared.lecture import closing, lines, opening
from pages.shared.link import current
from pages.shared.shell import alone, page_link, require_shell
from pages.shared.text import _, prose


def one_run() -> None:
    """The code beside one run of it, and what the run teaches."""
    settings = current(DemonstrationSettings)
    run = run_demonstration(settings)

    demonstration_controls()
    code, values = st.columns(2, gap="large")
    with code:
        show_code(run)
    with values:
        show_line(run)

    st.subheader(_("How many parameters?"), anchor=False)
    layers, count = st.columns(2, gap="large")
    with layers:
        st.code(init_source(), language="python", wrap_lines=True)
    with count:
        st.markdown(prose("self_attention_code", "parameters"))
        lines(parameter_count(settings.size))

    st.subheader(_("The same as PyTorch's own?"), anchor=False)
    show_check(run)

    st.subheader(_("Why are the weights nearly equal?"), anchor=False)
    show_weights(run)
    account, table = st.columns(2, gap="large")
    with account:
        st.markdown(prose("self_attention_code", "uniform"))
        page_link("scaling", label=_("Measure it on thousands of fresh layers"), query={"entries": "linear"})
    with table:
        show_spread(run)

    st.subheader(_("What would change that?"), anchor=False)
    reading, sweep = st.columns(2, gap="large")
    with reading:
        st.markdown(prose("self_attention_code", "change"))
    with sweep:
        show_sweep(settings)

    st.download_button(
        _("Download this run as a Python script (needs torch only)"),
        script(settings, current(Lesson).lang),
        file_name="self_attention.py",
        mime="text/x-python",
        icon=":material/download:",
        on_click="ignore",
    )


require_shell()
opening("self_attention_code", ATTENTION)
alone(one_run)
closing("self_attention_code", SimpleSelfAttention, run_demonstration)
