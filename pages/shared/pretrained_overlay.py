"""A vision model's attention laid over the picture that it sees, as the page of pictures has it."""

from collections.abc import Sequence

import plotly.graph_objects as go
import streamlit as st

from attn_core.figures.picture import heads_over_picture, patch_picture
from attn_core.numbers import written
from attn_core.pretrained_settings import HeadPlace, PretrainedSettings
from attn_core.reading import PatchWeights, Reading
from pages.shared.lecture import text_table
from pages.shared.link import change, current
from pages.shared.picker import click_chart, place_list
from pages.shared.pretrained_words import head_name
from pages.shared.text import _, plain

_MOST = 5


def all_heads(reading: Reading, place: HeadPlace, layers: Sequence[str], heads: Sequence[str]) -> go.Figure:
    """What the chosen token gives to each patch, in every head."""
    seen = reading.patch_weights(current(PretrainedSettings).pretrained_query)
    return heads_over_picture(
        seen.pixels, seen.weights, seen.per_edge, layers, heads, layer=place.layer, head=place.head, query=seen.patch
    )


def show_head(reading: Reading, place: HeadPlace) -> None:
    """What the chosen token attends to in one head, over the picture and in numbers."""
    seen = reading.patch_weights(current(PretrainedSettings).pretrained_query)
    picture, numbers = st.columns([3, 2], gap="large")
    with picture:
        _over_picture(seen, place, "head_overlay")
    with numbers:
        place_list("pretrained_query", "query", reading.pieces.names, record_type=PretrainedSettings)
        st.markdown(_("What **{name}** attends to most, in {head}:", name=plain(seen.name), head=head_name(place)))
        text_table((_("patch"), _("weight")), _most(seen, place))
        st.caption(
            _(
                "To the tokens that are no patches: {share}; all {n} weights sum to 1.",
                share=written(seen.elsewhere(place), 4),
                n=len(reading.pieces.names),
            )
        )


def show_small(reading: Reading, place: HeadPlace) -> None:
    """The same for a pinned head."""
    seen = reading.patch_weights(current(PretrainedSettings).pretrained_query)
    _over_picture(seen, place, f"pinned_{place.layer}_{place.head}")


def show_rollout(reading: Reading, n_layers: int) -> None:
    """What reaches the chosen token from each patch, through the first layers."""
    seen = reading.rollout_weights(current(PretrainedSettings).pretrained_query)
    _over_picture(seen, HeadPlace(n_layers - 1, 0), "rollout")


def _over_picture(seen: PatchWeights, place: HeadPlace, key: str) -> None:
    most = ", ".join(f"{name} {weight}" for name, weight in _most(seen, place))
    alt = _("What {name} attends to, laid over the picture; most to {most}.", name=seen.name, most=most)
    weights = seen.weights[place.layer, place.head]
    framed = seen.patch_of(current(PretrainedSettings).pretrained_key)
    figure = patch_picture(seen.pixels, seen.per_edge, seen.patch, seen.patches, key=framed, weights=weights)
    click_chart(figure, key, alt, lambda row, column: _take(seen, row, column))


def _most(seen: PatchWeights, place: HeadPlace) -> list[tuple[str, str]]:
    return [(name, written(weight, 4)) for name, weight in seen.most(place, _MOST)]


def _take(seen: PatchWeights, row: int, column: int) -> None:
    change(PretrainedSettings, pretrained_query=seen.token_at(row, column))
