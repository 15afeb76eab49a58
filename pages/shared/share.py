"""Sharing and taking along: link, QR code, numbers, script."""

import io
from collections.abc import Sequence
from urllib.parse import urlencode, urlsplit

import segno
import streamlit as st

from attn_core.export import matrix_names, to_csv, to_npz
from attn_core.links import Linked
from attn_core.script import to_script
from pages.shared.lesson import current_trace
from pages.shared.link import SHARE_POPOVER, link_query
from pages.shared.picker import PICTURE_FORMAT, PICTURE_FORMATS
from pages.shared.text import _

_CHOSEN = "exported_matrix"


def share_popover(*records: type[Linked]) -> None:
    """Filled only while it is open: a QR code is not needed on every click."""
    popover = st.popover(_("Share"), icon=":material/share:", on_change="rerun", key=SHARE_POPOVER)
    if popover.open:
        with popover:
            _link(records)
            _downloads()


def _link(records: Sequence[type[Linked]]) -> None:
    address = urlsplit(st.context.url or "")
    link = address._replace(query=urlencode(link_query(*records)), fragment="").geturl()
    st.markdown(_("This link opens exactly what you see:"))
    st.code(link, language=None, wrap_lines=True)
    try:
        code = segno.make(link, error="l", micro=False)
    except segno.DataOverflowError:
        st.caption(_("The link is too long for a QR code; send it as text."))
        return
    picture = io.BytesIO()
    code.save(picture, kind="png", scale=6, border=3)
    st.image(picture.getvalue(), caption=_("QR code of this link"), alt=_("QR code of this link"), width=300)


def _downloads() -> None:
    trace = current_trace()
    st.download_button(
        _("All matrices (.npz)"), lambda: to_npz(trace), "lesson.npz", icon=":material/download:", on_click="ignore"
    )
    st.download_button(
        _("Python script that prints these numbers"),
        lambda: to_script(trace),
        "lesson.py",
        "text/x-python",
        icon=":material/download:",
        on_click="ignore",
    )
    name = st.selectbox(_("One matrix as CSV"), matrix_names(trace), key=_CHOSEN, persist_state="session")
    st.download_button(
        f"{name}.csv",
        lambda: to_csv(trace, name).encode("utf-8-sig"),
        f"{name}.csv",
        "text/csv",
        icon=":material/download:",
        on_click="ignore",
    )
    st.segmented_control(
        _("A chart's camera button saves"),
        PICTURE_FORMATS,
        default=PICTURE_FORMATS[0],
        format_func=str.upper,
        required=True,
        key=PICTURE_FORMAT,
        persist_state="session",
    )
