"""The lesson's own controls: one bar over every page."""

from collections.abc import Sequence

import streamlit as st

from attn_core.lesson import LANGUAGES, SCALES, Lesson
from attn_core.links import Linked
from attn_core.tokens import SEGMENTATIONS
from pages.shared.editing import edit_popover
from pages.shared.lesson import warn_about_corpus, warn_about_edits, warn_about_text
from pages.shared.link import MAX_LINK, TOO_LONG, change, change_language, current, tied
from pages.shared.settings import LectureSettings
from pages.shared.share import share_popover
from pages.shared.text import _, plain, prose

_LISTED_EDITS = 8
_LANGUAGE_NAMES = {"ja": "日本語", "en": "English"}


def lesson_bar(*records: type[Linked]) -> None:
    """Text, settings and language; under them, what of the link or the text could not be used.

    In lecture mode the controls are out of sight.
    """
    if not current(LectureSettings).lecture:
        _controls(records)
    _notices(records)


def _notices(records: Sequence[type[Linked]]) -> None:
    if edits := current(Lesson).edits:
        st.caption(_("Put in by hand: {edits}", edits=", ".join(f"`{edit}`" for edit in edits[-_LISTED_EDITS:])))
    warn_about_text()
    warn_about_edits()
    warn_about_corpus()
    _warn_about_link(records)


def _warn_about_link(records: Sequence[type[Linked]]) -> None:
    """Says what of the link, or of a change, was not taken."""
    if st.session_state.pop(TOO_LONG, False):
        st.warning(_("With this change the link would have more than {n} characters; it was not taken.", n=MAX_LINK))
    for record in records:
        for entry in current(record).ignored:
            st.warning(
                _(
                    "“{value}” is not possible for {name} and was left out. Allowed: {allowed}.",
                    value=plain(entry.value[:80]),
                    name=f"`{entry.name}`",
                    allowed=plain(entry.allowed),
                )
            )


def _controls(records: Sequence[type[Linked]]) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", key="lesson_bar"):
        st.text_input(
            _("Text of the lesson"),
            label_visibility="collapsed",
            placeholder=current(Lesson).defaults().text,
            **tied(Lesson, "text"),
        )
        with st.popover(_("Lesson settings"), icon=":material/tune:"):
            _settings()
        edit_popover()
        share_popover(*records)
        language = tied(Lesson, "lang") | {"on_change": change_language, "args": ()}
        st.segmented_control(
            _("Language"),
            LANGUAGES,
            format_func=_LANGUAGE_NAMES.get,
            required=True,
            label_visibility="collapsed",
            **language,
        )


def _settings() -> None:
    segmentation = {"words": _("Words"), "characters": _("Characters")}
    scale = {"sqrt_d_k": "√dₖ", "none": _("1 (no division)"), "d_k": "dₖ"}
    st.radio(
        _("Cut the text into"),
        SEGMENTATIONS,
        format_func=segmentation.get,
        horizontal=True,
        **tied(Lesson, "segmentation"),
    )
    st.slider(_("d_model: size of an embedding"), **limits(Lesson, "d_model"), **tied(Lesson, "d_model"))
    st.number_input(_("Seed of all weights"), **limits(Lesson, "seed"), **tied(Lesson, "seed"))
    st.toggle(_("Lecture mode (L)"), **tied(LectureSettings, "lecture"))
    st.radio(_("Divide the scores by"), SCALES, format_func=scale.get, horizontal=True, **tied(Lesson, "scale"))


def limits(record_type: type[Linked], name: str) -> dict[str, float]:
    """A number widget's bounds: those of the field."""
    allowed = record_type.allowed(name)
    return {"min_value": allowed.low, "max_value": allowed.high}


def lecture_bar(page: str) -> None:
    """Lecture mode and presenter notes by key, and the notes."""
    shown = current(LectureSettings)
    with st.container(horizontal=True):
        for name, label, shortcut in (("lecture", _("Lecture mode"), "L"), ("notes", _("Presenter notes"), "N")):
            st.button(
                label,
                icon=":material/check_box:" if getattr(shown, name) else ":material/check_box_outline_blank:",
                type="tertiary",
                shortcut=shortcut,
                key=f"{name}_button",
                on_click=change,
                args=(LectureSettings,),
                kwargs={name: not getattr(shown, name)},
            )
    if shown.notes:
        st.info(prose(page, "notes"), icon=":material/co_present:")
