"""The lesson's own controls: one bar over every page."""

from collections.abc import Sequence

import streamlit as st

from attn_core.lesson import LANGUAGES, Lesson, LessonTrace
from attn_core.limits import MAX_JOB_SECONDS, MAX_LINK
from attn_core.links import Linked
from attn_core.thread import SCALES
from attn_core.tokens import SEGMENTATIONS
from pages.shared import gate
from pages.shared.editing import edit_popover
from pages.shared.lesson import current_trace, warn_about_corpus, warn_about_edits, warn_about_mask, warn_about_text
from pages.shared.link import TOO_LONG, change, change_language, change_size, current, tied
from pages.shared.settings import LectureSettings
from pages.shared.share import share_popover
from pages.shared.text import _, plain, prose, sentence

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
    if parts := _in_force(current_trace()):
        st.caption(" · ".join(parts))
    if edits := current(Lesson).edits:
        st.caption(_("Put in by hand: {edits}", edits=", ".join(f"`{edit}`" for edit in edits[-_LISTED_EDITS:])))
    warn_about_text()
    warn_about_mask()
    warn_about_edits()
    warn_about_corpus()
    _warn_about_time()
    _warn_about_link(records)


def _in_force(trace: LessonTrace) -> list[str]:
    """What of the lesson goes beyond one head that sees all of one sentence, for every page's reader."""
    masks = {"causal": _("mask: causal"), "padding": _("mask: padding"), "drawn": _("mask: drawn by hand")}
    positions = {"sinusoidal": _("positions: sinusoidal"), "learned": _("positions: learned")}
    named = (masks.get(trace.lesson.mask), positions.get(trace.lesson.positions))
    parts = [name for name in named if name]
    if trace.n_heads > 1:
        parts.append(_("head {head} of {n}, counted from 0", head=trace.head, n=trace.n_heads))
    if trace.is_cross:
        parts.append(_("keys and values from “{text}”", text=plain(sentence(trace.key_tokens))))
    return parts


def _warn_about_time() -> None:
    """Says so where a run was stopped because it took too long."""
    if st.session_state.pop(gate.SPENT, False):
        st.warning(
            _(
                "The computation was stopped: it had worked for {n} seconds, the longest that one may. "
                "You see what it had reached; ask for less, or let it go on.",
                n=int(MAX_JOB_SECONDS),
            )
        )


def _warn_about_link(records: Sequence[type[Linked]]) -> None:
    """Says what of the link, or of a change, was not taken."""
    if st.session_state.pop(TOO_LONG, False):
        st.warning(_("With this change the link would have more than {n} characters; it was not taken.", n=MAX_LINK))
    for record in records:
        for entry in current(record).ignored:
            st.warning(
                _(
                    "“{value}” is not possible for {name} and was left out. Allowed: {allowed}.",
                    value=plain(entry.value),
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
        if current(Lesson).n_heads > 1:
            head_list(current(Lesson).n_heads)
        popover = st.popover(_("Lesson settings"), icon=":material/tune:", on_change="rerun", key="settings_popover")
        if popover.open:
            with popover:
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


def head_list(n_heads: int) -> None:
    """Which head's matrices the pages show."""
    st.selectbox(
        _("Head"),
        range(n_heads),
        format_func=lambda head: _("head {head}", head=head),
        label_visibility="collapsed",
        width=140,
        **tied(Lesson, "head", at_most=n_heads - 1),
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
    size = tied(Lesson, "d_model") | {"on_change": change_size, "args": ()}
    st.slider(_("d_model: size of an embedding"), **limits(Lesson, "d_model"), **size)
    st.number_input(_("Seed of all weights"), **limits(Lesson, "seed"), **tied(Lesson, "seed"))
    st.toggle(_("Lecture mode (L)"), **tied(LectureSettings, "lecture"))
    st.radio(_("Divide the scores by"), SCALES, format_func=scale.get, horizontal=True, **tied(Lesson, "scale"))


def limits(record_type: type[Linked], name: str) -> dict[str, float]:
    """A number widget's bounds: those of the field."""
    allowed = record_type.allowed(name)
    return {"min_value": allowed.low, "max_value": allowed.high}


def scale(name: str, record_type: type[Linked], field: str, options: Sequence[float]) -> None:
    """A slider over round numbers; a link may hold one between them."""
    value = getattr(current(record_type), field)
    st.select_slider(
        name, sorted({*options, value}), format_func=lambda number: f"{number:,}", **tied(record_type, field)
    )


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
