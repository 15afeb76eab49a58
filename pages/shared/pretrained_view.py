"""A pretrained model's heads in the session's language: all at a glance, one in full, one weight worked out."""

from collections.abc import Callable, Sequence

import pandas as pd
import streamlit as st

from attn_core.explain import Explanation, explain_division, explain_product, explain_weight
from attn_core.figures.cells import takes_two_clicks
from attn_core.figures.falk import falk
from attn_core.figures.glance import glance
from attn_core.figures.grid import grid
from attn_core.figures.lines import lines as weight_lines
from attn_core.limits import MAX_PINS
from attn_core.numbers import compact, texts, written
from attn_core.pretrained_settings import HeadPlace, PretrainedSettings
from attn_core.reading import HeadSteps, Reading, Shown
from attn_core.stages import Matrix
from pages.shared import pretrained_overlay as overlay
from pages.shared.lecture import lines, terms_table, worked
from pages.shared.link import change, current, tied
from pages.shared.picker import cell_buttons, click_chart, place_list
from pages.shared.pretrained_words import head_in_words, head_name, heads_in_words, layer_and_head_names, share
from pages.shared.text import _, plain, prose

_MOST = 3


def show_facts(reading: Reading) -> None:
    """The model's sizes, what of the text was read, and that the numbers are the model's own."""
    st.caption(
        _(
            "{layers} layers × {heads} heads · dₖ = {d_k} · {n} tokens. The pictures show the model's own weights. "
            "Computed anew from its q and k in float64, no weight differs by more than {difference}.",
            layers=reading.n_layers,
            heads=reading.n_heads,
            d_k=reading.query.shape[-1],
            n=len(reading.pieces.names),
            difference=compact(reading.difference, 2),
        )
    )
    _say_what_was_read(reading)


def _say_what_was_read(reading: Reading) -> None:
    """Where that is not the whole text, or nothing of it."""
    if all(reading.pieces.special):
        st.warning(_("The model finds nothing to read in this text but the special tokens that it puts around it."))
    if reading.pieces.left_out:
        st.warning(
            _(
                "The text is longer than {n} tokens: the last {left_out} were not read.",
                n=len(reading.pieces.names),
                left_out=reading.pieces.left_out,
            )
        )


def token_controls(reading: Reading, shown: Shown) -> None:
    """Special tokens in or out of the pictures, where there are some beside others; what then becomes of the rows."""
    if not (reading.pieces.has_words and any(reading.pieces.special)):
        return
    settings = current(PretrainedSettings)
    with st.container(horizontal=True, gap="medium"):
        st.toggle(_("Special tokens"), **tied(PretrainedSettings, "special_tokens"))
        if not settings.special_tokens:
            st.toggle(_("Let each row sum to 1 again"), **tied(PretrainedSettings, "renormalised"))
    if not settings.special_tokens:
        st.caption(_of_the_rows(shown, reading.nearest_place(settings.place)))


def _of_the_rows(shown: Shown, place: HeadPlace) -> str:
    """What the rows sum to without the special tokens."""
    if current(PretrainedSettings).renormalised:
        return _(
            "The pictures leave special tokens out and divide each row by its sum: these are no longer the model's "
            "own weights. The calculation below has all tokens."
        )
    row, _column = _cell(shown)
    return _(
        "The pictures leave special tokens out: the row of **{query}** sums to {sum}, the rest of its weight goes to "
        "them. The calculation below has all tokens.",
        query=plain(shown.tokens[row]),
        sum=written(shown.row_sum(place, row), 4),
    )


def current_shown(reading: Reading) -> Shown:
    """The weights as the controls want them."""
    settings = current(PretrainedSettings)
    return reading.shown(special=settings.special_tokens, renormalised=settings.renormalised)


# All heads.


def show_glance(reading: Reading, shown: Shown) -> None:
    """Every head as a small picture; a click chooses one."""
    place = reading.nearest_place(current(PretrainedSettings).place)
    words = heads_in_words(reading.measures)
    hover = [words[start : start + reading.n_heads] for start in range(0, len(words), reading.n_heads)]
    alt = _(
        "The weights of all {n} heads, {layers} layers below each other with {heads} heads each. Chosen: {chosen}.",
        n=len(words),
        layers=reading.n_layers,
        heads=reading.n_heads,
        chosen=f"{head_name(place)}: {hover[place.layer][place.head]}",
    )
    layers, heads = layer_and_head_names(reading)
    if reading.picture:
        figure = overlay.all_heads(reading, place, layers, heads)
    else:
        figure = glance(shown.weights, place.layer, place.head, layers, heads, hover)
    click_chart(figure, "all_heads", alt, _take_head)


