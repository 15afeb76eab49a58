"""A picture's patches in the session's language: one patch's numbers, the products it goes through, its attention."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from attn_core.explain import explain
from attn_core.figures.falk import falk
from attn_core.figures.picture import patch_numbers, patch_picture
from attn_core.images import CHANNELS, number_names
from attn_core.numbers import texts, written
from attn_core.picture_thread import PICTURE_STEPS, PictureSettings, PictureTrace
from attn_core.stages import Matrix, stage
from pages.shared.lecture import terms_table, text_table, worked
from pages.shared.link import change, current, tied
from pages.shared.picker import cell_buttons, chart, click_chart, place_list
from pages.shared.picture_choice import picture_remarks
from pages.shared.text import _, plain, prose

_MOST_SEEN = 5
_NUMBERS_SAID = 16


def show_patches(trace: PictureTrace) -> None:
    """The picture under its grid; a click chooses a patch."""
    patch, n = _patch(trace), trace.per_edge
    alt = _(
        "The picture cut into {n} × {n} = {total} patches. Chosen: {name}; its {count} numbers have the mean {mean}.",
        n=n,
        total=len(trace.tokens),
        name=trace.tokens[patch],
        count=len(trace.features),
        mean=written(trace.mean(patch), 2),
    )
    figure = patch_picture(trace.picture.pixels, n, patch, trace.tokens)
    click_chart(figure, "patches_picture", alt, lambda row, column: _choose(trace, row, column))
    st.caption(picture_remarks(trace.picture))


def show_patch(trace: PictureTrace) -> None:
    """The chosen patch's numbers, pixel by pixel and as the row that they become."""
    patch, size, channels = _patch(trace), trace.patch_size, trace.channels
    numbers = trace.asking.entries[patch]
    place_list("patch", _("patch"), trace.tokens, record_type=PictureSettings)
    st.markdown(
        _(
            "{n} patches; each is {size} × {size} pixels × {channels} = **{count}** numbers.",
            n=len(trace.tokens),
            size=size,
            channels=len(CHANNELS[channels]),
            count=len(numbers),
        )
    )
    alt = _(
        "The pixels of patch {name}, from {smallest} to {largest}: {numbers}",
        name=trace.tokens[patch],
        smallest=written(float(numbers.min()), 2),
        largest=written(float(numbers.max()), 2),
        numbers=", ".join(texts(numbers[None, :_NUMBERS_SAID], 2)[0]) + (" …" if len(numbers) > _NUMBERS_SAID else ""),
    )
    chart(patch_numbers(numbers, size, channels), "patch_numbers", alt)
    with st.expander(_("The same numbers as one row: row by row, pixel by pixel"), icon=":material/table_rows:"):
        names = number_names(size, channels)
        row = pd.DataFrame(
            {_("no."): range(len(names)), _("pixel"): names, _("value"): texts(numbers[None], 2)[0]}
        ).set_index(_("no."))
        st.dataframe(row, height=240)


def _patch(trace: PictureTrace) -> int:
    return min(current(PictureSettings).patch, len(trace.tokens) - 1)


def _key(trace: PictureTrace) -> int:
    return min(current(PictureSettings).patch_key, len(trace.tokens) - 1)


def _choose(trace: PictureTrace, row: int, column: int) -> None:
    change(PictureSettings, patch=trace.patch_at(row, column))


# From patches to outputs: the same products as for words.


def show_product(trace: PictureTrace) -> None:
    """One product of the thread, and one of its cells worked out."""
    names = {
        "x": "X",
        "q": "Q",
        "k": "K",
        "v": "V",
        "scores": "Q Kᵀ",
        "output": "A V",
    }
    st.segmented_control(
        _("Product"),
        PICTURE_STEPS,
        format_func=names.get,
        required=True,
        label_visibility="collapsed",
        **tied(PictureSettings, "patch_step"),
    )
    step = current(PictureSettings).patch_step
    product = stage(trace, step)
    fields = ("patch", "patch_key" if step == "scores" else "patch_column")
    row, column = _patch(trace), _column(product.result, fields[1])
    explanation = explain(trace, step, row, column)
    picture, numbers = st.columns([3, 2], gap="large")
    with picture:
        alt = _(
            "Matrix product {left} times {right}: patch {patch}, column {column}, is {value}.",
            left=product.left.shape,
            right=product.right.shape,
            patch=trace.tokens[row],
            column=product.result.columns[column],
            value=written(explanation.total, 4),
        )
        figure = falk(product, row, column)
        click_chart(figure, "patches_product", alt, lambda *cell: _take_cell(fields, cell))
    with numbers:
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            label = "key" if step == "scores" else _("column")
            columns, first = product.result.columns, product.result.first_column
            place_list(fields[1], label, columns, first, record_type=PictureSettings)
            shape = (len(trace.tokens), len(columns))
            cell_buttons(PictureSettings, fields, shape, (row, column), first)
        name = f"{trace.tokens[row]}, {product.result.columns[column]}"
        st.markdown(_("The cell **{name}**:", name=plain(name)))
        worked(explanation)
    terms_table(explanation)


def _column(result: Matrix, field: str) -> int:
    """The chosen column, counted inside the matrix."""
    chosen = getattr(current(PictureSettings), field) - result.first_column
    return max(0, min(chosen, len(result.columns) - 1))


def _take_cell(fields: Sequence[str], cell: Sequence[int]) -> None:
    change(PictureSettings, **dict(zip(fields, cell, strict=True)))


def show_attention(trace: PictureTrace) -> None:
    """The chosen patch's row of weights, laid over the picture."""
    patch, key, weights = _patch(trace), _key(trace), trace.attention.weights[_patch(trace)]
    most = [(name, written(weight, 4)) for name, weight in trace.most_seen(patch, _MOST_SEEN)]
    picture, numbers = st.columns([3, 2], gap="large")
    with picture:
        alt = _(
            "What patch {name} attends to, laid over the picture; most to {most}. Equal weights would be {equal}.",
            name=trace.tokens[patch],
            most=", ".join(f"{name} {weight}" for name, weight in most),
            equal=written(trace.equal_weight, 4),
        )
        figure = patch_picture(trace.picture.pixels, trace.per_edge, patch, trace.tokens, key=key, weights=weights)
        click_chart(figure, "patches_attention", alt, lambda row, column: _choose(trace, row, column))
    with numbers:
        st.info(prose("image_patches", "random"), icon=":material/casino:")
        st.markdown(_("What patch **{name}** attends to most:", name=plain(trace.tokens[patch])))
        text_table((_("patch"), _("weight")), most)
        st.caption(_("Equal weights would be 1/{n} = {equal:.4f}.", n=len(weights), equal=trace.equal_weight))
