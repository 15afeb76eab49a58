"""Positions: what is added to the embeddings, its waves, and what the vectors' inner products tell."""

import streamlit as st

from attn_core import Lesson, LessonTrace
from attn_core.explain import explain_position
from attn_core.figures.grid import grid
from attn_core.figures.positions import DistanceLabels, products_over_distance, waves
from attn_core.numbers import compact
from attn_core.position_study import (
    all_positions,
    closed_form,
    position_products,
    regularity,
    shown_kind,
    sinusoidal_products,
)
from attn_core.positions import POSITIONS, position_angles, position_vectors, sinusoidal
from attn_core.stages import position_sum
from pages.shared.lecture import lines
from pages.shared.link import tied
from pages.shared.picker import cell_chart, cell_lists, chart, row_in_words
from pages.shared.text import _, plain, prose

SOURCES = (position_angles, sinusoidal, position_vectors, position_products, sinusoidal_products)
_FIELDS = ("query", "column")


def controls() -> None:
    """The kind of positions."""
    position_choice()


def position_choice() -> None:
    """Which position vectors the lesson has."""
    names = {"none": _("None"), "sinusoidal": _("Sinusoidal"), "learned": _("Learned")}
    st.segmented_control(_("Positions"), POSITIONS, format_func=names.get, required=True, **tied(Lesson, "positions"))


def show_sum(trace: LessonTrace) -> None:
    """X, P and their sum as three grids."""
    row, column = trace.lesson.query, trace.lesson.column
    titles = {
        "position_x": _("**X**: embeddings"),
        "position_p": _("**+ P**: positions"),
        "position_inputs": _("**= X + P**: what goes on"),
    }
    for (key, name), matrix, place in zip(titles.items(), position_sum(trace), st.columns(3), strict=True):
        with place:
            st.markdown(name)
            alt = f"{name.replace('*', '')} ({trace.tokens[row]}: {row_in_words(matrix, row)})"
            cell_chart(grid(matrix, row, column), key, alt, fields=_FIELDS)


def show_entry(trace: LessonTrace) -> None:
    """One entry of the sum, worked out."""
    row, column = trace.lesson.query, trace.lesson.column
    cell_lists(trace, position_sum(trace)[2], fields=_FIELDS, labels=(_("token"), _("column")))
    st.markdown(
        _(
            "**{token}** stands at place t = {place}; column {column}:",
            token=plain(trace.tokens[row]),
            place=row,
            column=column,
        )
    )
    lines(explain_position(trace, trace.lesson.positions, row, column))
    if trace.lesson.positions == "sinusoidal":
        st.caption(_("Rounded to {n} decimals; computed with all digits.", n=4))


def show_waves(trace: LessonTrace) -> None:
    """All position vectors side by side."""
    matrix = all_positions(trace.lesson)
    row, place = trace.lesson.column, trace.lesson.query
    alt = _(
        "{n} position vectors as columns; column {column} of the place {place} is {value:.4f}.",
        n=len(matrix.columns),
        column=row,
        place=place,
        value=float(matrix.values[row, place]),
    )
    chart(waves(matrix, row, place), "position_waves", alt)
    st.caption(prose("masks_positions", f"waves_{shown_kind(trace.lesson)}"))


def show_products(trace: LessonTrace) -> None:
    """The inner products of all pairs of positions over their distance."""
    measured = position_products(all_positions(trace.lesson).values.T)
    labels = DistanceLabels(_("distance |s − t|"), _("inner product of p at s and p at t"))
    alt = _(
        "Inner products of all {n} pairs of positions over their distance; at the same distance they differ by "
        "at most {spread}.",
        n=len(measured.products),
        spread=compact(measured.spread, 2),
    )
    chart(products_over_distance(measured, closed_form(trace.lesson), labels), "position_products", alt)
    st.caption(prose("masks_positions", f"products_{regularity(trace.lesson)}"))
    st.caption(_("Largest difference at one distance: {spread}.", spread=compact(measured.spread, 2)))