def choose_head(reading: Reading) -> None:
    """The same choice by two lists and ←/→; what the head does, in words and numbers."""
    place = reading.nearest_place(current(PretrainedSettings).place)
    fields, counts = ("pretrained_layer", "pretrained_head"), (reading.n_layers, reading.n_heads)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        for field, label, count in zip(fields, (_("layer"), _("head")), counts, strict=True):
            st.selectbox(label, range(count), width=90, **tied(PretrainedSettings, field, at_most=count - 1))
        cell_buttons(PretrainedSettings, fields, counts, (place.layer, place.head))
        _pin_button(place)
    st.markdown(f"**{head_name(place)}**: {head_in_words(reading.measure(place))}")


def _pin_button(place: HeadPlace) -> None:
    """Pins the head, or unpins it; says so where there is no room for one more."""
    settings = current(PretrainedSettings)
    pinned = place in settings.pins
    full = not pinned and len(settings.pins) >= MAX_PINS
    st.button(
        _("Unpin") if pinned else _("Pin"),
        icon=":material/keep_off:" if pinned else ":material/keep:",
        shortcut="P",
        key="pin",
        disabled=full,
        on_click=lambda: change(PretrainedSettings, pins=settings.with_pin(place)),
    )
    if full:
        st.caption(_("{n} heads are pinned, no more fit: unpin one first.", n=MAX_PINS))


def _take_head(layer: int, head: int) -> None:
    change(PretrainedSettings, pretrained_layer=layer, pretrained_head=head)


# One head.


def show_head(reading: Reading, shown: Shown) -> None:
    """One head's weights as a matrix, and as lines from token to token."""
    place = reading.nearest_place(current(PretrainedSettings).place)
    if reading.picture:
        overlay.show_head(reading, place)
        return
    matrix = shown.matrix(place)
    row, column = _cell(shown)
    picture, threads = st.columns(2, gap="large")
    with picture:
        alt = _("The weights of {head}. {most}", head=head_name(place), most=_most_in_words(matrix, row))
        click_chart(grid(matrix, row, column), "head_weights", alt, _taking(shown))
        if takes_two_clicks(matrix):
            st.caption(prose("pretrained", "two_clicks"))
        _numbers(matrix)
    with threads:
        alt = _("Lines from each token to those it attends to. {most}", most=_most_in_words(matrix, row))
        click_chart(weight_lines(matrix, row, column), "head_lines", alt, _taking(shown))


def _numbers(matrix: Matrix) -> None:
    """A matrix of numbers to scroll in, sent when it is opened; equal tokens are told apart by their places."""
    folded = st.expander(_("All numbers"), icon=":material/table_rows:", key="all_numbers", on_change="rerun")
    if not folded.open:
        return
    columns, rows = ([f"{place} {name}" for place, name in enumerate(names)] for names in (matrix.columns, matrix.rows))
    with folded:
        st.dataframe(pd.DataFrame(texts(matrix.values, 4), index=rows, columns=columns))


def _most_in_words(matrix: Matrix, row: int) -> str:
    return _("{query} attends most to: {most}.", query=matrix.rows[row], most=_largest(matrix, row))


def _largest(matrix: Matrix, row: int) -> str:
    """The columns with the largest numbers in a row, and these."""
    order = matrix.values[row].argsort(descending=True, stable=True).tolist()[:_MOST]
    return ", ".join(f"{matrix.columns[place]} {written(float(matrix.values[row, place]), 4)}" for place in order)


def _cell(shown: Shown) -> tuple[int, int]:
    """The chosen query and key among the tokens that are shown."""
    settings = current(PretrainedSettings)
    return shown.nearest(settings.pretrained_query), shown.nearest(settings.pretrained_key)


def _taking(shown: Shown) -> Callable[[int, int], None]:
    """What a click does; it knows the places only, for it stays with the session, and the weights should not."""
    places = shown.places

    def take(query: int, key: int) -> None:
        change(PretrainedSettings, pretrained_query=places[query], pretrained_key=places[key])

    return take


# One weight.


def show_cell(reading: Reading) -> None:
    """How one weight comes about: q·k term by term, the division, softmax; in float64 from the model's own q and k."""
    settings = current(PretrainedSettings)
    head = reading.head(reading.nearest_place(settings.place))
    last = len(head.tokens) - 1
    row, column = min(settings.pretrained_query, last), min(settings.pretrained_key, last)
    explanation = explain_product(head.product(), row, column)
    if reading.picture:
        numbers = st.container()
    else:
        picture, numbers = st.columns([3, 2], gap="large")
        with picture:
            _show_product(head, explanation)
    with numbers:
        with st.container(horizontal=True, gap="small"):
            if not reading.picture:
                place_list("pretrained_query", "query", head.tokens, record_type=PretrainedSettings)
            place_list("pretrained_key", "key", head.tokens, record_type=PretrainedSettings)
        worked(explanation)
        _show_weight(head, row, column)
    terms_table(explanation)


