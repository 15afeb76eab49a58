"""What every head does, in numbers: the strongest of each pattern, the whole table, and prepared examples."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from attn_core.head_measures import PATTERNS, strongest
from attn_core.pretrained_settings import REPEATING, WIDE, HeadPlace, PretrainedSettings, preset
from attn_core.reading import Reading
from pages.shared.link import change
from pages.shared.pretrained_words import head_name, heads_in_words, pattern_names, share
from pages.shared.shell import page_link
from pages.shared.text import _, prose


def show_patterns(reading: Reading) -> None:
    """For each pattern the head that follows it most on this text; a click opens it."""
    found = {pattern: measure for pattern in PATTERNS if (measure := strongest(reading.measures, pattern))}
    if not found:
        return
    st.markdown(
        _("The strongest head of each kind, on this picture:")
        if reading.picture
        else _("The strongest head of each kind, on this text:")
    )
    names = pattern_names()
    for pattern, measure in found.items():
        place = HeadPlace(measure.layer, measure.head)
        st.button(
            _(
                "{pattern}: {share} in {head}",
                pattern=names[pattern],
                share=share(measure.shares[pattern]),
                head=head_name(place),
            ),
            key=f"strongest_{pattern}",
            type="tertiary",
            icon=":material/arrow_forward:",
            on_click=_take,
            args=(place,),
        )


def _take(place: HeadPlace) -> None:
    change(PretrainedSettings, pretrained_layer=place.layer, pretrained_head=place.head)


def show_table(reading: Reading) -> None:
    """All heads; a click on a column's name sorts, a chosen row opens its head."""
    st.markdown(prose("pretrained", "table"))
    names = {
        pattern: name
        for pattern, name in pattern_names().items()
        if any(measure.shares[pattern] is not None for measure in reading.measures)
    }
    measures = reading.measures
    columns = {
        _("layer"): [measure.layer for measure in measures],
        _("head"): [measure.head for measure in measures],
        _("in words"): heads_in_words(measures),
        _("entropy"): [measure.entropy for measure in measures],
        _("mean distance"): [measure.distance for measure in measures],
        **{name: [measure.shares[pattern] for measure in measures] for pattern, name in names.items()},
    }
    places = [HeadPlace(measure.layer, measure.head) for measure in reading.measures]
    percent = st.column_config.NumberColumn(format="percent")
    number = st.column_config.NumberColumn(format="%.2f")
    st.dataframe(
        pd.DataFrame(columns),
        hide_index=True,
        height=320,
        key="head_table",
        on_select=lambda: _take_row(places),
        selection_mode="single-row",
        placeholder="–",
        column_config={**dict.fromkeys(names.values(), percent), _("entropy"): number, _("mean distance"): number},
    )


def _take_row(places: Sequence[HeadPlace]) -> None:
    if rows := st.session_state["head_table"].selection.rows:
        _take(places[rows[0]])


def show_presets() -> None:
    """Examples that were found by measuring the model that comes along; each opens with what its numbers say."""
    st.markdown(prose("pretrained", "presets"))
    for name, label, query in _presets():
        page_link("pretrained", label=label, query=query)
        st.caption(prose("pretrained", f"preset_{name}"))


def _presets() -> tuple[tuple[str, str, dict[str, str]], ...]:
    return (
        ("previous", _("A head that looks at the previous token"), preset(HeadPlace(0, 2), 10, 9)),
        ("next", _("A head that looks at the next token"), preset(HeadPlace(1, 8), 10, 11)),
        ("first", _("A head that looks at the first token"), preset(HeadPlace(4, 5), 10, 0)),
        ("same_word", _("A head that finds the same word again"), preset(HeadPlace(2, 9), 8, 5, passage=REPEATING)),
        ("coreference", _("What does “it” refer to?"), preset(HeadPlace(3, 1), 10, 2, second_passage=WIDE)),
    )
