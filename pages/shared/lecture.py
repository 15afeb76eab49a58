"""The parts every page has: opening, worked example, closing."""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from attn_core.explain import Explanation
from attn_core.figures.tables import Table, tables
from pages.shared.picker import TABLES, drawn_pictures
from pages.shared.shell import title
from pages.shared.text import _, plain, prose

_LONG_TABLE = 400  # cells


def opening(name: str, formula: str) -> None:
    """Title, the idea in two sentences, the formula."""
    drawn_pictures()  # what a run that did not reach its end has left
    st.title(title(name), anchor=False)
    st.markdown(prose(name, "idea"))
    st.markdown(f"$\\large {formula}$")


@functools.cache
def _source(of: Callable[..., Any] | type) -> str:
    return inspect.getsource(of)


def worked(explanation: Explanation) -> None:
    """The chosen cell's factors, products and sum; all its terms with their running sum, folded."""
    lines(explanation.latex)
    if explanation.n_rest:
        st.caption(
            _("R stands for the sum of the {n} other terms; all of them are in the table below.", n=explanation.n_rest)
        )
    if not explanation.exact:
        st.caption(_("Rounded to {n} decimals; the total is the rounded exact sum.", n=explanation.decimals))


def lines(latex: tuple[str, ...]) -> None:
    """Short lines of inline mathematics: the screen breaks them where it must."""
    st.markdown("\n\n".join(f"${line}$" for line in latex))


def terms_table(explanation: Explanation) -> None:
    """Every term with its running sum, folded."""
    folded = st.expander(
        _("Every term with the running sum"), icon=":material/table_rows:", key="every_term", on_change="rerun"
    )
    if not folded.open:
        return
    with folded:
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


def text_table(names: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table as text, which wraps on a phone and is read aloud."""
    lines = (names, ["---"] * len(names), *rows)
    st.markdown("\n".join(f"| {' | '.join(map(str, line))} |" for line in lines))


def _pictures_as_tables() -> None:
    """Every number of the page's pictures as text, folded: for screen readers, and to copy."""
    pictures = drawn_pictures()
    if not pictures:
        return
    folded = st.expander(_("The pictures as tables"), icon=":material/table:", key=TABLES, on_change="rerun")
    if folded.open:
        with folded:
            for alt, figure in pictures:
                st.markdown(f"**{plain(alt)}**")
                for table in tables(figure):
                    _picture_table(table)


def _picture_table(table: Table) -> None:
    """As text; a long one in a frame of its own that scrolls."""
    if table.title:
        st.markdown(plain(table.title))
    if len(table.rows) * len(table.names) > _LONG_TABLE:
        st.dataframe(pd.DataFrame(table.rows, columns=_told_apart(table.names)), hide_index=True)
    else:
        text_table([plain(name) for name in table.names], [[plain(cell) for cell in row] for row in table.rows])


def _told_apart(names: Sequence[str]) -> list[str]:
    """Names of columns as a data frame needs them: each another."""
    return [f"{name} ({index})" if name in names[:index] else name for index, name in enumerate(names)]


def closing(name: str, *sources: Callable[..., Any] | type) -> None:
    """The pictures as tables, one thing to try, the code that computed the page, and where it comes from."""
    _pictures_as_tables()
    st.subheader(_("Try it"), anchor=False)
    st.markdown(prose(name, "try"))
    folded = st.expander(_("The code that computed this"), icon=":material/code:", key="code", on_change="rerun")
    if folded.open:
        for source in sources:
            folded.code(_source(source), language="python")
    st.caption(prose(name, "sources"))
