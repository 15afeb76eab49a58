"""The link is the state: one place that reads the URL into records and writes records into the URL.

A record (a `Linked` dataclass) lives in the session, one of each class. It is read from the
URL when the session first needs it, after Back or Forward, and when a prepared link is followed;
afterwards only `change` replaces it. Widgets are tied to a field by `tied`: the field, the
widget's key and the URL parameter are the same word.
"""

import dataclasses
import threading
from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import urlencode

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from attn_core.lesson import LANGUAGES, Lesson
from attn_core.limits import MAX_LINK
from attn_core.links import CutText, Ignored, Linked
from pages.shared.settings import LectureSettings

# In the links of the lecture plan: the record is read from the URL although the session has one.
_OPEN = "open"

TOO_LONG = "_too_long"

Record = TypeVar("Record", bound=Linked)
_run = threading.local()
SHARE_POPOVER = "share_popover"  # its key


def current(record_type: type[Record]) -> Record:
    """The session's record of this type."""
    records = _records()
    found: Record | None = records.get(record_type)
    if found is None:
        found = records[record_type] = _read(record_type)
    return found


def _records() -> dict[type[Linked], Any]:
    """The session's records, looked up once in a run: a page asks for them a hundred times.

    A session keeps the same dictionary for good, so that it does not matter whether a thread has run before.
    They are one entry of the session's state: Streamlit looks through all of them for every list that it draws.
    """
    context = get_script_run_ctx()
    if getattr(_run, "context", _run) is not context:
        _run.context, _run.records = context, st.session_state.setdefault("_records", {})
    records: dict[type[Linked], Any] = _run.records
    return records


def _read(record_type: type[Record]) -> Record:
    """The record in the URL; without a language, or with one that there is not, in the browser's."""
    given, browser = st.query_params.to_dict(), {"lang": _browser_language()}
    record = record_type.from_query(browser | given)
    if any(entry.name == "lang" for entry in record.ignored):
        record = dataclasses.replace(record_type.from_query(given | browser), ignored=record.ignored)
    return record


def change(record_type: type[Linked], **values: Any) -> None:
    """Replaces fields of the session's record; what is not allowed, or too long for a link, is refused and reported."""
    record = current(record_type)
    try:
        fitting = {name: _cut(record_type.allowed(name), value) for name, value in values.items()}
        changed = dataclasses.replace(record, ignored=(), **fitting)
    except ValueError:
        for name, value in values.items():
            refuse(record_type, name, str(value))
        return
    length, before = (len(urlencode(one.to_query())) for one in (changed, record))
    if length > max(MAX_LINK, before):
        st.session_state[TOO_LONG] = True
        return
    st.session_state["_records"][record_type] = changed  # not by a run that has been told to stop


def refuse(record_type: type[Linked], name: str, value: str, allowed: str | None = None) -> None:
    """Leaves the record as it is and reports the value that was not taken."""
    record = current(record_type)
    entry = Ignored(name, value, allowed or str(record.allowed(name)))
    st.session_state["_records"][record_type] = dataclasses.replace(record, ignored=(entry,))


def tied(
    record_type: type[Linked], name: str, *, at_least: int | None = None, at_most: int | None = None
) -> dict[str, Any]:
    """Keyword arguments that tie a widget to a field: `st.slider(label, 1, 9, **tied(Lesson, "seed"))`.

    The field's value is assigned anew in every run, but for the widget that was just used: a browser that is still
    loading the page when the next run starts would otherwise never learn the value, and send back the widget's
    own default. `at_least` and `at_most` are the ends of a list: what it shows where the field points past them.
    """
    value = getattr(current(record_type), name)
    if at_most is not None:
        value = min(value, at_most)
    if at_least is not None:
        value = max(value, at_least)
    if name != st.session_state.get("_just_used") or st.session_state.get(name) != value:
        st.session_state[name] = value
    return {"key": name, "on_change": _take, "args": (record_type, name)}


def follow_link(*record_types: type[Linked]) -> None:
    """Brings records and the browser's address in line; called once, at the start of a run.

    After Back or Forward, and where a prepared link is followed, the address is right; else the records are.
    """
    if _went_through_history() or _follows_prepared_link():
        _records().clear()
    query, address = link_query(*record_types), st.query_params.to_dict()
    st.session_state["_just_used"] = st.session_state.pop("_used", None)
    st.session_state["_followed"] = address if _OPEN in address else None
    if address != query:
        st.query_params.from_dict(query)


def use_again() -> None:
    """For a run that gives way to one of the whole app: the widget that was just used stays the one that was."""
    st.session_state["_used"] = st.session_state["_just_used"]


def is_fragment_run() -> bool:
    """Whether only a part of the page runs again."""
    context = get_script_run_ctx()
    return context is not None and bool(context.fragment_ids_this_run)


def notices(*record_types: type[Linked]) -> tuple[Ignored, ...]:
    """What of the link, or of the last change, was not taken."""
    too_long = [Ignored(TOO_LONG, "", str(MAX_LINK))] if st.session_state.get(TOO_LONG) else []
    return (*too_long, *(entry for record_type in record_types for entry in current(record_type).ignored))


def link_query(*record_types: type[Linked]) -> dict[str, str]:
    """The URL parameters of the session's records."""
    return {name: text for record_type in record_types for name, text in current(record_type).to_query().items()}


def prepared_query(query: Mapping[str, str], lesson: Lesson | None = None) -> dict[str, str]:
    """A prepared state of a page, with the session's lesson or another, in the session's language and mode."""
    kept = current(LectureSettings).to_query() | {"lang": current(Lesson).lang}
    return (lesson or current(Lesson)).to_query() | query | kept | {_OPEN: "true"}


def _take(record_type: type[Linked], name: str) -> None:
    st.session_state["_used"] = name
    change(record_type, **{name: st.session_state[name]})


def _follows_prepared_link() -> bool:
    """Whether this run opens a prepared link; a run that starts before the address is rewritten does not again."""
    return _OPEN in st.query_params and st.query_params.to_dict() != st.session_state.get("_followed")


def _cut(allowed: Any, value: Any) -> Any:
    """A text that a reader has typed, cut off where a link's is."""
    return allowed.read(value) if isinstance(allowed, CutText) else value


def _went_through_history() -> bool:
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation


def _browser_language() -> str:
    """Japanese for a browser set to Japanese, else English."""
    return LANGUAGES[0] if (st.context.locale or "").lower().startswith("ja") else LANGUAGES[1]


def change_size() -> None:
    """Takes the d_model widget's value; as many heads as divide it are kept."""
    resized = current(Lesson).resized(st.session_state["d_model"])
    change(Lesson, d_model=resized.d_model, n_heads=resized.n_heads)


def change_language() -> None:
    """Takes the language widget's value; a default text follows the language."""
    lesson = current(Lesson)
    lang = st.session_state["lang"]
    change(Lesson, lang=lang, text=Lesson(lang=lang).text if lesson.text == lesson.defaults().text else lesson.text)
