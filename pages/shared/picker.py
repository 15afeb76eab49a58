"""Choosing one cell: by a click on the picture, by two lists, or by the arrow keys."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from attn_core import Lesson, LessonTrace
from attn_core.figures.cells import texts
from attn_core.links import Linked
from attn_core.stages import Matrix, Stage, neighbouring_cell
from pages.shared.link import change, tied
from pages.shared.text import _

PICTURE_FORMATS = ("png", "svg")
PICTURE_FORMAT = "picture_format"


def row_in_words(matrix: Matrix, row: int) -> str:
    """Every number of a row with its column's name, for a text alternative."""
    return ", ".join(f"{name} {number}" for name, number in zip(matrix.columns, texts(matrix.values)[row], strict=True))


def terms_in_words(product: Stage, row: int, column: int) -> str:
    """Both factors of every term of one cell, for a text alternative."""
    left, right = texts(product.left.values)[row], texts(product.right.values)
    terms = zip(product.right.rows, left, right, strict=True)
    return ", ".join(f"{name} {factor} · {numbers[column]}" for name, factor, numbers in terms)


def _config() -> dict[str, Any]:
    """One button in a chart's own toolbar: save the picture, in the format chosen under Share."""
    return {
        "displaylogo": False,
        "modeBarButtons": [["toImage"]],
        "toImageButtonOptions": {"format": st.session_state.get(PICTURE_FORMAT, PICTURE_FORMATS[0]), "scale": 2},
        "doubleClick": False,
        "scrollZoom": False,
    }


def cell_chart(figure: go.Figure, key: str, alt: str, *, fields: tuple[str, str] = ("query", "key")) -> None:
    """A picture whose click targets choose a cell of the lesson."""
    st.plotly_chart(
        figure,
        key=key,
        alt=alt,
        config=_config(),
        on_select=lambda: _take_click(key, fields),
        selection_mode="points",
    )


def chart(figure: go.Figure, key: str, alt: str) -> None:
    """A picture to look at."""
    st.plotly_chart(figure, key=key, alt=alt, config=_config())


def block_clicked(figure: go.Figure, key: str, alt: str) -> int | None:
    """A picture of blocks; the index of the block that was just clicked."""
    event = st.plotly_chart(figure, key=key, alt=alt, config=_config(), on_select="rerun", selection_mode="points")
    points = event.selection.points
    return points[0]["customdata"][0] if points else None


def cell_lists(
    trace: LessonTrace,
    matrix: Matrix,
    *,
    fields: tuple[str, str] = ("query", "key"),
    labels: tuple[str, str] = ("query", "key"),
) -> None:
    """The same choice by lists, with buttons (and ←/→) to the neighbouring cell."""
    row, column = (getattr(trace.lesson, field) for field in fields)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        _list(fields[0], labels[0], matrix.rows)
        _list(fields[1], labels[1], matrix.columns)
        for icon, by, shortcut in (("chevron_left", -1, "Left"), ("chevron_right", 1, "Right")):
            target = neighbouring_cell((len(matrix.rows), len(matrix.columns)), row, column, by)
            st.button(
                "",
                icon=f":material/{icon}:",
                shortcut=shortcut,
                key=f"step_{shortcut.lower()}",
                help=_("Next cell") if by > 0 else _("Previous cell"),
                on_click=change,
                args=(Lesson,),
                kwargs=dict(zip(fields, target, strict=True)),
            )


def _list(field: str, name: str, names: tuple[str, ...]) -> None:
    st.selectbox(
        name,
        range(len(names)),
        format_func=lambda index: f"{index}: {names[index]}",
        width=112,
        **tied(Lesson, field, at_most=len(names) - 1),
    )


def _take_click(key: str, fields: tuple[str, str]) -> None:
    points: list[dict[str, Any]] = st.session_state[key].selection.points
    if points:
        change(Lesson, **dict(zip(fields, points[0]["customdata"], strict=True)))


def step_buttons(record_type: type[Linked], field: str, values: Sequence[int], value: int) -> None:
    """Back and forward through a page's stages, by buttons and ←/→."""
    place = values.index(value)
    with st.container(horizontal=True, gap="small"):
        for label, icon, target, shortcut in (
            (_("Back"), "chevron_left", place - 1, "Left"),
            (_("Forward"), "chevron_right", place + 1, "Right"),
        ):
            inside = 0 <= target < len(values)
            st.button(
                label,
                icon=f":material/{icon}:",
                shortcut=shortcut,
                key=f"step_{shortcut.lower()}",
                disabled=not inside,
                on_click=change,
                args=(record_type,),
                kwargs={field: values[target] if inside else value},
            )