def _show_product(head: HeadSteps, explanation: Explanation) -> None:
    """Q Kᵀ, with the chosen cell's row and column."""
    row, column = explanation.row, explanation.column
    alt = _(
        "The queries of {head} times its keys: {query} with {key} gives {value}.",
        head=head_name(head.place),
        query=head.tokens[row],
        key=head.tokens[column],
        value=written(explanation.total, 4),
    )
    click_chart(falk(head.product(), row, column), "head_product", alt, _take_product_cell)


def _take_product_cell(query: int, key: int) -> None:
    change(PretrainedSettings, pretrained_query=query, pretrained_key=key)


def _show_weight(head: HeadSteps, row: int, column: int) -> None:
    """From the score to the weight."""
    root = rf"\sqrt{{{head.d_k}}}" if head.divides_by_root else compact(head.divisor)
    lines(explain_division(head.attention, row, column, head.divisor, root))
    if not bool(head.mask[row, column]):
        st.markdown(prose("pretrained", "hidden"))
    lines(explain_weight(head.softmax, row, column))
    st.markdown(
        _(
            "**{query}** gives **{key}** the weight **{weight}**: {share} of its attention in {head}.",
            query=plain(head.tokens[row]),
            key=plain(head.tokens[column]),
            weight=written(float(head.attention.weights[row, column]), 4),
            share=share(float(head.attention.weights[row, column])),
            head=head_name(head.place),
        )
    )


# Several heads, and two texts.


def show_pins(reading: Reading, shown: Shown) -> None:
    """The pinned heads side by side."""
    pins = current(PretrainedSettings).pins
    if not pins:
        st.info(prose("pretrained", "no_pins"), icon=":material/keep:")
        return
    for start in range(0, len(pins), 3):
        # Aligned at the bottom: one head may take more words than its neighbours.
        columns = st.columns(3, gap="medium", vertical_alignment="bottom")
        for place, spot in zip(pins[start : start + 3], columns, strict=False):
            with spot:
                _show_pin(reading, shown, place)
                _unpin_button(place)


def _show_pin(reading: Reading, shown: Shown, place: HeadPlace) -> None:
    """One pinned head; of a head that another model has, the name."""
    if reading.nearest_place(place) != place:
        st.markdown(_("**{head}**: this model has no such head.", head=head_name(place)))
        return
    st.markdown(f"**{head_name(place)}**: {head_in_words(reading.measure(place))}")
    if reading.picture:
        overlay.show_small(reading, place)
    else:
        _show_small(shown, place)


def _show_small(shown: Shown, place: HeadPlace) -> None:
    matrix, cell = shown.matrix(place), _cell(shown)
    alt = _("The weights of {head}. {most}", head=head_name(place), most=_most_in_words(matrix, cell[0]))
    click_chart(grid(matrix, *cell), f"pinned_{place.layer}_{place.head}", alt, _taking(shown))


def _unpin_button(place: HeadPlace) -> None:
    st.button(
        _("Unpin"),
        icon=":material/keep_off:",
        key=f"unpin_{place.layer}_{place.head}",
        on_click=lambda: change(PretrainedSettings, pins=current(PretrainedSettings).with_pin(place)),
    )


def show_beside(readings: Sequence[Reading]) -> None:
    """The chosen head on two texts."""
    if len(readings) < 2:
        return
    place = readings[0].nearest_place(current(PretrainedSettings).place)
    for number, (reading, spot) in enumerate(zip(readings, st.columns(2, gap="large"), strict=True)):
        with spot:
            shown = current_shown(reading)
            matrix, cell = shown.matrix(place), _cell(shown)
            if number:
                _say_what_was_read(reading)
            st.markdown(head_in_words(reading.measure(place)))
            most = _most_in_words(matrix, cell[0])
            alt = _("The weights of {head}. {most}", head=head_name(place), most=most)
            click_chart(grid(matrix, *cell), f"text_{number}", alt, _taking(shown))
            st.caption(plain(most))


def show_rollout(reading: Reading) -> None:
    """How the layers' attention adds up, from the first to a chosen one."""
    settings = current(PretrainedSettings)
    picture, choice = st.columns([3, 2], gap="large")
    with choice:
        if reading.n_layers > 1:
            st.slider(
                _("Layers"), 1, reading.n_layers, **tied(PretrainedSettings, "rollout_layers", at_most=reading.n_layers)
            )
    n = min(settings.rollout_layers, reading.n_layers)
    if reading.picture:
        with picture:
            overlay.show_rollout(reading, n)
        return
    names = reading.pieces.names
    matrix = Matrix("R", "r", "weights", reading.rollout()[n - 1], names, names)
    row, column = (min(place, len(names) - 1) for place in (settings.pretrained_query, settings.pretrained_key))
    most = _("Most of what has reached {query}: {most}.", query=names[row], most=_largest(matrix, row))
    with choice:
        st.markdown(plain(most))
    with picture:
        alt = _("Rollout over {n} layers. {most}", n=n, most=most)
        click_chart(grid(matrix, row, column), "rollout", alt, _take_product_cell)
