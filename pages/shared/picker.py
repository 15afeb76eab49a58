"""Choosing one cell: by a click on the picture, by two lists, or by the arrow keys."""

from collections.abc import Callable, Sequence
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from attn_core import Lesson, LessonTrace
from attn_core.links import Linked
from attn_core.stages import Matrix, Stage, neighbouring_cell
from pages.shared.link import change, tied
from pages.shared.text import _

PICTURE_FORMATS = ("png", "svg")
PICTURE_FORMAT = "picture_format"
_DRAWN = "_drawn"
TABLES = "pictures_as_tables"  # the key of what shows them, folded


def row_in_words(matrix: Matrix, row: int) -> str:
    """Every number of a row with its column's name, for a text alternative."""
    return ", ".join(f"{name} {number}" for name, number in zip(matrix.columns, matrix.texts[row], strict=True))


def terms_in_words(product: Stage, row: int, column: int) -> str:
    """Both factors of every term of one cell, for a text alternative."""
    left, right = product.left.texts[row], product.right.texts
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


def _plot(figure: go.Figure, key: str, alt: str, **options: Any) -> Any:
    """A picture; the tables at the page's end have its numbers too."""
    st.session_state.setdefault(_DRAWN, []).append((alt, figure))
    return st.plotly_chart(figure, key=key, alt=alt, config=_config(), **options)


def drawn_pictures() -> list[tuple[str, go.Figure]]:
    """The pictures that this run of the page has drawn so far, each with its text alternative; they are forgotten."""
    return st.session_state.pop(_DRAWN, [])


def cell_chart(figure: go.Figure, key: str, alt: str, *, fields: tuple[str, ...] = ("query", "key")) -> None:
    """A picture whose click targets choose a cell of the lesson: `fields` are what their customdata holds."""
    click_chart(figure, key, alt, lambda *cell: change(Lesson, **dict(zip(fields, cell, strict=True))))


def click_chart(figure: go.Figure, key: str, alt: str, take: Callable[..., None]) -> None:
    """A picture whose click targets hand what their customdata holds to `take`."""
    _plot(figure, key, alt, on_select=lambda: _take_click(key, take), selection_mode="points")


def chart(figure: go.Figure, key: str, alt: str) -> None:
    """A picture to look at."""
    _plot(figure, key, alt)


def block_clicked(figure: go.Figure, key: str, alt: str) -> int | None:
    """A picture of blocks; the index of the block that was just clicked."""
    event = _plot(figure, key, alt, on_select="rerun", selection_mode="points")
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
    shape, first = (len(matrix.rows), len(matrix.columns)), matrix.first_column
    row, column = (getattr(trace.lesson, field) - start for field, start in zip(fields, (0, first), strict=True))
    row, column = min(row, shape[0] - 1), min(max(column, 0), shape[1] - 1)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        place_list(fields[0], labels[0], matrix.rows)
        place_list(fields[1], labels[1], matrix.columns, first)
        cell_buttons(Lesson, fields, shape, (row, column), first)


def cell_buttons(
    record_type: type[Linked], fields: tuple[str, str], shape: tuple[int, int], cell: tuple[int, int], first: int = 0
) -> None:
    """Buttons (and ←/→) to the neighbouring cell of a matrix whose columns are counted from `first`."""
    for icon, by, shortcut in (("chevron_left", -1, "Left"), ("chevron_right", 1, "Right")):
        target_row, target_column = neighbouring_cell(shape, *cell, by)
        st.button(
            "",
            icon=f":material/{icon}:",
            shortcut=shortcut,
            key=f"step_{shortcut.lower()}",
            help=_("Next cell") if by > 0 else _("Previous cell"),
            on_click=change,
            args=(record_type,),
            kwargs={fields[0]: target_row, fields[1]: first + target_column},
        )


def row_field(trace: LessonTrace, step: str) -> str:
    """The field that chooses a row of the step's matrix: keys and values may be those of another sentence."""
    return "key" if trace.is_cross and step in ("second", "k", "v") else "query"


def place_list(
    field: str,
    name: str,
    names: tuple[str, ...],
    first: int = 0,
    *,
    record_type: type[Linked] = Lesson,
    width: int = 112,
) -> None:
    """A list of one axis of a matrix, counted from `first`; `width` in pixels."""
    st.selectbox(
        name,
        range(first, first + len(names)),
        format_func=lambda place: f"{place}: {names[place - first]}",
        width=width,
        **tied(record_type, field, at_least=first, at_most=first + len(names) - 1),
    )


def _take_click(key: str, take: Callable[..., None]) -> None:
    points: list[dict[str, Any]] = st.session_state[key].selection.points
    if points:
        take(*points[0]["customdata"])


def step_buttons(record_type: type[Linked], field: str, values: Sequence[Any], value: Any) -> None:
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
