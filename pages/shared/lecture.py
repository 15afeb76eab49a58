"""The parts every page has: opening, worked example, closing."""

import inspect
from collections.abc import Callable
from typing import Any

import pandas as pd
import streamlit as st

from attn_core.explain import Explanation
from pages.shared.shell import title
from pages.shared.text import _, prose


def opening(name: str, formula: str) -> None:
    """Title, the idea in two sentences, the formula."""
    st.title(title(name), anchor=False)
    st.markdown(prose(name, "idea"))
    st.markdown(f"$\\large {formula}$")


def worked(explanation: Explanation) -> None:
    """The chosen cell's factors, products and sum; all its terms with their running sum, folded."""
    lines(explanation.latex)
    if not explanation.exact:
        st.caption(_("Rounded to {n} decimals; the total is the rounded exact sum.", n=explanation.decimals))


def lines(latex: tuple[str, ...]) -> None:
    """Short lines of inline mathematics: the screen breaks them where it must."""
    for line in latex:
        st.markdown(f"${line}$")


def terms_table(explanation: Explanation) -> None:
    """Every term with its running sum, folded."""
    with st.expander(_("Every term with the running sum"), icon=":material/table_rows:"):
        table = pd.DataFrame(
            {
                _("term"): [term.label for term in explanation.terms],
                _("left factor"): [term.left for term in explanation.terms],
                _("right factor"): [term.right for term in explanation.terms],
                _("product"): [term.product for term in explanation.terms],
                _("running sum"): [term.running for term in explanation.terms],
            }
        )
        st.dataframe(table, hide_index=True)


def closing(name: str, *sources: Callable[..., Any] | type) -> None:
    """One thing to try, the code that computed the page, and where it comes from."""
    st.subheader(_("Try it"), anchor=False)
    st.markdown(prose(name, "try"))
    with st.expander(_("The code that computed this"), icon=":material/code:"):
        for source in sources:
            st.code(inspect.getsource(source), language="python")
    st.caption(prose(name, "sources"))
