"""The prepared lessons as links, each with the one thing it shows."""

import streamlit as st

from attn_core.presets import PRESETS
from pages.shared.shell import page_link
from pages.shared.text import _


def show_presets() -> None:
    """One link a lesson, folded; it opens on the page where its point is seen."""
    folded = st.expander(_("Prepared lessons"), icon=":material/bookmarks:", key="presets", on_change="rerun")
    if folded.open:
        with folded:
            for name, page, sentence in _presets():
                page_link(page, label=sentence, lesson=PRESETS[name])


def _presets() -> tuple[tuple[str, str, str], ...]:
    return (
        ("journey", "softmax", _("“Your journey starts with one step”: the numbers of S. Raschka's book, chapter 3")),
        ("one_over_one_plus_e", "softmax", _("Two keys, closed form: the weights are 1/(1+e) and e/(1+e)")),
        ("identical_words", "weighted_sum", _("Identical words: both “the” get the very same output")),
        (
            "reversed_order",
            "weighted_sum",
            _("Order does not matter: the reversed sentence has the same outputs, reversed"),
        ),
        ("to_itself", "softmax", _("Each word attends to itself: queries that point along their own keys")),
        ("saturation", "softmax", _("Saturation: d_model 16 without √dₖ, and one word takes all the weight")),
        ("hidden_key", "softmax", _("Like a mask: a score far below all others hides a word")),
        (
            "no_preference",
            "weighted_sum",
            _("No preference: queries of zero make every weight 1/n, the output is the mean"),
        ),
        ("one_word", "softmax", _("One word: its only weight is 1")),
        ("two_heads", "multi_head", _("Two heads: one looks at each word itself, the other at the word before")),
        ("translation_pair", "multi_head", _("A translation pair: each Japanese word looks at its English one")),
        ("causal", "masks_positions", _("Causal mask: words added at the end change no earlier output")),
        ("padding_seen", "masks_positions", _("Padding without a mask: [PAD] takes weight from every word")),
        (
            "padding_hidden",
            "masks_positions",
            _("Padding with its mask: the words' outputs are as if it were not there"),
        ),
        (
            "equal_words_apart",
            "weighted_sum",
            _("Positions tell equal words apart: each “the” gets an output of its own"),
        ),
    )
