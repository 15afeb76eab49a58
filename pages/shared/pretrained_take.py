"""Taking a reading along: numbers, and a script that makes them."""

from collections.abc import Callable

import streamlit as st

from attn_core.pretrained_export import measures_csv, to_npz, to_script, weights_csv
from attn_core.pretrained_settings import PretrainedSettings
from attn_core.reading import Reading
from pages.shared.link import current
from pages.shared.pretrained_choice import reading_later
from pages.shared.text import _


def show_downloads(reading: Reading) -> None:
    """The chosen head's steps, its weights, every head's figures, and of a text the script that makes them."""
    settings = current(PretrainedSettings)
    place, last = reading.nearest_place(settings.place), len(reading.pieces.names) - 1
    cell = (min(settings.pretrained_query, last), min(settings.pretrained_key, last))
    later = reading_later()
    with st.container(horizontal=True):
        _download(_("Every step of this head (.npz)"), lambda: to_npz(later(), place), f"head_{place}.npz")
        _download(_("This head's weights (.csv)"), lambda: weights_csv(later(), place), f"head_{place}.csv", "text/csv")
        _download(_("Every head in numbers (.csv)"), lambda: measures_csv(later()), "heads.csv", "text/csv")
        if not reading.picture:
            _download(
                _("Python script that prints these numbers"),
                lambda: to_script(later(), settings.passage, place, *cell),
                "pretrained.py",
                "text/x-python",
            )


def _download(label: str, make: Callable[[], str | bytes], name: str, mime: str | None = None) -> None:
    """Made when it is asked for, outside of the session: `make` knows all it needs."""
    st.download_button(label, make, name, mime, icon=":material/download:", on_click="ignore")
