"""Pictures as patches: what words are to a sentence, patches are to a picture; and a model that really learned it."""

import streamlit as st

from attn_core import attend
from attn_core.formulas import PATCH_LAYER
from attn_core.images import read_picture, to_patches
from attn_core.picture_thread import run_picture
from attn_core.vit import DigitVit, Layer, train_vit
from pages.shared import digit_reader
from pages.shared.lecture import closing, opening
from pages.shared.picture_choice import current_picture_trace, picture_controls
from pages.shared.picture_view import show_attention, show_patch, show_patches, show_product
from pages.shared.shell import alone, require_shell
from pages.shared.text import _, prose


def one_picture() -> None:
    """One picture through the same steps as a sentence."""
    trace = current_picture_trace()
    picture, numbers = st.columns([3, 2], gap="large")
    with picture:
        show_patches(trace)
    with numbers:
        show_patch(trace)

    st.subheader(_("From pixels to queries, keys, values and outputs"), anchor=False)
    st.markdown(prose("image_patches", "products"))
    show_product(trace)

    st.subheader(_("What the chosen patch attends to"), anchor=False)
    show_attention(trace)


def reader() -> None:
    """A model that has learned to read digits, and how well it does."""
    digit_reader.training_controls()
    run = digit_reader.current_run()
    found = digit_reader.show_digit(run)
    digit_reader.show_heads(found)
    st.caption(prose("image_patches", "heads"))

    st.subheader(_("How well does it read?"), anchor=False)
    digit_reader.show_accuracy(run)


require_shell()
opening("image_patches", PATCH_LAYER)
picture_controls()
alone(one_picture)

st.subheader(_("A model that has learned: it reads digits"), anchor=False)
st.markdown(prose("image_patches", "reader"))
alone(reader)
closing("image_patches", to_patches, run_picture, attend, read_picture, Layer, DigitVit, train_vit)
