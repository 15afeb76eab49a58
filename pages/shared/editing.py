"""Putting numbers into the lesson's matrices by hand; a list of what was changed, with undo and reset."""

import pandas as pd
import streamlit as st

from attn_core import Lesson
from attn_core.edits import EDITED_MATRICES, Edit, EditedMatrix
from attn_core.limits import LARGEST_EDIT
from attn_core.stages import editable_matrix
from pages.shared.lesson import current_trace
from pages.shared.link import change, current, refuse
from pages.shared.text import _

_CHOSEN = "edited_matrix"


def edit_popover() -> None:
    """One matrix as a table whose cells can be typed into; every page follows."""
    n_edits = len(current(Lesson).edits)
    popover = st.popover(_("Edit numbers"), icon=":material/edit:", on_change="rerun", key="edit_popover")
    if not popover.open:
        return
    with popover:
        chosen = st.segmented_control(
            _("Matrix"), _editable(), required=True, default="W_Q", key=_CHOSEN, persist_state="session"
        )
        _table(chosen, n_edits)
        _list(current(Lesson).edits)


def _editable() -> list[EditedMatrix]:
    """Position vectors can be edited only where the lesson adds some."""
    return [name for name in EDITED_MATRICES if name != "p" or current(Lesson).positions != "none"]


def _table(name: EditedMatrix, n_edits: int) -> None:
    matrix = editable_matrix(current_trace(), name)
    table = pd.DataFrame(
        matrix.values.numpy(),
        index=[f"{index}: {row}" for index, row in enumerate(matrix.rows)],
        columns=[f"{index}: {column}" for index, column in enumerate(matrix.columns)],
    )
    key = f"table_{name}_{n_edits}"  # a new table for each edit: it starts from the numbers in force
    limits = st.column_config.NumberColumn(min_value=-LARGEST_EDIT, max_value=LARGEST_EDIT, required=True)
    st.data_editor(
        table,
        key=key,
        column_config=dict.fromkeys(table.columns, limits),
        height=min(38 * (len(table) + 1), 340),
        on_change=_take,
        args=(key, name),
    )


def _take(key: str, name: EditedMatrix) -> None:
    """Turns the cells that were typed into into edits; what is no number is refused by name."""
    edits = list(current(Lesson).edits)
    for row, cells in st.session_state[key]["edited_rows"].items():
        for column, value in cells.items():
            place = int(column.split(":")[0])
            try:
                edits.append(Edit(name, int(row), place, float(value)))
            except (TypeError, ValueError):
                refuse(Lesson, "edits", f"{name}[{row},{place}]={value}")
                return
    change(Lesson, edits=tuple(edits))


def _list(edits: tuple[Edit, ...]) -> None:
    if not edits:
        st.caption(_("Type a number into a cell. Everything after it is computed anew, on every page."))
        return
    st.code("\n".join(str(edit) for edit in edits), language=None, height=min(40 + 24 * len(edits), 160))
    with st.container(horizontal=True):
        st.button(
            _("Undo the last"),
            icon=":material/undo:",
            key="undo",
            on_click=change,
            args=(Lesson,),
            kwargs={"edits": edits[:-1]},
        )
        st.button(
            _("Undo all"),
            icon=":material/restart_alt:",
            key="reset",
            on_click=change,
            args=(Lesson,),
            kwargs={"edits": ()},
        )
